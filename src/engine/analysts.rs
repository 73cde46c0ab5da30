//! From fetched to analysed: threads that decode, parse and sign, one body at a time.
//!
//! The tree of a page never leaves its analyst. A page that makes the parser panic costs that page
//! only: its visit ends as an internal failure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::observe::Waiting;
use super::visit::{Analysed, Entry, Fetched, Findings};
use crate::dedup::{Fingerprints, Heading, Text};
use crate::fetch::{self, Cut, DECODED_LENGTH, Decoded, Exchange, Failure, FailureClass, Outcome};
use crate::frontier::{Purpose, RobotsVerdict};
use crate::page::{self, BodyKind, Note, Page, PageOptions, RobotsMeta, charset};
use crate::robots::{self, Availability, Rules};
use crate::url::{Identity, Url};

/// What an analyst needs besides its visits.
#[derive(Clone)]
pub(super) struct Analysts {
    pub(super) identity: Identity,
    pub(super) page: PageOptions,
    pub(super) max_decoded_bytes: usize,
    /// robots.txt rules and X-Robots-Tag values for this token are ours.
    pub(super) product_token: String,
    /// Those that wait for the committer.
    pub(super) waiting: Waiting,
}

impl Analysts {
    /// Starts `count` analysts. They end when the fetchers are gone or the committer is.
    pub(super) fn start(
        &self,
        count: usize,
        fetched: mpsc::Receiver<Fetched>,
        analysed: &SyncSender<Entry>,
    ) -> std::io::Result<Vec<JoinHandle<()>>> {
        // Held while waiting for a visit: the other analysts wait for the lock instead.
        let fetched = Arc::new(Mutex::new(fetched));
        (0..count)
            .map(|n| {
                let (analyst, fetched, analysed) =
                    (self.clone(), Arc::clone(&fetched), analysed.clone());
                thread::Builder::new()
                    .name(format!("analyst-{n}"))
                    .spawn(move || {
                        loop {
                            let next = fetched
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .blocking_recv();
                            let Some(visit) = next else { return };
                            let visit = Box::new(analyst.analyse(visit));
                            let sent = analyst
                                .waiting
                                .during(|| analysed.send(Entry::Visit(visit)));
                            if sent.is_err() {
                                return;
                            }
                        }
                    })
            })
            .collect()
    }

    pub(super) fn analyse(&self, mut fetched: Fetched) -> Analysed {
        let mut notes = Vec::new();
        let mut payload = [0; 32];
        let mut findings = Findings::Nothing;
        let mut fingerprints = None;
        if let Outcome::Exchange(exchange) = &fetched.outcome {
            payload = Sha256::digest(&exchange.body).into();
            let read = catch_unwind(AssertUnwindSafe(|| {
                let mut notes = Vec::new();
                let (findings, fingerprints) = match fetched.task.purpose {
                    Purpose::Robots => (self.read_robots(exchange, &mut notes), None),
                    Purpose::Page => self.read_page(exchange, &fetched.task.url, &mut notes),
                };
                (findings, fingerprints, notes)
            }));
            if let Ok(read) = read {
                (findings, fingerprints, notes) = read;
            } else {
                tracing::error!(url = %fetched.task.url, "reading this page failed; please report it");
                let failure = Failure::new(FailureClass::Internal, "reading the page failed");
                fetched.outcome = Outcome::Failed(failure);
            }
        }
        if let (Purpose::Robots, Outcome::Failed(failure)) =
            (fetched.task.purpose, &fetched.outcome)
        {
            findings = Findings::Robots {
                verdict: match failure.class {
                    // A host that the guard keeps us from is not asked for pages either: each fails
                    // by the guard, which says more than "robots.txt could not be had".
                    FailureClass::Guard => Some(RobotsVerdict::AllowAll),
                    FailureClass::Internal => {
                        Some(RobotsVerdict::DisallowAll(failure.message.clone()))
                    }
                    _ => None,
                },
                crawl_delay: None,
            };
        }
        Analysed {
            fetched,
            findings,
            fingerprints,
            payload,
            notes,
        }
    }

