//! URLs: parsing, the canonical form that identifies a URL, and the host and registrable domain
//! that it belongs to.
//!
//! This is the first room of the flow: seeds and links enter as text and leave as a [`Url`] (what
//! is requested) and a [`UrlId`] (what identifies it). The room does no I/O and reads no clock.
//! Only `canonical.rs` makes a [`CanonicalUrl`].

mod block_list;
mod canonical;
mod filter;
mod host;
mod host_name;
mod host_rules;
mod id;
mod page_pattern;
mod pattern;
mod rules;
mod series;
mod suffixes;
mod surt;

pub use block_list::{BlockList, BlockListError, BlockListReader, Blocked};
pub use canonical::{CanonicalUrl, Canonicalizer};
pub use filter::{TooManyPatterns, UrlPattern, UrlPatternError, UrlPatterns};
pub use host::{HostKey, Site};
pub use host_rules::HostRules;
pub use id::{Secret, UrlId};
pub use page_pattern::{PageMap, PagePattern, PagePatternError};
pub use pattern::{HostMap, HostPattern, PatternError};
pub use rules::{Rule, RuleLine, RuleSet, UnknownRule};
pub use series::series;
pub use suffixes::Suffixes;
pub use surt::surt;

pub use ::url::{Position, Url};

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding, UTF_8};

/// Maximum length of a URL, in bytes. RFC 9110, section 4.1 asks for at least 8,000; real pages
/// stay below that, and no server is known to accept a request line of more than 16 KiB by default.
pub const MAX_LEN: usize = 16 * 1024;

/// The months by their English names, as dates in URLs and on pages have them.
pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The error returned for a text that is not a URL that can be crawled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not a URL.
    #[error("not a URL: {0}")]
    Syntax(#[from] ::url::ParseError),
    /// The scheme is neither http nor https.
    #[error("scheme `{0}` is not supported; only http and https URLs are crawled")]
    Scheme(String),
    /// The URL has no host.
    #[error("the URL has no host")]
    NoHost,
    /// The URL has more than [`MAX_LEN`] bytes, before or after parsing.
    #[error("the URL has {0} bytes; the maximum is {MAX_LEN}")]
    TooLong(usize),
}

/// Parses an absolute URL as it was found, in a seed list or a link. Surrounding white space and
/// control characters, user name and password, and the fragment are dropped; apart from that, only
/// what the URL standard's parser changes is changed.
///
/// # Errors
///
/// Returns an [`Error`] if the text is not an http or https URL with a host, or is too long.
pub fn parse(text: &str) -> Result<Url, Error> {
    accept(Url::parse(trimmed(text)?)?)
}

/// Resolves a reference found on a page against the page's base URL, under the conditions of
/// [`parse`].
pub fn join(base: &Url, reference: &str) -> Result<Url, Error> {
    accept(base.join(trimmed(reference)?)?)
}

/// Resolves a reference like [`join`], for a page in the given encoding. The query is written in
/// that encoding (URL standard, section 4.4), because that is what the server expects.
pub fn join_in(base: &Url, reference: &str, encoding: &'static Encoding) -> Result<Url, Error> {
    let encoding = encoding.output_encoding();
    if encoding == UTF_8 || reference.is_ascii() {
        return join(base, reference);
    }
    let joined = Url::options()
        .base_url(Some(base))
        .encoding_override(Some(&|query| Cow::Owned(encoded(query, encoding))))
        .parse(trimmed(reference)?)?;
    accept(joined)
}

/// Encodes text. A character that the encoding lacks becomes an escaped numeric character reference
/// (URL standard, section 1.3, "percent-encode after encoding").
fn encoded(mut text: &str, encoding: &'static Encoding) -> Vec<u8> {
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::new();
    loop {
        let room = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
        bytes.reserve(room.unwrap_or(MAX_LEN));
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(text, &mut bytes, true);
        text = text.get(read..).unwrap_or_default();
        match result {
            EncoderResult::Unmappable(letter) => {
                let reference = format!("%26%23{}%3B", u32::from(letter));
                bytes.extend_from_slice(reference.as_bytes());
            }
            EncoderResult::OutputFull => {}
            EncoderResult::InputEmpty => return bytes,
        }
    }
}

/// Trims the text and checks its length before parsing, so that a megabyte of `data:` in a link
/// costs nothing.
fn trimmed(text: &str) -> Result<&str, Error> {
    let text = text.trim_matches(|c: char| c == ' ' || c.is_ascii_control());
    if text.len() > MAX_LEN {
        Err(Error::TooLong(text.len()))
    } else {
        Ok(text)
    }
}

fn accept(mut url: Url) -> Result<Url, Error> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::Scheme(url.scheme().to_owned()));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(Error::NoHost);
    }
    if url.fragment().is_some() {
        url.set_fragment(None);
    }
    if !url.username().is_empty() || url.password().is_some() {
        // Credentials in a link are not ours to send, and never to be kept. Neither call fails for
        // a URL with a host.
        let _ = (url.set_username(""), url.set_password(None));
    }
    if url.as_str().len() > MAX_LEN {
        Err(Error::TooLong(url.as_str().len()))
    } else {
        Ok(url)
    }
}

/// How a crawl identifies URLs: the canonical form, hashed under the crawl's secret.
#[derive(Debug, Clone)]
pub struct Identity {
    canonicalizer: Canonicalizer,
    secret: Secret,
}

impl Identity {
    /// Creates the identity of a crawl.
    pub fn new(canonicalizer: Canonicalizer, secret: Secret) -> Self {
        Self {
            canonicalizer,
            secret,
        }
    }

