//! `gleaner dedup`: finds the duplicates of a corpus that others crawled.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::features::FeatureArguments;
use crate::cli::captures::{self, Wanted};
use crate::cli::in_order::in_order;
use crate::cli::kept::{Kept, Store};
use crate::cli::lines::{Content, Document, Extraction, each_line};
use crate::cli::verdicts::{KeptLines, Verdicts};
use crate::cli::{Failure, output};
use crate::dedup::{
    Clusters, HASHES, MAX_GUARANTEED, Near, Options, Signer, bands_for, chance_found,
};

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
    store: Store,
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
        if let Near::MinHash { bands, rows, exact } = &mut options.near {
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
    let extraction = Extraction::new()?;
    let signer = Signer::new(&options);
    let (output, index) = (arguments.output.as_deref(), arguments.index.as_deref());
    let (files, threads) = (&arguments.files, arguments.threads);
    let wanted = match (output, index) {
        (Some(_), _) => Wanted::Everything,
        (None, Some(_)) => Wanted::Captures,
        (None, None) => Wanted::Pages,
    };
    let kept = (!arguments.jsonl && wanted != Wanted::Pages)
        .then(|| Kept::new(output, arguments.store, index.is_some(), &options, files))
        .transpose()?;
    let mut verdicts = Verdicts::new(options, index, kept)?;
    let sign = |content: &Content<'_>| {
        let text = signer.text(&content.main, &content.visible);
        let text = text.with_heading(&content.heading);
        signer.sign(&content.raw, &text)
    };
    if arguments.jsonl {
        let mut kept = output.map(KeptLines::create).transpose()?;
        let keeps = kept.is_some();
        each_line(
            files,
            threads,
            |line| {
                let document = Document::parse(line)?;
                let signed = sign(&document.content(&extraction)?);
                let line = keeps.then(|| Box::<[u8]>::from(line));
                Ok((Box::<str>::from(document.id()), signed, line))
            },
            |(id, signed, line)| {
                let is_kept = verdicts.document(&id, signed)?;
                match (&mut kept, line) {
                    (Some(kept), Some(line)) if is_kept => kept.write(&line),
                    _ => Ok(()),
                }
            },
        )?;
        verdicts.flush()?;
        kept.map_or(Ok(()), KeptLines::finish)?;
        return verdicts.commit();
    }
    in_order(
        threads,
        |hand_over| captures::read(files, wanted, hand_over),
        |job| captures::work(&job, &extraction, sign),
        |item| verdicts.item(item),
    )?;
    verdicts.flush()?;
    verdicts.commit()
}

/// The S-curve of the bands, as a table.
fn explain(options: &Options) -> String {
    let Near::MinHash { bands, rows, .. } = options.near else {
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
        options.near = Near::MinHash {
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
