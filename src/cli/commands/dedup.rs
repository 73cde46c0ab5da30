//! `gleaner dedup`: finds the duplicates of a corpus that others crawled.

use std::fmt::Write as _;
use std::io::{self, BufWriter};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::features::FeatureArguments;
use crate::cli::{Failure, output};
use crate::corpus::{
    self, Clusters, Input, Keeping, MAX_GUARANTEED, NearMethod, Options, SavedError, StoredBodies,
};
use crate::dedup::{HASHES, bands_for, chance_found};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner dedup --jsonl pages.jsonl > verdicts.jsonl
  zstdcat corpus.jsonl.zst | gleaner dedup --jsonl --method minhash --threshold 0.9 | jq -r 'select(.duplicate_of == null).id'
  gleaner dedup crawl/warc/*.warc.gz -o deduplicated > verdicts.jsonl
  gleaner dedup --jsonl monday.jsonl --index index -o new.jsonl; gleaner dedup --jsonl tuesday.jsonl --index index -o newer.jsonl
  gleaner dedup --explain-lsh --bands 16 --rows 8

Input:  {\"id\": …, \"text\": …} or {\"id\": …, \"html\": …}, a line each, with html perhaps \"url\"; other
        fields are passed over.
Output: {\"id\", \"duplicate_of\", \"kind\", \"distance\", \"similarity\"}, a line for each line, in the same order.
Of WARC files, each page has a line, with its record id as \"id\" and its \"url\".
Every document is compared with those before it. docs/dedup.md tells what the methods find and miss.")]
pub(crate) struct Arguments {
    /// WARC files (.warc.gz) to read; with --jsonl text files, - or none for standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["jsonl", "explain_lsh"])]
    files: Vec<PathBuf>,
    /// The files are JSON, one document a line
    #[arg(long)]
    jsonl: bool,
    /// Write what is kept: of WARC files, the records without the bodies of duplicates into this new
    /// directory; with --jsonl, the lines that are no duplicates into this file
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Whose bodies -o leaves out of WARC files
    #[arg(
        long,
        value_enum,
        default_value_t,
        requires = "output",
        conflicts_with = "jsonl"
    )]
    store: StoreArgument,
    /// Compare with the documents of earlier runs too: those that this directory knows, which learns
    /// those of this run
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,
    /// How near duplicates are told
    #[arg(long, value_enum, default_value_t)]
    method: Method,
    /// Let SimHash alone decide: at most so many bits apart, 0 to 7
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_GUARANTEED)))]
    hamming: Option<u8>,
    /// Similarity that makes a near duplicate, above 0 up to 1 [default: 0.84; 0.9 with --hamming,
    /// for short pages; 0.8 with minhash]
    #[arg(long, value_name = "T")]
    threshold: Option<f64>,
    /// Bands of a `MinHash` signature [default: what finds 99.9 % at the threshold]
    #[arg(long, value_name = "N", requires = "rows", value_parser = clap::value_parser!(u32).range(1..=128))]
    bands: Option<u32>,
    /// Values in each band
    #[arg(long, value_name = "N", requires = "bands", value_parser = clap::value_parser!(u32).range(1..=128))]
    rows: Option<u32>,
    #[command(flatten)]
    features: FeatureArguments,
    /// What decides about a `MinHash` candidate whose estimate is near the threshold
    #[arg(long, value_enum, default_value_t)]
    verify: Verify,
    /// What a document is compared with
    #[arg(long, value_enum, default_value_t)]
    clusters: ClustersArgument,
    /// Threads that sign documents; the output does not depend on it [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print how likely the bands find a pair, by its similarity, and end
    #[arg(long)]
    explain_lsh: bool,
}

/// Bodies that are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum StoreArgument {
    /// Those of all duplicates
    #[default]
    Unique,
    /// Those whose payload is written already
    ExactOnly,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Method {
    /// 64-bit SimHash of word 2-shingles, and a 128-byte `MinHash` sketch as witness
    #[default]
    Simhash,
    /// 128 `MinHash` values of word 5-shingles, found by bands, verified by their estimate
    Minhash,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Verify {
    /// The estimate
    #[default]
    Estimate,
    /// The exact similarity of the two texts; takes 4 bytes of memory a word
    Exact,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ClustersArgument {
    /// Every document before it: clusters are what is linked
    #[default]
    Components,
    /// The documents before it that are no duplicates themselves
    FirstFit,
}

impl Arguments {
    /// The options that the flags mean together.
    fn options(&self) -> Result<Options, Failure> {
        let is_minhash = self.method == Method::Minhash || self.explain_lsh;
        let only_minhash = [
            (self.bands.is_some(), "--bands"),
            (self.verify == Verify::Exact, "--verify exact"),
        ];
        for (given, flag) in only_minhash {
            if given && !is_minhash {
                return Err(Failure::usage(format!("{flag} needs --method minhash")));
            }
        }
        let mut options = match (is_minhash, self.hamming) {
            (true, Some(_)) => {
                return Err(Failure::usage(
                    "--hamming is a distance of SimHashes; give --threshold to --method minhash",
                ));
            }
            (true, None) => Options::minhash(self.threshold.unwrap_or(0.8)),
            (false, Some(distance)) => Options::hamming(distance),
            (false, None) => Options::witness(),
        };
        if let Some(threshold) = self.threshold {
            if !(threshold > 0.0 && threshold <= 1.0) {
                return Err(Failure::usage(format!(
                    "--threshold {threshold} is no similarity; give one above 0 up to 1"
                )));
            }
            options.threshold = threshold;
        }
        if let NearMethod::MinHash { bands, rows, exact } = &mut options.near {
            if let (Some(given_bands), Some(given_rows)) = (self.bands, self.rows) {
                (*bands, *rows) = (given_bands, given_rows);
            }
            if *bands * *rows > HASHES as u32 {
                return Err(Failure::usage(format!(
                    "{bands} bands of {rows} values need {}; a signature has {HASHES}",
                    *bands * *rows
                )));
            }
            *exact = self.verify == Verify::Exact;
        }
        if is_minhash && self.features.are_weighted() {
            return Err(Failure::usage("--weights needs --method simhash"));
        }
        self.features.set(&mut options)?;
        options.clusters = match self.clusters {
            ClustersArgument::Components => Clusters::Components,
            ClustersArgument::FirstFit => Clusters::FirstFit,
        };
        Ok(options)
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let options = arguments.options()?;
    if arguments.explain_lsh {
        return Ok(output::print(&explain(&options))?);
    }
    let input = Input {
        files: &arguments.files,
        threads: arguments.threads,
    };
    let keeping = Keeping {
        output: arguments.output.as_deref(),
        index: arguments.index.as_deref(),
    };
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    if arguments.jsonl {
        return Ok(corpus::dedup_jsonl(input, &options, keeping, &mut out)?);
    }
    let stored = match arguments.store {
        StoreArgument::Unique => StoredBodies::Unique,
        StoreArgument::ExactOnly => StoredBodies::ExactOnly,
    };
    Ok(corpus::dedup_warc(
        input, &options, keeping, stored, &mut out,
    )?)
}

impl From<corpus::Error> for Failure {
    fn from(error: corpus::Error) -> Self {
        match error {
            corpus::Error::Input(message) => Self::usage(message),
            corpus::Error::Output(source) => Self::Io(source.into()),
            corpus::Error::Index(SavedError::Io { path, source }) => {
                let what = format!("cannot use the index {}", path.display());
                Self::Io(anyhow::Error::new(source).context(what))
            }
            corpus::Error::Index(error) => Self::usage(error.to_string()),
            error @ (corpus::Error::Io { .. } | corpus::Error::Archive(_)) => {
                Self::Io(error.into())
            }
        }
    }
}

/// The S-curve of the bands, as a table.
fn explain(options: &Options) -> String {
    let NearMethod::MinHash { bands, rows, .. } = options.near else {
        return String::new();
    };
    let mut text = format!(
        "{bands} bands of {rows} values: a pair of similarity s is compared with chance 1 - (1 - s^{rows})^{bands}.\n\
         The comparison estimates s from {HASHES} values, with standard error sqrt(s (1 - s) / {HASHES}).\n\n\
         similarity   compared   standard error\n"
    );
    for percent in (10..=100).step_by(5) {
        let similarity = f64::from(percent) / 100.0;
        let found = chance_found(similarity, bands, rows) * 100.0;
        let error = (similarity * (1.0 - similarity) / HASHES as f64).sqrt() * 100.0;
        let _ = writeln!(text, "{similarity:>10.2}{found:>9.2} %{error:>14.1} %");
    }
    let half = (1.0 - 0.5_f64.powf(1.0 / f64::from(bands))).powf(1.0 / f64::from(rows));
    let _ = writeln!(text, "\nAn even chance is at similarity {half:.3}.");
    let (best_bands, best_rows) = bands_for(options.threshold);
    let _ = writeln!(
        text,
        "For threshold {} the default is {best_bands} bands of {best_rows}.",
        options.threshold
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_of_16_bands_of_8_is_the_right_one() {
        let mut options = Options::minhash(0.8);
        options.near = NearMethod::MinHash {
            bands: 16,
            rows: 8,
            exact: false,
        };
        let text = explain(&options);
        assert!(
            text.contains("      0.80    94.70 %           3.5 %"),
            "{text}"
        );
    }
}
