//! Reads stored pages again, a part at a time, and follows their links as if they had just been
//! visited: what is known stays, and what is new to the crawl is queued. Nothing is requested here.

use std::path::Path;

use super::parts::in_parts;
use crate::archive::RecordKind;
use crate::engine::Options;
use crate::engine::admission::{Gate, follow_moved_requisite, follow_requisites};
use crate::engine::again::{body_place, visit_sitemap_again};
use crate::engine::commit::{Committer, Group, WriteSet, not_judged};
use crate::engine::error::Error;
use crate::engine::ring::analysts::Analysts;
use crate::engine::ring::reading::Reader;
use crate::engine::ring::turns::Turn;
use crate::engine::visit::{Analysed, Fetched};
use crate::fetch::{Exchange, Outcome, Reservation};
use crate::frontier::{
    FetchTask, HeldAddress, Moment, Pace, Purpose, QueuedUrl, Reading, is_by_page,
};
use crate::journal::{Bodies, BodyError};
use crate::page::Requisites;
use crate::rows::{Fate, PageRecord, Reason, ReasonKind};
use crate::store::{Store, Table, decode};
use crate::url::{self, HostKey, UrlId};

/// Number of pages that are read and followed at a time.
const CHUNK: usize = 256;

/// Reads the pages of a crawl as they were stored.
pub(super) struct StoredPages {
    analysts: Analysts,
    bodies: Bodies,
}

/// Some pages, read.
pub(super) struct Part {
    sources: Vec<Source>,
    /// Number of rows that were read for it.
    pub(super) rows: u64,
    /// Pages that were answered and cannot be read, and why.
    pub(super) unread: Vec<(String, Unread)>,
}

/// Why a page cannot be read again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unread {
    /// Nothing was kept of its body.
    #[error("its body was not kept")]
    NotKept,
    /// What was kept cannot be read.
    #[error(transparent)]
    Body(BodyError),
}

/// What names further URLs.
enum Source {
    /// A page, read as it was stored.
    Page(Box<Analysed>),
    Sitemap(UrlId, Box<PageRecord>),
}

impl StoredPages {
    /// Reads the pages of the crawl at `path`.
    pub(super) fn new(committer: &Committer, path: &Path, options: &Options) -> Self {
        let reader = Reader::new(&committer.gate.identity, options);
        Self {
            analysts: Analysts::new(reader, committer.gate.policies.clone()),
            bodies: Bodies::of(path),
        }
    }

    /// Reads the pages from a key on, on all cores, and moves the key behind them; `None` at the
    /// end.
    pub(super) fn part(
        &self,
        committer: &Committer,
        from: &mut Vec<u8>,
        now: Moment,
    ) -> Result<Option<Part>, Error> {
        let rows = committer.store.range(Table::Pages, &[], from, CHUNK)?;
        let Some((last, _)) = rows.last() else {
            return Ok(None);
        };
        *from = [last, &[0][..]].concat();
        let store = &*committer.store;
        let read = in_parts(&rows, |rows| self.read(rows, store, now));
        let read = read.map_err(|_| Error::Internal("reading the archive failed".to_owned()))?;
        let mut part = Part {
            sources: Vec::new(),
            rows: rows.len() as u64,
            unread: Vec::new(),
        };
        for read in read {
            let (sources, unread) = read?;
            part.sources.extend(sources);
            part.unread.extend(unread);
        }
        Ok(Some(part))
    }

