//! The base URL of a page.

use encoding_rs::Encoding;
use html5ever::local_name;

use crate::page::html::{Outline, Tag, attribute};
use crate::url::{self, Url};

/// The URL that references are relative to, and the encoding of their queries.
pub(crate) struct Base {
    url: Url,
    encoding: &'static Encoding,
}

impl Base {
    /// The first usable `<base href>`, else `url`.
    pub(crate) fn of(outline: &Outline<'_>, url: &Url, encoding: &'static Encoding) -> Self {
        let declared = outline
            .declared(Tag::Base)
            .find_map(|(_, element)| attribute(element, &local_name!("href")))
            .and_then(|href| url::join_in(url, href, encoding).ok());
        Self {
            url: declared.unwrap_or_else(|| url.clone()),
            encoding,
        }
    }

    /// This URL, for references in text of this encoding.
    pub(crate) fn at(url: Url, encoding: &'static Encoding) -> Self {
        Self { url, encoding }
    }

    /// The URL itself.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The absolute URL of a reference, if it can be crawled and has at most `max_bytes`, as
    /// written and made absolute.
    pub(crate) fn join_within(&self, reference: &str, max_bytes: usize) -> Option<Url> {
        let target = (reference.len() <= max_bytes).then(|| self.join(reference))??;
        (target.as_str().len() <= max_bytes).then_some(target)
    }

    /// The absolute URL of a reference, if it can be crawled.
    pub(crate) fn join(&self, reference: &str) -> Option<Url> {
        url::join_in(&self.url, reference, self.encoding).ok()
    }
}
