//! `why`: what happened to a URL, from its rows, and whether it would be admitted now.
//!
//! Most refused links leave no row. For a URL that was never admitted, the answer says what would
//! refuse it now, and where its first link was refused if that depends on more than the URL.

mod told;

pub use told::{
    AdmissionNow, LinksCut, OriginalElsewhere, QueuedNow, RobotsAnswer, RobotsNow, UrlState,
    Visited, Why,
};

use super::refused::{budget, forgotten, refused};
use super::{Error, HostNow, LearnedKind, moment, time_of};
use crate::archive::RecordId;
use crate::dedup::{Document, shard_of};
use crate::engine::{View, deferred_by, document_place, used_up_now};
use crate::frontier::{
    Admission, HeldHosts, HostState, Purpose, QueuedUrl, RobotsMode, RobotsRow, RobotsState,
    RobotsVerdict, admits_by_entries, for_each_waiting, path_and_query, was_never_asked,
};
use crate::journal::RecordPlace;
use crate::learn::{Trail, Trap, TrapMode, by_form};
use crate::robots::{self, Rules};
use crate::rows::cluster::Head;
use crate::rows::{
    ArchiveNames, Converted, EarlierPage, Fate, Judgement, LeftOut, PAGES, PageRecord, Raced,
    Reason, ReasonKind, foreign_page,
};
use crate::store::{Store, Table, decode};
use crate::url::{HostKey, Identity, Url, UrlId};

impl LinksCut {
    /// Reads how many pages have more links than are read, if any has.
    fn read(store: &dyn Store) -> Result<Option<Self>, Error> {
        let (kind, name) = (ReasonKind::Link, Admission::LinksCut.name());
        let row = store.get(Table::Meta, &Reason { kind, name }.key())?;
        let Some(row) = row else {
            return Ok(None);
        };
        let LeftOut { count, example } = decode(Table::Meta, &row)?;
        let pages = count;
        Ok((pages > 0).then_some(Self { pages, example }))
    }
}

/// Explains what happened to a URL, and how the current options treat it.
pub(crate) fn why(view: &View, url: &str) -> Result<Why, Error> {
    let url = &crate::url::parse(url).map_err(|source| Error::Url {
        url: url.to_owned(),
        source,
    })?;
    let store = view.store();
    let identity = view.identity()?;
    let host = HostKey::of(url);
    let host_state: Option<HostState> = match store.get(Table::Hosts, host.as_str().as_bytes())? {
        Some(row) => Some(decode(Table::Hosts, &row)?),
        None => None,
    };
    let page_id = identity.id(url);
    let mut known = known(store, page_id, (&host, host_state.as_ref()))?;
    if known.0.is_none() && known.1.is_none() {
        // It may be a file that a page needs.
        known = self::known(
            store,
            identity.as_written(url),
            (&host, host_state.as_ref()),
        )?;
    }
    let purpose = match &known {
        (_, Some((_, queued))) => Some(queued.purpose),
        (page, None) => page.as_ref().map(PageRecord::purpose),
    };
    let needed_by = match purpose {
        Some(Purpose::Requisite(of)) => url_of(store, Some(of.page))?,
        _ => None,
    };
    let raced = match &known.0 {
        Some(page) => Raced::of(store, page_id, page)?,
        None => None,
    };
    let visit = known.0.map(|page| visited(store, &identity, page));
    let mut visit = visit.transpose()?;
    if let Some(visit) = &mut visit {
        visit.raced = raced.map(|raced| raced.original);
        match Converted::of(store, page_id)? {
            Some(Converted::Text(place)) => {
                let names = ArchiveNames::read(store)?;
                visit.text_record = Some(RecordPlace::of_text(&names, &place));
            }
            Some(Converted::Failed(reason)) => visit.converter = Some(reason),
            None => {}
        }
    }
    let queued = known
        .1
        .map(|(place, queued)| queued_now(store, place, queued));
    let queued = queued.transpose()?;
    let held = HeldHosts::read(store)?;
    let admission = admission(view, &identity, url, host_state.as_ref())?;
    Ok(Why {
        url: url.to_string(),
        canonical: identity.canonical(url).to_string(),
        forgotten: forgotten(store, url, &identity)?,
        refused: match (&queued, &visit) {
            (None, None) => refused(store, page_id)?,
            _ => None,
        },
        links_cut: match (&queued, &visit) {
            (None, None) => LinksCut::read(store)?,
            _ => None,
        },
        state: match (&queued, &visit) {
            (Some(_), _) => UrlState::Queued,
            (None, Some(_)) => UrlState::Done,
            (None, None) if admission.kind.is_some() => UrlState::Deferred,
            (None, None) => UrlState::Unknown,
        },
        admission,
        // robots.txt is matched against the form of the URL that was seen first.
        robots: match (&queued, &visit) {
            (Some(QueuedNow { url: form, .. }), _) | (None, Some(Visited { url: form, .. })) => {
                let form = crate::url::parse(form).unwrap_or_else(|_| url.clone());
                robots_now(view, &form, host_state.as_ref())?
            }
            (None, None) => robots_now(view, url, host_state.as_ref())?,
        },
        visit,
        queued,
        needed_by,
        host: host_state.map(|state| HostNow::of(host.as_str(), &state).with_held(&held)),
        held: held.since(&host).map(moment),
    })
}

