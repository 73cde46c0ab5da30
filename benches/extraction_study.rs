//! Writes what `train_extraction.py` learns from: reads pages as JSON lines with `html`, writes the
//! same lines with `blocks` and feature `names` in its place.

use std::io::{self, BufRead, BufWriter, Write};

use gleaner::page::{PageOptions, study};
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    // `cargo bench` without an input runs every bench; then there is nothing to do here.
    if !std::env::args().any(|argument| argument == "--study") {
        return Ok(());
    }
    let options = PageOptions::default();
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let mut page: Value = serde_json::from_str(&line?)?;
        let blocks = study::study(page["html"].as_str().unwrap_or_default(), &options);
        let blocks = blocks
            .iter()
            .map(|it| json!([it.text, it.features, it.class_words, it.is_headline]));
        page["blocks"] = blocks.collect();
        page["names"] = json!(study::feature_names());
        page["html"] = Value::Null;
        writeln!(out, "{page}")?;
    }
    out.flush()
}
