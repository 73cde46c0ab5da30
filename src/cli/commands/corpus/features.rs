//! The flags for features, of the commands that make fingerprints.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::{Args, ValueEnum};

use crate::cli::{Failure, output};
use crate::corpus::{DfTable, Fields, Options, Saved, Weights};
use crate::dedup::Shingle;

/// How lines of JSON name what a document is.
#[derive(Debug, Args)]
pub(super) struct FieldArguments {
    /// Field of a line with the id of the document [default: id, or url where there is none]
    #[arg(long, value_name = "NAME", requires = "jsonl")]
    id_field: Option<String>,
    /// Field of a line with the text of the document [default: text]
    #[arg(long, value_name = "NAME", requires = "jsonl")]
    text_field: Option<String>,
}

impl FieldArguments {
    pub(super) fn fields(&self) -> Fields<'_> {
        Fields {
            id: self.id_field.as_deref(),
            text: self.text_field.as_deref(),
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct FeatureArguments {
    /// Unit and length of shingles, such as words:3 or chars:8 [default: words:2; words:5 with
    /// minhash]
    #[arg(long, value_name = "UNIT:LENGTH")]
    shingle: Option<Shingle>,
    /// Weights of shingles in a SimHash
    #[arg(long, value_enum, default_value_t)]
    weights: WeightsArgument,
    /// Document frequencies for --weights tfidf, written by `gleaner fingerprint --df-table-out`
    #[arg(long, value_name = "FILE")]
    df_table: Option<PathBuf>,
    /// Seed of the hash functions: a number, or `random` against documents that were made to look
    /// like others; with an index, the one that it was made with
    #[arg(long, value_name = "N|random", default_value = "0")]
    seed: SeedArgument,
}

/// The seed of the hash functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeedArgument {
    Fixed(u64),
    Random,
}

impl std::str::FromStr for SeedArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "random" => Ok(Self::Random),
            _ => match text.parse() {
                Ok(seed) => Ok(Self::Fixed(seed)),
                Err(_) => Err("give a number, or random".to_owned()),
            },
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum WeightsArgument {
    /// Number of occurrences
    #[default]
    Count,
    /// One for each distinct shingle
    Set,
    /// Number of occurrences times the inverse document frequency from --df-table
    Tfidf,
}

impl FeatureArguments {
    /// Whether weights other than the default are set.
    pub(super) fn are_weighted(&self) -> bool {
        self.weights != WeightsArgument::Count
    }

    /// Applies the flags to the options.
    pub(super) fn set(&self, options: &mut Options, index: Option<&Path>) -> Result<(), Failure> {
        if let Some(shingle) = self.shingle {
            options.shingle = shingle;
            options.short_shingle = shingle;
        }
        options.seed = match (self.seed, index.and_then(Saved::seed)) {
            (SeedArgument::Fixed(seed), _) | (SeedArgument::Random, Some(seed)) => seed,
            (SeedArgument::Random, None) => {
                let mut seed = [0; 8];
                getrandom::fill(&mut seed)
                    .map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
                u64::from_le_bytes(seed)
            }
        };
        options.weights = match (self.weights, &self.df_table) {
            (WeightsArgument::Count, None) => Weights::Count,
            (WeightsArgument::Set, None) => Weights::Set,
            (WeightsArgument::Tfidf, Some(path)) => {
                let wrong = |error: String| Failure::usage(format!("{}: {error}", path.display()));
                let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
                let table = DfTable::read(BufReader::new(file), options.shingle, options.seed);
                Weights::TfIdf(Arc::new(table.map_err(|error| wrong(error.to_string()))?))
            }
            (WeightsArgument::Tfidf, None) => {
                return Err(Failure::usage(
                    "--weights tfidf requires --df-table; create a table with `gleaner fingerprint --df-table-out`",
                ));
            }
            (_, Some(_)) => return Err(Failure::usage("--df-table requires --weights tfidf")),
        };
        Ok(())
    }
}

/// Says how many lines were skipped.
pub(super) fn say_skipped(skipped: &AtomicU64) {
    match skipped.load(Ordering::Relaxed) {
        0 => {}
        1 => output::say("1 line was skipped, because it is no document"),
        many => output::say(&format!(
            "{many} lines were skipped, because they are no documents"
        )),
    }
}
