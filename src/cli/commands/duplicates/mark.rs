//! `gleaner mark`: what a person says of verdicts, and what follows from that.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::inspector::Inspector;
use crate::cli::words::count;
use crate::cli::{Failure, output};
use crate::dedup::Tier;
use crate::inspect::{self, Answer, Mark, Marked, MarksNow, Question};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner dups --data-dir crawl --sample 20 --tier near --diff
  gleaner mark --data-dir crawl right https://example.org/print/1 https://example.org/print/2
  gleaner mark --data-dir crawl wrong https://example.org/shop/7
  gleaner mark --data-dir crawl

Without URLs, it says how many duplicates of each tier were marked right, between which bounds the
share of right ones of the whole tier is in 95 of 100 cases if they were drawn at random, and how
those that are wrong are undone. Marks are in marks.jsonl in the data directory and change no verdict.
The crawl may be running.")]
pub(crate) struct Arguments {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// What is said of the duplicates: that they say what their originals say, or that they are
    /// pages of their own; `unsaid` takes back what was said
    #[arg(value_enum, value_name = "MARK", requires = "urls")]
    mark: Option<Said>,
    /// The duplicates
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Said {
    Right,
    Wrong,
    Unsaid,
}

pub(in crate::cli::commands) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let data = &arguments.data_dir;
    let mut inspector = Inspector::open(data)?;
    if let Some(said) = arguments.mark {
        // All are looked up before one is written.
        let mut marked = Vec::new();
        for url in &arguments.urls {
            marked.push(duplicate(url, said, &mut inspector)?);
        }
        for marked in &marked {
            inspect::mark(data, marked)?;
        }
    }
    let now = inspect::marks(data, &data.to_string_lossy())?;
    Ok(output::print_answer(&now, arguments.json, in_words)?)
}

/// The verdict on a URL, marked.
fn duplicate(url: &str, said: Said, inspector: &mut Inspector) -> Result<Marked, Failure> {
    let question = Question::Why {
        url: url.to_owned(),
    };
    let Answer::Why(why) = inspector.ask(question)? else {
        return Err(Failure::other_answer());
    };
    let mark = match said {
        Said::Right => Some(Mark::Right),
        Said::Wrong => Some(Mark::Wrong),
        Said::Unsaid => None,
    };
    Marked::of(&why, mark).ok_or_else(|| Failure::Usage {
        message: format!("{url} is no duplicate"),
        hint: Some("`gleaner dups --sample 20` draws some; `gleaner why URL` tells what a page is"),
    })
}

fn in_words(now: &MarksNow) -> String {
    let mut text = String::new();
    if now.tiers.is_empty() {
        text.push_str("nothing is marked yet\n");
    }
    for it in &now.tiers {
        let percent = |share: f64| (share * 100.0).round();
        let _ = writeln!(
            text,
            "{:<12}{} of {} right: {} % of all are, between {} and {} %",
            it.tier.name(),
            it.right,
            it.marked,
            percent(it.precision),
            percent(it.low),
            percent(it.high)
        );
    }
    for undo in &now.undo {
        let _ = write!(
            text,
            "\n{} of tier {} at {}: to keep such pages apart from now on, add to the configuration\n\n{}\n",
            count(undo.wrong, "wrong verdict"),
            undo.tier.name(),
            undo.pages,
            undo.rule
        );
        let _ = writeln!(
            text,
            "and bring back what was taken for a copy, when the crawl does not run:"
        );
        if undo.tier != Tier::Raw {
            let _ = writeln!(text, "  {}", undo.command);
        }
        let _ = writeln!(text, "  {}", undo.single);
    }
    text
}
