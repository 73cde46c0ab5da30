//! The log line of an answered page, made while the visit is judged; the places of its records are
//! filled in when these are appended.

use super::effects::Group;
use super::records::Records;
use super::visit::{Findings, Judged};
use crate::archive::{Location, RecordKind};
use crate::dedup::{Repeat, Stored, Tier, Verdict};
use crate::journal::{Digests, PageLine, RecordPlace};
use crate::rows::Fate;
use crate::url::{Identity, Url};

/// A page whose records are not appended yet.
pub(super) struct PendingLine {
    /// Position of its line among the group's; beyond them if its line says nothing of it.
    pub(super) line: usize,
    /// Position of its row among the group's.
    pub(super) row: usize,
    page: PageLine,
    places: Places,
}

/// Which of a group's records belong to a visit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Places {
    /// Kind and position of the record that stands for it.
    main: Option<(RecordKind, usize)>,
    text: Option<Source>,
}

/// Where a page's main text is.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// In a record of this group.
    Own(RecordKind, usize),
    /// In the body of a response that was there before and says the same.
    Same(Stored),
}

impl Places {
    /// The places of a visit whose records follow `before` others of the group.
    pub(super) fn of(judged: &Judged, records: &Records, before: usize) -> Self {
        let place = |at: usize| records.all.get(at).map(|it| (it.kind(), before + at));
        let own = |at: usize| place(at).map(|(kind, at)| Source::Own(kind, at));
        let same = judged.same_payload.as_ref();
        let text = match (&judged.analysed.findings, records.conversion) {
            // A page, or what is not sent again because it is what it was.
            (Findings::Nothing, _) if judged.is_not_modified() => match &judged.verdict {
                Verdict::Unchanged(Repeat { original, .. }) => Some(Source::Same(original.stored)),
                _ => None,
            },
            (Findings::Page(_), Some(at)) => own(at),
            (Findings::Page(_), None) => match records.response {
                Some((at, _)) => own(at),
                None => same
                    .or(match &judged.verdict {
                        Verdict::Unchanged(Repeat { original, .. }) => Some(original),
                        _ => None,
                    })
                    .map(|same| Source::Same(same.stored)),
            },
            _ => None,
        };
        Self {
            main: records.main.and_then(place),
            text,
        }
    }
}

impl Places {
    /// Whether the archive has the body.
    pub(super) fn keeps_body(&self) -> bool {
        matches!(self.main, Some((RecordKind::Response, _)))
    }
}

impl PendingLine {
    /// The page of a visit whose line and row will be the group's next ones.
    pub(super) fn of(judged: &Judged, places: Places, identity: &Identity, group: &Group) -> Self {
        let page = match &judged.analysed.findings {
            Findings::Page(page) => Some(page),
            _ => None,
        };
        let fingerprints = judged.analysed.fingerprints.as_ref().ok();
        let task = &judged.analysed.fetched.task;
        let of_headers = judged.analysed.wishes;
        let wishes = page.map_or(of_headers, |page| page.robots.merge(of_headers));
        let is_duplicate = matches!(judged.verdict, Verdict::Duplicate(_));
        let repeats = judged.verdict.repeats().filter(|_| is_duplicate);
        // What was not sent again is as it was.
        let known = (judged.previous.as_deref()).filter(|_| judged.is_not_modified());
        let known = match known.map(|known| &known.fate) {
            Some(Fate::Answered {
                title,
                language,
                canonical,
                ..
            }) => [title, language, canonical].map(Clone::clone),
            _ => [const { None }; 3],
        };
        let [title, language, canonical] = known;
        Self {
            line: group.lines.len(),
            row: group.pages.len(),
            page: PageLine {
                canonical: other_form(&task.url, &task.queued.url, identity),
                canonical_hint: page.map_or(canonical, |page| page.canonical.clone()),
                title: page.map_or(title, |page| page.title.clone()),
                language: page.map_or(language, |page| page.language.clone()),
                robots: wishes.names().map(str::to_owned).collect(),
                words: page
                    .and(fingerprints)
                    .map(|fingerprints| fingerprints.words),
                digests: fingerprints.map(Digests::of).unwrap_or_default(),
                simhash: fingerprints
                    .and_then(|fingerprints| fingerprints.get(Tier::Near)?.simhash())
                    .map(|bits| format!("{bits:016x}")),
                distance: repeats.map(|repeats| repeats.distance),
                similarity: repeats.map(|repeats| repeats.similarity),
                record: None,
                text: None,
            },
            places,
        }
    }

    /// The same for what is no page: its row gets the place of its record, its line says nothing.
    pub(super) fn of_no_page(places: Places, group: &Group) -> Self {
        Self {
            line: usize::MAX,
            row: group.pages.len(),
            page: PageLine::default(),
            places,
        }
    }

    /// Kind and place of the record that stands for the visit.
    pub(super) fn record(&self, locations: &[Location]) -> Option<(RecordKind, Location)> {
        let (kind, at) = self.places.main?;
        Some((kind, *locations.get(at)?))
    }

    /// The page with its places, once the group's records and documents have theirs.
    pub(super) fn placed(&self, group: &Group, locations: &[Location]) -> PageLine {
        let own = |(kind, at): (RecordKind, usize)| {
            locations
                .get(at)
                .map(|location| RecordPlace::of(kind, location))
        };
        PageLine {
            record: self
                .record(locations)
                .map(|(kind, location)| RecordPlace::of(kind, &location)),
            text: match self.places.text {
                Some(Source::Own(kind, at)) => own((kind, at)),
                Some(Source::Same(stored)) => RecordPlace::of_stored(&group.place_of(&stored)),
                None => None,
            },
            ..self.page.clone()
        }
    }
}

/// The canonical form of a URL, if it is another than what was requested.
fn other_form(url: &Url, requested: &str, identity: &Identity) -> Option<String> {
    let canonical = identity.canonical(url).to_string();
    (canonical != requested).then_some(canonical)
}
