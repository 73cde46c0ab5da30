//! The links of a page.
//!
//! References are resolved as in the URL standard (which removes white space and control characters
//! around and within them) against the first usable `<base href>`. Only http and https URLs are
//! returned.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use html5ever::local_name;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::base::Base;
use super::wishes::{Rel, Rels};
use crate::page::html::{Element, Outline, Tag, attribute, has_token};
use crate::page::options::{Note, PageOptions};
use crate::url::{Identity, UrlId};

/// One target of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The absolute URL without fragment, as first seen on the page: what is requested.
    pub url: String,
    /// Its id in this crawl.
    pub id: UrlId,
    /// The kind of its first reference.
    pub kind: LinkKind,
    /// What the references to it say by `rel`.
    pub rels: Rels,
}

/// The kind of reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// `<a href>`.
    Anchor,
    /// `<area href>`, part of an image map.
    Area,
    /// `<iframe src>` or `<frame src>`.
    Frame,
    /// `<meta http-equiv=refresh>`.
    Refresh,
    /// `<link rel>` with next, prev, canonical, or alternate in another language or as HTML.
    Related,
}

/// Maximum size of all links of a page together, in bytes. A page with a long `<base href>` has
/// more of them than bytes of its own.
const MAX_BYTES: usize = 8 << 20;

/// Collects all links, each target once, in document order.
pub(crate) fn collect(
    outline: &Outline<'_>,
    base: &Base,
    identity: &Identity,
    options: &PageOptions,
    notes: &mut Vec<Note>,
) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut places: HashMap<UrlId, usize, BuildHasherDefault<OfIds>> = HashMap::default();
    let mut recent = Recent::default();
    let mut cut = false;
    let mut room = MAX_BYTES;
    for item in outline
        .pointers
        .iter()
        .filter_map(|&index| outline.elements.get(index))
    {
        let element = item.element;
        let Some((reference, kind)) = reference(element, item.tag) else {
            continue;
        };
        let rel = attribute(element, &local_name!("rel")).map_or(Rel::default(), Rel::read);
        let reference = without_fragment(reference);
        if reference.is_empty() || recent.has_or_takes(reference, rel) {
            continue;
        }
        if reference.len() > options.max_url_bytes {
            // A long script or data URL is no loss.
            cut |= base.join(reference).is_some();
            continue;
        }
        let Some(target) = base.join(reference) else {
            continue;
        };
        let length = target.as_str().len();
        if length > options.max_url_bytes {
            cut = true;
            continue;
        }
        let id = identity.id(&target);
        if let Some(&place) = places.get(&id) {
            let link: Option<&mut Link> = links.get_mut(place);
            if let Some(link) = link {
                link.rels.add(rel);
            }
        } else if links.len() < options.max_links && length <= room {
            room -= length;
            places.insert(id, links.len());
            links.push(Link {
                url: target.into(),
                id,
                kind,
                rels: Rels::of(rel),
            });
        } else {
            cut = true;
            break;
        }
    }
    if cut {
        notes.push(Note::LinksCut);
    }
    links
}

/// Recent references. Menus repeat themselves, and resolving and hashing the same reference twice
/// is the main cost; what is forgotten is only resolved again.
struct Recent<'a>([Option<(&'a str, Rel)>; 256]);

impl Default for Recent<'_> {
    fn default() -> Self {
        Self([None; 256])
    }
}

impl<'a> Recent<'a> {
    /// Whether a reference is there; it is from now on.
    fn has_or_takes(&mut self, reference: &'a str, rel: Rel) -> bool {
        let place = xxh3_64(reference.as_bytes()) as usize % self.0.len();
        self.0[place].replace((reference, rel)) == Some((reference, rel))
    }
}

/// Hashes ids, which are hashes by a secret already.
#[derive(Default)]
struct OfIds(u64);

impl Hasher for OfIds {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last_chunk::<8>() {
            self.0 ^= u64::from_le_bytes(*last);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The reference of an element to another page.
fn reference(element: Element<'_>, tag: Tag) -> Option<(&str, LinkKind)> {
    let href = || attribute(element, &local_name!("href"));
    let (reference, kind) = match tag {
        Tag::A => (href()?, LinkKind::Anchor),
        Tag::Area => (href()?, LinkKind::Area),
        Tag::Iframe | Tag::Frame => (attribute(element, &local_name!("src"))?, LinkKind::Frame),
        Tag::Link if is_related(element) => (href()?, LinkKind::Related),
        Tag::Meta => {
            let pragma = attribute(element, &local_name!("http-equiv"))?;
            if !pragma.trim().eq_ignore_ascii_case("refresh") {
                return None;
            }
            let content = attribute(element, &local_name!("content"))?;
            (refresh_target(content)?, LinkKind::Refresh)
        }
        _ => return None,
    };
    let reference = reference.trim();
    (!reference.is_empty()).then_some((reference, kind))
}

/// The reference without its fragment, if that changes nothing else: white space and control
/// characters are dropped at the end of a reference, but not in front of a fragment.
fn without_fragment(reference: &str) -> &str {
    let before = reference.find('#').and_then(|at| reference.get(..at));
    let ends_well = |it: &&str| it.bytes().last().is_none_or(|last| last > b' ');
    before.filter(ends_well).unwrap_or(reference)
}

/// Whether a `<link>` leads to a page rather than to a feed, a style sheet or an icon.
fn is_related(element: Element<'_>) -> bool {
    let rel = attribute(element, &local_name!("rel")).unwrap_or_default();
    if ["next", "prev", "canonical"]
        .iter()
        .any(|token| has_token(rel, token))
    {
        return true;
    }
    if !has_token(rel, "alternate") || has_token(rel, "stylesheet") {
        return false;
    }
    match attribute(element, &local_name!("type")).map(str::trim) {
        None | Some("") => attribute(element, &local_name!("hreflang")).is_some(),
        Some(media_type) => media_type.eq_ignore_ascii_case("text/html"),
    }
}

/// The target of `5; url='next.html'` (HTML standard, "shared declarative refresh steps").
fn refresh_target(content: &str) -> Option<&str> {
    let content = content.trim_start();
    let after_time = content.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if after_time.len() == content.len() {
        return None;
    }
    let rest = after_time
        .trim_start()
        .strip_prefix([';', ','])
        .unwrap_or(after_time)
        .trim_start();
    let target = match rest.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("url") => {
            let after_word = rest.get(3..).unwrap_or_default().trim_start();
            after_word.strip_prefix('=').map_or(rest, str::trim_start)
        }
        _ => rest,
    };
    let unquoted = match target.chars().next() {
        Some(quote @ ('"' | '\'')) => target.get(1..)?.split(quote).next().unwrap_or_default(),
        _ => target,
    };
    Some(unquoted.trim()).filter(|target| !target.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fragment_is_cut_off() {
        let check = |reference: &str, expected: &str| {
            assert_eq!(without_fragment(reference), expected, "{reference:?}");
            let base = crate::url::parse("http://a.example/b/c?d").expect("a URL");
            let [whole, cut] = [reference, expected].map(|it| crate::url::join(&base, it).ok());
            assert_eq!(whole, cut, "{reference:?}");
        };
        check("page.html#top", "page.html");
        check("page.html", "page.html");
        check("?q=1#a#b", "?q=1");
        check("//b.example/#!/x", "//b.example/");
        check("data:text/html,#x", "data:text/html,");
        // What is dropped at the end is part of the path here.
        check("page #top", "page #top");
        check("page\t#top", "page\t#top");
    }
}
