//! What the archive keeps of a visit.
//!
//! | visit | records |
//! |---|---|
//! | a payload that is not stored yet, no payload, a redirect | request, response |
//! | a payload that is stored, byte for byte, under a head that players treat alike (`forms.rs`) | request, revisit that refers to the stored response |
//! | a page that is unchanged since an earlier crawl (`archive.since`) | request, revisit that refers to that crawl's response |
//! | a page that the server says is unchanged (304) | request, revisit that refers to the stored response, if there is one |
//! | an unchanged page in other bytes | metadata |
//! | a normalized, content or near duplicate | metadata with verdict, original and fingerprints; in the archive of texts, main text as conversion |
//!
//! `archive.store` decides whether the bodies of the last kind, or all bodies, are kept too. Where
//! they are not, `bodies` keeps what they differ in.

use jiff::Timestamp;

use super::effects::{ConvertedNow, Places, TextPlace};
use crate::archive::{
    Capture, Digest, DigestAlgorithm, Original, Record, RecordId, Relation, StorePolicy, Truncation,
};
use crate::dedup::{Document, Repeat, Signature, Tier, Verdict};
use crate::engine::ring::convert::{CONVERTER_NOTE, Conversion};
use crate::engine::visit::{Findings, Judged, Since};
use crate::fetch::{self, Cut, DecodeBounds, Exchange};
use crate::page;

/// Field of a metadata record with the tag of the seed from which a page was found, as Heritrix
/// names it.
const SOURCE_TAG: &str = "sourceTag";

/// The records of one visit, and which of them is the response, if there is one.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// All records, in the order in which they are appended.
    pub(super) all: Vec<Record>,
    /// Position and id of the stored response.
    pub(super) response: Option<(usize, RecordId)>,
    /// Position of the visit's record: its response, else its revisit, else the metadata with its
    /// verdict.
    pub(super) main: Option<usize>,
    /// The main text, for the archive of texts.
    pub(super) conversion: Option<Record>,
}

/// What records are made of a visit, by the settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keeping {
    /// Which bodies are kept.
    pub(super) policy: StorePolicy,
    /// Set if the main texts of duplicates are kept.
    pub(super) texts: bool,
    /// What digests in headers are made with.
    pub(super) digest: DigestAlgorithm,
}

/// Returns `true` if the body of a visit is stored as a response.
pub(super) fn is_stored(judged: &Judged<'_>, policy: StorePolicy) -> bool {
    let repeats = judged.verdict.repeats();
    let inexact = repeats.is_some_and(|repeats| repeats.tier != Tier::Raw);
    let duplicate = repeats.is_some();
    let is_new = judged.same_payload.is_none();
    match (judged.keep, policy) {
        // Whoever names an earlier crawl wants nothing twice.
        _ if judged.analysed.unchanged_since().is_some() => false,
        (Some(keep), _) => keep && is_new,
        (None, StorePolicy::All) => true,
        (None, StorePolicy::ExactOnly) => is_new && (!duplicate || inexact),
        (None, StorePolicy::Unique) => is_new && !duplicate,
    }
}

