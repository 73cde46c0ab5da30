//! What the references of a page are relative to.

use encoding_rs::Encoding;
use html5ever::local_name;

use crate::page::html::{Outline, Tag, attribute};
use crate::url::{self, Url};

/// What references are relative to, and in what encoding their queries are written.
pub(crate) struct Base {
    url: Url,
    encoding: &'static Encoding,
}

impl Base {
    /// The first `<base href>` if it is a usable one, else `url`.
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

    /// The absolute URL of a reference, if it is one to crawl.
    pub(crate) fn join(&self, reference: &str) -> Option<Url> {
        url::join_in(&self.url, reference, self.encoding).ok()
    }
}
