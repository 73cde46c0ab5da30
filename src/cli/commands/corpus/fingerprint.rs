//! `gleaner fingerprint`: prints the fingerprints of documents.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use clap::Args;
use serde_json::json;

use super::features::{FeatureArguments, FieldArguments};
use crate::cli::Failure;
use crate::cli::shown::Data;
use crate::corpus::{self, Figures, FileKind, Input, Options, Signer, files_in};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner fingerprint --jsonl pages.jsonl | jq -r '[.id, .\"simhash-64\"] | @tsv'
  gleaner fingerprint --jsonl pages.jsonl --df-table-out frequencies --df-table-number 1

The input is that of `gleaner dedup`. The output is one JSON object per line, in the same order;
docs/formats.md documents the fields.")]
pub(crate) struct Arguments {
    /// Files to read, also compressed with gzip or zstd; a directory stands for its .jsonl files;
    /// `-` or none for standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The files contain JSON, one document per line
    #[arg(long, required = true)]
    jsonl: bool,
    /// Also print the 128 values of the MinHash signature
    #[arg(long)]
    minhash: bool,
    #[command(flatten)]
    fields: FieldArguments,
    #[command(flatten)]
    features: FeatureArguments,
    /// Write a table of the document frequencies to this new file, and print nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["minhash", "df_table"])]
    df_table_out: Option<PathBuf>,
    /// Number of that table, which should differ from those of other tables
    #[arg(long, value_name = "N", default_value_t = 1, requires = "df_table_out")]
    df_table_number: u32,
    /// Skip lines that are no document, and say how many
    #[arg(long)]
    skip_bad: bool,
    /// Number of threads; does not affect the output [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

pub(in crate::cli::commands) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut options = Options::witness();
    arguments.features.set(&mut options, None)?;
    let signer = Signer::new(&options);
    let files = files_in(&arguments.files, FileKind::JsonLines)?;
    let skipped = AtomicU64::new(0);
    let input = Input {
        files: &files,
        threads: arguments.threads,
        skipped: arguments.skip_bad.then_some(&skipped),
        watch: None,
        languages: &[],
        fields: arguments.fields.fields(),
    };
    if let Some(path) = &arguments.df_table_out {
        return make_table(input, path, arguments.df_table_number, &options, &signer);
    }
    let mut out = BufWriter::with_capacity(1 << 16, Data::lock());
    corpus::figures(
        input,
        &signer,
        |id, figures| figures_line(id, figures, arguments.minhash),
        |line| out.write_all(line.as_bytes()),
    )?;
    out.flush().map_err(anyhow::Error::from)?;
    super::features::say_skipped(&skipped);
    Ok(())
}

/// Writes a table of document frequencies: how many documents contain each shingle.
fn make_table(
    input: Input<'_>,
    path: &Path,
    number: u32,
    options: &Options,
    signer: &Signer,
) -> Result<(), Failure> {
    let counts = corpus::count_shingles(input, signer)?;
    let written = File::create_new(path).and_then(|file| {
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
