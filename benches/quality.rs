//! Measures of texts for corpora: their values, for `benches/quality_agreement.py`, and their cost.
//!
//! ```text
//! cargo bench --bench quality -- texts.jsonl             microseconds a text
//! cargo bench --bench quality -- texts.jsonl --values    a line of JSON per text
//! ```
//!
//! A line of `texts.jsonl` is `{"text": "...", "language": "en"}`.

#![expect(clippy::print_stdout, reason = "it reports to whoever runs it")]

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::time::Instant;

use gleaner::quality::{Filter, Judgement, measure};
use serde::Deserialize;

/// Passes over all texts, of which the fastest counts for each text.
const PASSES: usize = 7;

#[derive(Deserialize)]
struct Input {
    text: String,
    language: Option<String>,
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = arguments.iter().find(|it| !it.starts_with("--")) else {
        // `cargo test --benches` gives no file.
        return Ok(());
    };
    let file = BufReader::new(std::fs::File::open(path)?);
    let mut inputs = Vec::new();
    for line in file.lines() {
        inputs.push(serde_json::from_str::<Input>(&line?)?);
    }
    if arguments.iter().any(|it| it == "--values") {
        return values(&inputs);
    }
    let chars: usize = inputs.iter().map(|it| it.text.chars().count()).sum();
    let mut fastest = vec![f64::MAX; inputs.len()];
    for _ in 0..PASSES {
        for (input, fastest) in inputs.iter().zip(&mut fastest) {
            let start = Instant::now();
            black_box(measure(&input.text, input.language.as_deref()));
            *fastest = fastest.min(start.elapsed().as_secs_f64());
        }
    }
    let each = fastest.iter().sum::<f64>() * 1e6 / inputs.len() as f64;
    fastest.sort_by(f64::total_cmp);
    let median = fastest.get(inputs.len() / 2).map_or(0.0, |it| it * 1e6);
    let mean = chars / inputs.len().max(1);
    println!(
        "{} texts of {mean} characters: {each:.1} us each, median {median:.1} us",
        inputs.len()
    );
    Ok(())
}

fn values(inputs: &[Input]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for input in inputs {
        let quality = measure(&input.text, input.language.as_deref());
        let mut value = serde_json::to_value(&quality)?;
        for filter in Filter::ALL {
            let said = match filter.judge(&quality) {
                Judgement::Kept => "kept",
                Judgement::Out(reason) => reason.name(),
                Judgement::Open => "open",
            };
            value[filter.name()] = said.into();
        }
        writeln!(out, "{value}")?;
    }
    Ok(())
}
