//! Questions about a crawl, and their answers.
//!
//! [`answer`] reads the store and nothing else, so a crawl that runs answers over its control socket
//! with the same function by which a command answers for one that does not run. To add a question:
//! write a file here that answers it, add a variant to [`Question`] and [`Answer`], and write the
//! command that asks it.

mod status;
mod why;

mod clusters;
mod report;
mod similar;

mod hosts;
mod learned;

mod top;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use clusters::{Cluster, Cursor, Dups, Member};
pub use hosts::{HostNow, HostsNow};
pub use learned::{Learned, LearnedAlias, LearnedRule};
pub use report::{ClusterFigures, HostDuplicates, Report, ReportOptions, TierFigures};
pub use similar::{Original, Similar, SimilarPage, Subject};
pub use status::{StatusNow, status};
pub use why::{AdmissionNow, QueuedNow, RobotsNow, UrlState, Visited, Why};

use crate::engine::{self, View};
use crate::frontier::Moment;
use crate::{store, url};

/// Rows of a list in an answer, at most: each may hold two URLs of 16 KiB, and an answer goes over
/// the control socket as one line.
pub const MAX_LISTED: usize = 100;

/// A question about a crawl, as it goes over the control socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// What happened to a URL?
    Why {
        /// The URL, in any of its forms.
        url: String,
    },
    /// Which clusters of duplicates are there? Answered in parts.
    Dups {
        /// The `next` of the part before; `None` for the first part.
        from: Option<Cursor>,
    },
    /// What did deduplication do?
    Report(ReportOptions),
    /// Which stored pages are most like a page?
    Similar {
        /// The page.
        subject: Subject,
        /// How many pages to list, at most [`MAX_LISTED`].
        limit: usize,
    },
    /// Which hosts have most URLs waiting, and which fail most?
    Hosts,
    /// Which rules were learned of hosts?
    #[serde(rename = "rules")]
    Learned,
}

/// The answer to the [`Question`] of the same name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "kebab-case")]
pub enum Answer {
    /// What happened to the URL.
    Why(Box<Why>),
    /// Some of the clusters, and where to go on.
    Dups(Dups),
    /// What deduplication did.
    Report(Box<Report>),
    /// The pages that are most like the subject.
    Similar {
        /// `None` if the subject is a URL that is not stored and repeats nothing that is.
        found: Option<Similar>,
    },
    /// The hosts.
    Hosts(HostsNow),
    /// What was learned.
    #[serde(rename = "rules")]
    Learned(Learned),
}

impl Question {
    /// Whether answering reads every page of the crawl, which takes minutes for a large one.
    pub fn reads_every_page(&self) -> bool {
        matches!(self, Self::Report(_) | Self::Similar { .. })
    }
}

/// Answers a question about a crawl. Reads the store, so it blocks.
pub fn answer(view: &View, question: &Question) -> Result<Answer, Error> {
    Ok(match question {
        Question::Why { url } => Answer::Why(Box::new(why::why(view, url)?)),
        Question::Dups { from } => Answer::Dups(clusters::dups(view, from.as_ref())?),
        Question::Report(shown) => Answer::Report(Box::new(report::report(view, *shown)?)),
        Question::Similar { subject, limit } => Answer::Similar {
            found: similar::similar(view, subject, *limit)?,
        },
        Question::Hosts => Answer::Hosts(hosts::hosts(view.store())?),
        Question::Learned => Answer::Learned(learned::learned(view.store())?),
    })
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The crawl could not be opened, or is ending.
    #[error(transparent)]
    Crawl(#[from] engine::Error),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The question is about something that is not a URL.
    #[error("{url:?}: {source}")]
    Url {
        /// What was given.
        url: String,
        /// Why it is no URL.
        source: url::Error,
    },
}

/// Microseconds since 1970 as RFC 3339.
fn time_of(microseconds: i64) -> String {
    let time = jiff::Timestamp::from_microsecond(microseconds).unwrap_or_default();
    format!("{time:.3}")
}

/// A moment as RFC 3339.
fn moment(moment: Moment) -> String {
    let milliseconds = i64::try_from(moment.0).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    format!("{time:.3}")
}
