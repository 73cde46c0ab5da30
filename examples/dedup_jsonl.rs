//! Finds the duplicates in a corpus: a file of lines such as `{"id": 1, "text": "..."}` or
//! `{"id": 2, "html": "..."}`. Prints a line of JSON for each document.
//!
//! ```console
//! $ cargo run --release --example dedup_jsonl -- corpus.jsonl
//! ```

use std::env::{args, temp_dir};
use std::error::Error;
use std::io;
use std::path::PathBuf;

use gleaner::corpus::{Fields, Input, Keeping, Options, dedup_jsonl};

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<PathBuf> = args().skip(1).map(PathBuf::from).collect();
    let input = Input {
        files: &files,
        threads: None,
        skipped: None,
        watch: None,
        languages: &[],
        fields: Fields::default(),
    };
    let keeping = Keeping {
        output: None,
        index: None,
        index_runs: None,
        pairs: None,
        temporary: &temp_dir(),
    };
    let mut out = io::stdout().lock();
    dedup_jsonl(input, &Options::witness(), keeping, &mut out)?;
    Ok(())
}
