//! What a crawl left out, by reason: how often, and one URL of it. And the seeds that gave nothing.
//!
//! The reasons are names of admissions, failure classes, settings and the like, so there are some
//! dozens of rows at most. Counts that [`Counters`](super::Counters) has too are the same there; a
//! crawl that began before these rows existed has them in the counters only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fetch::FailureClass;
use crate::store::{Result, Store, Table, decode, for_each, keys};
use crate::url::UrlId;

/// Why something was left out: one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason {
    /// What was left out, and where that was decided.
    pub kind: ReasonKind,
    /// The name of the reason among those of its kind.
    pub name: &'static str,
}

/// What was left out, and where that was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReasonKind {
    /// A link that was not followed, by the name of its admission.
    Link,
    /// A URL whose links were refused and that has a [`RefusedUrl`], by the name of that.
    Refused,
    /// A queued URL that was given up, by failure class.
    Failed,
    /// A queued URL that was given up because a budget is used up, by the name of the setting.
    UrlOverBudget,
    /// A page whose server refused it, by the group of its status.
    Status,
    /// A page that is neither original nor duplicate, by the reason.
    Page,
    /// A page of which the archive has no body.
    Body,
    /// A document that has no text: there is no converter for it, or that failed.
    Text,
    /// A reference to a requisite that was not followed, by the name of its admission, or of the
    /// setting whose budget is used up.
    NamedRequisite,
    /// A requisite that was given up, by failure class, or by the setting whose budget is used up.
    FailedRequisite,
    /// A requisite that its server refused, by the group of the status.
    RefusedRequisite,
}

impl ReasonKind {
    /// Returns the first part of the rows' keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::UrlOverBudget => "url-over-budget",
            Self::Status => "status",
            Self::Page => "page",
            Self::Body => "body",
            Self::Text => "text",
            Self::NamedRequisite => "named-requisite",
            Self::FailedRequisite => "failed-requisite",
            Self::RefusedRequisite => "refused-requisite",
        }
    }
}

/// Names of the settings whose budgets give up queued URLs.
const BUDGETS: [&str; 4] = [
    "traps.max_bytes_per_host",
    "traps.max_bytes_per_domain",
    "traps.max_seconds_per_host",
    "traps.max_seconds_per_domain",
];

impl Reason {
    /// Returns the reason for which a failure leaves out its URL.
    pub fn of_failure(class: &'static str, message: &str) -> Self {
        let is_budget = class == FailureClass::Budget.name();
        let budget = BUDGETS
            .into_iter()
            .find(|name| is_budget && message.starts_with(name));
        match budget {
            Some(name) => Self {
                kind: ReasonKind::UrlOverBudget,
                name,
            },
            None => Self {
                kind: ReasonKind::Failed,
                name: class,
            },
        }
    }

    /// Returns the key of the row.
    pub fn key(self) -> Vec<u8> {
        Self::key_of(self.kind.name(), self.name)
    }

    /// Returns the key of the row by the names of kind and reason.
    pub fn key_of(kind: &str, name: &str) -> Vec<u8> {
        [keys::meta::LEFT_OUT, kind.as_bytes(), b"/", name.as_bytes()].concat()
    }
}

/// What was left out for one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Number of links, URLs or pages.
    pub count: u64,
    /// The first of them that still is left out, as far as is known.
    pub example: Option<String>,
}

impl LeftOut {
    /// Returns how many were left out for these reasons together. Rows are read one by one: they
    /// change with nearly every commit, and a range would go through all that they were before.
    pub fn sum(store: &dyn Store, reasons: &[Reason]) -> Result<u64> {
        let keys: Vec<Vec<u8>> = reasons.iter().map(|reason| reason.key()).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut sum = 0;
        for row in store.get_many(Table::Meta, &keys)?.into_iter().flatten() {
            let row: Self = decode(Table::Meta, &row)?;
            sum += row.count;
        }
        Ok(sum)
    }

    /// Reads all rows, by kind and name as in their keys: `link/too-deep`.
    pub fn read_all(store: &dyn Store) -> Result<BTreeMap<String, Self>> {
        let mut rows = BTreeMap::new();
        let prefix = keys::meta::LEFT_OUT;
        for_each(store, Table::Meta, prefix, &mut |key, row| {
            let name = String::from_utf8_lossy(key.get(prefix.len()..).unwrap_or_default());
            rows.insert(name.into_owned(), decode(Table::Meta, row)?);
            Ok(())
        })?;
        Ok(rows)
    }
}

/// A URL whose links were refused for a reason that the URL alone does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedUrl {
    /// The name of the admission, or of the setting whose budget is used up.
    pub reason: String,
    /// The page that linked to it first.
    pub via: Option<UrlId>,
}

impl RefusedUrl {
    /// Returns the row of a URL, if it has one.
    pub fn read(store: &dyn Store, id: UrlId) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, &Self::key(id))?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }

    /// Returns the key of a URL's row.
    pub fn key(id: UrlId) -> Vec<u8> {
        [keys::meta::REFUSED, id.as_bytes()].concat()
    }
}

/// A seed that gave nothing: neither it nor what it redirects to was answered with a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LostSeed {
    /// The URL.
    pub url: String,
    /// What happened to it.
    pub reason: String,
}

impl LostSeed {
    /// Returns the key of a seed's row.
    pub fn key(id: UrlId) -> Vec<u8> {
        [keys::meta::LOST, id.as_bytes()].concat()
    }
}