/// The URL of the page with this id.
fn url_of(store: &dyn Store, id: Option<UrlId>) -> Result<Option<String>, Error> {
    Ok(match id {
        Some(id) => match PAGES.get(store, id.as_bytes())? {
            Some(page) => Some(page.url),
            None => foreign_page(store, id)?,
        },
        None => None,
    })
}

/// What is known of an original of another shard.
fn elsewhere(document: Option<&Document>) -> Option<OriginalElsewhere> {
    let document = document?;
    Some(OriginalElsewhere {
        shard: shard_of(document.id)?,
        time: time_of(match &document.stored_for {
            Some(of) => of.fetched,
            None => document.fetched,
        }),
        record: RecordId::from_bytes(document.stored.record).to_string(),
        payload: hex::encode(document.payload),
    })
}

fn visited(store: &dyn Store, identity: &Identity, page: PageRecord) -> Result<Visited, Error> {
    let names = &ArchiveNames::read(store)?;
    let earlier = EarlierPage::of(store, &page.url)?;
    let earlier = earlier.filter(|it| it.confirmed.is_some());
    let mut visited = Visited {
        unchanged_since: earlier.map(|it| time_of(it.date)),
        time: time_of(page.time),
        attempts: page.attempts,
        depth: page.depth,
        via: url_of(store, page.via)?,
        record: page
            .record
            .map(|(kind, location)| RecordPlace::of(names, kind, &location)),
        url: page.url,
        next_visit: page.revisit.map(|revisit| moment(revisit.due)),
        ..Visited::default()
    };
    match page.fate {
        Fate::Known {
            status,
            mime,
            archive,
        } => {
            "known".clone_into(&mut visited.verdict);
            visited.status = status;
            visited.mime = mime;
            visited.archive = Some(archive);
        }
        Fate::Failed {
            class,
            message,
            next,
        }
        | Fate::FailedRequisite {
            class,
            message,
            next,
            ..
        } => {
            visited.next_attempt = next.map(moment);
            let verdict = if class == "robots" {
                "forbidden"
            } else {
                "failed"
            };
            verdict.clone_into(&mut visited.verdict);
            visited.failure = Some(format!("{class}: {message}"));
        }
        Fate::Requisite { status, mime, .. } => {
            "requisite".clone_into(&mut visited.verdict);
            visited.status = status;
            visited.mime = mime;
        }
        Fate::Sitemap {
            status, entries, ..
        } => {
            "sitemap".clone_into(&mut visited.verdict);
            visited.status = status;
            visited.entries = Some(entries);
        }
        Fate::Answered {
            status,
            mime,
            title,
            canonical,
            judgement,
            ..
        } => {
            visited.status = status;
            visited.mime = mime;
            visited.title = title;
            visited.canonical_hint = canonical;
            match judgement {
                Judgement::Unique => {
                    "unique".clone_into(&mut visited.verdict);
                    // Differs for a page that was unchanged at its last visit, or has the same
                    // bytes as another.
                    let stored = place_of(store, names, page.document.as_ref())?;
                    visited.original_record =
                        stored.filter(|stored| visited.record.as_ref() != Some(stored));
                }
                Judgement::Ineligible(reason) => {
                    "ineligible".clone_into(&mut visited.verdict);
                    visited.reason = Some(reason.name().to_owned());
                }
                Judgement::Duplicate(duplicate) => {
                    duplicate.tier.name().clone_into(&mut visited.verdict);
                    visited.distance = Some(duplicate.distance);
                    visited.similarity = Some(duplicate.similarity);
                    visited.first_seen = Some(time_of(duplicate.first_seen));
                    visited.last_checked = Some(time_of(duplicate.last_checked));
                    let head = Head::read(store, duplicate.of, duplicate.page)?;
                    if let Some(head) = head {
                        visited.original_elsewhere = elsewhere(head.document());
                        visited.original_record = place_of(store, names, head.document())?;
                        visited.cluster_canonical = Some(head.canonical(store, identity)?);
                        visited.original = Some(head.page.url);
                    }
                }
            }
        }
    }
    Ok(visited)
}