/// Returns the records of a visit that got a response.
pub(super) fn of(judged: &Judged<'_>, exchange: &Exchange, keeping: Keeping) -> Records {
    let task = &judged.analysed.fetched.task;
    let capture = Capture {
        target: &task.queued.url,
        date: exchange.started,
        ip: exchange.remote.map(|address| address.ip()),
        protocols: &exchange.protocols,
    };
    let mut records = Records::default();
    if judged.is_not_modified() {
        let stored = stored(judged).map(|(original, digest)| {
            let is_named = keeping.digest == DigestAlgorithm::Sha256;
            (original, is_named.then_some(digest))
        });
        let main = Record::not_modified(&capture, exchange.response_head(), stored);
        let request = Record::request(&capture, exchange.request_head.clone(), main.id());
        records.all = vec![request, main];
        records.main = Some(1);
        return records;
    }
    let digest = Digest::from_bytes(judged.analysed.payload);
    let repeats = judged.verdict.repeats();
    let inexact = repeats.is_some_and(|repeats| repeats.tier != Tier::Raw);
    let keep = is_stored(judged, keeping.policy);
    let head = || exchange.response_head();
    let mut main = None;
    if keep {
        let cut = exchange.cut.map(|cut| match cut {
            Cut::Length => Truncation::Length,
            Cut::Time => Truncation::Time,
            Cut::Disconnect => Truncation::Disconnect,
        });
        let response = Record::response(&capture, head(), exchange.body.clone(), digest, cut);
        main = Some(response.identified_as(payload_type(exchange)));
    } else if let Some(stored) = &judged.same_payload {
        let digest = match keeping.digest {
            DigestAlgorithm::Sha256 => digest.to_string(),
            other @ DigestAlgorithm::Sha1 => other.digest([&exchange.body[..]]),
        };
        main = Some(match &judged.analysed.since {
            Some(Since::Unchanged {
                not_modified: Some(answer),
                ..
            }) => {
                let digest = Digest::from_bytes(stored.payload);
                let is_named = keeping.digest == DigestAlgorithm::Sha256;
                let refers_to = (original(stored), is_named.then_some(digest));
                Record::not_modified(&capture, answer.response_head(), Some(refers_to))
            }
            _ => Record::revisit(&capture, head(), digest, &original(stored)),
        });
    }
    if let Some(main) = main {
        let id = main.id();
        // A response out of the archive was requested before.
        if !exchange.request_head.is_empty() {
            records
                .all
                .push(Record::request(&capture, exchange.request_head.clone(), id));
        }
        if keep {
            records.response = Some((records.all.len(), id));
        }
        records.main = Some(records.all.len());
        records.all.push(main);
    }
    if let Some(repeats) = repeats
        // The revisit record says as much about a byte-for-byte copy of a stored payload.
        && (judged.same_payload.is_none() || inexact)
    {
        let own = records.response.map(|(_, id)| Relation::ConcurrentTo(id));
        let refers = || original(&repeats.original).record.map(Relation::RefersTo);
        let relation = own.or_else(refers);
        let mut fields = fields(judged, repeats);
        fields.extend(judged.tag().map(|tag| (SOURCE_TAG, tag.to_owned())));
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let metadata = Record::metadata(&capture, relation, &fields);
        let metadata_id = metadata.id();
        records.main.get_or_insert(records.all.len());
        records.all.push(metadata);
        // The text of an unchanged page is in the archive already.
        if let Findings::Page(page) = &judged.analysed.findings
            && !matches!(judged.verdict, Verdict::Unchanged(_))
            && keeping.texts
        {
            let of = records.response.map_or(metadata_id, |(_, id)| id);
            records.conversion = Some(Record::conversion(&capture, Some(of), &page.main_text));
        }
    } else {
        add_tag(judged, &capture, &mut records);
    }
    add_converted(judged, &capture, &mut records);
    records
}

/// Adds the tag of the seed from which a page was found, in a record of its own.
fn add_tag(judged: &Judged<'_>, capture: &Capture<'_>, records: &mut Records) {
    if let (Some(tag), Some(main)) = (judged.tag(), records.all.last()) {
        let relation = Some(Relation::ConcurrentTo(main.id()));
        let metadata = Record::metadata(capture, relation, &[(SOURCE_TAG, tag)]);
        records.all.push(metadata);
    }
}

/// Adds the text that a converter found: it is in no body.
fn add_converted(judged: &Judged<'_>, capture: &Capture<'_>, records: &mut Records) {
    let is_converted = judged.analysed.conversion == Conversion::Done;
    let main = records.main.and_then(|at| records.all.get(at));
    if let (None, Findings::Page(page), Some(of), true) = (
        &records.conversion,
        &judged.analysed.findings,
        main,
        is_converted,
    ) {
        let text = Record::conversion(capture, Some(of.id()), &page.main_text);
        records.conversion = Some(text);
    }
}

/// What a visit says of what a converter made of its page.
pub(super) fn converted(judged: &Judged<'_>) -> ConvertedNow {
    if matches!(judged.verdict, Verdict::Unchanged(_)) {
        return ConvertedNow::AsBefore;
    }
    match judged.analysed.conversion {
        Conversion::Done => ConvertedNow::Text,
        Conversion::Failed => {
            let mut notes = judged.analysed.notes.iter();
            let reason = notes.find_map(|note| note.strip_prefix(CONVERTER_NOTE));
            ConvertedNow::Failed(reason.unwrap_or_default().to_owned())
        }
        _ if judged.previous.is_some() => ConvertedNow::Gone,
        _ => ConvertedNow::AsBefore,
    }
}

