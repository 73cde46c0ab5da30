//! A crawl that goes further than before, by its settings, finds what it passed over: stored pages
//! are read again and their links are judged by what holds now.
//!
//! The change and a row that says so are committed together; the row says how far the pages were
//! read, so that a run that is killed meanwhile goes on where it stopped. What was refused at that
//! time is not known for all links, and where it is, not by which pages, so all pages are read.
//! Sitemaps, whose entries are no pages' links, are requested again.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde::Serialize;

use super::reread::{StoredPages, forget_refusals};
use crate::engine::Options;
use crate::engine::clock::Clock;
use crate::engine::commit::Committer;
use crate::engine::error::Error;
use crate::engine::messages::StopHandle;
use crate::store::{Batch, Durability, Table, keys};

/// Number of URLs that are told apart when nothing is queued, at 8 bytes each in a set; beyond, a
/// URL that several pages link to may be counted more than once.
const MAX_TOLD_APART: usize = 4_000_000;

/// Number of hosts that are counted by themselves.
const MAX_HOSTS: usize = 100_000;

/// Number of hosts that are named, those with the most URLs, and of examples.
const NAMED: usize = 10;

/// Number of pages between progress messages.
const OFTEN: u64 = 10_000;

/// What a change of settings has led to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Widened {
    /// Number of stored pages whose links were read again.
    pub pages: u64,
    /// URLs that were queued.
    pub queued: u64,
    /// Pages whose body is not at hand.
    pub unread: u64,
    /// The first of these, and why.
    pub first_unread: Option<(String, String)>,
    /// Whether all pages were read.
    pub is_done: bool,
}

/// What settings would admit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WouldAdmit {
    /// Number of stored pages whose links were read.
    pub pages: u64,
    /// Pages whose body is not at hand.
    pub unread: u64,
    /// URLs that would be queued.
    pub urls: u64,
    /// The number of hosts that they are at.
    pub hosts: u64,
    /// The hosts with the most of them, and how many.
    pub by_host: Vec<(String, u64)>,
    /// Some of them.
    pub examples: Vec<String>,
    /// Whether all pages were read.
    pub is_done: bool,
}

/// Returns `true` if a setting that was changed may let a crawl admit what it refused: its name as
/// by `config::flatten`, and what it was and is.
pub(in crate::engine) fn is_widened(name: &str, then: &str, now: &str) -> bool {
    const UNSET: &str = "(unset)";
    let (key, is_own) = match name.split_once(" at ") {
        Some((key, _)) => (key, true),
        None => (name, false),
    };
    match key {
        // A setting that earlier versions did not have.
        _ if then == UNSET && !is_own => false,
        // What holds for all hosts may be more, or less.
        "crawl.include" | "crawl.exclude" if then == UNSET || now == UNSET => true,
        "crawl.scope" => widens_scope(then, now),
        "crawl.max_depth"
        | "crawl.max_redirects"
        | "crawl.max_url_length"
        | "crawl.extra_hops"
        | "crawl.max_requisites"
        | "page.max_links"
        | "page.max_requisites"
        | "traps.max_pages_per_host"
        | "traps.max_pages_per_domain"
        | "traps.max_bytes_per_host"
        | "traps.max_bytes_per_domain" => match (number(then), number(now)) {
            (Some(then), Some(now)) => now > then,
            // No limit, or that of all other hosts.
            (Some(_), None) => true,
            (None, now) => is_own && (then == UNSET || now.is_none()),
        },
        "crawl.include" | "crawl.languages" => {
            let (then, now) = (list(then), list(now));
            !then.is_empty() && (now.is_empty() || !now.is_subset(&then))
        }
        "crawl.exclude" => !list(then).is_subset(&list(now)),
        "crawl.moved_seeds" => now == "permanent" || then == "never",
        "crawl.requisites" => now != "none",
        "crawl.robots"
        | "crawl.robots_meta"
        | "crawl.robots_header"
        | "crawl.rel_nofollow"
        | "crawl.rel_ugc"
        | "crawl.rel_sponsored" => now == "ignore",
        _ => false,
    }
}

fn widens_scope(then: &str, now: &str) -> bool {
    let rank = |scope: &str| match scope {
        "prefix" => 0,
        "host" => 1,
        "domain" => 2,
        _ => 3,
    };
    rank(now) > rank(then)
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}

fn list(text: &str) -> std::collections::BTreeSet<String> {
    let list: Vec<String> = serde_json::from_str(text).unwrap_or_default();
    list.into_iter().collect()
}

