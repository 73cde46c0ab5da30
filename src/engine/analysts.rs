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
use super::reading::{Answer, Reader};
use super::visit::{Analysed, Entry, Fetched, Findings};
use crate::dedup::{Fingerprints, Ineligible};
use crate::fetch::{self, Cut, DECODED_LENGTH, Exchange, Failure, FailureClass, Outcome};
use crate::frontier::{Purpose, RobotsVerdict};
use crate::robots::{self, Availability, Rules};
use crate::url::Url;

/// What a body says, and its signatures, or why it has none.
type Analysis = (Findings, Result<Fingerprints, Ineligible>);

/// What an analyst needs besides its visits.
#[derive(Clone)]
pub(super) struct Analysts {
    pub(super) reader: Reader,
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

    fn analyse(&self, mut fetched: Fetched) -> Analysed {
        let mut notes = Vec::new();
        let mut payload = [0; 32];
        let mut findings = Findings::Nothing;
        let mut fingerprints = Err(Ineligible::Status);
        if let Outcome::Exchange(exchange) = &fetched.outcome {
            payload = Sha256::digest(&exchange.body).into();
            let read = catch_unwind(AssertUnwindSafe(|| {
                let mut notes = Vec::new();
                let (findings, fingerprints) = match fetched.task.purpose {
                    Purpose::Robots => {
                        let findings = self.read_robots(exchange, &mut notes);
                        (findings, Err(Ineligible::Status))
                    }
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
    fn read_page(&self, exchange: &Exchange, url: &Url, notes: &mut Vec<String>) -> Analysis {
        match exchange.cut {
            None => {}
            Some(Cut::Length) => notes.push("cut:length".to_owned()),
            Some(Cut::Time) => notes.push("cut:time".to_owned()),
            Some(Cut::Disconnect) => notes.push("cut:disconnect".to_owned()),
        }
        if !exchange.is_success() {
            return (Findings::Nothing, Err(Ineligible::Status));
        }
        let answer = Answer {
            headers: &exchange.headers,
            body: &exchange.body,
            is_cut: exchange.cut.is_some(),
        };
        let (page, fingerprints) = self.reader.read(&answer, url, notes);
        let page = page.map(|page| Findings::Page(Box::new(page)));
        (page.unwrap_or(Findings::Nothing), fingerprints)
    }

    fn read_robots(&self, exchange: &Exchange, notes: &mut Vec<String>) -> Findings {
        let verdict = match Availability::of_status(exchange.status) {
            // Half of the rules may allow what the other half forbids.
            Availability::Found if matches!(exchange.cut, Some(Cut::Time | Cut::Disconnect)) => {
                None
            }
            Availability::Found => {
                let encodings = exchange.header_values("content-encoding");
                let most = self.reader.max_decoded_bytes;
                let mut decoded = fetch::decode(encodings, &exchange.body, most);
                notes.extend(decoded.note.map(str::to_owned));
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
                Rules::parse(body, &self.reader.product_token).crawl_delay()
            }
            _ => None,
        };
        Findings::Robots {
            verdict,
            crawl_delay,
        }
    }
}
