//! What goes over the control socket: a request a line and a response a line, as JSON.

use serde::{Deserialize, Serialize};

use crate::engine::{
    Cursor, Dups, HostsNow, Learned, Report, ReportOptions, Retried, RetryCursor, RetryFilter,
    SeedsAdded, Similar, Subject, Why,
};

/// Bytes of a line at most.
pub(super) const MAX_LINE: u64 = 4 << 20;
/// URLs in one request: a longer list is sent in several.
pub(super) const MAX_SEEDS: usize = 1_000;

/// Rows of a list in an answer: each may hold two URLs of 16 KiB.
pub const MAX_LISTED: usize = 100;

/// What is asked of a crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Make no new visits.
    Pause,
    /// Make visits again.
    Resume,
    /// End in good order. The connection is closed when that is done.
    Stop,
    /// Crawl from these URLs too.
    AddSeeds {
        /// The URLs, 1,000 at most.
        urls: Vec<String>,
    },
    /// Put failed URLs back, those of some rows.
    Retry {
        /// Which.
        filter: RetryFilter,
        /// The `next` of the part before.
        from: Option<RetryCursor>,
    },
    /// Tell which hosts have most waiting, and which fail most.
    Hosts,
    /// Tell what was learned of hosts.
    Rules,
    /// Tell what happened to a URL.
    Why {
        /// The URL.
        url: String,
    },
    /// List clusters of duplicates.
    Dups {
        /// The `next` of the part before.
        from: Option<Cursor>,
    },
    /// Sum up what deduplication did.
    Report(ReportOptions),
    /// List the stored pages that are most like a page.
    Similar {
        /// The page.
        subject: Subject,
        /// How many.
        limit: usize,
    },
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "kebab-case")]
pub enum Response {
    /// It is so.
    Done,
    /// It will be so when the fetches in progress have ended.
    Pausing {
        /// How many they are.
        fetching: usize,
    },
    /// The seeds are committed.
    Added(SeedsAdded),
    /// What was put back is committed.
    Retried(Retried),
    /// The hosts.
    Hosts(HostsNow),
    /// What was learned.
    Rules(Learned),
    /// What happened to the URL.
    Why(Box<Why>),
    /// Some of the clusters.
    Dups(Dups),
    /// What deduplication did.
    Report(Box<Report>),
    /// The most similar pages; nothing for a URL that is not stored and repeats nothing that is.
    Similar {
        /// They.
        found: Option<Similar>,
    },
    /// It cannot be so.
    Refused {
        /// Why.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_responses_keep_their_form() {
        let check = |request: &Request, text: &str| {
            assert_eq!(serde_json::to_string(request).unwrap(), text);
            assert_eq!(serde_json::from_str::<Request>(text).unwrap(), *request);
        };
        check(&Request::Pause, r#"{"request":"pause"}"#);
        check(
            &Request::AddSeeds {
                urls: vec!["http://a.example/".to_owned()],
            },
            r#"{"request":"add-seeds","urls":["http://a.example/"]}"#,
        );
        let added = Response::Added(SeedsAdded { new: 1, known: 2 });
        let text = r#"{"response":"added","new":1,"known":2}"#;
        assert_eq!(serde_json::to_string(&added).unwrap(), text);
        assert_eq!(serde_json::from_str::<Response>(text).unwrap(), added);
    }
}
