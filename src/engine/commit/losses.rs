//! What a visit that is over leaves out: a URL that was given up, a page that the server refused, a
//! body that is not kept, a seed that gave nothing.

use super::effects::Places;
use super::group::Group;
use crate::dedup::{Ineligible, Tier, Verdict};
use crate::engine::Error;
use crate::engine::admission::Gate;
use crate::engine::ring::convert::Conversion;
use crate::engine::visit::Judged;
use crate::fetch::{Exchange, Failure, FailureClass, Outcome};
use crate::frontier::{Admission, Candidate, Provenance, Purpose, admit};
use crate::learn::Trail;
use crate::rows::{Fate, LostSeed, PageRecord, Reason, ReasonKind};
use crate::url::{Url, UrlId};

/// Maximum number of redirects that are followed back to a seed.
const MAX_BACK: usize = 64;

/// A URL on the way from a seed to what it redirects to.
type Hop = (UrlId, String);

/// Notes what a visit leaves out. `places` are its records.
pub(super) fn note(
    judged: &Judged<'_>,
    places: &Places,
    gate: &Gate,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let fetched = &judged.analysed.fetched;
    let queued = &fetched.task.queued;
    let is_first = judged.previous.is_none();
    match &fetched.outcome {
        Outcome::Failed(failure) if is_first => {
            let reason = Reason::of_failure(failure.class.name(), &failure.message);
            group.set.leave_out(reason, &queued.url);
        }
        Outcome::Exchange(exchange) if queued.purpose == Purpose::Page => {
            note_answer(judged, exchange, places, group);
        }
        _ => {}
    }
    if queued.depth > 0 || queued.purpose != Purpose::Page {
        return Ok(());
    }
    let hops = hops_back(judged, group)?;
    let lost = match &fetched.outcome {
        Outcome::Failed(failure) => Some(in_words(failure)),
        Outcome::Exchange(exchange) => loss(judged, exchange, (&hops, gate), group),
    };
    match lost {
        // What a revisit does not find was found before, unless it was lost then.
        Some(_) if !is_first => {}
        lost => end_seed(hops, lost, group),
    }
    Ok(())
}

/// Returns the group of a status with which a server refuses a page.
pub(super) fn refused(status: u16) -> Option<&'static str> {
    Some(match status {
        401 | 403 | 407 | 451 => "denied",
        429 | 503 => "overloaded",
        500.. => "server-error",
        _ => return None,
    })
}

fn note_answer(judged: &Judged<'_>, exchange: &Exchange, places: &Places, group: &mut Group<'_>) {
    let url = &judged.analysed.fetched.task.queued.url;
    let of = |name| Reason {
        kind: ReasonKind::Status,
        name,
    };
    let before = judged.previous.as_deref().and_then(refused_before);
    let now = match before {
        // An outage says nothing of a page that was answered before.
        None if judged.previous.is_some() => None,
        _ if judged.is_not_modified() => None,
        _ => refused(exchange.status),
    };
    if before != now {
        if let Some(before) = before {
            group.set.no_longer_left_out(of(before), url);
        }
        if let Some(now) = now {
            group.set.leave_out(of(now), url);
        }
    }
    if judged.previous.is_some() {
        return;
    }
    let without_text = match judged.analysed.conversion {
        Conversion::Wanted => Some("no-converter"),
        Conversion::Failed => Some("converter-failed"),
        Conversion::None | Conversion::Done => None,
    };
    if let Some(name) = without_text {
        let kind = ReasonKind::Text;
        group.set.leave_out(Reason { kind, name }, url);
    }
    let left_out = match &judged.verdict {
        Verdict::Ineligible(Ineligible::Status | Ineligible::Empty | Ineligible::Cut) => None,
        Verdict::Ineligible(reason) => Some((ReasonKind::Page, reason.name())),
        Verdict::Duplicate(repeat) if !places.keep_body() => {
            let has_bytes =
                repeat.tier == Tier::Raw || judged.same_payload.is_some() || judged.keeps_body;
            (!has_bytes).then_some((ReasonKind::Body, "duplicate"))
        }
        _ => None,
    };
    if let Some((kind, name)) = left_out {
        group.set.leave_out(Reason { kind, name }, url);
    }
}

