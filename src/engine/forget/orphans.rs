//! Pages that rest on what goes: each is judged again as if it had been visited again, with the
//! body that the archive has of it, rebuilt before anything is lost. The best of a cluster becomes
//! an original, and what repeats it repeats it.

use std::path::Path;

use jiff::Timestamp;

use crate::engine::Error;
use crate::engine::Options;
use crate::engine::again::{body_place, stored_head};
use crate::engine::ring::analysts::Analysts;
use crate::engine::ring::reading::Reader;
use crate::engine::ring::turns::Turn;
use crate::engine::visit::{Analysed, Fetched, Findings};
use crate::fetch::{Exchange, Outcome, Reservation};
use crate::frontier::{FetchTask, HeldAddress, HostState, Moment, QueuedUrl};
use crate::journal::Bodies;
use crate::page::Requisites;
use crate::rows::{PAGES, PageRecord, Rank};
use crate::store::{Store, Table, decode, keys};
use crate::url::{self, HostKey, Identity, Url, UrlId};

/// Number of pages that are judged in one commit.
const PAGES_PER_COMMIT: usize = 16;

/// Number of pages that are sorted by rank before some of them are judged: the best of a cluster
/// is to be its original.
const SORTED: usize = 4_096;

/// Reads pages out of the archive.
pub(super) struct Orphanage<'a> {
    store: &'a dyn Store,
    bodies: Bodies,
    analysts: Analysts,
}

impl<'a> Orphanage<'a> {
    pub(super) fn new(
        store: &'a dyn Store,
        data: &Path,
        identity: &Identity,
        options: &Options,
    ) -> Self {
        let reader = Reader::new(identity, options);
        Self {
            store,
            bodies: Bodies::of(data),
            analysts: Analysts::new(reader, options.policies.clone().share()),
        }
    }

    /// Returns some of the pages that are to be judged again, the best first, and adds a visit of
    /// each whose body is in the archive; none at the end.
    pub(super) fn some(
        &self,
        visits: &mut Vec<Analysed>,
    ) -> Result<Vec<(UrlId, PageRecord)>, Error> {
        let prefix = keys::meta::ORPHAN_PAGE;
        let mut found: Vec<(Option<Rank>, UrlId, Option<PageRecord>)> = Vec::new();
        for (key, _) in self.store.range(Table::Meta, prefix, prefix, SORTED)? {
            let id = key.get(prefix.len()..).and_then(|id| id.try_into().ok());
            let Some(id) = id.map(UrlId::from_bytes) else {
                continue;
            };
            let page = PAGES.get(self.store, id.as_bytes())?;
            let rank = page.as_ref().and_then(PageRecord::duplicate);
            found.push((rank.map(|it| it.rank), id, page));
        }
        found.sort_by_key(|it| (it.0, it.1));
        found.truncate(PAGES_PER_COMMIT);
        let mut orphans = Vec::with_capacity(found.len());
        for (_, id, page) in found {
            let Some(page) = page else { continue };
            visits.extend(self.visit(id, &page)?);
            orphans.push((id, page));
        }
        Ok(orphans)
    }

    /// Returns a visit of a page, with the body that the archive has; `None` if it has none.
    fn visit(&self, id: UrlId, page: &PageRecord) -> Result<Option<Analysed>, Error> {
        let (Ok(url), Some(place)) = (url::parse(&page.url), body_place(self.store, id, page)?)
        else {
            return Ok(None);
        };
        let content = match self.bodies.read(&place) {
            Ok(content) => content,
            Err(error) => {
                tracing::warn!(url = page.url, %error, "the body of a page cannot be read, so it is visited again");
                return Ok(None);
            }
        };
        let date = Timestamp::from_microsecond(page.time).unwrap_or_default();
        let head = stored_head(&content);
        let Some(exchange) = Exchange::from_archive(&head, content.body(), date, None) else {
            return Ok(None);
        };
        let fetched = self.fetched(id, page, url, exchange)?;
        let mut analysed = self.analysts.analyse(fetched);
        analysed.is_rehomed = true;
        analysed.notes.push("its original is forgotten".to_owned());
        // What it leads to was followed when it was visited.
        analysed.requisites = Requisites::default();
        match &mut analysed.findings {
            Findings::Page(page) => page.links.clear(),
            Findings::Sitemap(list) => list.listed.clear(),
            Findings::Robots { .. } | Findings::Nothing => {}
        }
        Ok(Some(analysed))
    }

    fn fetched(
        &self,
        id: UrlId,
        page: &PageRecord,
        url: Url,
        exchange: Exchange,
    ) -> Result<Fetched, Error> {
        let host = HostKey::of(&url);
        let row = self.store.get(Table::Hosts, host.as_str().as_bytes())?;
        let state: HostState = match row {
            Some(row) => decode(Table::Hosts, &row)?,
            None => HostState::default(),
        };
        // Its host was not visited, so its pace stays as it is.
        let pace = state.pace();
        let millis = u64::try_from(page.time / 1_000).unwrap_or_default();
        let task = FetchTask {
            host,
            place: None,
            url,
            queued: QueuedUrl {
                via: page.via,
                depth: page.depth,
                revisit: true,
                // It is not asked for again.
                attempts: u8::MAX - 1,
                purpose: page.purpose(),
                ..QueuedUrl::new(page.url.clone(), id)
            },
            pace,
            robots_redirect: None,
            held: HeldAddress::default(),
        };
        Ok(Fetched {
            task,
            outcome: Outcome::Exchange(Box::new(exchange)),
            earlier: None,
            pace,
            finished: Moment(millis),
            was_handed_out: false,
            reservation: Reservation::default(),
            turn: Turn::default(),
        })
    }
}