    /// Reads a page, and signs it if it is whole.
    fn read_page(
        &self,
        exchange: &Exchange,
        url: &Url,
        notes: &mut Vec<String>,
    ) -> (Findings, Option<Fingerprints>) {
        match exchange.cut {
            None => {}
            Some(Cut::Length) => notes.push("cut:length".to_owned()),
            Some(Cut::Time) => notes.push("cut:time".to_owned()),
            Some(Cut::Disconnect) => notes.push("cut:disconnect".to_owned()),
        }
        if !exchange.is_success() || exchange.body.is_empty() {
            return (Findings::Nothing, None);
        }
        let decoded = self.decode(exchange, notes);
        let is_whole = exchange.cut.is_none() && decoded.note.is_none();
        let body = decoded.bytes;
        let content_type = exchange.header("content-type");
        let mut page = match page::kind(content_type, &body) {
            BodyKind::Html => {
                let text = charset::to_text(&body, content_type);
                Page::parse_html(&text.text, url, &self.identity, &self.page)
            }
            BodyKind::Text => {
                let text = charset::to_text(&body, content_type);
                Page::plain_text(&text.text, &self.page)
            }
            BodyKind::Other => {
                let fingerprints = is_whole.then(|| Fingerprints::of_bytes(&body));
                return (Findings::Nothing, fingerprints);
            }
        };
        let header = RobotsMeta::from_header_values(
            exchange.header_values("x-robots-tag"),
            &self.product_token,
        );
        page.robots = page.robots.merge(header);
        notes.extend(page.notes.iter().map(|note| format!("{note:?}")));
        // A text that a bound cut says nothing about what stood behind the cut.
        let is_read_whole = page.notes.iter().all(|note| *note == Note::LinksCut);
        let text = match is_read_whole {
            true => Text::new(&page.main_text, &page.full_text).with_heading(&Heading {
                host: url.host_str().map(str::to_owned),
                title: page.title.clone(),
                h1: page.metadata.h1.clone(),
                language: page.detected_language,
            }),
            false => Text::default(),
        };
        let fingerprints = is_whole.then(|| Fingerprints::of(&body, &text));
        (Findings::Page(Box::new(page)), fingerprints)
    }

    fn read_robots(&self, exchange: &Exchange, notes: &mut Vec<String>) -> Findings {
        let verdict = match Availability::of_status(exchange.status) {
            // Half of the rules may allow what the other half forbids.
            Availability::Found if matches!(exchange.cut, Some(Cut::Time | Cut::Disconnect)) => {
                None
            }
            Availability::Found => {
                let mut decoded = self.decode(exchange, notes);
                decoded.bytes.truncate(robots::MAX_BODY);
                Some(match decoded.note {
                    None | Some(DECODED_LENGTH) => RobotsVerdict::Text(decoded.bytes.to_vec()),
                    Some(note) => RobotsVerdict::DisallowAll(note.to_owned()),
                })
            }
            // The fetcher has followed redirects already: one that is left leads nowhere.
            Availability::Redirected | Availability::Unavailable => Some(RobotsVerdict::AllowAll),
            Availability::Unreachable => None,
        };
        let crawl_delay = match &verdict {
            Some(RobotsVerdict::Text(body)) => {
                Rules::parse(body, &self.product_token).crawl_delay()
            }
            _ => None,
        };
        Findings::Robots {
            verdict,
            crawl_delay,
        }
    }

    fn decode(&self, exchange: &Exchange, notes: &mut Vec<String>) -> Decoded {
        let encodings = exchange.header_values("content-encoding");
        let decoded = fetch::decode(encodings, &exchange.body, self.max_decoded_bytes);
        notes.extend(decoded.note.map(str::to_owned));
        decoded
    }
}
