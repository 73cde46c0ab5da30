//! `not-fetched`: what a crawl knows of and has not fetched, by reason, by host or by pattern, with
//! what would bring it back. By host and pattern it reads every page of the crawl, in bounded
//! memory.
//!
//! Links that settings refuse leave no row with their URL, so they are told by reason only, beside
//! the hosts and patterns of all else.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{Error, MAX_LISTED};
use crate::engine::{
    HeldHosts, Omission, OmissionGroup, Omissions, RetryFilter, for_each_kind, parked_by,
};
use crate::frontier::{HostState, Purpose};
use crate::learn::Pattern;
use crate::rows::{Fate, PAGES, PageRecord};
use crate::store::{Store, Table, decode, for_each};
use crate::url::{self, HostKey};

/// Number of groups that are told apart; what more there are is told without host and pattern.
const MAX_GROUPS: usize = 10_000;
/// Number of URLs that are named of each.
const EXAMPLES: usize = 3;

/// What makes a group.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GroupedBy {
    /// The reason alone.
    #[default]
    Reason,
    /// Reason and host.
    Host,
    /// Reason, host, and the pattern of the URL.
    Pattern,
}

/// What was not fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NotFetched {
    /// The groups with the most URLs, at most [`MAX_LISTED`].
    pub groups: Vec<Passed>,
    /// Number of groups.
    pub of: u64,
}

/// A group of what was not fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Passed {
    /// The reason, as in `left_out` of `gleaner status --json`.
    pub reason: String,
    /// The failure class, the setting or the like, if the reason has several.
    pub detail: Option<String>,
    /// Scheme, name and port of the host, if that is told apart.
    pub host: Option<String>,
    /// The pattern, if that is told apart.
    pub pattern: Option<String>,
    /// Number of URLs, or of links where the reason is one of links.
    pub count: u64,
    /// Some of the URLs.
    pub examples: Vec<String>,
    /// The command that tells more, or that changes it.
    pub command: Option<String>,
    /// What brings it back, as a request to retry; `None` where only a setting does.
    pub readmit: Option<RetryFilter>,
}

impl NotFetched {
    /// Names the largest of these groups.
    fn of(mut groups: Vec<Passed>) -> Self {
        groups.sort_by(|a, b| {
            let order = |it: &Passed| (it.host.clone(), it.reason.clone(), it.pattern.clone());
            b.count.cmp(&a.count).then_with(|| order(a).cmp(&order(b)))
        });
        let of = groups.len() as u64;
        groups.truncate(MAX_LISTED);
        Self { groups, of }
    }
}

/// Groups what was not fetched.
pub(super) fn not_fetched(store: &dyn Store, by: GroupedBy) -> Result<NotFetched, Error> {
    match by {
        GroupedBy::Reason => by_reason(store),
        GroupedBy::Host | GroupedBy::Pattern => by_host(store, by),
    }
}

fn by_reason(store: &dyn Store) -> Result<NotFetched, Error> {
    let omissions = Omissions::read(store, false)?.left_out.into_iter();
    let groups = omissions.filter(|it| {
        let is_status = it.group == OmissionGroup::NotKept && it.reason == "status";
        let is_of_links = it.group == OmissionGroup::NotFollowed;
        is_status || is_of_links || it.group == OmissionGroup::NotFetched
    });
    let groups = groups.map(|it| {
        let class = match &*it.reason {
            "failed" | "parked" | "status" => it.detail.as_deref(),
            "budget" => Some(&*it.reason),
            "deferred" => Some(DEFERRED),
            _ => None,
        };
        let readmit = class.and_then(|class| readmit(class, None));
        Passed::of_no_host(it, readmit)
    });
    Ok(NotFetched::of(groups.collect()))
}

impl Passed {
    /// What nothing tells the host of.
    fn of_no_host(omission: Omission, readmit: Option<RetryFilter>) -> Self {
        Self {
            reason: omission.reason,
            detail: omission.detail,
            host: None,
            pattern: None,
            count: omission.count,
            examples: omission.example.into_iter().collect(),
            command: omission.command,
            readmit,
        }
    }
}

/// The class under which deferred URLs are brought back.
const DEFERRED: &str = "trap";

/// Returns the request that brings back what was left out for a class; `None` if that is none.
fn readmit(class: &str, host: Option<&str>) -> Option<RetryFilter> {
    let is_known = crate::engine::retry_classes().any(|it| it == class);
    let host = match host {
        Some(host) => Some(host.parse().ok()?),
        None => None,
    };
    is_known.then(|| RetryFilter {
        classes: vec![class.to_owned()],
        host,
    })
}

/// What tells groups apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    reason: &'static str,
    detail: Option<String>,
    host: Option<String>,
    pattern: Option<String>,
}

/// The groups so far.
struct Groups {
    by: GroupedBy,
    found: HashMap<Key, (u64, Vec<String>)>,
}

