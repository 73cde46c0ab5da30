//! The flags for features, of the commands that make fingerprints.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use crate::cli::Failure;
use crate::corpus::{DfTable, Options, Weights};
use crate::dedup::Shingle;

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
    /// Seed of the hash functions
    #[arg(long, value_name = "N", default_value_t)]
    seed: u64,
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
    pub(super) fn set(&self, options: &mut Options) -> Result<(), Failure> {
        if let Some(shingle) = self.shingle {
            options.shingle = shingle;
            options.short_shingle = shingle;
        }
        options.seed = self.seed;
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
