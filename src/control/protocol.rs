//! The messages of the control socket: one request or response per line, as JSON. docs/formats.md
//! documents them.

use serde::{Deserialize, Serialize};

use crate::engine::{
    ForgetCursor, ForgetDone, ForgetOrder, Retried, RetryCursor, RetryFilter, SeedsAdded,
};
use crate::inspect::{Answer, Question};

/// Maximum length of a line in bytes.
pub(super) const MAX_LINE: u64 = 4 << 20;
/// Maximum number of URLs in one request; clients send a longer list in several requests.
pub const MAX_SEEDS: usize = 1_000;

/// A command or question to a running crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "request",
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "there is no such request, or it has other fields; docs/formats.md lists them"
)]
pub enum Request {
    /// Start no new visits.
    Pause,
    /// Start visits again.
    Resume,
    /// Make no visits of a host until it is released. Where the name has no scheme, of both.
    Hold {
        /// The host: a name, with a port if it has one of its own, or scheme and name.
        host: String,
    },
    /// Let such a host go on.
    Release {
        /// The host.
        host: String,
    },
    /// Shut down gracefully. The connection is closed when everything is committed.
    Stop,
    /// Add seeds.
    AddSeeds {
        /// At most 1,000 URLs.
        urls: Vec<String>,
    },
    /// Requeue failed URLs. Each request covers a limited number of rows.
    Retry {
        /// Which URLs to requeue.
        filter: RetryFilter,
        /// Where to continue: the `next` of the previous response. `None` to begin.
        from: Option<RetryCursor>,
    },
    /// Forget pages, or let them come back. Each request covers a limited number of rows.
    Forget {
        /// Which, and how.
        order: ForgetOrder,
        /// Where to continue: the `next` of the previous response. `None` to begin.
        from: Option<ForgetCursor>,
    },
    /// Answer a question.
    #[serde(untagged)]
    Ask(Question),
}

/// The response to a [`Request`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "kebab-case")]
pub enum Response {
    /// The command has taken effect.
    Done,
    /// The pause takes effect when the fetches in progress have ended.
    Pausing {
        /// Fetches in progress.
        fetching: usize,
    },
    /// The hosts are held, or released.
    Held {
        /// Those for which that is new.
        hosts: Vec<String>,
    },
    /// The seeds have been committed.
    Added(SeedsAdded),
    /// The requeued URLs have been committed.
    Retried(Retried),
    /// A part of what is to be forgotten has been committed.
    Forgotten(ForgetDone),
    /// The request failed and changed nothing.
    Refused {
        /// The error message.
        reason: String,
    },
    /// The answer to a question.
    #[serde(untagged)]
    Answer(Box<Answer>),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::inspect::Report;

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
        let why = Request::Ask(Question::Why {
            url: "http://a.example/".to_owned(),
        });
        check(&why, r#"{"request":"why","url":"http://a.example/"}"#);
        check(&Request::Ask(Question::Learned), r#"{"request":"rules"}"#);
        let unknown = serde_json::from_str::<Request>(r#"{"request":"paus"}"#);
        let reason = unknown.unwrap_err().to_string();
        assert!(reason.starts_with("there is no such request"), "{reason}");
        let added = Response::Added(SeedsAdded { new: 1, known: 2 });
        let text = r#"{"response":"added","new":1,"known":2}"#;
        assert_eq!(serde_json::to_string(&added).unwrap(), text);
        assert_eq!(serde_json::from_str::<Response>(text).unwrap(), added);
    }

    #[test]
    fn answers_keep_their_form() {
        let report = Report {
            distances: BTreeMap::from([(3, 5)]),
            ..Report::default()
        };
        let answer = Response::Answer(Box::new(Answer::Report(Box::new(report))));
        let text = serde_json::to_string(&answer).unwrap();
        assert!(
            text.starts_with(r#"{"response":"report","judged":0"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Response>(&text).unwrap(), answer);
    }
}
