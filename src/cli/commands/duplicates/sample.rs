//! A sample of the duplicates of a crawl, and what each differs in from its original.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;

use super::diff::unified;
use super::show;
use crate::cli::exit::Exit;
use crate::cli::inspector::Inspector;
use crate::cli::{Failure, output};
use crate::dedup::shingle;
use crate::engine::{Bodies, Texts};
use crate::inspect::{Answer, Cluster, Question};

/// Draws duplicates uniformly, without knowing how many there are.
pub(super) struct Sample {
    size: usize,
    met: u64,
    drawn: Vec<Cluster>,
    seed: u64,
}

impl Sample {
    /// Draws at most `size` duplicates.
    pub(super) fn new(size: usize) -> Self {
        Self {
            size,
            met: 0,
            drawn: Vec::new(),
            seed: 0,
        }
    }

    /// Meets the members of a cluster, or of a part of one.
    pub(super) fn meet(&mut self, mut cluster: Cluster) {
        let members = std::mem::take(&mut cluster.members);
        for member in members {
            let one = Cluster {
                members: vec![member],
                ..cluster.clone()
            };
            self.met += 1;
            if self.drawn.len() < self.size {
                self.drawn.push(one);
                continue;
            }
            // The n-th takes a place with a probability of size / n (Vitter's algorithm R). The
            // draw is the same each time, so that a sample can be talked about.
            let place = usize::try_from(shingle::mix(self.met ^ self.seed) % self.met)
                .unwrap_or(usize::MAX);
            if let Some(drawn) = self.drawn.get_mut(place) {
                *drawn = one;
            }
        }
    }

    /// Returns what was drawn, each as a cluster of one member.
    pub(super) fn drawn(self) -> Vec<Cluster> {
        self.drawn
    }
}

/// Writes what the visible texts of duplicates differ in from those of their originals.
pub(super) fn write_diffs(
    out: &mut impl Write,
    drawn: &[Cluster],
    data_dir: &Path,
    inspector: &mut Inspector,
) -> Result<(), Failure> {
    let (bodies, texts) = (Bodies::of(data_dir), show::texts(data_dir));
    let mut is_whole = true;
    for cluster in drawn {
        for member in &cluster.members {
            let mut text = |url: &str| text_of(url, inspector, &bodies, &texts);
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

/// Returns the visible text of a page, a line for each block.
fn text_of(
    url: &str,
    inspector: &mut Inspector,
    bodies: &Bodies,
    texts: &Texts,
) -> Result<String, Failure> {
    let question = Question::Show {
        url: url.to_owned(),
    };
    let Answer::Show { found } = inspector.ask(question)? else {
        return Err(Failure::other_answer());
    };
    let found = found.with_context(|| format!("the crawl has not visited {url}"))?;
    let content = show::content(bodies, &found)?;
    let page = texts.page(&found.url, &content);
    Ok(page.map(|page| page.full_text).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Similarity, Tier};
    use crate::inspect::Member;

    #[test]
    fn every_duplicate_is_drawn_as_often_as_any_other() {
        let member = |number: usize| Member {
            url: number.to_string(),
            tier: Tier::Near,
            distance: 0,
            similarity: Similarity::of(1.0),
            first_seen: String::new(),
            last_checked: String::new(),
            saved: 0,
        };
        let mut thirds = [0; 3];
        for many in 300..500 {
            let mut sample = Sample {
                seed: shingle::mix(many as u64),
                ..Sample::new(30)
            };
            for at in 0..many {
                sample.meet(Cluster {
                    id: 1,
                    original: String::new(),
                    stands: true,
                    canonical: String::new(),
                    members: vec![member(at)],
                });
            }
            let drawn = sample.drawn();
            assert_eq!(drawn.len(), 30);
            for cluster in drawn {
                let at: usize = cluster.members[0].url.parse().unwrap();
                thirds[at * 3 / many] += 1;
            }
        }
        assert!(
            thirds.iter().all(|third| (1_700..2_300).contains(third)),
            "{thirds:?}"
        );
    }
}
