//! `gleaner fingerprint`: what documents are compared by, as figures.

use std::io::{self, BufWriter, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Failure;
use super::lines::{Document, Extraction, each_line};
use crate::dedup::{Figures, Text};

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gleaner fingerprint --jsonl pages.jsonl | jq -r '[.id, .\"simhash-64\"] | @tsv'

Input as for `gleaner dedup`. Output: one JSON object a line, in the same order; docs/formats.md has
the fields.")]
pub(super) struct Arguments {
    /// Files to read; - or none for standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The files are JSON, one document a line
    #[arg(long, required = true)]
    jsonl: bool,
    /// Print the 128 values of the `MinHash` signature too
    #[arg(long)]
    minhash: bool,
    /// Another seed gives other hash functions
    #[arg(long, value_name = "N", default_value_t)]
    seed: u64,
    /// Threads; the output does not depend on it [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let extraction = Extraction::new()?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    each_line(
        &arguments.files,
        arguments.threads,
        |line| {
            let document = Document::parse(line)?;
            let content = document.content(&extraction)?;
            let text = Text::new(&content.main, &content.visible).with_heading(&content.heading);
            let figures = Figures::of(&content.raw, &text, arguments.seed);
            Ok(figures_line(document.id(), &figures, arguments.minhash))
        },
        |line| {
            out.write_all(line.as_bytes())
                .map_err(anyhow::Error::from)?;
            Ok(())
        },
    )?;
    out.flush().map_err(anyhow::Error::from)?;
    Ok(())
}

fn figures_line(id: &str, figures: &Figures, with_minhash: bool) -> String {
    let mut fields = json!({
        "words": figures.words,
        "visible_words": figures.visible_words,
        "sha256-raw": hex::encode(figures.raw),
        "sha256-normalized": figures.normalized.map(hex::encode),
        "sha256-content": figures.content.map(hex::encode),
        "simhash-64": figures.simhash.map(|bits| format!("{bits:016x}")),
        "sketch": figures.sketch.map(hex::encode),
        "sketch-visible": figures.sketch_visible.map(hex::encode),
    });
    if with_minhash && let Some(fields) = fields.as_object_mut() {
        let values = figures.minhash.as_ref().map(|values| values.to_vec());
        fields.insert("minhash".to_owned(), json!(values));
    }
    let fields = fields.to_string();
    let fields = fields.strip_prefix('{').unwrap_or_default();
    format!("{{\"id\":{id},{fields}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_short_for_a_figure_has_none() {
        let figures = Figures::of(b"one", &Text::new("one", "one"), 0);
        let line = figures_line("\"a\"", &figures, true);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["id"], "a");
        assert_eq!(value["words"], 1);
        assert!(value["simhash-64"].is_null() && value["minhash"].is_null());
        assert_eq!(value["sha256-raw"].as_str().map(str::len), Some(64));
    }
}