    /// Reads pages as they were stored, and finds the sitemaps among them.
    #[expect(clippy::type_complexity, reason = "it is taken apart at once")]
    fn read(
        &self,
        rows: &[(Vec<u8>, Vec<u8>)],
        store: &dyn Store,
        now: Moment,
    ) -> Result<(Vec<Source>, Vec<(String, Unread)>), Error> {
        let (mut read, mut unread) = (Vec::new(), Vec::new());
        for (key, row) in rows {
            let page: PageRecord = decode(Table::Pages, row)?;
            let Ok(id) = key.as_slice().try_into().map(UrlId::from_bytes) else {
                continue;
            };
            match page.fate {
                Fate::Answered { .. } => {}
                // Others name nothing.
                Fate::Requisite { of, status, .. }
                    if of.reading != Reading::Nothing || matches!(status, 300..400) => {}
                Fate::Sitemap { .. } => {
                    read.push(Source::Sitemap(id, Box::new(page)));
                    continue;
                }
                _ => continue,
            }
            let Some(place) = body_place(store, id, &page)? else {
                unread.push((page.url, Unread::NotKept));
                continue;
            };
            let content = match self.bodies.read(&place) {
                Ok(content) => content,
                Err(error) => {
                    unread.push((page.url, Unread::Body(error)));
                    continue;
                }
            };
            let started = jiff::Timestamp::from_microsecond(page.time).unwrap_or_default();
            let exchange = content.exchange(started);
            let (Some(exchange), Ok(url)) = (exchange, url::parse(&page.url)) else {
                continue;
            };
            let is_played = matches!(
                page.record,
                Some((RecordKind::Response | RecordKind::Revisit, _))
            );
            let visit = visit(exchange, (id, page, url), now);
            let mut analysed = self.analysts.analyse(visit);
            if !is_played {
                analysed.requisites = Requisites::default();
            }
            read.push(Source::Page(Box::new(analysed)));
        }
        Ok((read, unread))
    }
}

impl Part {
    /// Number of pages that were answered, read or not.
    pub(super) fn pages(&self) -> u64 {
        (self.sources.len() + self.unread.len()) as u64
    }

    /// Follows what the pages link to. Returns what that changes. Links that are refused are
    /// counted `anew` if [`forget_refusals`] was called before the first part.
    pub(super) fn followed(
        &self,
        committer: &mut Committer,
        now: Moment,
        anew: bool,
    ) -> Result<WriteSet, Error> {
        let links = committer.state.counters.links.clone();
        let named = committer.state.counters.requisites.named.clone();
        committer.collect(now, |judge, group| {
            for source in &self.sources {
                follow(source, judge.gate, group)?;
            }
            // All of it was counted when the pages were visited.
            group.set.uncount(links, anew);
            group.set.state.counters.requisites.named = named;
            Ok(())
        })
    }
}

/// Forgets how many links were refused for each reason, to count them anew, and notes at which
/// page that begins.
pub(super) fn forget_refusals(
    committer: &mut Committer,
    now: Moment,
    (row, from): (&[u8], &[u8]),
) -> Result<(), Error> {
    let mut set = committer.write_set(now);
    set.state.counters.links.forget(is_by_page);
    for (name, _) in committer.state.counters.links.iter() {
        if is_by_page(name) {
            let kind = ReasonKind::Link.name();
            set.batch.delete(Table::Meta, Reason::key_of(kind, name));
        }
    }
    set.batch.put(Table::Meta, row, from);
    committer.write(set)?;
    Ok(())
}

fn follow(source: &Source, gate: &Gate, group: &mut Group<'_>) -> Result<(), Error> {
    let analysed = match source {
        Source::Sitemap(id, page) => {
            return visit_sitemap_again(*id, PageRecord::clone(page), &mut group.set);
        }
        Source::Page(analysed) => analysed,
    };
    let Outcome::Exchange(exchange) = &analysed.fetched.outcome else {
        return Ok(());
    };
    let task = &analysed.fetched.task;
    match task.queued.purpose {
        Purpose::Requisite(of) => {
            follow_moved_requisite(gate, task, of, exchange, group)?;
        }
        _ => {
            let mut judged = not_judged(analysed);
            judged.seed = group.set.settings_of(task.queued.id)?;
            gate.follow(&judged, exchange, Some(true), group)?;
        }
    }
    follow_requisites(gate, task, &analysed.requisites, group)
}

/// Makes a visit of what was stored.
fn visit(
    exchange: Exchange,
    (id, page, url): (UrlId, PageRecord, url::Url),
    now: Moment,
) -> Fetched {
    Fetched {
        earlier: None,
        task: FetchTask {
            host: HostKey::of(&url),
            pace: Pace::default(),
            robots_redirect: None,
            held: HeldAddress::default(),
            place: None,
            queued: QueuedUrl {
                via: page.via,
                depth: page.depth,
                purpose: page.purpose(),
                ..QueuedUrl::new(page.url, id)
            },
            url,
        },
        outcome: Outcome::Exchange(Box::new(exchange)),
        pace: Pace::default(),
        finished: now,
        was_handed_out: true,
        reservation: Reservation::default(),
        turn: Turn::default(),
    }
}
