//! What a page of its own resembles: the group that it belongs to. Nothing is left out because of
//! it; consumers may collapse a group.

use xxhash_rust::xxh3::xxh3_64;

use super::group::Group;
use crate::dedup::{DocumentId, Profile, Repeat, Verdict};
use crate::engine::Error;
use crate::engine::visit::{Findings, Judged};
use crate::rows::{GROUPS, Likeness};
use crate::store::{encode, keys};
use crate::url::UrlId;

/// Files a visited page under the group that it belongs to now, and returns it. `document` is the
/// one that the visit added.
pub(super) fn file(
    judged: &Judged<'_>,
    document: Option<DocumentId>,
    profile: Profile,
    group: &mut Group<'_>,
) -> Result<Option<Likeness>, Error> {
    let id = judged.analysed.fetched.task.queued.id;
    if matches!(judged.verdict, Verdict::Unchanged(_)) {
        return of(id, group);
    }
    let mut likeness = match &judged.like {
        Some(like) => Some(head(like, judged, group)?),
        None => None,
    };
    if let (Profile::Corpus, Verdict::Unique, Some(document), Findings::Page(page)) = (
        profile,
        &judged.verdict,
        document,
        &judged.analysed.findings,
    ) {
        let own = without_digits(page.compared_text());
        let key = keys::without_digits(document);
        group.set.set_grouped(key, Some(own.to_be_bytes().to_vec()));
        if let Some(likeness) = &mut likeness {
            let other = group.set.grouped(&keys::without_digits(likeness.of))?;
            likeness.is_in_digits = other.is_some_and(|other| other == own.to_be_bytes());
        }
    }
    let key = keys::group(id.as_bytes());
    match &likeness {
        Some(likeness) => group.set.set_grouped(key, Some(encode(likeness))),
        // Only a page that was visited before can have a row.
        None if judged.previous.is_some() => group.set.set_grouped(key, None),
        None => {}
    }
    Ok(likeness)
}

/// Returns the group of a page of its own.
fn of(id: UrlId, group: &Group<'_>) -> Result<Option<Likeness>, Error> {
    let row = group.set.grouped(&keys::group(id.as_bytes()))?;
    Ok(row.map(|row| GROUPS.decode(&row)).transpose()?)
}

/// Returns the group of a page that resembles an original: that of the original, if the page
/// resembles its first page too, so that no chain of small differences leads from one page to
/// another.
fn head(like: &Repeat, judged: &Judged<'_>, group: &Group<'_>) -> Result<Likeness, Error> {
    let closest = Likeness {
        of: like.original.id,
        page: like.original.url_id,
        url: like.original.url.clone(),
        similarity: like.similarity,
        distance: like.distance,
        is_in_digits: false,
    };
    let (Ok(own), Some(first)) = (
        &judged.analysed.fingerprints,
        of(like.original.url_id, group)?,
    ) else {
        return Ok(closest);
    };
    let document = group.document(first.of)?;
    let compared = document.and_then(|document| own.compare(&document.fingerprints));
    Ok(match compared {
        Some(found) if found.similarity.share() >= LEAST => Likeness {
            similarity: found.similarity,
            distance: found.distance.unwrap_or(0),
            is_in_digits: false,
            ..first
        },
        _ => closest,
    })
}

/// Least similarity of a page to the first one of its group.
const LEAST: f64 = crate::dedup::MIN_SIMILARITY;

/// Hash of a text in which every number is the same.
fn without_digits(text: &str) -> u64 {
    let mut masked = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_numeric() && masked.ends_with('0') => {}
            c if c.is_numeric() => masked.push('0'),
            c => masked.extend(c.to_lowercase()),
        }
    }
    xxh3_64(masked.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::without_digits;

    #[test]
    fn numbers_are_all_the_same() {
        assert_eq!(
            without_digits("Line 7, 9:05"),
            without_digits("line 12, 17:50")
        );
        assert_ne!(without_digits("Line 7"), without_digits("Line 7, 9"));
        assert_ne!(without_digits("Line 7"), without_digits("Tram 7"));
    }
}
