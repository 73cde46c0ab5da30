//! Flags that say what documents are compared by, for the commands that make fingerprints.

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
    /// What is compared, such as words:3 or chars:8 [default: words:2; words:5 with minhash]
    #[arg(long, value_name = "UNIT:LENGTH")]
    shingle: Option<Shingle>,
    /// How the shingles of a SimHash vote
    #[arg(long, value_enum, default_value_t)]
    weights: WeightsArgument,
    /// Document frequencies for --weights tfidf, as `gleaner fingerprint --df-table-out` makes them
    #[arg(long, value_name = "FILE")]
    df_table: Option<PathBuf>,
    /// Another seed gives other hash functions
    #[arg(long, value_name = "N", default_value_t)]
    seed: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum WeightsArgument {
    /// As often as they occur
    #[default]
    Count,
    /// Once each
    Set,
    /// As often as they occur, times how rare they are by --df-table
    Tfidf,
}

impl FeatureArguments {
    /// Whether shingles are to vote in another way than usual.
    pub(super) fn are_weighted(&self) -> bool {
        self.weights != WeightsArgument::Count
    }

    /// Sets the options that the flags mean.
    pub(super) fn set(&self, options: &mut Options) -> Result<(), Failure> {
        if let Some(shingle) = self.shingle {
            options.shingle = shingle;
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
                    "--weights tfidf needs --df-table; `gleaner fingerprint --df-table-out` makes one",
                ));
            }
            (_, Some(_)) => return Err(Failure::usage("--df-table needs --weights tfidf")),
        };
        Ok(())
    }
}
