//! `why`: what happened to a URL, from its rows, and whether it would be admitted now.
//!
//! Most refused links leave no row. For a URL that was never admitted, the answer says what would
//! refuse it now, and where its first link was refused if that depends on more than the URL.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::refused::{BudgetNow, RefusedNow, budget, forgotten, refused};
use super::{Error, HostNow, LearnedKind, moment, time_of};
use crate::dedup::{Document, Similarity};
use crate::engine::{View, deferred_by, document_place, used_up_now};
use crate::frontier::{
    Admission, HeldHosts, HostState, Purpose, QueuedUrl, RobotsMode, RobotsRow, RobotsState,
    RobotsVerdict, ScopeKind, admits_by_entries, for_each_waiting, path_and_query, was_never_asked,
};
use crate::journal::RecordPlace;
use crate::learn::{Trail, Trap, TrapMode, by_form};
use crate::robots::{self, Rules};
use crate::rows::cluster::Head;
use crate::rows::{
    ArchiveNames, EarlierPage, Fate, Judgement, LeftOut, PAGES, PageRecord, Reason, ReasonKind,
};
use crate::store::{Store, Table, decode};
use crate::url::{HostKey, Identity, Url, UrlId};

/// What happened to a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Why {
    /// The URL that was asked about.
    pub url: String,
    /// Its canonical form, which identifies it in the crawl.
    pub canonical: String,
    /// Whether it is queued, done or unknown.
    pub state: UrlState,
    /// Its last completed visit.
    pub visit: Option<Visited>,
    /// Its place in the queue, if it is queued.
    pub queued: Option<QueuedNow>,
    /// If it is a requisite, the page that needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_by: Option<String>,
    /// If a person had it forgotten, since when; empty if it is by host or prefix and it was never
    /// visited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<String>,
    /// Its first link that was refused, if it was never admitted and the reason was noted.
    #[serde(default)]
    pub refused: Option<RefusedNow>,
    /// A page with more links than are read, if there is one and the URL was never admitted: such a
    /// page may link to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_cut: Option<LinksCut>,
    /// Whether a link to it would be followed now.
    pub admission: AdmissionNow,
    /// Whether robots.txt of its host allows it.
    pub robots: RobotsNow,
    /// Since when a person holds its host, if one does (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// State of its host, if the crawl knows the host.
    pub host: Option<HostNow>,
}

/// What a crawl knows of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UrlState {
    /// Queued, or being fetched.
    Queued,
    /// Visited: answered, failed or forbidden.
    Done,
    /// Never admitted.
    Unknown,
    /// Found, and kept for later.
    Deferred,
}

/// Pages with more links than are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LinksCut {
    /// Number of such pages.
    pub pages: u64,
    /// One of them.
    pub example: Option<String>,
}

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

/// The last completed visit of a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Visited {
    /// The form of the URL that was requested.
    pub url: String,
    /// Time of the visit (RFC 3339).
    pub time: String,
    /// Number of attempts made.
    pub attempts: u8,
    /// Number of links from a seed.
    pub depth: u16,
    /// The page on which the URL was found.
    pub via: Option<String>,
    /// `unique`, a tier, `ineligible`, `sitemap`, `requisite`, `failed`, `forbidden`, or `known`
    /// from an earlier crawl.
    pub verdict: String,
    /// If ineligible, why the page can be neither original nor duplicate.
    pub reason: Option<String>,
    /// HTTP status; 0 if there was no answer, or the earlier crawl did not record it.
    pub status: u16,
    /// Number of entries of a sitemap.
    #[serde(default)]
    pub entries: Option<u32>,
    /// Class and message of the failure.
    pub failure: Option<String>,
    /// Time before which a failed URL is not retried; `None` if it is not retried (RFC 3339).
    #[serde(default)]
    pub next_attempt: Option<String>,
    /// Declared media type.
    pub mime: Option<String>,
    /// Title of the page.
    pub title: Option<String>,
    /// The canonical URL that the page declares.
    pub canonical_hint: Option<String>,
    /// Number of bits in which its `SimHash` differs from that of its original.
    pub distance: Option<u8>,
    /// Similarity to its original, 0 to 1.
    pub similarity: Option<Similarity>,
    /// Time of the visit that first found it a duplicate (RFC 3339).
    pub first_seen: Option<String>,
    /// Time of the last visit that confirmed it (RFC 3339).
    pub last_checked: Option<String>,
    /// URL of its original.
    pub original: Option<String>,
    /// Preferred URL of its cluster.
    pub cluster_canonical: Option<String>,
    /// Where the original's response is stored.
    pub original_record: Option<RecordPlace>,
    /// Time of the next revisit, if there will be one (RFC 3339).
    pub next_visit: Option<String>,
    /// Where its own record is stored.
    pub record: Option<RecordPlace>,
    /// Of a redirect, where it led, as the archive has it; `None` where that is not at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led_to: Option<String>,
    /// WARC file of the earlier crawl from which the URL is known.
    pub archive: Option<String>,
    /// Time of the record of an earlier crawl since which the page is unchanged (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_since: Option<String>,
}

/// The place of a URL in its queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QueuedNow {
    /// The form of the URL that will be requested.
    pub url: String,
    /// The page on which the URL was found.
    pub via: Option<String>,
    /// Number of links from a seed.
    pub depth: u16,
    /// Number of attempts made.
    pub attempts: u8,
    /// Priority class; class 0 is served first.
    pub class: u8,
    /// Number of URLs of its host that are served before it.
    pub ahead: u64,
}

/// Whether a link to a URL would be followed now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AdmissionNow {
    /// `admitted`, `out-of-scope`, `excluded`, `not-included`, `malformed` (too long),
    /// `host-budget`, `domain-budget`, `deferred`, or the form for which it is suspected.
    pub answer: Cow<'static, str>,
    /// The place of the entry of a block list that names the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// The pattern that excludes the URL.
    #[serde(default)]
    pub pattern: Option<String>,
    /// What a URL must share with a seed.
    pub scope: ScopeKind,
    /// Maximum number of links from a seed.
    pub max_depth: Option<u16>,
    /// The kind of URLs for which it is deferred.
    #[serde(default)]
    pub kind: Option<LearnedKind>,
    /// Maximum length of a URL.
    pub max_url_length: usize,
    /// The budget of its host or domain that is used up, if one is.
    #[serde(default)]
    pub budget: Option<BudgetNow>,
}

/// Whether robots.txt allows a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RobotsNow {
    /// What robots.txt says about the URL.
    pub answer: RobotsAnswer,
    /// Number of the line that decides, starting at 1.
    pub line: Option<u32>,
    /// Text of that line.
    pub rule: Option<String>,
    /// Why no line decides: for example, there is no robots.txt, or it could not be fetched.
    pub reason: Option<String>,
    /// Time after which robots.txt is fetched again (RFC 3339).
    pub until: Option<String>,
}

/// What robots.txt says about a URL.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RobotsAnswer {
    /// The URL may be visited.
    Allowed,
    /// The URL may not be visited.
    Forbidden,
    /// robots.txt was not fetched yet.
    #[default]
    Unknown,
    /// robots.txt is ignored by configuration.
    Ignored,
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
    let visit = known.0.map(|page| visited(store, &identity, page));
    let visit = visit.transpose()?;
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
        Some(id) => PAGES.get(store, id.as_bytes())?.map(|page| page.url),
        None => None,
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
    let in_scope = admits_by_entries(scope, url, |entry| {
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
            _ if !in_scope => "out-of-scope",
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
