//! Questions about a crawl, and their answers.
//!
//! [`answer`] only reads the store, so the same function answers for a crawl that is running, over
//! its control socket, and for one that is not. To add a question, write a file in this room that
//! answers it, add a variant to [`Question`] and [`Answer`], and write the command that asks it.

mod refused;
mod status;
mod why;

mod duplicates;
mod report;
mod shown;
mod similar;

mod deferred;
mod glance;
mod host_list;
mod host_story;
mod hosts;
mod learned;
mod not_fetched;
mod waiting;

mod feed;
mod top;

mod chain;
mod check;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use chain::chain;
pub use check::{Checked, PartChecked, check};
pub use deferred::{DeferredFilter, DeferredNow, MAX_DEFERRED_LISTED};
pub use duplicates::{
    Cluster, ClusterFilter, Comparison, Cursor, Dups, Mark, Marked, MarksNow, Member, Part,
    Precision, Sample, SampleFilter, Side, Undo, compare, join, mark, marks, text_of,
};
pub(crate) use duplicates::{cluster, clusters, marks_by_url};
pub use feed::{Feed, Outlook};
pub use glance::{DiskUse, LastError, VisitSeen};
pub use host_list::{
    HostDoing, HostFilter, HostList, HostPlace, HostRow, HostRows, HostSort, MAX_HOSTS_LISTED,
    list_hosts,
};
pub(crate) use host_story::host_story;
pub use host_story::{HostRobots, HostStory, RobotsHeld};
pub use hosts::{HostNow, HostsNow};
pub(crate) use learned::learned;
pub use learned::{Learned, LearnedKind};
pub use not_fetched::{GroupedBy, NotFetched, Passed};
pub use refused::{BudgetNow, RefusedNow};
pub(crate) use report::report;
pub use report::{ClusterFigures, HostDuplicates, Report, ReportOptions, TierFigures};
pub use shown::Shown;
pub(crate) use similar::similar;
pub use similar::{Original, Similar, SimilarPage, Subject};
pub use status::{StatusNow, status};
pub use waiting::{WaitingFilter, WaitingNow};
pub(crate) use why::why;
pub use why::{
    AdmissionNow, LinksCut, OriginalElsewhere, QueuedNow, RobotsAnswer, RobotsNow, UrlState,
    Visited, Why,
};

use crate::dedup::Features;
use crate::engine::{self, Omissions, View};
use crate::frontier::Moment;
use crate::rows::Keeper;
use crate::{archive, journal, store, url};

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
    /// Which duplicates does a draw give?
    Sample(SampleFilter),
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
    /// Which workers have visited pages of a shard, and have what was sent?
    Keepers,
    /// Which hosts have the most queued URLs, and which the most failures?
    Hosts,
    /// Which hosts are there, the greatest by what they are sorted?
    HostList(HostFilter),
    /// Which kinds of URLs say nothing new?
    #[serde(rename = "rules")]
    Learned,
    /// Which URLs are deferred?
    Deferred(DeferredFilter),
    /// Which URLs wait to be fetched?
    Waiting(WaitingFilter),
    /// What was not fetched?
    NotFetched {
        /// What makes a group.
        by: GroupedBy,
    },
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
    /// Duplicates drawn at random.
    Sample(Sample),
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
    /// Their names, in order; none of a crawl of a single machine.
    Keepers {
        /// The names.
        workers: Vec<String>,
    },
    /// The hosts.
    Hosts(HostsNow),
    /// The hosts, sorted.
    HostList(HostRows),
    /// The kinds of URLs that say nothing new.
    #[serde(rename = "rules")]
    Learned(Learned),
    /// The deferred URLs.
    Deferred(DeferredNow),
    /// The URLs that wait to be fetched.
    Waiting(WaitingNow),
    /// What was not fetched.
    NotFetched(NotFetched),
}

impl Question {
    /// Whether answering reads every page of the crawl, which may take minutes.
    pub fn reads_every_page(&self) -> bool {
        match self {
            Self::Report(_) | Self::Similar { .. } => true,
            Self::NotFetched { by } => *by != GroupedBy::Reason,
            _ => false,
        }
    }
}

/// Answers a question about a crawl. Reads the store, and so blocks the thread.
pub fn answer(view: &View, question: &Question) -> Result<Answer, Error> {
    Ok(match question {
        Question::Why { url } => Answer::Why(Box::new(why::why(view, url)?)),
        Question::Show { url } => Answer::Show {
            found: shown::shown(view, url)?,
        },
        Question::Dups { from } => Answer::Dups(duplicates::dups(view, from.as_ref())?),
        Question::Sample(filter) => Answer::Sample(duplicates::sample(view, filter)?),
        Question::Report(shown) => Answer::Report(Box::new(report::report(view, *shown)?)),
        Question::Similar { subject, limit } => Answer::Similar {
            found: similar::similar(view, subject, *limit)?,
        },
        Question::Features => {
            Answer::Features(Box::new(engine::features(view.store(), view.options())?))
        }
        Question::LeftOut => Answer::LeftOut(Omissions::read(view.store(), false)?),
        Question::Keepers => {
            let keepers = Keeper::read_all(view.store())?.into_iter();
            let workers: BTreeSet<String> = keepers.map(|(_, keeper)| keeper.worker).collect();
            Answer::Keepers {
                workers: workers.into_iter().collect(),
            }
        }
        Question::Hosts => Answer::Hosts(hosts::hosts(view.store())?),
        Question::HostList(filter) => Answer::HostList(host_list::host_rows(view.store(), filter)?),
        Question::Learned => Answer::Learned(learned::learned(view.store())?),
        Question::Deferred(filter) => Answer::Deferred(deferred::deferred(view.store(), filter)?),
        Question::NotFetched { by } => {
            Answer::NotFetched(not_fetched::not_fetched(view.store(), *by)?)
        }
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
    /// The body of a page was not kept.
    #[error("the body of {url} was not kept: {reason}")]
    NoBody {
        /// The page.
        url: String,
        /// Why.
        reason: String,
    },
    /// The body of a page cannot be read.
    #[error("cannot give the body of {url}")]
    Body {
        /// The page.
        url: String,
        /// The cause.
        source: journal::BodyError,
    },
    /// A record cannot be read.
    #[error(transparent)]
    Archive(archive::Error),
    /// Marks cannot be read or written.
    #[error("{}: {source}", path.display())]
    Marks {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
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
