//! What a crawl has learned of its hosts.

use serde::{Deserialize, Serialize};

use super::Error;
use crate::engine::AliasRow;
use crate::frontier::HostState;
use crate::learn::{Evidence, Stage};
use crate::store::{Store, Table, decode, for_each, keys};

/// What a crawl has learned of its hosts, and what it took back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// What of a host's URLs does not matter.
    pub rules: Vec<LearnedRule>,
    /// Hosts that are taken for others.
    pub aliases: Vec<LearnedAlias>,
}

/// That something of a host's URLs does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedRule {
    /// Scheme, name and port.
    pub host: String,
    /// What: `parameter NAME`, `parameters NAME, NAME`, `index-file`, `trailing-slash`, `path-case`.
    pub what: String,
    /// `learned`; `watched` if it was taken back and may be learned again, `matters` if not.
    pub stage: Stage,
    /// Visits that agree, since the last that did not.
    pub agreed: u32,
    /// Visits that did not.
    pub contradicted: u32,
    /// Visits made to check, since it was learned, that bore it out.
    pub checked: u32,
    /// How often a link was not followed for what is learned of this host now, all rules together.
    pub suppressed: u64,
}

/// That a host is another one under another name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedAlias {
    /// Scheme, name and port.
    pub host: String,
    /// The host that is visited in its place.
    pub of: String,
    /// Whether that still holds.
    pub holds: bool,
    /// Pages that were equal when it was learned.
    pub equal: u32,
    /// Pages visited since that were.
    pub checked: u32,
    /// And those that were not.
    pub differed: u32,
}

/// What a crawl has learned, by its store.
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
