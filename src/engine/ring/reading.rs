//! Reads a response: decodes, parses and signs its page. Used by analysts for responses from the
//! network, and for responses from the archive when fingerprints are recomputed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::convert::{CONVERTER_NOTE, Conversion, Converted, Converters};
use crate::dedup::{
    Fingerprinter, Fingerprints, Ineligible, PageHints, Raw, Signature, Text, Tier,
};
use crate::engine::Options;
use crate::fetch::{self, DECODED_LENGTH, DecodeBounds, Decoded};
use crate::frontier::{MAX_REQUISITES, Reading};
use crate::page::{self, BodyKind, Note, Page, PageOptions, Requisites, charset};
use crate::url::{self, Identity, Url, UrlId};
use crate::{robots, sites};

/// Size of a decoded body, in bytes, from which it counts as large; few pages of the web are.
const LARGE: usize = 1 << 20;

/// Reads pages.
#[derive(Clone)]
pub(crate) struct Reader {
    pub(crate) identity: Identity,
    pub(crate) options: PageOptions,
    pub(crate) decoding: DecodeBounds,
    /// Set if what is neither HTML nor text is kept.
    keeps_other_types: bool,
    /// Locked while a large body is read.
    large: Arc<Mutex<()>>,
    /// The product token by which X-Robots-Tag values address this crawler.
    pub(crate) product_token: String,
    fingerprinter: Fingerprinter,
    converters: Converters,
    /// Makes what others are told, if the crawl's own fingerprints are not to be.
    public: Option<Fingerprinter>,
}

/// A successful response, from the network or the archive.
pub(crate) struct Answer<'a> {
    /// Header fields, with names in lower case.
    pub(crate) headers: &'a [(String, Vec<u8>)],
    /// The body as received.
    pub(crate) body: &'a Bytes,
    /// The SHA-256 of the body, if it is known.
    pub(crate) sha256: Option<[u8; 32]>,
    /// Set if the body is incomplete.
    pub(crate) is_cut: bool,
}

/// The signatures of a body, or the reason why it has none.
pub(crate) struct Signed {
    pub(crate) fingerprints: Result<Fingerprints, Ineligible>,
    /// The SimHash that others are told. The one that the page is compared by would say something
    /// of the seed, with which pages could be made that look like others.
    pub(crate) simhash: Option<u64>,
    /// What became of a body that is neither HTML nor text.
    pub(crate) conversion: Conversion,
}

impl Signed {
    /// Nothing is signed, for this reason.
    pub(crate) fn not(why: Ineligible) -> Self {
        Self {
            fingerprints: Err(why),
            simhash: None,
            conversion: Conversion::None,
        }
    }
}

impl<'a> Answer<'a> {
    fn values(&self, name: &'a str) -> impl Iterator<Item = &'a str> + Clone {
        let named = self.headers.iter().filter(move |(field, _)| field == name);
        named.filter_map(|(_, value)| std::str::from_utf8(value).ok())
    }
}

impl Reader {
    /// Creates a reader that reads as a run with these options does.
    pub(crate) fn new(identity: &Identity, options: &Options) -> Self {
        Self {
            identity: identity.clone(),
            options: PageOptions {
                line_mask: sites::line_mask(options.features.masks),
                product_token: robots::product_token(&options.fetch.user_agent).to_owned(),
                ..options.page.clone()
            },
            decoding: options.fetch.decode_bounds(),
            keeps_other_types: options.archive.other_types,
            large: Arc::default(),
            product_token: robots::product_token(&options.fetch.user_agent).to_owned(),
            public: Fingerprinter::new(options.features.clone()).public(),
            fingerprinter: Fingerprinter::new(options.features.clone()),
            converters: Converters::new(&options.convert),
        }
    }

    /// Reads the page at `url`, and signs it if it is complete. What kept it from being complete is
    /// added to `notes`. For what is neither HTML nor text, `is_page` says whether it is signed.
    pub(crate) fn read(
        &self,
        answer: &Answer<'_>,
        url: &Url,
        is_page: impl FnOnce(&[u8], &mut Vec<String>) -> bool,
        notes: &mut Vec<String>,
    ) -> (Option<Page>, Signed) {
        if answer.body.is_empty() {
            return (None, Signed::not(Ineligible::Empty));
        }
        let (decoded, _turn) = self.decode(answer.values("content-encoding"), answer.body, notes);
        let is_whole = !answer.is_cut && decoded.is_whole;
        let body = decoded.bytes;
        let sign = |text: &Text, told: Option<(&Fingerprinter, Text)>| {
            if !is_whole {
                return Signed::not(Ineligible::Cut);
            }
            // Where no content coding was undone, it is the same body.
            let is_same = std::ptr::eq(body.as_ptr(), answer.body.as_ptr());
            let is_same = is_same && body.len() == answer.body.len();
            let raw = Raw {
                bytes: &body,
                sha256: answer.sha256.filter(|_| is_same),
            };
            let fingerprints = self.fingerprinter.sign_raw(raw, text);
            let own = fingerprints.get(Tier::Near).and_then(Signature::simhash);
            let simhash = match told {
                Some((public, text)) => own.map(|_| public.simhash(&text)),
                None => own,
            };
            Signed {
                fingerprints: Ok(fingerprints),
                simhash,
                conversion: Conversion::None,
            }
        };
        let mut conversion = Conversion::None;
        let content_type = answer.values("content-type").next();
        let page = match page::kind(content_type, &body) {
            BodyKind::Html => {
                let text = charset::to_text(&body, content_type);
                Page::parse_html(text, url, &self.identity, &self.options)
            }
            BodyKind::Text => {
                let text = charset::to_text(&body, content_type);
                Page::plain_text_of(&text.text, url, &self.options)
            }
            BodyKind::Other => {
                if !is_page(&body, notes) {
                    return (None, Signed::not(Ineligible::Status));
                }
                let converted;
                (converted, conversion) = match is_whole {
                    true => self.convert(content_type, &body, url, notes),
                    false => (None, Conversion::None),
                };
                let Some(page) = converted else {
                    let signed = match self.keeps_other_types {
                        true => sign(&Text::default(), None),
                        false => Signed::not(Ineligible::Kind),
                    };
                    return (
                        None,
                        Signed {
                            conversion,
                            ..signed
                        },
                    );
                };
                page
            }
        };
        notes.extend(page.notes.iter().map(|note| format!("{note:?}")));
        // A text that a bound cut says nothing about what followed the cut.
        let is_read_whole = page.notes.iter().all(|note| *note == Note::LinksCut);
        let signed = match is_read_whole {
            true => {
                let (main, visible) = (page.compared_text(), &*page.full_text);
                let (text, told) = match &self.public {
                    Some(public) => {
                        let (text, told) = self.fingerprinter.text_twice(public, main, visible);
                        (text, Some((public, told)))
                    }
                    None => (self.fingerprinter.text(main, visible), None),
                };
                sign(&text.with_hints(&self.hints(&page, url)), told)
            }
            false => sign(&Text::default(), None),
        };
        let signed = Signed {
            conversion,
            ..signed
        };
        (Some(page), signed)
    }