/// Goes on reading stored pages again, if that is under way, until asked to stop.
pub(in crate::engine) fn widen(
    committer: &mut Committer,
    path: &Path,
    options: &Options,
    stop: &StopHandle,
) -> Result<Option<Widened>, Error> {
    let Some(mut from) = committer.store.get(Table::Meta, keys::meta::WIDEN)? else {
        return Ok(None);
    };
    let pages = StoredPages::new(committer, path, options);
    let now = Clock::start().now();
    let before = committer.state.counters.queued;
    let (mut widened, mut said) = (Widened::default(), 0);
    if from.is_empty() {
        // Before the id of any page, and behind the beginning: this is done once.
        from = vec![0];
        forget_refusals(committer, now, (keys::meta::WIDEN, &from))?;
    }
    while !stop.is_stopped() {
        let Some(part) = pages.part(committer, &mut from, now)? else {
            let mut batch = Batch::new();
            batch.delete(Table::Meta, keys::meta::WIDEN);
            committer.store.commit(batch, Durability::Disk)?;
            widened.is_done = true;
            break;
        };
        let mut set = part.followed(committer, now, true)?;
        set.batch.put(Table::Meta, keys::meta::WIDEN, from.clone());
        committer.write(set)?;
        committer.checkpoint_if_due()?;
        widened.pages += part.pages();
        widened.unread += part.unread.len() as u64;
        if let (None, Some((url, error))) = (&widened.first_unread, part.unread.first()) {
            widened.first_unread = Some((url.clone(), error.to_string()));
        }
        if widened.pages >= said + OFTEN {
            said = widened.pages;
            tracing::info!(pages = widened.pages, "links of stored pages read again");
        }
    }
    widened.queued = committer.state.counters.queued.saturating_sub(before);
    Ok(Some(widened))
}

/// Returns what [`widen`] would queue by the settings with which the crawl was opened. Nothing is
/// committed.
pub(in crate::engine) fn would_admit(
    committer: &mut Committer,
    path: &Path,
    options: &Options,
    stop: &StopHandle,
) -> Result<WouldAdmit, Error> {
    let pages = StoredPages::new(committer, path, options);
    let now = Clock::start().now();
    let (mut would, mut from) = (WouldAdmit::default(), Vec::new());
    let mut known = HashSet::new();
    let mut hosts = BTreeMap::<String, u64>::new();
    while !stop.is_stopped() {
        let Some(part) = pages.part(committer, &mut from, now)? else {
            would.is_done = true;
            break;
        };
        let set = part.followed(committer, now, false)?;
        would.pages += part.pages();
        would.unread += part.unread.len() as u64;
        for (host, queued) in set.queued_now() {
            if queued.revisit || known.contains(&queued.id.key()) {
                continue;
            }
            if known.len() < MAX_TOLD_APART {
                known.insert(queued.id.key());
            }
            would.urls += 1;
            if would.examples.len() < NAMED {
                would.examples.push(queued.url.clone());
            }
            let has_room = hosts.len() < MAX_HOSTS;
            match hosts.get_mut(host.as_str()) {
                Some(count) => *count += 1,
                None if has_room => {
                    hosts.insert(host.to_string(), 1);
                }
                None => {}
            }
        }
    }
    would.hosts = hosts.len() as u64;
    would.by_host = hosts.into_iter().collect();
    would
        .by_host
        .sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    would.by_host.truncate(NAMED);
    Ok(would)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_let_a_crawl_go_further_are_told_from_others() {
        let check = |name: &str, then: &str, now: &str, expected| {
            assert_eq!(is_widened(name, then, now), expected, "{name} {then} {now}");
        };
        for (then, now) in [("host", "domain"), ("prefix", "host"), ("domain", "any")] {
            check("crawl.scope", then, now, true);
            check("crawl.scope", now, then, false);
        }
        for name in ["crawl.max_depth", "crawl.extra_hops", "page.max_links"] {
            check(name, "2", "3", true);
            check(name, "3", "2", false);
            check(name, "3", "none", true);
            check(name, "none", "3", false);
        }
        let at = "crawl.max_depth at a.example";
        check(at, "1", "2", true);
        check(at, "1", "(unset)", true);
        check("crawl.exclude at a.example", "(unset)", "[]", true);
        check("crawl.moved_seeds", "(unset)", "permanent", false);
        // It may be more than others have.
        check(at, "(unset)", "9", true);
        let (none, one, two) = ("[]", r#"["*/a/*"]"#, r#"["*/a/*","*/b/*"]"#);
        for (then, now, include, exclude) in [
            (none, one, false, false),
            (one, none, true, true),
            (one, two, true, false),
            (two, one, false, true),
        ] {
            check("crawl.include", then, now, include);
            check("crawl.languages", then, now, include);
            check("crawl.exclude", then, now, exclude);
        }
        check("traps.max_pages_per_host", "20", "30", true);
        check("traps.max_pages_per_host", "30", "20", false);
        check("crawl.rel_nofollow", "obey", "ignore", true);
        check("crawl.rel_nofollow", "ignore", "obey", false);
        check("crawl.requisites", "none", "scope", true);
        check("crawl.moved_seeds", "domain", "permanent", true);
        check("crawl.moved_seeds", "permanent", "domain", false);
        check("fetch.user_agent", "a", "b", false);
    }
}
