//! `gleaner dedup`: finds duplicates in a corpus that was crawled elsewhere.

use std::env;
use std::fmt::Write as _;
use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use clap::{Args, ValueEnum};

use super::features::{FeatureArguments, FieldArguments};
use crate::cli::commands::pages::language_code;
use crate::cli::output::Screen;
use crate::cli::progress::Counted;
use crate::cli::shown::Data;
use crate::cli::{Failure, output};
use crate::corpus::{
    self, Clusters, FileKind, Input, Keeping, MAX_GUARANTEED, NearMethod, Options, SavedError,
    StoredBodies, Watch, Weights, files_in,
};
use crate::dedup::{HASHES, Mask, bands_for, chance_found};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner dedup --jsonl pages.jsonl > verdicts.jsonl
  gleaner dedup --jsonl corpus.jsonl.zst --method minhash --threshold 0.9 | jq -r 'select(.duplicate_of == null).id'
  gleaner dedup crawl/warc/*.warc.gz -o deduplicated > verdicts.jsonl
  gleaner dedup --jsonl monday.jsonl --index index -o new.jsonl; gleaner dedup --jsonl tuesday.jsonl --index index -o newer.jsonl
  gleaner pages --data-dir crawl | gleaner dedup --jsonl > verdicts.jsonl
  gleaner dedup --explain-lsh --bands 16 --rows 8

Each line of input is {\"id\": …, \"text\": …} or {\"id\": …, \"html\": …}, both with \"url\": … if it is known; other
fields are ignored. Pages of one site must agree in what is their own, so lines with a URL wait for the end of
the input. The output has one line per line of input, in the same order:
{\"id\", \"duplicate_of\", \"kind\", \"distance\", \"similarity\"}. For WARC files it has one line per page,
with the record id as \"id\", and \"url\".

Every document is compared with those before it. docs/dedup.md describes the methods and their limits.")]
pub(crate) struct Arguments {
    /// WARC files (.warc, .warc.gz, .warc.zst), or text files with --jsonl, also compressed with
    /// gzip or zstd; a directory stands for such files in it; `-` or none for standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["jsonl", "explain_lsh"])]
    files: Vec<PathBuf>,
    /// The files contain JSON, one document per line
    #[arg(long)]
    jsonl: bool,
    /// Write the corpus without its duplicates: for WARC files, records without the bodies of
    /// duplicates, to this new directory; with --jsonl, lines that are not duplicates, to this
    /// file, compressed if its name ends in .gz or .zst
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Which bodies --output omits from WARC files
    #[arg(
        long,
        value_enum,
        default_value_t,
        requires = "output",
        conflicts_with = "jsonl"
    )]
    store: StoreArgument,
    /// Also compare with the documents of earlier runs that are in this index directory, and add
    /// those of this run to it
    #[arg(long, value_name = "DIR")]
    index: Option<PathBuf>,
    /// Forget what all but the newest N runs added to the index, this run included, unless one of
    /// them repeats it [default: nothing is forgotten]
    #[arg(long, value_name = "N", requires = "index")]
    index_runs: Option<NonZeroUsize>,
    /// Write all pairs of documents that are the same or near to this file, one per line,
    /// compressed if its name ends in .gz or .zst; of documents that are the same, the first stands
    /// for all
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// How near duplicates are found
    #[arg(long, value_enum, default_value_t)]
    method: Method,
    /// Decide by SimHash alone: near duplicates differ in at most this number of bits, 0 to 7
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_GUARANTEED)))]
    hamming: Option<u8>,
    /// Minimum similarity of near duplicates, above 0 and up to 1 [default: 0.84; 0.8 with minhash;
    /// 0.9 with --hamming, for short pages]
    #[arg(long, value_name = "T")]
    threshold: Option<f64>,
    /// Number of bands of a MinHash signature [default: enough to find 99.9 % at the threshold]
    #[arg(long, value_name = "N", requires = "rows", value_parser = clap::value_parser!(u32).range(1..=128))]
    bands: Option<u32>,
    /// Number of values per band
    #[arg(long, value_name = "N", requires = "bands", value_parser = clap::value_parser!(u32).range(1..=128))]
    rows: Option<u32>,
    #[command(flatten)]
    fields: FieldArguments,
    #[command(flatten)]
    features: FeatureArguments,
    /// What near duplicates may differ in, and what is no text of theirs: dates, times of day or
    /// numbers, separated by commas. For pages that are wanted once although such a thing differs;
    /// two timetables are near duplicates then
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS")]
    masks: Vec<MaskArgument>,
    /// How to decide about MinHash candidates near the threshold
    #[arg(long, value_enum, default_value_t)]
    verify: Verify,
    /// Which documents a document is compared with
    #[arg(long, value_enum, default_value_t)]
    clusters: ClustersArgument,
    /// Leave out documents whose text is in other languages, or in one that is not clear: codes
    /// such as en, pt or ast. They get no verdict; records of WARC files are written as they are
    #[arg(long = "language", value_name = "LANG,...", value_delimiter = ',', value_parser = language_code)]
    languages: Vec<String>,
    /// With --jsonl, skip lines that are no document, and say how many
    #[arg(long, requires = "jsonl")]
    skip_bad: bool,
    /// Number of threads; does not affect the output [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Print the probability that the bands find a pair, by similarity, and exit
    #[arg(long)]
    explain_lsh: bool,
}

/// Which bodies are omitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum StoreArgument {
    /// Bodies of all duplicates
    #[default]
    Unique,
    /// Bodies whose payload is already written
    ExactOnly,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Method {
    /// 64-bit SimHash of word 2-shingles, verified by a 128-byte MinHash sketch
    #[default]
    Simhash,
    /// 128 MinHash values of word 5-shingles, found by bands, verified by --verify
    Minhash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MaskArgument {
    /// Days and months, with or without a year
    Dates,
    /// Times of day
    Times,
    /// Numbers, including those within dates and times
    Numbers,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Verify {
    /// By the similarity estimated from the signatures
    #[default]
    Estimate,
    /// By the exact similarity of the texts; needs 4 bytes of memory per word
    Exact,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ClustersArgument {
    /// All documents before it; clusters are connected components
    #[default]
    Components,
    /// The documents before it that are not duplicates
    FirstFit,
}

impl Arguments {
    /// The options that the flags stand for.
    fn options(&self) -> Result<Options, Failure> {
        let is_minhash = self.method == Method::Minhash || self.explain_lsh;
        let only_minhash = [
            (self.bands.is_some(), "--bands"),
            (self.verify == Verify::Exact, "--verify exact"),
        ];
        for (given, flag) in only_minhash {
            if given && !is_minhash {
                return Err(Failure::usage(format!("{flag} requires --method minhash")));
            }
        }
        let mut options = match (is_minhash, self.hamming) {
            (true, Some(_)) => {
                return Err(Failure::usage(
                    "--hamming cannot be used with --method minhash; use --threshold",
                ));
            }
            (true, None) => Options::minhash(self.threshold.unwrap_or(0.8)),
            (false, Some(distance)) => Options::hamming(distance),
            (false, None) => Options::witness(),
        };
        if let Some(threshold) = self.threshold {
            if !(threshold > 0.0 && threshold <= 1.0) {
                return Err(Failure::usage(format!(
                    "invalid value {threshold} for --threshold; give a similarity above 0 and up to 1"
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
                    "{bands} bands of {rows} values need {} values, but a signature has {HASHES}",
                    *bands * *rows
                )));
            }
            *exact = self.verify == Verify::Exact;
        }
        if is_minhash && self.features.are_weighted() {
            return Err(Failure::usage("--weights requires --method simhash"));
        }
        self.features.set(&mut options, self.index.as_deref())?;
        options.masks = self
            .masks
            .iter()
            .map(|mask| match mask {
                MaskArgument::Dates => Mask::Dates,
                MaskArgument::Times => Mask::Times,
                MaskArgument::Numbers => Mask::Numbers,
            })
            .collect();
        if !options.masks.is_empty() && matches!(options.weights, Weights::TfIdf(_)) {
            return Err(Failure::usage(
                "--masks cannot be used with --weights tfidf, whose table counts what they mask",
            ));
        }
        options.clusters = match self.clusters {
            ClustersArgument::Components => Clusters::Components,
            ClustersArgument::FirstFit => Clusters::FirstFit,
        };
        Ok(options)
    }
}

pub(in crate::cli::commands) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let options = arguments.options()?;
    if arguments.explain_lsh {
        return Ok(output::print(&explain(&options))?);
    }
    let kind = match arguments.jsonl {
        true => FileKind::JsonLines,
        false => FileKind::Warc,
    };
    let files = files_in(&arguments.files, kind)?;
    // Of directories only the files of the kind are taken, so this one was named.
    let is_other = |path: &&PathBuf| kind == FileKind::Warc && FileKind::JsonLines.takes(path);
    if let Some(path) = files.iter().find(is_other) {
        return Err(Failure::Usage {
            message: format!("{} is no WARC file, by its name", path.display()),
            hint: Some("lines of JSON are read with --jsonl"),
        });
    }
    let skipped = AtomicU64::new(0);
    let counted = Counted::beside_data(screen, "documents");
    let tell = || counted.one();
    let input = Input {
        files: &files,
        threads: arguments.threads,
        skipped: arguments.skip_bad.then_some(&skipped),
        watch: Some(Watch(&tell)),
        languages: &arguments.languages,
        fields: arguments.fields.fields(),
    };
    let keeping = Keeping {
        output: arguments.output.as_deref(),
        index: arguments.index.as_deref(),
        index_runs: arguments.index_runs,
        pairs: arguments.pairs.as_deref(),
        temporary: &env::temp_dir(),
    };
    let out = BufWriter::with_capacity(1 << 16, Data::lock());
    let mut out = counted.written(out);
    if arguments.jsonl {
        corpus::dedup_jsonl(input, &options, keeping, &mut out)?;
        super::features::say_skipped(&skipped);
        return Ok(());
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

/// The probability that the bands find a pair, by similarity, as a table.
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