impl Groups {
    fn add(
        &mut self,
        (reason, detail): (&'static str, &str),
        (host, pattern): (&str, impl FnOnce() -> Option<String>),
        (count, example): (u64, &str),
    ) {
        let mut key = Key {
            reason,
            detail: Some(detail.to_owned()),
            host: Some(host.to_owned()),
            pattern: match self.by {
                GroupedBy::Pattern => pattern(),
                GroupedBy::Reason | GroupedBy::Host => None,
            },
        };
        if self.found.len() >= MAX_GROUPS && !self.found.contains_key(&key) {
            (key.host, key.pattern) = (None, None);
        }
        let (sum, examples) = self.found.entry(key).or_default();
        *sum += count;
        if examples.len() < EXAMPLES && !example.is_empty() {
            examples.push(example.to_owned());
        }
    }

    /// Adds a page that failed, or that its server refused.
    fn add_page(&mut self, page: &PageRecord) {
        if page.purpose() != Purpose::Page {
            return;
        }
        let (reason, detail) = match &page.fate {
            Fate::Failed {
                class, next: None, ..
            } if class == "robots" => ("robots", class.as_str()),
            Fate::Failed {
                class, next: None, ..
            } => ("failed", class.as_str()),
            Fate::Answered { status, .. } => match status {
                401 | 403 | 407 | 451 => ("status", "denied"),
                429 | 503 => ("status", "overloaded"),
                500.. => ("status", "server-error"),
                _ => return,
            },
            _ => return,
        };
        let Ok(url) = url::parse(&page.url) else {
            return;
        };
        let host = HostKey::of(&url);
        let pattern = || Some(Pattern::of(&url).text);
        self.add((reason, detail), (host.as_str(), pattern), (1, &page.url));
    }

    fn into_groups(self) -> Vec<Passed> {
        self.found
            .into_iter()
            .map(|(key, (count, examples))| {
                let class = match (key.reason, &key.detail) {
                    ("deferred", _) => Some(DEFERRED),
                    // What robots.txt or the guard forbids they would forbid again.
                    ("robots", _) => None,
                    (_, detail) => detail.as_deref().filter(|it| *it != "guard"),
                };
                let readmit = class.and_then(|class| readmit(class, key.host.as_deref()));
                let command = readmit.as_ref().map(|filter| {
                    let classes = filter.classes.join(",");
                    let host = filter.host.as_ref();
                    let host = host.map_or(String::new(), |host| format!(" --host {host}"));
                    format!("gleaner retry --class {classes}{host}")
                });
                let other = match (key.reason, &key.host) {
                    ("held", Some(host)) => format!("gleaner resume --host {host}"),
                    _ => "gleaner why URL".to_owned(),
                };
                Passed {
                    reason: key.reason.to_owned(),
                    detail: key.detail,
                    host: key.host,
                    pattern: key.pattern,
                    count,
                    examples,
                    command: command.or(Some(other)),
                    readmit,
                }
            })
            .collect()
    }
}

fn by_host(store: &dyn Store, by: GroupedBy) -> Result<NotFetched, Error> {
    let found = HashMap::new();
    let mut groups = Groups { by, found };
    for_each(store, Table::Pages, &[], &mut |_, row| {
        groups.add_page(&PAGES.decode(row)?);
        Ok(())
    })?;
    let held = HeldHosts::read(store)?;
    for_each(store, Table::Hosts, &[], &mut |key, row| {
        let state: HostState = decode(Table::Hosts, row)?;
        let name = String::from_utf8_lossy(key);
        let is_held = HostKey::parse(&name).is_some_and(|host| held.has(&host));
        let reason = match is_held {
            true => ("held", ""),
            false => ("parked", parked_by(&state)),
        };
        if state.queued > 0 && (is_held || state.parked) {
            groups.add(reason, (&name, || None), (state.queued, ""));
        }
        Ok(())
    })?;
    for_each_kind(store, None, &mut |host, _, ledger| {
        let count = ledger.left.iter().sum::<u64>() + ledger.returning;
        if count > 0 {
            let pattern = || Some(ledger.name.clone());
            let example = (count, &*ledger.example);
            groups.add(("deferred", ""), (host, pattern), example);
        }
    })?;
    let mut groups = groups.into_groups();
    let of_links = Omissions::of_links(store)?.into_iter();
    groups.extend(of_links.map(|it| Passed::of_no_host(it, None)));
    Ok(NotFetched::of(groups))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_told_apart_up_to_a_bound() {
        let found = HashMap::new();
        let by = GroupedBy::Pattern;
        let mut groups = Groups { by, found };
        for number in 0..2 * MAX_GROUPS {
            let host = format!("http://h{number}.example");
            for page in 0..2 {
                let url = format!("{host}/a/{page}");
                let pattern = || Some("/a/#".to_owned());
                groups.add(("failed", "timeout"), (&host, pattern), (1, &url));
            }
        }
        let answer = NotFetched::of(groups.into_groups());
        assert_eq!(answer.of, 1 + MAX_GROUPS as u64);
        assert_eq!(answer.groups.len(), MAX_LISTED);
        let rest = &answer.groups[0];
        assert_eq!((rest.count, &rest.host), (2 * MAX_GROUPS as u64, &None));
        assert_eq!(rest.examples.len(), EXAMPLES);
        let one = &answer.groups[1];
        assert_eq!((one.count, one.pattern.as_deref()), (2, Some("/a/#")));
        let command = one.command.as_deref().unwrap_or_default();
        assert!(
            command.starts_with("gleaner retry --class timeout --host http://h"),
            "{command}"
        );
        assert!(one.readmit.is_some());
    }

    #[test]
    fn what_no_retry_brings_back_has_none() {
        assert_eq!(readmit("out-of-scope", None), None);
        let filter = readmit("server-error", Some("https://a.example:8443")).unwrap();
        assert_eq!(filter.host.unwrap().to_string(), "https://a.example:8443");
    }
}