/// Returns where the response of a document is, in this crawl's archive or an earlier one's.
fn place_of(
    store: &dyn Store,
    names: &ArchiveNames,
    document: Option<&Document>,
) -> Result<Option<RecordPlace>, Error> {
    let Some(document) = document else {
        return Ok(None);
    };
    match RecordPlace::of_stored(names, &document.stored) {
        None => Ok(document_place(store, document)?),
        own => Ok(own),
    }
}

/// A URL in a queue: its class, the number of URLs ahead of it, and its row.
type InQueue = ((u8, u64), QueuedUrl);

/// What the rows have of an id: a record, a place in a queue.
type Known = (Option<PageRecord>, Option<InQueue>);

/// Returns what the rows have of an id.
fn known(
    store: &dyn Store,
    id: UrlId,
    (host, state): (&HostKey, Option<&HostState>),
) -> Result<Known, Error> {
    let queued = match state {
        Some(state) => queued(store, host, state, id)?,
        None => None,
    };
    Ok((PAGES.get(store, id.as_bytes())?, queued))
}

/// Searches the queue of the host, because queues have no index by URL.
fn queued(
    store: &dyn Store,
    host: &HostKey,
    state: &HostState,
    id: UrlId,
) -> Result<Option<InQueue>, Error> {
    let mut found = None;
    let mut ahead = 0;
    for_each_waiting(store, host, state, &mut |class, _, _, queued| {
        if queued.id == id {
            found = Some((class, queued));
        } else {
            ahead += 1;
        }
        Ok(found.is_none())
    })?;
    Ok(found.map(|(class, queued)| ((class, ahead), queued)))
}

fn queued_now(
    store: &dyn Store,
    (class, ahead): (u8, u64),
    queued: QueuedUrl,
) -> Result<QueuedNow, Error> {
    Ok(QueuedNow {
        via: url_of(store, queued.via)?,
        url: queued.url,
        depth: queued.depth,
        attempts: queued.attempts,
        class,
        ahead,
    })
}

