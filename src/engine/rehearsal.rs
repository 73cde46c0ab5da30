//! A crawl without a network: made-up URLs and pages go through the committer that a crawl has,
//! into its store, runs, documents and archive, and are found again after a kill.
//!
//! For `benches/scale.rs` with its test, and `benches/pipeline`; a crawl never comes here.

mod tally;

pub use tally::{Counted, Tally};

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use super::DataDirectory;
use super::admission::{Origin, Source};
use super::clock::Clock;
use super::commit::Committer;
use super::ring::analysts::Analysts;
use super::ring::reading::Reader;
use super::visit::{Analysed, Entry, Fetched};
use super::{Error, Options, open};
use crate::archive::{self, Archive, Location, Record, Tail};
use crate::engine::ring::turns::Turn;
use crate::fetch::{Exchange, Outcome, Reservation};
use crate::frontier::{
    FetchTask, HeldAddress, HostState, LoadRequest, Pace, Place, QueuedUrl, RefillRequest,
    RobotsPolicy, class_of, for_each_waiting, load, refill,
};
use crate::learn::TrapPolicy;
use crate::store::{Table, decode, for_each};
use crate::url::{self, BlockList, HostKey, UrlId};

/// A data directory that is open for made-up URLs.
pub struct Rehearsal {
    committer: Committer,
    readers: Readers,
    clock: Clock,
    _directory: DataDirectory,
}

/// Reads and signs pages that a server might have sent, as the analysts of a crawl do. Each thread
/// has a clone.
#[derive(Clone)]
pub struct Readers {
    analysts: Analysts,
    clock: Clock,
}

/// A page that nobody fetched, read and signed.
pub struct Prepared(Box<Analysed>);

/// A URL that waits, as it is taken from its queue.
#[derive(Clone)]
pub struct Taken {
    host: HostKey,
    place: Place,
    queued: QueuedUrl,
}

impl Taken {
    /// The URL.
    pub fn url(&self) -> &str {
        &self.queued.url
    }
}

/// What a data directory holds, counted row by row.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Rows of queues.
    pub queued: u64,
    /// URLs with a record.
    pub done: u64,
    /// URLs with more than one row.
    pub doubled: u64,
    /// URLs with a row that are not among those seen.
    pub unseen: u64,
}

