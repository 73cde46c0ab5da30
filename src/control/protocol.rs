//! What goes over the control socket: a request a line and a response a line, as JSON.

use serde::{Deserialize, Serialize};

use crate::engine::{Retried, RetryCursor, RetryFilter, SeedsAdded};
use crate::inspect::{Answer, Question};

/// Bytes of a line at most.
pub(super) const MAX_LINE: u64 = 4 << 20;
/// URLs in one request: a longer list is sent in several.
pub(super) const MAX_SEEDS: usize = 1_000;

/// What is asked of a crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "request",
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "there is no such request, or it has other fields; docs/formats.md lists them"
)]
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
    /// Answer a question.
    #[serde(untagged)]
    Ask(Question),
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
    /// It cannot be so.
    Refused {
        /// Why.
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