fn admission(
    view: &View,
    identity: &Identity,
    url: &Url,
    host: Option<&HostState>,
) -> Result<AdmissionNow, Error> {
    let (store, options) = (view.store(), view.options());
    let limits = &options.limits;
    let scope = (options.scope, limits.moved_seeds);
    let admitted_by = admits_by_entries(scope, url, |entry| {
        Ok::<_, Error>(store.get(Table::Scope, entry)?)
    })?;
    let policy = options.policies.of(&HostKey::of(url));
    let excluded = policy.crawl.exclude.find(url.as_str());
    let included =
        policy.crawl.include.is_empty() || policy.crawl.include.find(url.as_str()).is_some();
    let key = HostKey::of(url);
    let used_up = used_up_now(&key, host, &policy.traps, store)?;
    let deferred = match host {
        Some(state) => deferred_by(&key, state, identity.id(url), store)?,
        None => None,
    };
    // The trail of pages that led to the URL is not known here.
    let form = by_form(url, Trail::default(), &policy.traps);
    let form = form.filter(|_| policy.traps.mode != TrapMode::Off);
    Ok(AdmissionNow {
        answer: match used_up {
            _ if url.as_str().len() > limits.max_url_length => "malformed",
            _ if admitted_by.is_none() => "out-of-scope",
            _ if excluded.is_some() => "excluded",
            _ if !included => "not-included",
            _ if deferred.is_some() => "deferred",
            Some(trap) => trap.name(),
            None => form.map_or("admitted", Trap::name),
        }
        .into(),
        blocked: options
            .policies
            .blocked()
            .find(url)
            .map(|by| by.to_string()),
        pattern: excluded.map(ToString::to_string),
        scope: options.scope,
        seed_scope: admitted_by.filter(|by| *by != options.scope),
        max_depth: policy.crawl.max_depth,
        kind: deferred.map(|ledger| LearnedKind::of(key.as_str(), ledger)),
        max_url_length: limits.max_url_length,
        budget: budget(store, url, host, &policy.traps)?,
    })
}

fn robots_now(view: &View, url: &Url, host: Option<&HostState>) -> Result<RobotsNow, Error> {
    let (store, options) = (view.store(), view.options());
    let answer = |answer| RobotsNow {
        answer,
        ..RobotsNow::default()
    };
    if options.policies.of(&HostKey::of(url)).crawl.robots == RobotsMode::Ignore {
        return Ok(answer(RobotsAnswer::Ignored));
    }
    let name = HostKey::of(url);
    let row = store.get(Table::Robots, name.as_str().as_bytes())?;
    let (Some(row), Some(RobotsState::Until(until))) = (row, host.map(|host| host.robots)) else {
        return Ok(answer(RobotsAnswer::Unknown));
    };
    let row: RobotsRow = decode(Table::Robots, &row)?;
    if was_never_asked(store, &name, &row)? {
        let why = match &row.verdict {
            RobotsVerdict::DisallowAll(why) => why,
            _ => "the guard may have refused it",
        };
        return Ok(RobotsNow {
            reason: Some(format!("not asked for ({why}); the next run asks first")),
            ..answer(RobotsAnswer::Unknown)
        });
    }
    let token = robots::product_token(&options.fetch.user_agent);
    let path = path_and_query(url);
    let allowed = row.verdict.rules(token).allows(&path);
    let line = match &row.verdict {
        RobotsVerdict::Text(body) => Rules::explain(body, token, &path),
        _ => None,
    };
    // If there are more patterns than are kept, the line that matches may not be the one that
    // decided.
    let line = line.filter(|line| line.allow == allowed);
    Ok(RobotsNow {
        reason: match (&row.verdict, &line) {
            (_, Some(_)) => None,
            (RobotsVerdict::AllowAll, _) => Some("there is no robots.txt".to_owned()),
            (RobotsVerdict::DisallowAll(_), _) => Some(row.verdict.reason()),
            (RobotsVerdict::Text(_), None) => Some("no rule matches".to_owned()),
        },
        line: line.as_ref().map(|line| line.number),
        rule: line.map(|line| line.text),
        until: Some(moment(until)),
        ..answer(if allowed {
            RobotsAnswer::Allowed
        } else {
            RobotsAnswer::Forbidden
        })
    })
}