impl Rehearsal {
    /// Opens a data directory, or begins one; what a kill left behind is made whole, as by a crawl.
    pub fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let directory = DataDirectory::take(path)?;
        let committer = open::open(&directory, options)?;
        let options = &Options {
            features: committer.lookups.index.features().clone(),
            ..options.clone()
        };
        let clock = Clock::start();
        Ok(Self {
            readers: Readers {
                analysts: Analysts::new(
                    Reader::new(&committer.gate.identity, options),
                    committer.gate.policies.clone(),
                ),
                clock,
            },
            committer,
            clock,
            _directory: directory,
        })
    }

    /// From now on nothing is archived: what a commit costs besides.
    pub fn without_archive(&mut self) {
        self.committer.archive = Box::new(Nowhere);
    }

    /// From now on counts what commits write into the store.
    pub fn tally(&mut self) -> Arc<Tally> {
        let tally = Arc::new(Tally::of(Arc::clone(&self.committer.store)));
        self.committer.store = Arc::clone(&tally) as _;
        tally
    }

    /// Admits links as one group, from a page of this depth; makes a checkpoint if one is due.
    /// Gives the number of those that were new.
    pub fn enqueue<U: AsRef<str>>(
        &mut self,
        urls: impl IntoIterator<Item = U>,
        depth: u16,
    ) -> Result<u64, Error> {
        let committer = &mut self.committer;
        let before = committer.state.queue_sequence;
        let set = committer.collect(self.clock.now(), |judge, group| {
            for text in urls {
                let Ok(url) = url::parse(text.as_ref()) else {
                    continue;
                };
                let id = judge.gate.identity.id(&url);
                let queued = QueuedUrl {
                    depth,
                    path: "L".to_owned(),
                    ..QueuedUrl::new(url.into(), id)
                };
                let class = class_of(depth);
                judge
                    .gate
                    .admit_in(class, queued, Origin::Link, Source::default(), group)?;
            }
            Ok(())
        })?;
        committer.write(set)?;
        committer.checkpoint_if_due()?;
        Ok(committer.state.queue_sequence - before)
    }

    /// Up to `limit` hosts with URLs waiting, from where the last call ended, and where to read on.
    pub fn hosts(
        &self,
        from: Vec<u8>,
        limit: usize,
    ) -> Result<(Vec<HostKey>, Option<Vec<u8>>), Error> {
        let loaded = load(&*self.committer.store, &LoadRequest { from, limit })?;
        let hosts = loaded.hosts.into_iter().map(|(_, host, _)| host);
        Ok((hosts.collect(), loaded.next))
    }

    /// Up to `limit` URLs from the head of a host's queue. They are in the queue until they are
    /// visited or dropped.
    pub fn take(&self, host: &HostKey, limit: usize) -> Result<Vec<Taken>, Error> {
        let request = RefillRequest {
            host: host.clone(),
            cursors: [0; crate::frontier::CLASSES as usize],
            limit,
            again: limit / 2,
            requisites: limit / 3,
        };
        let store = &*self.committer.store;
        let refilled = refill(
            store,
            &request,
            &RobotsPolicy::Ignore,
            (&TrapPolicy::default(), &BlockList::default()),
            self.clock.now(),
        )?;
        let taken = refilled.allowed.into_iter().map(|waiting| Taken {
            host: host.clone(),
            place: Place {
                class: waiting.class,
                sequence: waiting.sequence,
                block: waiting.block,
                // They leave in their order, so nothing is below.
                floor: waiting.sequence + 1,
            },
            queued: waiting.queued,
        });
        Ok(taken.collect())
    }

    /// Takes URLs out of their queues as one group, and leaves no trace of them but that they were
    /// seen: what the frontier costs without what a page costs. Makes a checkpoint if one is due.
    pub fn drop_taken(&mut self, taken: &[Taken]) -> Result<(), Error> {
        let set = self.committer.collect(self.clock.now(), |_, group| {
            for it in taken {
                group.set.leave_queue(&it.host, it.place)?;
            }
            Ok(())
        })?;
        self.committer.write(set)?;
        self.committer.checkpoint_if_due()
    }

    /// Reads and signs a page that a server might have sent.
    pub fn prepare(&self, taken: Taken, html: &str) -> Option<Prepared> {
        let body = Bytes::copy_from_slice(html.as_bytes());
        self.readers.prepare(taken, body, None)
    }

    /// What reads pages, to be given to threads.
    pub fn readers(&self) -> Readers {
        self.readers.clone()
    }

    /// Commits visits as one group, and makes a checkpoint if one is due.
    pub fn commit(&mut self, visits: Vec<Prepared>) -> Result<(), Error> {
        let entries = visits.into_iter().map(|visit| Entry::Visit(visit.0));
        let now = self.clock.now();
        self.committer.commit(entries.collect(), now)?;
        self.committer.checkpoint_if_due()
    }

    /// Makes everything durable, as a clean stop does.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        self.committer.checkpoint()
    }

    /// Whether a URL is among those seen.
    pub fn is_seen(&mut self, url: &str) -> bool {
        let Ok(url) = url::parse(url) else {
            return false;
        };
        let id = self.committer.gate.identity.id(&url);
        self.committer.lookups.is_seen(id)
    }

    /// URLs waiting, as the crawl counts them.
    pub fn queued(&self) -> u64 {
        self.committer.state.counters.queued
    }

    /// URLs that were queued since the crawl began.
    pub fn admitted(&self) -> u64 {
        self.committer.state.queue_sequence
    }

    /// Bytes of archive files.
    pub fn archived_bytes(&self) -> u64 {
        self.committer.state.counters.archived_bytes
    }

    /// Counts all rows; holds 24 bytes a URL in memory.
    pub fn audit(&mut self) -> Result<Audit, Error> {
        let mut audit = Audit::default();
        let mut ids: HashSet<UrlId> = HashSet::new();
        let store = Arc::clone(&self.committer.store);
        let lookups = &mut self.committer.lookups;
        let mut count = |id: UrlId, audit: &mut Audit| {
            audit.doubled += u64::from(!ids.insert(id));
            audit.unseen += u64::from(!lookups.is_seen(id));
        };
        for_each(&*store, Table::Hosts, &[], &mut |key, row| {
            let name = String::from_utf8_lossy(key);
            let Some(host) = HostKey::parse(&name) else {
                return Ok(());
            };
            let state: HostState = decode(Table::Hosts, row)?;
            for_each_waiting(&*store, &host, &state, &mut |_, _, _, queued| {
                audit.queued += 1;
                count(queued.id, &mut audit);
                Ok(true)
            })
        })?;
        for_each(&*store, Table::Pages, &[], &mut |key, _| {
            audit.done += 1;
            if let Ok(id) = key.try_into() {
                count(UrlId::from_bytes(id), &mut audit);
            }
            Ok(())
        })?;
        Ok(audit)
    }
}

impl Readers {
    /// Reads and signs a page whose body has a content coding, or none.
    pub fn prepare(&self, taken: Taken, body: Bytes, coding: Option<&str>) -> Option<Prepared> {
        let url = url::parse(&taken.queued.url).ok()?;
        let now = self.clock.now();
        let mut headers = vec![("content-type".to_owned(), b"text/html".to_vec())];
        headers.extend(coding.map(|it| ("content-encoding".to_owned(), it.into())));
        let exchange = Exchange {
            started: Timestamp::from_millisecond(now.0.cast_signed()).ok()?,
            duration: Duration::from_millis(10),
            remote: None,
            protocols: vec!["http/1.1"],
            request_head: format!("GET {} HTTP/1.1\r\n\r\n", url.path()).into_bytes(),
            status: 200,
            headers,
            body,
            cut: None,
        };
        let fetched = Fetched {
            earlier: None,
            task: FetchTask {
                host: taken.host,
                pace: Pace::default(),
                robots_redirect: None,
                held: HeldAddress::default(),
                place: Some(taken.place),
                queued: taken.queued,
                url,
            },
            outcome: Outcome::Exchange(Box::new(exchange)),
            pace: Pace {
                due: now,
                ..Pace::default()
            },
            finished: now,
            was_handed_out: true,
            reservation: Reservation::default(),
            turn: Turn::default(),
        };
        Some(Prepared(Box::new(self.analysts.analyse(fetched))))
    }
}

/// An archive that forgets what it is given.
struct Nowhere;

impl Archive for Nowhere {
    fn append(&mut self, records: &[Record]) -> archive::Result<Vec<Location>> {
        let location = |record: &Record| Location {
            segment: 0,
            offset: 0,
            length: record.block_length(),
        };
        Ok(records.iter().map(location).collect())
    }

    fn sync(&mut self) -> archive::Result<Tail> {
        Ok(Tail::default())
    }

    fn rewind(&mut self, _: &Tail) -> archive::Result<()> {
        Ok(())
    }
}
