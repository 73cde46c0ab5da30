//! The sink for entries: resolves and counts URLs, and records problems.

use super::entry::{Alternate, ChangeFrequency, EntryKind, SitemapEntry};
use super::report::{MAX_PROBLEMS, Problem, SitemapOptions, SitemapReport};
use crate::url::{self, Url};

/// Receives entries and problems.
pub(super) struct Sink<'a> {
    pub(super) base: Option<&'a Url>,
    pub(super) options: &'a SitemapOptions,
    pub(super) each: &'a mut dyn FnMut(SitemapEntry),
    pub(super) report: SitemapReport,
}

/// An entry while it is being read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) address: Option<String>,
    pub(super) last_modified: Option<String>,
    pub(super) change_frequency: Option<ChangeFrequency>,
    pub(super) priority: Option<f32>,
    pub(super) alternates: Vec<Alternate>,
    /// Serves as the URL if there is none.
    pub(super) identifier: Option<String>,
}

impl Sink<'_> {
    pub(super) fn problem(&mut self, problem: Problem) {
        self.report.problem_count += 1;
        if self.report.problems.len() < MAX_PROBLEMS {
            self.report.problems.push(problem);
        }
    }

    /// Whether another entry is wanted.
    pub(super) fn wants_more(&mut self) -> bool {
        if self.report.entries < self.options.max_entries {
            return true;
        }
        self.problem(Problem::TooMany(self.options.max_entries));
        false
    }

    fn resolve(&self, address: &str) -> Result<Url, url::Error> {
        match self.base {
            Some(base) => url::join(base, address),
            None => url::parse(address),
        }
    }

    /// The URL of an address; records a problem if it is malformed.
    pub(super) fn url(&mut self, address: &str) -> Option<Url> {
        match self.resolve(address) {
            Ok(url) => Some(url),
            Err(error) => {
                self.problem(Problem::Url {
                    text: address.chars().take(200).collect(),
                    reason: error.to_string(),
                });
                None
            }
        }
    }

    pub(super) fn entry(&mut self, kind: EntryKind, draft: Draft) {
        let Some(address) = draft.address else {
            self.problem(Problem::NoUrl);
            return;
        };
        let Some(url) = self.url(&address) else {
            return;
        };
        self.report.entries += 1;
        (self.each)(SitemapEntry {
            url,
            kind,
            last_modified: draft.last_modified,
            change_frequency: draft.change_frequency,
            priority: draft.priority,
            alternates: draft.alternates,
        });
    }
}
