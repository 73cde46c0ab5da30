//! `gleaner dedup`: finds the duplicates of a corpus that others crawled.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::captures;
use super::in_order::in_order;
use super::lines::{Content, Document, Extraction, each_line};
use super::{Failure, output};
use crate::dedup::{
    Clusters, Corpus, HASHES, Judged, MAX_GUARANTEED, Near, Options, Shingle, Signed, Signer, Unit,
    bands_for, chance_found,
};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner dedup --jsonl pages.jsonl > verdicts.jsonl
  zstdcat corpus.jsonl.zst | gleaner dedup --jsonl --method minhash --threshold 0.9 | jq -r 'select(.duplicate_of == null).id'
  gleaner dedup crawl/warc/*.warc.gz > verdicts.jsonl
  gleaner dedup --explain-lsh --bands 16 --rows 8

Input:  {\"id\": …, \"text\": …} or {\"id\": …, \"html\": …}, a line each, with html perhaps \"url\"; other
        fields are passed over.
Output: {\"id\", \"duplicate_of\", \"kind\", \"distance\", \"similarity\"}, a line for each line, in the same order.
Of WARC files, each page has a line, with its record id as \"id\" and its \"url\".
Every document is compared with those before it. docs/dedup.md tells what the methods find and miss.")]
pub(super) struct Arguments {
    /// WARC files (.warc.gz) to read; with --jsonl text files, - or none for standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["jsonl", "explain_lsh"])]
    files: Vec<PathBuf>,
    /// The files are JSON, one document a line
    #[arg(long)]
    jsonl: bool,
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
    /// What is compared, such as words:3 or chars:8 [default: words:2; words:5 with minhash]
    #[arg(long, value_name = "UNIT:LENGTH")]
    shingle: Option<ShingleArgument>,
    /// What decides about a `MinHash` candidate whose estimate is near the threshold
    #[arg(long, value_enum, default_value_t)]
    verify: Verify,
    /// What a document is compared with
    #[arg(long, value_enum, default_value_t)]
    clusters: ClustersArgument,
    /// Another seed gives other hash functions
    #[arg(long, value_name = "N", default_value_t)]
    seed: u64,
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

/// `words:3`.
#[derive(Debug, Clone, Copy)]
struct ShingleArgument(Shingle);

impl FromStr for ShingleArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let most = Shingle::MAX_LENGTH;
        let wrong = || format!("give words:N or chars:N, N from 1 to {most}");
        let (unit, length) = text.split_once(':').ok_or_else(wrong)?;
        let unit = match unit {
            "words" => Unit::Words,
            "chars" => Unit::Characters,
            _ => return Err(wrong()),
        };
        match length.parse() {
            Ok(length) if (1..=most).contains(&length) => Ok(Self(Shingle { unit, length })),
            _ => Err(wrong()),
        }
    }
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
        if let Some(ShingleArgument(shingle)) = self.shingle {
            options.shingle = shingle;
        }
        options.clusters = match self.clusters {
            ClustersArgument::Components => Clusters::Components,
            ClustersArgument::FirstFit => Clusters::FirstFit,
        };
        options.seed = self.seed;
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
    let mut corpus = Corpus::new(options);
    let mut ids = Ids::default();
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut line = String::new();
    let sign = |content: &Content<'_>| {
        let text = signer.text(&content.main, &content.visible);
        let text = text.with_heading(&content.heading);
        signer.sign(&content.raw, &text)
    };
    let mut take = |id: &str, url: Option<&str>, signed: Signed| {
        if corpus.len() == u32::MAX - 1 {
            return Err(Failure::usage(
                "more than 4,294,967,294 documents; part them",
            ));
        }
        let judged = corpus.judge(signed);
        ids.push(id);
        line.clear();
        write_verdict(&mut line, id, url, &judged, &ids);
        out.write_all(line.as_bytes())
            .map_err(anyhow::Error::from)?;
        Ok(())
    };
    if arguments.jsonl {
        each_line(
            &arguments.files,
            arguments.threads,
            |line| {
                let document = Document::parse(line)?;
                let signed = sign(&document.content(&extraction)?);
                Ok((Box::<str>::from(document.id()), signed))
            },
            |(id, signed)| take(&id, None, signed),
        )?;
    } else {
        in_order(
            arguments.threads,
            |hand_over| captures::read(&arguments.files, hand_over),
            |record| captures::work(&record, &extraction, sign),
            |(id, url, signed)| take(&id, Some(&url), signed),
        )?;
    }
    out.flush().map_err(anyhow::Error::from)?;
    Ok(())
}

/// The ids of all documents, as they stand in the input.
#[derive(Debug, Default)]
struct Ids {
    text: String,
    ends: Vec<u64>,
}

impl Ids {
    fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len() as u64);
    }

    fn get(&self, document: u32) -> &str {
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let start = (document as usize).checked_sub(1).map_or(0, end);
        self.text
            .get(start..end(document as usize))
            .unwrap_or("null")
    }
}

/// `id` and `url` are JSON already.
fn write_verdict(line: &mut String, id: &str, url: Option<&str>, judged: &Judged, ids: &Ids) {
    // Writing to a String cannot fail.
    let _ = write!(line, "{{\"id\":{id},");
    if let Some(url) = url {
        let _ = write!(line, "\"url\":{url},");
    }
    line.push_str("\"duplicate_of\":");
    let Some(duplicate) = &judged.duplicate else {
        line.push_str("null,\"kind\":null,\"distance\":null,\"similarity\":null}\n");
        return;
    };
    let kind = duplicate.tier.name();
    let _ = write!(line, "{},\"kind\":\"{kind}\"", ids.get(duplicate.of));
    match duplicate.distance {
        Some(distance) => _ = write!(line, ",\"distance\":{distance}"),
        None => line.push_str(",\"distance\":null"),
    }
    match duplicate.similarity {
        Some(similarity) => {
            let _ = write!(line, ",\"similarity\":{}", (similarity * 1e4).round() / 1e4);
        }
        None => line.push_str(",\"similarity\":null"),
    }
    if !judged.joins.is_empty() {
        let joins: Vec<_> = judged.joins.iter().map(|of| ids.get(*of)).collect();
        let _ = write!(line, ",\"joins\":[{}]", joins.join(","));
    }
    line.push_str("}\n");
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
    use crate::dedup::{Duplicate, Tier};

    #[test]
    fn a_verdict_line_names_ids_as_they_were_given() {
        let mut ids = Ids::default();
        ids.push("\"a\\u00e4\"");
        ids.push("7");
        let check = |judged: &Judged, expected: &str| {
            let mut line = String::new();
            write_verdict(&mut line, "7", None, judged, &ids);
            assert_eq!(line, expected);
        };
        check(
            &Judged::default(),
            "{\"id\":7,\"duplicate_of\":null,\"kind\":null,\"distance\":null,\"similarity\":null}\n",
        );
        let duplicate = Duplicate {
            of: 0,
            tier: Tier::Near,
            distance: Some(4),
            similarity: Some(0.912_345),
        };
        check(
            &Judged {
                duplicate: Some(duplicate),
                joins: vec![1],
            },
            "{\"id\":7,\"duplicate_of\":\"a\\u00e4\",\"kind\":\"near\",\"distance\":4,\"similarity\":0.9123,\"joins\":[7]}\n",
        );
    }

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

    #[test]
    fn shingles_are_written_with_their_unit() {
        let check = |text: &str, expected: Option<(Unit, u8)>| {
            let found = text.parse::<ShingleArgument>().ok();
            assert_eq!(found.map(|it| (it.0.unit, it.0.length)), expected, "{text}");
        };
        check("words:3", Some((Unit::Words, 3)));
        check("chars:8", Some((Unit::Characters, 8)));
        check("words:0", None);
        check("words", None);
        check("lines:2", None);
    }
}
