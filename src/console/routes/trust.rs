//! What a person looks at to trust a crawl: duplicates drawn at random, two texts beside each
//! other, what people said of verdicts, and what was not fetched.

use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::questions::long;
use crate::console::Shared;
use crate::console::answer::{Asked, Failed, Json, Listed, Sent, command};
use crate::dedup::{Similarity, Tier};
use crate::engine::{Texts, View};
use crate::inspect::{
    self, Answer, Comparison, GroupedBy, MAX_LISTED, Mark, Marked, MarksNow, NotFetched, Question,
    SampleFilter, Shown,
};

/// What is drawn.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct SamplesOf {
    /// Only duplicates of this tier.
    tier: Option<Tier>,
    /// Number of duplicates, at most 100.
    #[serde(default = "super::questions::ten")]
    limit: usize,
    /// Another number draws others.
    #[serde(default)]
    seed: u64,
}

/// Duplicates drawn at random.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::console) struct SamplesAnswer {
    samples: Vec<SampleOne>,
    /// How many there are to draw from.
    of: u64,
}

/// A duplicate, its original, and what was said of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Sampled")]
struct SampleOne {
    url: String,
    original: String,
    tier: Tier,
    /// Number of bits in which the two `SimHashes` differ; 0 for the exact tiers.
    distance: u8,
    similarity: Similarity,
    /// Bytes of its body that did not have to be stored.
    saved: u64,
    /// What a person said of it, if one did.
    mark: Option<Mark>,
}

pub(in crate::console) async fn samples(
    State(shared): State<Shared>,
    Asked(SamplesOf { tier, limit, seed }): Asked<SamplesOf>,
) -> Result<Json<Listed<SamplesAnswer>>, Failed> {
    let directory = shared.crawl()?.directory.clone();
    let size = limit.clamp(1, MAX_LISTED);
    let (number, seeded) = (size.to_string(), seed.to_string());
    let mut words = vec!["dups", "--sample", &number, "--seed", &seeded, "--diff"];
    if let Some(tier) = tier {
        words.extend(["--tier", tier.name()]);
    }
    let command = command(&words, &directory);
    let filter = SampleFilter { tier, size, seed };
    let read = move |view: &View| {
        let Answer::Sample(sample) = inspect::answer(view, &Question::Sample(filter))? else {
            return Ok((Vec::new(), 0));
        };
        let marks = inspect::marks_by_url(&directory)?;
        let one = |it: inspect::Cluster| {
            let original = it.original;
            let of = it.members.into_iter().next()?;
            Some(SampleOne {
                mark: marks.get(&of.url).and_then(|it| it.mark),
                url: of.url,
                original,
                tier: of.tier,
                distance: of.distance,
                similarity: of.similarity,
                saved: of.saved,
            })
        };
        Ok((
            sample.drawn.into_iter().filter_map(one).collect(),
            sample.of,
        ))
    };
    // It is drawn from all duplicates.
    let _place = shared.long_place()?;
    let turn = shared.long_turn().await?;
    let (samples, of) = shared.read_in(turn, read).await?;
    let list = SamplesAnswer { samples, of };
    Ok(Json(Listed { list, command }))
}

/// Two pages.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct Pair {
    /// The URL of the first, in any of its forms.
    a: String,
    /// The URL of the second.
    b: String,
}

/// Two pages beside each other.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::console) struct CompareAnswer {
    #[serde(flatten)]
    comparison: Comparison,
    /// Number of bits in which their `SimHashes` differ, if one is a duplicate of the other.
    distance: Option<u8>,
    /// Their similarity, if one is a duplicate of the other.
    similarity: Option<Similarity>,
}