/// Returns the group of the status with which a page was refused before.
fn refused_before(previous: &PageRecord) -> Option<&'static str> {
    match previous.fate {
        Fate::Answered { status, .. } => refused(status),
        _ => None,
    }
}

fn in_words(failure: &Failure) -> String {
    match failure.class {
        FailureClass::Robots => failure.message.clone(),
        class => format!("{}: {}", class.name(), failure.message),
    }
}

/// Returns why a seed that was answered gave nothing, or `None` if it gave something. That a page
/// does not exist (404, 410) is an answer. `hops` lead back to the seed.
fn loss(
    judged: &Judged<'_>,
    exchange: &Exchange,
    (hops, gate): (&[Hop], &Gate),
    group: &mut Group<'_>,
) -> Option<String> {
    let status = exchange.status;
    if let Verdict::Ineligible(reason) = &judged.verdict
        && reason.is_refusal()
    {
        return Some(format!("{} page", reason.name()));
    }
    if exchange.is_redirect() {
        let url = &judged.analysed.fetched.task.url;
        let Some(target) = exchange.redirect_target(url) else {
            return Some(format!("status {status} without a URL to go to"));
        };
        let id = gate.identity.id(&target);
        if !group.is_seen(id) {
            let reason = refusal(judged, &target, gate);
            return Some(format!("redirects to {target}, which is {reason}"));
        }
        let is_circle = hops.iter().any(|(hop, _)| *hop == id);
        return is_circle.then(|| format!("redirects in a circle, to {target}"));
    }
    match status {
        404 | 410 => None,
        400.. => Some(format!("status {status}")),
        _ => None,
    }
}

/// Returns the name of the reason why a redirect is not followed.
fn refusal(judged: &Judged<'_>, target: &Url, gate: &Gate) -> &'static str {
    let queued = &judged.analysed.fetched.task.queued;
    let candidate = Candidate {
        url: target.as_str(),
        depth: queued.depth,
        hops: queued.hops.saturating_add(1),
        trail: Trail::default(),
        from: None,
        beyond: 0,
        provenance: Provenance::Linked,
        seed: judged.seed.as_deref(),
    };
    match admit(&candidate, &gate.scope, &gate.limits, &gate.policies.load()) {
        Admission::Admitted(..) => "not fetched",
        refused => refused.name(),
    }
}

/// Notes what became of the seed that led to a visit, by redirects only.
fn end_seed(mut hops: Vec<Hop>, lost: Option<String>, group: &mut Group<'_>) {
    if let Some((id, url)) = hops.pop() {
        let lost = lost.map(|reason| LostSeed { url, reason });
        group.set.end_seed(id, lost);
    }
}

/// Returns a URL that was visited, and those whose redirects led to it, back to the seed.
fn hops_back(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<Vec<Hop>, Error> {
    let queued = &judged.analysed.fetched.task.queued;
    let mut hops = vec![(queued.id, queued.url.clone())];
    let mut via = queued.via;
    while hops.len() <= MAX_BACK {
        let Some(id) = via.filter(|id| hops.iter().all(|(hop, _)| hop != id)) else {
            break;
        };
        let Some(page) = redirect(id, group)? else {
            break;
        };
        via = page.via;
        hops.push((id, page.url));
    }
    Ok(hops)
}

/// Returns the record of a seed, or of what it redirects to.
fn redirect(id: UrlId, group: &mut Group<'_>) -> Result<Option<PageRecord>, Error> {
    let page = group.set.page(id)?;
    Ok(page.filter(|page| page.depth == 0).cloned())
}
