//! Questions about a crawl, and their answers.
//!
//! [`answer`] only reads the store, so the same function answers for a crawl that is running, over
//! its control socket, and for one that is not. To add a question, write a file in this room that
//! answers it, add a variant to [`Question`] and [`Answer`], and write the command that asks it.

mod refused;
mod status;
mod why;

mod clusters;
mod report;
mod shown;
mod similar;

mod deferred;
mod glance;
mod host_list;
mod host_story;
mod hosts;
mod learned;
mod waiting;

mod feed;
mod top;

mod chain;
mod check;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub(crate) use chain::chain;
pub use check::{Checked, PartChecked, check};
pub use clusters::{Cluster, ClusterFilter, Cursor, Dups, Member};
pub(crate) use clusters::{cluster, clusters};
pub use deferred::{DeferredFilter, DeferredNow, MAX_DEFERRED_LISTED};
pub use feed::{Feed, Outlook};
pub use glance::{DiskUse, LastError, VisitSeen};
pub use host_list::{HostList, HostPlace, HostRow, HostSort, list_hosts};
pub(crate) use host_story::host_story;
pub use host_story::{HostRobots, HostStory, RobotsHeld};
pub use hosts::{HostNow, HostsNow};
pub(crate) use learned::learned;
pub use learned::{Learned, LearnedKind};
pub use refused::{BudgetNow, RefusedNow};
pub(crate) use report::report;
pub use report::{ClusterFigures, HostDuplicates, Report, ReportOptions, TierFigures};
pub use shown::Shown;
pub(crate) use similar::similar;
pub use similar::{Original, Similar, SimilarPage, Subject};
pub use status::{StatusNow, status};
pub use waiting::{WaitingFilter, WaitingNow};
pub(crate) use why::why;
pub use why::{AdmissionNow, LinksCut, QueuedNow, RobotsAnswer, RobotsNow, UrlState, Visited, Why};

use crate::dedup::Features;
use crate::engine::{self, Omissions, View};
use crate::frontier::Moment;
use crate::{store, url};

/// Maximum number of rows of a list in an answer. A row may hold two URLs of 16 KiB, and an answer
/// is one line on the control socket.
pub const MAX_LISTED: usize = 100;

/// A question about a crawl. Serialized, it is a request on the control socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// What happened to a URL?
    Why {
        /// The URL, in any of its forms.
        url: String,
    },
    /// Where is the body of a page?
    Show {
        /// The URL, in any of its forms.
        url: String,
    },
    /// Which clusters of duplicates are there? The answer comes in parts.
    Dups {
        /// The `next` of the previous part; `None` for the first part.
        from: Option<Cursor>,
    },
    /// What are the results of deduplication?
    Report(ReportOptions),
    /// Which stored pages are most similar to a page?
    Similar {
        /// The page.
        subject: Subject,
        /// Number of pages to list, at most [`MAX_LISTED`].
        limit: usize,
    },
    /// What are the fingerprints of the crawl made of?
    Features,
    /// What was left out, and why?
    LeftOut,
    /// Which hosts have the most queued URLs, and which the most failures?
    Hosts,
    /// Which kinds of URLs say nothing new?
    #[serde(rename = "rules")]
    Learned,
    /// Which URLs are deferred?
    Deferred(DeferredFilter),
    /// Which URLs wait to be fetched?
    Waiting(WaitingFilter),
}

/// The answer to the [`Question`] of the same name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "kebab-case")]
pub enum Answer {
    /// What happened to the URL.
    Why(Box<Why>),
    /// Where the body is.
    Show {
        /// `None` if the URL was never visited.
        found: Option<Shown>,
    },
    /// Some of the clusters, and where the next part begins.
    Dups(Dups),
    /// The results of deduplication.
    Report(Box<Report>),
    /// The pages that are most similar to the subject.
    Similar {
        /// `None` if the subject is a URL that is neither stored nor a duplicate of a stored page.
        found: Option<Similar>,
    },
    /// What fingerprints are made of. Whoever knows the seed can make pages that look like others.
    Features(Box<Features>),
    /// What was left out, and the seeds that gave nothing.
    LeftOut(Omissions),
    /// The hosts.
    Hosts(HostsNow),
    /// The kinds of URLs that say nothing new.
    #[serde(rename = "rules")]
    Learned(Learned),
    /// The deferred URLs.
    Deferred(DeferredNow),
    /// The URLs that wait to be fetched.
    Waiting(WaitingNow),
}

impl Question {
    /// Whether answering reads every page of the crawl, which may take minutes.
    pub fn reads_every_page(&self) -> bool {
        matches!(self, Self::Report(_) | Self::Similar { .. })
    }
}

/// Answers a question about a crawl. Reads the store, and so blocks the thread.
pub fn answer(view: &View, question: &Question) -> Result<Answer, Error> {
    Ok(match question {
        Question::Why { url } => Answer::Why(Box::new(why::why(view, url)?)),
        Question::Show { url } => Answer::Show {
            found: shown::shown(view, url)?,
        },
        Question::Dups { from } => Answer::Dups(clusters::dups(view, from.as_ref())?),
        Question::Report(shown) => Answer::Report(Box::new(report::report(view, *shown)?)),
        Question::Similar { subject, limit } => Answer::Similar {
            found: similar::similar(view, subject, *limit)?,
        },
        Question::Features => {
            Answer::Features(Box::new(engine::features(view.store(), view.options())?))
        }
        Question::LeftOut => Answer::LeftOut(Omissions::read(view.store(), false)?),
        Question::Hosts => Answer::Hosts(hosts::hosts(view.store())?),
        Question::Learned => Answer::Learned(learned::learned(view.store())?),
        Question::Deferred(filter) => Answer::Deferred(deferred::deferred(view.store(), filter)?),
        Question::Waiting(filter) => Answer::Waiting(waiting::waiting(view.store(), filter)?),
    })
}

/// Why a question could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The crawl could not be opened, or is ending.
    #[error(transparent)]
    Crawl(#[from] engine::Error),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The question is about an invalid URL.
    #[error("{url:?}: {source}")]
    Url {
        /// The invalid URL.
        url: String,
        /// The cause.
        source: url::Error,
    },
}

/// Formats microseconds since 1970 as RFC 3339.
fn time_of(microseconds: i64) -> String {
    let time = jiff::Timestamp::from_microsecond(microseconds).unwrap_or_default();
    format!("{time:.3}")
}

/// Formats a moment as RFC 3339.
fn moment(moment: Moment) -> String {
    let milliseconds = i64::try_from(moment.0).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    format!("{time:.3}")
}
