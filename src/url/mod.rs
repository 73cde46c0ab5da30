//! What a URL is to a crawl: parsing, the canonical form that is its identity, and the host and
//! site it belongs to. First room of the flow: seeds and links enter here as text and leave as
//! [`Url`] (what is requested) and [`UrlId`] (what it is known by). No I/O, no clock. Only
//! `canonical.rs` makes a [`CanonicalUrl`].

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

pub use canonical::{CanonicalUrl, Canonicalizer};
pub use filter::{UrlPattern, UrlPatternError, UrlPatterns};
pub use host::{HostKey, Site};
pub use host_rules::HostRules;
pub use id::{Secret, UrlId};
pub use page_pattern::{PageMap, PagePattern, PagePatternError};
pub use pattern::{HostMap, HostPattern, PatternError};
pub use rules::{Rule, RuleLine, RuleSet, UnknownRule};
pub use series::series;

pub use ::url::{Position, Url};

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding, UTF_8};

/// Longest URL that is crawled, in bytes. RFC 9110 section 4.1 asks for at least 8,000; real pages
/// stay below, and no server is known to take more than 16 KiB of request line by default.
pub const MAX_LEN: usize = 16 * 1024;

/// Why a text is not a URL that can be crawled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not a URL at all.
    #[error("not a URL: {0}")]
    Syntax(#[from] ::url::ParseError),
    /// A URL, but neither http nor https.
    #[error("scheme `{0}` is not crawled, only http and https are")]
    Scheme(String),
    /// An http URL without a host.
    #[error("the URL has no host")]
    NoHost,
    /// More than [`MAX_LEN`] bytes, before or after parsing.
    #[error("the URL has {0} bytes, at most {MAX_LEN} are crawled")]
    TooLong(usize),
}

/// Parses an absolute URL as it was found: a seed, or the text of a link. White space and control
/// characters around it and its fragment are dropped, nothing else is changed beyond what the
/// URL standard's parser does.
pub fn parse(text: &str) -> Result<Url, Error> {
    accept(Url::parse(trimmed(text)?)?)
}

/// Resolves a reference found on a page against the page's base, with the same care.
pub fn join(base: &Url, reference: &str) -> Result<Url, Error> {
    accept(base.join(trimmed(reference)?)?)
}

/// The same for a page in another encoding than UTF-8: the query is written in it (URL standard,
/// section 4.4), which is what the server understands.
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

/// Text in an encoding. What it does not have is a character reference, escaped (URL standard, section
/// 1.3, "percent-encode after encoding").
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

/// Measured before parsing, so that a megabyte of `data:` in a link costs nothing.
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
    url.set_fragment(None);
    if url.as_str().len() > MAX_LEN {
        Err(Error::TooLong(url.as_str().len()))
    } else {
        Ok(url)
    }
}

/// What this crawl calls the same URL: the canonical form and its hash under the crawl's secret.
#[derive(Debug, Clone)]
pub struct Identity {
    canonicalizer: Canonicalizer,
    secret: Secret,
}

impl Identity {
    /// Makes the identity of one crawl.
    pub fn new(canonicalizer: Canonicalizer, secret: Secret) -> Self {
        Self {
            canonicalizer,
            secret,
        }
    }

    /// The identity under which URLs of this host that what was learned of it makes one have one id.
    /// It is no identity of the crawl: it tells variants.
    #[must_use]
    pub fn with_learned(&self, host: &HostKey, rules: HostRules) -> Self {
        let mut learned = self.clone();
        learned.canonicalizer.learn(host, rules);
        learned
    }

    /// The canonical form of `url`.
    pub fn canonical(&self, url: &Url) -> CanonicalUrl {
        self.canonicalizer.canonicalize(url)
    }

    /// The id of `url`: two URLs with one canonical form have one id.
    pub fn id(&self, url: &Url) -> UrlId {
        self.canonical(url).id(&self.secret)
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
    fn only_the_fragment_is_dropped() {
        check(
            "http://a.example/p/?b=2&a=1&utm_source=x#top",
            "http://a.example/p/?b=2&a=1&utm_source=x",
        );
        check("http://u:p@a.example./", "http://u:p@a.example./");
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
        // Nobody writes UTF-16 into a URL.
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
