//! `sample`: duplicates drawn at random, each as likely as any other, so that what is found out
//! about them holds for all.
//!
//! Ids of URLs are hashes, so the first duplicate behind a random id is any of them; where there
//! are few duplicates, all are looked at.

use serde::{Deserialize, Serialize};

use super::clusters::{Cluster, add};
use crate::dedup::{Tier, shingle};
use crate::engine::View;
use crate::inspect::{Error, MAX_LISTED};
use crate::rows::{Counters, CrawlState, PAGES, PageRecord};
use crate::store::{Store, Table, for_each, keys};
use crate::url::UrlId;

/// Number of duplicates up to which all of them are looked at.
const FEW: u64 = 20_000;
/// Number of rows of pages that are read behind a random id at most, and at a time.
const ROWS_BEHIND: usize = 20_000;
const ROWS: usize = 256;

/// Which duplicates are drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SampleFilter {
    /// Only those of this tier.
    #[serde(default)]
    pub tier: Option<Tier>,
    /// Number of duplicates, at most [`MAX_LISTED`].
    pub size: usize,
    /// Another number draws others; the same number draws the same, as long as the crawl finds no
    /// more.
    #[serde(default)]
    pub seed: u64,
}

/// Duplicates drawn at random.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sample {
    /// The duplicates, each as a cluster of one member.
    pub drawn: Vec<Cluster>,
    /// How many there are to draw from.
    pub of: u64,
}

/// Draws duplicates.
pub(in crate::inspect) fn sample(view: &View, filter: &SampleFilter) -> Result<Sample, Error> {
    let store = view.store();
    let counters = CrawlState::read(store)?.unwrap_or_default().counters;
    let of = duplicates(&counters, None);
    let size = filter.size.min(MAX_LISTED);
    let pages = match of <= FEW {
        true => among_all(store, filter, size)?,
        false => at_random(store, filter, size)?,
    };
    let identity = view.identity()?;
    let mut sample = Sample {
        drawn: Vec::with_capacity(pages.len()),
        of: duplicates(&counters, filter.tier),
    };
    for page in pages {
        let Some(cluster) = page.duplicate().map(|it| it.of) else {
            continue;
        };
        let mut one = Vec::new();
        add(store, &identity, cluster, page, &mut one)?;
        sample.drawn.extend(one);
    }
    Ok(sample)
}

/// How many duplicates there are, of a tier or of all.
fn duplicates(counters: &Counters, tier: Option<Tier>) -> u64 {
    let tiers = Tier::ALL
        .into_iter()
        .filter(|it| tier.is_none_or(|tier| tier == *it));
    tiers
        .filter_map(|tier| counters.verdicts.get(tier.name()))
        .sum()
}

fn is_meant(page: &PageRecord, tier: Option<Tier>) -> bool {
    let found = page.duplicate().map(|it| it.tier);
    found.is_some_and(|found| tier.is_none_or(|tier| tier == found))
}

/// Draws from all duplicates: those with the least hashes.
fn among_all(
    store: &dyn Store,
    filter: &SampleFilter,
    size: usize,
) -> Result<Vec<PageRecord>, Error> {
    let mut least: Vec<(u64, UrlId)> = Vec::new();
    for_each(store, Table::Clusters, &[], &mut |key, _| {
        if let Some((_, id)) = keys::parse_member(key) {
            let id = UrlId::from_bytes(id);
            least.push((shingle::mix(id.key() ^ shingle::mix(filter.seed)), id));
        }
        Ok(())
    })?;
    least.sort_unstable();
    least.dedup();
    let mut drawn = Vec::with_capacity(size);
    for (_, id) in least {
        if drawn.len() == size {
            break;
        }
        let page = PAGES.get(store, id.as_bytes())?;
        drawn.extend(page.filter(|page| is_meant(page, filter.tier)));
    }
    Ok(drawn)
}

/// Draws what is found first behind random ids.
fn at_random(
    store: &dyn Store,
    filter: &SampleFilter,
    size: usize,
) -> Result<Vec<PageRecord>, Error> {
    let mut drawn: Vec<(Vec<u8>, PageRecord)> = Vec::with_capacity(size);
    // Some are drawn twice.
    for number in 0..2 * size as u64 {
        if drawn.len() == size {
            break;
        }
        let high = shingle::mix(shingle::mix(filter.seed).wrapping_add(number));
        let mut from = [high.to_be_bytes(), shingle::mix(high).to_be_bytes()].concat();
        let mut read = 0;
        while read < ROWS_BEHIND {
            let rows = store.range(Table::Pages, &[], &from, ROWS)?;
            let Some((last, _)) = rows.last() else {
                // Behind the last id is the first.
                from = Vec::new();
                read += ROWS;
                continue;
            };
            let next = [last, &[0][..]].concat();
            read += rows.len();
            let mut found = None;
            for (key, row) in rows {
                let page = PAGES.decode(&row)?;
                if is_meant(&page, filter.tier) {
                    found = Some((key, page));
                    break;
                }
            }
            if let Some(found) = found {
                if drawn.iter().all(|(key, _)| *key != found.0) {
                    drawn.push(found);
                }
                break;
            }
            from = next;
        }
    }
    Ok(drawn.into_iter().map(|(_, page)| page).collect())
}
