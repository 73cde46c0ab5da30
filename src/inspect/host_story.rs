//! All that a crawl knows of one host.

use std::path::Path;

use serde::Serialize;

use super::glance::{VisitSeen, last_visits};
use super::host_list::row_now;
use super::{Error, HostRow, LearnedKind, moment};
use crate::engine::{View, for_each_kind};
use crate::frontier::{HostState, RobotsRow, RobotsState, RobotsVerdict};
use crate::robots;
use crate::store::{Table, decode};
use crate::url::HostKey;

/// Number of visits that are told.
const VISITS: usize = 20;
/// Number of kinds of URLs that are told.
const KINDS: usize = 100;
/// Number of bytes of a robots.txt that are told.
const ROBOTS: usize = 8 << 10;

/// All that a crawl knows of one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct HostStory {
    /// Its row in the list of hosts.
    #[serde(flatten)]
    pub row: HostRow,
    /// What its robots.txt says.
    pub robots: HostRobots,
    /// Kinds of its URLs that say nothing new, or did: at most 100, those that are deferred first.
    pub kinds: Vec<LearnedKind>,
    /// Its last visits that the end of the log has, at most 20, latest first.
    pub last_visits: Vec<VisitSeen>,
}

/// What the robots.txt of a host says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct HostRobots {
    /// What is known of it.
    pub state: RobotsHeld,
    /// Why nothing is allowed, if it could not be had.
    pub reason: Option<String>,
    /// Its beginning, at most 8 KiB.
    pub text: Option<String>,
    /// Time after which it is fetched again (RFC 3339).
    pub until: Option<String>,
    /// The sitemaps that it names.
    pub sitemaps: Vec<String>,
}

/// What is known of a robots.txt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RobotsHeld {
    /// It was not fetched yet, or is to be fetched again.
    #[default]
    Unknown,
    /// There is none: all is allowed.
    None,
    /// It could not be had: nothing is allowed for now.
    Unavailable,
    /// There is one.
    Rules,
}

/// Tells all that is known of a host; `None` if the crawl has never met it.
pub(crate) fn host_story(
    view: &View,
    data: &Path,
    host: &HostKey,
) -> Result<Option<HostStory>, Error> {
    let store = view.store();
    let Some(row) = store.get(Table::Hosts, host.as_str().as_bytes())? else {
        return Ok(None);
    };
    let state: HostState = decode(Table::Hosts, &row)?;
    let mut kinds = Vec::new();
    for_each_kind(store, Some(host), &mut |name, _, ledger| {
        if ledger.is_closed || ledger.times > 0 {
            kinds.push(LearnedKind::of(name, ledger));
        }
    })?;
    kinds.sort_by_key(|kind| !kind.closed);
    kinds.truncate(KINDS);
    Ok(Some(HostStory {
        row: row_now(store, host.as_str(), &state)?,
        robots: robots_of(view, host, &state)?,
        kinds,
        last_visits: last_visits(data, host, VISITS),
    }))
}

fn robots_of(view: &View, host: &HostKey, state: &HostState) -> Result<HostRobots, Error> {
    let row = view.store().get(Table::Robots, host.as_str().as_bytes())?;
    let (Some(row), RobotsState::Until(until)) = (row, state.robots) else {
        return Ok(HostRobots::default());
    };
    let row: RobotsRow = decode(Table::Robots, &row)?;
    let mut told = HostRobots {
        until: Some(moment(until)),
        ..HostRobots::default()
    };
    match &row.verdict {
        RobotsVerdict::AllowAll => told.state = RobotsHeld::None,
        RobotsVerdict::DisallowAll(reason) => {
            told.state = RobotsHeld::Unavailable;
            told.reason = Some(reason.clone());
        }
        RobotsVerdict::Text(text) => {
            told.state = RobotsHeld::Rules;
            let token = robots::product_token(&view.options().fetch.user_agent);
            told.sitemaps = row.verdict.rules(token).sitemaps().to_vec();
            let beginning = &text[..text.len().min(ROBOTS)];
            told.text = Some(String::from_utf8_lossy(beginning).into_owned());
        }
    }
    Ok(told)
}