impl Records {
    /// Returns the places of the records that the visit's line names.
    /// `texts` is the number of main texts of the group before this one.
    pub(super) fn places(&self, judged: &Judged<'_>, texts: usize) -> Places {
        let place = |at: usize| self.all.get(at).map(|it| (it.kind(), at));
        let own = |at: usize| place(at).map(|(kind, at)| TextPlace::Own(kind, at));
        let same = judged.same_payload.as_ref();
        let unchanged = match &judged.verdict {
            Verdict::Unchanged(repeat) => Some(&repeat.original),
            _ => None,
        };
        let text = match (&judged.analysed.findings, &self.conversion) {
            // A page, or one that was not sent again because it is unchanged.
            (Findings::Nothing, _) if judged.is_not_modified() => {
                unchanged.map(|of| TextPlace::Stored(of.stored))
            }
            (Findings::Page(_), Some(_)) => Some(TextPlace::Apart(texts)),
            (Findings::Page(_), None) => match self.response {
                Some((at, _)) => own(at),
                None => same.or(unchanged).map(|of| TextPlace::Stored(of.stored)),
            },
            _ => None,
        };
        Places {
            main: self.main.and_then(place),
            text,
        }
    }
}

/// Returns what a payload is by its first bytes.
pub(crate) fn payload_type(exchange: &Exchange) -> Option<&'static str> {
    // Enough to tell, however the rest ends.
    let bounds = DecodeBounds {
        max_bytes: page::ENOUGH,
        max_codings: 4,
    };
    let codings = exchange.header_values("content-encoding");
    let first = fetch::decode(codings, &exchange.body, bounds).bytes;
    page::identify(exchange.header("content-type"), &first)
}

/// Returns the stored response with the bytes that a page still has, if there is one, and their
/// digest.
fn stored(judged: &Judged<'_>) -> Option<(Original, Digest)> {
    let repeats = judged.verdict.repeats()?;
    let document = &repeats.original;
    let is_own = document.url_id == judged.analysed.fetched.task.queued.id;
    let has_bytes = is_own || repeats.tier == Tier::Raw;
    has_bytes.then(|| (original(document), Digest::from_bytes(document.payload)))
}

/// Returns a document's response, as records refer to it.
fn original(document: &Document) -> Original {
    let (url, fetched) = match &document.stored_for {
        Some(of) => (&of.url, of.fetched),
        None => (&document.url, document.fetched),
    };
    let date = Timestamp::from_microsecond(fetched).unwrap_or_default();
    let record = document.stored.record;
    let mut original = Original::new(RecordId::from_bytes(record), url.clone(), date);
    if record == [0; 16] {
        original.record = None;
    }
    original
}

/// Returns the verdict and what it rests on, so that it can be checked without the body.
fn fields(judged: &Judged<'_>, repeats: &Repeat) -> Vec<(&'static str, String)> {
    let document = &repeats.original;
    let original = original(document);
    // The URL of the page that is repeated, whichever page the stored bytes came from.
    let url = document.url.clone();
    let mut fields = vec![
        ("verdict", judged.verdict.name().to_owned()),
        ("distance", repeats.distance.to_string()),
        ("similarity", repeats.similarity.to_string()),
        ("original", url),
        ("original-date", original.date),
    ];
    fields.extend(
        original
            .record
            .map(|id| ("original-record", id.to_string())),
    );
    if let Findings::Page(page) = &judged.analysed.findings {
        fields.extend(page.title.clone().map(|title| ("title", title)));
        fields.extend(page.language.clone().map(|language| ("language", language)));
    }
    if let Ok(own) = &judged.analysed.fingerprints {
        fields.push(("words", own.words.to_string()));
        let told = judged.analysed.simhash;
        // What a crawl with a seed of its own compares is nobody else's business.
        let is_public = own.get(Tier::Near).and_then(Signature::simhash) == told;
        let is_told = |(name, _): &(&str, String)| is_public || name.starts_with("sha256");
        fields.extend(own.describe().filter(is_told));
        let other = told.filter(|_| !is_public);
        fields.extend(other.map(|bits| ("simhash-64", format!("{bits:016x}"))));
        fields.extend(
            document
                .fingerprints
                .describe()
                .filter(is_told)
                .map(prefixed),
        );
    }
    fields
}

/// Returns a fingerprint of the original as it stands beside the page's own.
fn prefixed((name, value): (&'static str, String)) -> (&'static str, String) {
    let name = match name {
        "sha256-raw" => "original-sha256-raw",
        "sha256-normalized" => "original-sha256-normalized",
        "sha256-content" => "original-sha256-content",
        "sketch" => "original-sketch",
        _ => "original-simhash-64",
    };
    (name, value)
}