    /// Returns an identity that also applies `rules`, learned of `host`. It serves to find variants
    /// of a URL and is not the identity of the crawl.
    #[must_use]
    pub fn with_learned(&self, host: &HostKey, rules: HostRules) -> Self {
        let mut learned = self.clone();
        learned.canonicalizer.learn(host, rules);
        learned
    }

    /// Returns the canonical form of `url`.
    pub fn canonical(&self, url: &Url) -> CanonicalUrl {
        self.canonicalizer.canonicalize(url)
    }

    /// Returns the id of `url`. URLs with the same canonical form have the same id.
    pub fn id(&self, url: &Url) -> UrlId {
        self.canonical(url).id(&self.secret)
    }

    /// Returns the id of `url` as it is written, for what must be found under exactly this URL. It
    /// never equals the id of a page.
    pub fn as_written(&self, url: &Url) -> UrlId {
        // No canonical form begins like this.
        UrlId::of(&format!("={url}"), &self.secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(
            parse(text).map(String::from),
            Ok(expected.to_owned()),
            "{text:?}"
        );
    }

    fn check_refused(text: &str) {
        assert!(
            parse(text).is_err(),
            "{text:?} was taken for {:?}",
            parse(text)
        );
    }

    #[test]
    fn text_around_a_url_is_dropped() {
        check(
            " \t\r\n http://a.example/x \u{7f}\u{0}",
            "http://a.example/x",
        );
        check("http://a.example/x y", "http://a.example/x%20y");
    }

    #[test]
    fn only_fragment_and_credentials_are_dropped() {
        check(
            "http://a.example/p/?b=2&a=1&utm_source=x#top",
            "http://a.example/p/?b=2&a=1&utm_source=x",
        );
        check("http://u:p@a.example./@", "http://a.example./@");
    }

    #[test]
    fn what_is_no_web_address_is_refused() {
        for text in [
            "",
            " ",
            "a.example/x",
            "//a.example/x",
            "/x",
            "mailto:a@a.example",
            "javascript:void(0)",
            "ftp://a.example/",
            "data:text/html,x",
            "http://",
            "http://?",
            "http://a b/",
            "http://a<b/",
            "http://[::1",
            "http://a.example:99999/",
            "http://1.2.3.999/",
            "https://xn--/",
            "http:",
        ] {
            check_refused(text);
        }
    }

    #[test]
    fn references_resolve_against_the_base() {
        let base = parse("http://a.example/d/e?q").unwrap();
        for (reference, expected) in [
            ("f", "http://a.example/d/f"),
            (" ../f ", "http://a.example/f"),
            ("?x", "http://a.example/d/e?x"),
            ("#x", "http://a.example/d/e?q"),
            ("//b.example", "http://b.example/"),
            ("//u:p@b.example", "http://b.example/"),
        ] {
            assert_eq!(
                join(&base, reference).unwrap().as_str(),
                expected,
                "{reference}"
            );
        }
        assert_eq!(join(&base, "tel:1"), Err(Error::Scheme("tel".to_owned())));
    }

    #[test]
    fn queries_are_in_the_encoding_of_the_page() {
        let base = parse("http://a.example/d/e?q").unwrap();
        let check = |reference, encoding, expected| {
            let joined = join_in(&base, reference, encoding).unwrap();
            assert_eq!(joined.as_str(), expected, "{reference}");
        };
        let gbk = encoding_rs::GBK;
        check("?q=春", gbk, "http://a.example/d/e?q=%B4%BA");
        check("/春?春#春", gbk, "http://a.example/%E6%98%A5?%B4%BA");
        check("?q=%E9&r=a", gbk, "http://a.example/d/e?q=%E9&r=a");
        let latin = encoding_rs::WINDOWS_1252;
        check("?é春ü", latin, "http://a.example/d/e?%E9%26%2326149%3B%FC");
        // URLs are never written in UTF-16.
        for encoding in [encoding_rs::UTF_16LE, encoding_rs::REPLACEMENT, UTF_8] {
            check("?é", encoding, "http://a.example/d/e?%C3%A9");
        }
        let japanese = encoding_rs::ISO_2022_JP;
        check("?春", japanese, "http://a.example/d/e?%1B$B=U%1B(B");
        assert!(join_in(&base, "mailto:é", gbk).is_err());
        let long = "é".repeat(MAX_LEN / 3);
        assert!(matches!(
            join_in(&base, &long, latin),
            Err(Error::TooLong(_))
        ));
    }

    #[test]
    fn length_is_bounded_before_and_after_parsing() {
        let long = format!("http://a.example/{}", "x".repeat(MAX_LEN));
        assert_eq!(parse(&long), Err(Error::TooLong(long.len())));
        // Each `é` is two bytes in the text and six in the URL.
        let growing = format!("http://a.example/{}", "é".repeat(MAX_LEN / 4));
        assert!(matches!(parse(&growing), Err(Error::TooLong(_))));
        let base = parse("http://a.example/").unwrap();
        assert!(matches!(join(&base, &long), Err(Error::TooLong(_))));
    }

    #[test]
    fn an_identity_folds_what_the_canonicalizer_folds() {
        let identity = Identity::new(
            Canonicalizer::default(),
            Secret::from_bytes([7; Secret::LEN]),
        );
        let id = |text| identity.id(&parse(text).unwrap());
        assert_eq!(
            id("http://a.example/x?b=2&a=1"),
            id("http://A.example:80/x/?a=1&b=2#f")
        );
        assert_ne!(id("http://a.example/x?a=1"), id("http://a.example/x?a=2"));
    }
}
