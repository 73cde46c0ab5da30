//! A sample of the duplicates of a crawl, and what each differs in from its original.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use similar::TextDiff;

use super::show;
use crate::cli::exit::Exit;
use crate::cli::inspector::Inspector;
use crate::cli::{Failure, output};
use crate::dedup::Tier;
use crate::engine::Texts;
use crate::inspect::{Answer, Cluster, MAX_LISTED, Question, SampleFilter, text_of};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Draws duplicates, each as a cluster of one member, and gives them in the order of discovery, as
/// the list of all is: the same sample is told in the same way.
pub(super) fn draw(
    inspector: &mut Inspector,
    tier: Option<Tier>,
    (size, seed): (usize, u64),
) -> Result<Vec<Cluster>, Failure> {
    let (mut drawn, mut known) = (Vec::new(), HashSet::new());
    // What one answer cannot hold is drawn again.
    for seed in (0..).map(|more| seed.wrapping_add(more)) {
        let filter = SampleFilter {
            tier,
            size: (size - drawn.len()).min(MAX_LISTED),
            seed,
        };
        let Answer::Sample(sample) = inspector.ask(Question::Sample(filter))? else {
            return Err(Failure::other_answer());
        };
        let before = drawn.len();
        for cluster in sample.drawn {
            let url = cluster.members.first().map(|it| it.url.clone());
            if url.is_some_and(|url| known.insert(url)) {
                drawn.push(cluster);
            }
        }
        if drawn.len() >= size || drawn.len() == before {
            break;
        }
    }
    drawn.sort_by_key(|it| it.id);
    Ok(drawn)
}

/// Writes what the visible texts of duplicates differ in from those of their originals.
pub(super) fn write_diffs(
    out: &mut impl Write,
    drawn: &[Cluster],
    data_dir: &Path,
    inspector: &mut Inspector,
) -> Result<(), Failure> {
    let texts = show::texts(data_dir);
    let mut is_whole = true;
    for cluster in drawn {
        for member in &cluster.members {
            let mut text = |url: &str| visible(url, data_dir, inspector, &texts);
            let (old, new) = match (text(&cluster.original), text(&member.url)) {
                (Ok(old), Ok(new)) => (old, new),
                (Err(failure), _) | (_, Err(failure)) => {
                    let Failure::Io(error) = failure else {
                        return Err(failure);
                    };
                    output::say(&format!("error: {error:#}"));
                    is_whole = false;
                    continue;
                }
            };
            let (tier, similarity) = (member.tier.name(), member.similarity);
            let diff = match unified(&old, &new) {
                diff if diff.is_empty() => "The visible texts are the same.\n".to_owned(),
                diff => diff,
            };
            write!(
                out,
                "--- {}\n+++ {} ({tier}, similarity {similarity})\n{diff}",
                cluster.original, member.url
            )
            .context("cannot write to standard output")?;
        }
    }
    match is_whole {
        true => Ok(()),
        false => Err(Failure::Answered(Exit::Failed)),
    }
}

/// The hunks of a unified diff, empty if the texts are equal.
fn unified(old: &str, new: &str) -> String {
    // Each line ends, so that the last of both is the same line.
    let (old, new) = (format!("{old}\n"), format!("{new}\n"));
    let difference = TextDiff::from_lines(&old, &new);
    let mut hunks = difference.unified_diff();
    hunks.context_radius(CONTEXT).to_string()
}

/// Returns the visible text of a page, a line for each block.
fn visible(
    url: &str,
    data_dir: &Path,
    inspector: &mut Inspector,
    texts: &Texts,
) -> Result<String, Failure> {
    let question = Question::Show {
        url: url.to_owned(),
    };
    let Answer::Show { found } = inspector.ask(question)? else {
        return Err(Failure::other_answer());
    };
    let found = found.with_context(|| format!("the crawl has not visited {url}"))?;
    Ok(text_of(data_dir, texts, &found)?.1)
}