    /// Reads what a converter makes of a body, if there is one for it.
    fn convert(
        &self,
        content_type: Option<&str>,
        body: &Bytes,
        url: &Url,
        notes: &mut Vec<String>,
    ) -> (Option<Page>, Conversion) {
        let found = page::identify(content_type, body);
        match self.converters.convert((content_type, found), body) {
            Converted::Text(text) => {
                notes.push("converted".to_owned());
                let page = match page::kind(None, &text) {
                    BodyKind::Html => {
                        let text = charset::to_text(&text, Some("text/html; charset=utf-8"));
                        Page::parse_html(text, url, &self.identity, &self.options)
                    }
                    BodyKind::Text | BodyKind::Other => {
                        let text = String::from_utf8_lossy(&text);
                        Page::plain_text_of(&text, url, &self.options)
                    }
                };
                (Some(page), Conversion::Done)
            }
            Converted::Failed(reason) => {
                notes.push(format!("{CONVERTER_NOTE}{reason}"));
                (None, Conversion::Failed)
            }
            Converted::Without(true) => (None, Conversion::Wanted),
            Converted::Without(false) => (None, Conversion::None),
        }
    }

    /// Finds what a page needs, or a requisite of which this is read.
    pub(crate) fn requisites(
        &self,
        answer: &Answer<'_>,
        url: &Url,
        reading: Option<Reading>,
    ) -> Requisites {
        let codings = answer.values("content-encoding");
        let (decoded, _turn) = self.decode(codings, answer.body, &mut Vec::new());
        let body = decoded.bytes;
        let content_type = answer.values("content-type").next();
        let is_html = page::kind(content_type, &body) == BodyKind::Html;
        let is_drawing = content_type.is_some_and(|it| it.contains("svg"));
        let is_page = reading.is_none();
        let most = MAX_REQUISITES as usize;
        let text = || charset::to_text(&body, content_type);
        let (identity, options) = (&self.identity, &self.options);
        match reading {
            None | Some(Reading::Document) if is_html || is_drawing => {
                Requisites::of_html(&text(), (url, is_page), most, identity, options)
            }
            // A page in place of a style sheet says that there is none.
            Some(Reading::Style) if !is_html => {
                Requisites::of_css(&text().text, url, most, identity, options)
            }
            _ => Requisites::default(),
        }
    }

    /// Returns what the page says about itself beside its text.
    fn hints(&self, page: &Page, url: &Url) -> PageHints {
        let ids = |urls: &mut dyn Iterator<Item = &String>| -> Vec<UrlId> {
            urls.filter_map(|it| url::parse(it).ok())
                .map(|it| self.identity.id(&it))
                .collect()
        };
        let alternates = &page.metadata.alternates;
        let mut versions = ids(&mut alternates.iter().map(|(_, url)| url));
        if !versions.is_empty() {
            versions.push(self.identity.id(url));
        }
        PageHints {
            host: url.host_str().map(str::to_owned),
            title: page.title.clone(),
            h1: page.metadata.h1.clone(),
            language: page.sure_language(),
            declared_language: page.language.clone(),
            versions,
            neighbours: ids(&mut page.neighbours.iter()),
            series: url::series(url).map(|first| self.identity.id(&first)),
        }
    }

    /// Undoes content codings. Large bodies are read one at a time, because reading one takes
    /// several times its memory; keep the returned guard until the body is read.
    pub(crate) fn decode<'a>(
        &self,
        encodings: impl Iterator<Item = &'a str> + Clone,
        body: &Bytes,
        notes: &mut Vec<String>,
    ) -> (Decoded, Option<MutexGuard<'_, ()>>) {
        let small = DecodeBounds {
            max_bytes: LARGE.min(self.decoding.max_bytes),
            ..self.decoding
        };
        let mut turn = None;
        let mut decoded = fetch::decode(encodings.clone(), body, small);
        if decoded.note == Some(DECODED_LENGTH) && small != self.decoding {
            drop(decoded);
            turn = Some(self.large.lock().unwrap_or_else(PoisonError::into_inner));
            decoded = fetch::decode(encodings, body, self.decoding);
        }
        notes.extend(decoded.note.map(str::to_owned));
        (decoded, turn)
    }
}
