//! `rules`: the rules that a crawl learned about its hosts.

use serde::{Deserialize, Serialize};

use super::Error;
use crate::engine::AliasRow;
use crate::frontier::HostState;
use crate::learn::{Evidence, Stage};
use crate::store::{Store, Table, decode, for_each, keys};

/// The rules that a crawl learned about its hosts, and those that it revoked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// Parts of URLs that do not matter.
    pub rules: Vec<LearnedRule>,
    /// Hosts that are aliases of other hosts.
    pub aliases: Vec<LearnedAlias>,
}

/// A rule that a part of a host's URLs does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedRule {
    /// Scheme, name and port.
    pub host: String,
    /// The part: `parameter NAME`, `parameters NAME, NAME`, `index-file`, `trailing-slash` or
    /// `path-case`.
    pub what: String,
    /// `learned`; after it was revoked `watched` if it may be learned again, `matters` if not.
    pub stage: Stage,
    /// Number of visits that agreed since the last that did not.
    pub agreed: u32,
    /// Number of visits that did not agree.
    pub contradicted: u32,
    /// Number of check visits since the rule was learned that confirmed it.
    pub checked: u32,
    /// Number of links that were not followed because of the rules of this host, all rules
    /// together.
    pub suppressed: u64,
}

/// A host that serves the pages of another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedAlias {
    /// Scheme, name and port.
    pub host: String,
    /// The host that is visited instead.
    pub of: String,
    /// Whether the rule is in force.
    pub holds: bool,
    /// Number of pages that were equal when the rule was learned.
    pub equal: u32,
    /// Number of pages visited since that were equal.
    pub checked: u32,
    /// Number of pages visited since that differed.
    pub differed: u32,
}

/// Reads the learned rules of a crawl.
pub(super) fn learned(store: &dyn Store) -> Result<Learned, Error> {
    let mut learned = Learned::default();
    for_each(
        store,
        Table::Learned,
        keys::learned::RULES,
        &mut |_, row| {
            let evidence: Evidence = decode(Table::Learned, row)?;
            if evidence.stage != Stage::Learned && evidence.taken_back == 0 {
                return Ok(());
            }
            let state: HostState = match store.get(Table::Hosts, evidence.host.as_bytes())? {
                Some(row) => decode(Table::Hosts, &row)?,
                None => HostState::default(),
            };
            learned.rules.push(LearnedRule {
                what: evidence.subject.describe(),
                host: evidence.host,
                stage: evidence.stage,
                agreed: evidence.agreed,
                contradicted: evidence.contradicted,
                checked: evidence.checked,
                suppressed: state.learned_rules.suppressed,
            });
            Ok(())
        },
    )?;
    for_each(
        store,
        Table::Learned,
        keys::learned::ALIASES,
        &mut |_, row| {
            let row: AliasRow = decode(Table::Learned, row)?;
            learned.aliases.push(LearnedAlias {
                holds: row.twins.alias_of.is_some(),
                host: row.host,
                of: row.of,
                equal: row.equal,
                checked: row.twins.checked,
                differed: row.twins.differed,
            });
            Ok(())
        },
    )?;
    Ok(learned)
}
