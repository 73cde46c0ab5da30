//! `gleaner fingerprint`: what documents are compared by, as figures.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::features::FeatureArguments;
use crate::cli::Failure;
use crate::cli::lines::{Document, Extraction, each_line};
use crate::dedup::{DfCounts, Figures, Options, Signer};

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gleaner fingerprint --jsonl pages.jsonl | jq -r '[.id, .\"simhash-64\"] | @tsv'
  gleaner fingerprint --jsonl pages.jsonl --df-table-out frequencies --df-table-number 1

Input as for `gleaner dedup`. Output: one JSON object a line, in the same order; docs/formats.md has
the fields.")]
pub(crate) struct Arguments {
    /// Files to read; - or none for standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The files are JSON, one document a line
    #[arg(long, required = true)]
    jsonl: bool,
    /// Print the 128 values of the `MinHash` signature too
    #[arg(long)]
    minhash: bool,
    #[command(flatten)]
    features: FeatureArguments,
    /// Make a table of document frequencies of all documents, in this file, and print nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["minhash", "df_table"])]
    df_table_out: Option<PathBuf>,
    /// The number of that table: two tables should not have the same
    #[arg(long, value_name = "N", default_value_t = 1, requires = "df_table_out")]
    df_table_number: u32,
    /// Threads; the output does not depend on it [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let extraction = Extraction::new()?;
    let mut options = Options::witness();
    arguments.features.set(&mut options)?;
    let signer = Signer::new(&options);
    if let Some(path) = &arguments.df_table_out {
        return make_table(arguments, path, &options, &signer, &extraction);
    }
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    each_line(
        &arguments.files,
        arguments.threads,
        |line| {
            let document = Document::parse(line)?;
            let content = document.content(&extraction)?;
            let text = signer.text(&content.main, &content.visible);
            let figures = Figures::of(&content.raw, &text, &signer);
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

/// Counts in how many documents each shingle occurs.
fn make_table(
    arguments: &Arguments,
    path: &Path,
    options: &Options,
    signer: &Signer,
    extraction: &Extraction,
) -> Result<(), Failure> {
    let mut counts = DfCounts::default();
    each_line(
        &arguments.files,
        arguments.threads,
        |line| {
            let document = Document::parse(line)?;
            let content = document.content(extraction)?;
            Ok(signer.distinct_features(&signer.text(&content.main, &content.visible)))
        },
        |features| {
            if let Some(features) = features {
                counts.add(&features);
            }
            Ok(())
        },
    )?;
    let written = File::create_new(path).and_then(|file| {
        let number = arguments.df_table_number;
        counts.write(&file, number, options.shingle, options.seed)?;
        file.sync_all()
    });
    written.map_err(|error| {
        Failure::usage(format!(
            "cannot write {}: {error}; give a new file with --df-table-out",
            path.display()
        ))
    })
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
        let signer = Signer::new(&Options::witness());
        let figures = Figures::of(b"one", &signer.text("one", "one"), &signer);
        let line = figures_line("\"a\"", &figures, true);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["id"], "a");
        assert_eq!(value["words"], 1);
        assert!(value["simhash-64"].is_null() && value["minhash"].is_null());
        assert_eq!(value["sha256-raw"].as_str().map(str::len), Some(64));
    }
}