pub(in crate::console) async fn compare(
    State(shared): State<Shared>,
    Asked(Pair { a, b }): Asked<Pair>,
) -> Result<Json<Listed<CompareAnswer>>, Failed> {
    let directory = shared.crawl()?.directory.clone();
    let command = command(&["show", "--text", &b], &directory);
    let read = move |view: &View| {
        let (Some(of_a), Some(of_b)) = (shown(view, &a)?, shown(view, &b)?) else {
            return Ok(None);
        };
        let options = view.options();
        let texts = Texts::of(&directory, &options.page, options.fetch.decode_bounds());
        let comparison = inspect::compare(&directory, &texts, &of_a, &of_b)?;
        let (mut distance, mut similarity) = (None, None);
        for (side, other) in [(&of_a, &of_b), (&of_b, &of_a)] {
            if side.original.as_ref() == Some(&other.url) {
                let visit = inspect::why(view, &side.url)?.visit.unwrap_or_default();
                (distance, similarity) = (visit.distance, visit.similarity);
            }
        }
        Ok(Some(CompareAnswer {
            comparison,
            distance,
            similarity,
        }))
    };
    let list = shared.read(read).await?;
    let list = list.ok_or_else(|| Failed::not_found("the crawl has not visited both of them"))?;
    Ok(Json(Listed { list, command }))
}

fn shown(view: &View, url: &str) -> Result<Option<Shown>, inspect::Error> {
    let url = url.to_owned();
    Ok(match inspect::answer(view, &Question::Show { url })? {
        Answer::Show { found } => found,
        _ => None,
    })
}

pub(in crate::console) async fn marks(
    State(shared): State<Shared>,
) -> Result<Json<Listed<MarksNow>>, Failed> {
    let directory = shared.crawl()?.directory.clone();
    let command = command(&["mark"], &directory);
    let named = directory.to_string_lossy().into_owned();
    let list = shared
        .read(move |_| inspect::marks(&directory, &named))
        .await?;
    Ok(Json(Listed { list, command }))
}

/// What is said of a verdict.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct Said {
    /// The duplicate.
    url: String,
    /// The original that the person saw beside it.
    original: String,
    /// What is said; null takes back what was said before.
    mark: Option<Mark>,
}

pub(in crate::console) async fn mark(
    State(shared): State<Shared>,
    Sent(Said {
        url,
        original,
        mark,
    }): Sent<Said>,
) -> Result<Json<Listed<Marked>>, Failed> {
    let directory = shared.crawl()?.directory.clone();
    let word = match mark {
        Some(Mark::Right) => "right",
        Some(Mark::Wrong) => "wrong",
        None => "unsaid",
    };
    let command = command(&["mark", word, &url], &directory);
    let write = move |view: &View| {
        let marked = Marked::of(&inspect::why(view, &url)?, mark);
        let marked = marked.filter(|marked| marked.original == original);
        if let Some(marked) = &marked {
            inspect::mark(&directory, marked)?;
        }
        Ok(marked)
    };
    let list = shared.read(write).await?.ok_or_else(|| {
        Failed::refused("it is no duplicate of that page now: look at it again, and say it then")
    })?;
    Ok(Json(Listed { list, command }))
}

/// How what was not fetched is grouped.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct GroupsOf {
    /// What makes a group.
    #[serde(default)]
    by: GroupedBy,
    /// Only groups with this reason, or this detail of a reason.
    reason: Option<String>,
}

pub(in crate::console) async fn not_fetched(
    State(shared): State<Shared>,
    Asked(GroupsOf { by, reason }): Asked<GroupsOf>,
) -> Result<Response, Failed> {
    let name = match by {
        GroupedBy::Reason => "reason",
        GroupedBy::Host => "host",
        GroupedBy::Pattern => "pattern",
    };
    let words = ["status", "--not-fetched", name, "--json"];
    let command = command(&words, &shared.crawl()?.directory);
    let question = format!("{command} {}", reason.as_deref().unwrap_or_default());
    long(&shared, (question, command), move |view| {
        let Answer::NotFetched(mut found) = inspect::answer(view, &Question::NotFetched { by })?
        else {
            return Ok(NotFetched::default());
        };
        if let Some(reason) = &reason {
            let is_of = |it: &Option<String>| it.as_ref() == Some(reason);
            found
                .groups
                .retain(|it| it.reason == *reason || is_of(&it.detail));
        }
        Ok(found)
    })
    .await
}
