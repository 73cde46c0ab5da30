//! The outcome of a fetch as data: an exchange or a failure.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use strum::IntoStaticStr;
use xxhash_rust::xxh3::xxh3_64;

use super::secret::HIDDEN;
use crate::url::{Url, join};

/// Maximum length of an entity tag that is kept, in characters. Those of common servers are shorter
/// than 80.
const MAX_ETAG: usize = 256;
/// Maximum length of a Last-Modified value that is kept, in characters; a date has 29.
const MAX_DATE: usize = 40;

/// Maximum length of a media type that is kept, in characters.
const MAX_MIME: usize = 256;

/// The outcome of a fetch.
#[derive(Debug)]
pub enum Outcome {
    /// The server responded, with whatever status.
    Exchange(Box<Exchange>),
    /// There was no response.
    Failed(Failure),
}

impl Outcome {
    /// Returns the address that responded, if one did and it is known.
    pub fn remote(&self) -> Option<IpAddr> {
        match self {
            Self::Exchange(exchange) => exchange.remote.map(|remote| remote.ip()),
            Self::Failed(_) => None,
        }
    }
}

/// A request and its response as they went over the wire, as far as the client library reports it.
#[derive(Debug)]
pub struct Exchange {
    /// Time at which the request began.
    pub started: Timestamp,
    /// Time from then to the last byte.
    pub duration: Duration,
    /// Address of the server that responded.
    pub remote: Option<SocketAddr>,
    /// Versions of HTTP and TLS as named by WARC-Protocol: `h2`, `http/1.1`, `tls/1.3`.
    pub protocols: Vec<&'static str>,
    /// Head of the request, as sent.
    pub request_head: Vec<u8>,
    /// Status code of the response.
    pub status: u16,
    /// Header fields of the response; repeated fields are in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as received: with content codings, without transfer coding.
    pub body: Bytes,
    /// Why the body is incomplete, if it is.
    pub cut: Option<Cut>,
}

/// Validators of an earlier response, sent in a conditional request: the server sends a body only
/// if the page no longer matches them (RFC 9110, section 13.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conditions<'a> {
    /// Value of If-None-Match.
    pub etag: Option<&'a str>,
    /// Value of If-Modified-Since.
    pub last_modified: Option<&'a str>,
}

/// Why a body is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// It exceeded the maximum length.
    Length,
    /// It exceeded the maximum time.
    Time,
    /// The connection broke.
    Disconnect,
}

impl Exchange {
    /// Returns the first value of a header field as text. `name` must be lower case.
    pub fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.header_values(name).next()
    }

    /// Returns all values of a header field that are text, in order.
    pub fn header_values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + Clone {
        self.headers
            .iter()
            .filter(move |(field, _)| field == name)
            .filter_map(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// Returns the declared media type with its parameters, as it is kept: up to 256 characters,
    /// and printable ones only.
    pub fn mime(&self) -> Option<String> {
        let declared = self.header("content-type")?;
        let printable = declared.chars().filter(|letter| !letter.is_control());
        Some(printable.take(MAX_MIME).collect())
    }

    /// Hides the values of a header field. `name` must be lower case.
    pub(super) fn hide(&mut self, name: &str) {
        for (_, value) in self.headers.iter_mut().filter(|(field, _)| field == name) {
            *value = HIDDEN.into();
        }
    }

    /// Returns `true` for a status of 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns `true` if the server says that the response its validators came from is still valid
    /// (RFC 9110, section 15.4.5). Means something only for a conditional request.
    pub fn is_not_modified(&self) -> bool {
        self.status == 304
    }

    /// Returns the conditions for the next request: validators that can be sent back unchanged and
    /// are no longer than reasonable ones.
    pub fn conditions(&self) -> Conditions<'_> {
        let validator = |name, most| {
            let value: &str = self.header(name)?.trim();
            let can_be_sent = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            (can_be_sent && !value.is_empty() && value.len() <= most).then_some(value)
        };
        Conditions {
            etag: validator("etag", MAX_ETAG),
            last_modified: validator("last-modified", MAX_DATE),
        }
    }

    /// Returns `true` if the server is overloaded or rejects our rate, so that the request should
    /// be repeated later.
    pub fn asks_for_time(&self) -> bool {
        matches!(self.status, 429 | 503)
    }

    /// Returns `true` if the status is a redirect that names its target in Location.
    pub fn is_redirect(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308)
    }

    /// Returns the target of a redirect from `url`, or `None` if this is not a redirect or its
    /// target is not a URL.
    pub fn redirect_target(&self, url: &Url) -> Option<Url> {
        let (_, location) = self.headers.iter().find(|(name, _)| name == "location")?;
        let target = join(url, &readable(location)).ok();
        target.filter(|_| self.is_redirect())
    }

    /// Returns what players of archives take from the head beside the body, as a hash: status,
    /// `Content-Type` and `Content-Encoding`. It is kept in rows.
    pub fn replay_form(&self) -> u64 {
        let mut bytes = self.status.to_be_bytes().to_vec();
        for name in ["content-type", "content-encoding"] {
            for (field, value) in &self.headers {
                if field == name {
                    bytes.push(b'\n');
                    bytes.extend_from_slice(value.trim_ascii());
                }
            }
            bytes.push(0);
        }
        xxh3_64(&bytes)
    }

    /// Returns this answer as if the server had sent again what it says is unmodified (RFC 9111,
    /// section 3.2): with the body of the earlier answer, and its head as this one updates it.
    pub(crate) fn with_unmodified(&self, earlier: Self) -> Self {
        let is_of_body = |name: &str| {
            name.starts_with("content-") || matches!(name, "transfer-encoding" | "connection")
        };
        let new = self.headers.iter().filter(|(name, _)| !is_of_body(name));
        let new: Vec<_> = new.cloned().collect();
        let mut headers = earlier.headers;
        headers.retain(|(name, _)| new.iter().all(|(own, _)| own != name));
        headers.extend(new);
        Self {
            started: self.started,
            duration: self.duration,
            remote: self.remote,
            protocols: self.protocols.clone(),
            request_head: self.request_head.clone(),
            status: earlier.status,
            headers,
            body: earlier.body,
            cut: None,
        }
    }

    /// Returns the head of the response as stored: without the transfer coding, which was removed.
    pub fn response_head(&self) -> Vec<u8> {
        let reason = reqwest::StatusCode::from_u16(self.status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or("Unknown");
        // HTTP/2 has no status line; it is written as HTTP/1.1, and WARC-Protocol has the real
        // version.
        let version = if self.protocols.contains(&"http/1.0") {
            "1.0"
        } else {
            "1.1"
        };
        let mut head = format!("HTTP/{version} {} {reason}\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            if name != "transfer-encoding" {
                head.extend_from_slice(name.as_bytes());
                head.extend_from_slice(b": ");
                head.extend_from_slice(value);
                head.extend_from_slice(b"\r\n");
            }
        }
        head.extend_from_slice(b"\r\n");
        head
    }

    /// Returns how long, from `now`, an overloaded server asks to be left alone (RFC 9110, section
    /// 10.2.3: seconds or a date).
    pub fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        let value = self.header("retry-after")?.trim();
        if let Ok(seconds) = value.parse::<u64>() {
            return Some(Duration::from_secs(seconds));
        }
        let date = jiff::fmt::rfc2822::DateTimeParser::new()
            .parse_timestamp(value)
            .ok()?;
        Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
    }
}

/// Returns a reference from a header as text. Bytes that are not UTF-8 are escaped one by one, as
/// in browsers.
fn readable(reference: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(reference) {
        return text.into();
    }
    let mut escaped = String::new();
    for byte in reference {
        if byte.is_ascii() {
            escaped.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped.into()
}

/// Why there was no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Class of the failure.
    pub class: FailureClass,
    /// What happened, for people to read.
    pub message: String,
    /// What follows for the host beyond the class.
    detail: Detail,
}

/// What a failure says beyond its class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Detail {
    #[default]
    None,
    /// The address that was tried does not accept connections.
    Unreached,
    /// The same, and it said so.
    Refused,
    /// What accepted the connection does not speak TLS, or not under this name.
    NoTls,
    /// The host took the request, and no head of a response came in time.
    Silent,
    /// There is no such name.
    Nameless,
    /// The host does not know the login.
    LoggedOut,
}

impl Failure {
    /// Creates a failure.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            detail: Detail::None,
        }
    }

    /// Creates the failure of a request for which no address accepted a connection.
    pub(super) fn unreached(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            detail: Detail::Unreached,
            ..Self::new(class, message)
        }
    }

    /// Creates the failure of a request that was refused a connection.
    pub(super) fn refused(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            detail: Detail::Refused,
            ..Self::new(class, message)
        }
    }

    /// Creates the failure of a request to a server that does not speak TLS.
    pub(super) fn without_tls(message: impl Into<String>) -> Self {
        Self {
            detail: Detail::NoTls,
            ..Self::new(FailureClass::Tls, message)
        }
    }

    /// Creates the failure of a request to which no head of a response came in time, whatever else
    /// came.
    pub(super) fn silent(message: impl Into<String>) -> Self {
        Self {
            detail: Detail::Silent,
            ..Self::new(FailureClass::Timeout, message)
        }
    }

    /// Creates the failure of a request to a host whose name does not exist.
    pub(super) fn nameless(message: impl Into<String>) -> Self {
        Self {
            detail: Detail::Nameless,
            ..Self::new(FailureClass::Dns, message)
        }
    }

    /// Creates the failure of a request to a host that no longer knows the login.
    pub(super) fn session(message: impl Into<String>) -> Self {
        Self {
            detail: Detail::LoggedOut,
            ..Self::new(FailureClass::Session, message)
        }
    }

    /// Returns `true` if nobody accepted a connection, so that another address may be tried.
    pub fn is_unreached(&self) -> bool {
        matches!(self.detail, Detail::Unreached | Detail::Refused)
    }

    /// Returns `true` if there is no https where it was asked for: nobody listens, or who does
    /// speaks no TLS. A bad certificate, or silence, says nothing like it.
    pub fn is_without_https(&self) -> bool {
        matches!(self.detail, Detail::Refused | Detail::NoTls)
    }

    /// Returns `true` if no head of a response came in time.
    pub fn is_silent(&self) -> bool {
        self.detail == Detail::Silent
    }

    /// Returns `true` if the same would come of another attempt, so that the host is left alone at
    /// once: its name does not exist, or it does not know the login.
    pub fn is_hopeless(&self) -> bool {
        matches!(self.detail, Detail::Nameless | Detail::LoggedOut)
    }

    /// Returns `true` if the host was contacted, or at least its name was looked up.
    pub fn asked(&self) -> bool {
        !matches!(
            self.class,
            FailureClass::Guard
                | FailureClass::Robots
                | FailureClass::Budget
                | FailureClass::Blocked
                | FailureClass::Dropped
                | FailureClass::LogsOut
                | FailureClass::Internal
        )
    }
}

/// Classes of failure, by what can be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum FailureClass {
    /// The name could not be resolved.
    Dns,
    /// No connection could be made.
    Connect,
    /// No secure connection could be made.
    Tls,
    /// The response did not arrive in time.
    Timeout,
    /// The connection broke before the head of the response was complete.
    Disconnect,
    /// The response is not HTTP, or exceeds the bounds.
    Protocol,
    /// The address is private and not allowed.
    Guard,
    /// robots.txt forbids the URL, or could not be fetched.
    Robots,
    /// The budget of the host or domain is used up.
    Budget,
    /// A list blocks the URL.
    Blocked,
    /// A person took the URL out of its queue.
    Dropped,
    /// Visiting the URL would end a login.
    LogsOut,
    /// The host no longer knows the login.
    Session,
    /// The response is of a type that is not wanted; its body was not read.
    Unwanted,
    /// gleaner failed on this page.
    Internal,
}

impl FailureClass {
    /// Returns the class's name in logs and counters.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(headers: &[(&str, &str)]) -> Exchange {
        Exchange {
            started: Timestamp::UNIX_EPOCH,
            duration: Duration::ZERO,
            remote: None,
            protocols: vec![],
            request_head: vec![],
            status: 503,
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
                .collect(),
            body: Bytes::new(),
            cut: None,
        }
    }

    #[test]
    fn retry_after_in_both_forms() {
        let check = |value, expected: Option<u64>| {
            let now = "2026-11-20T10:00:00Z".parse().unwrap();
            let found = exchange(&[("retry-after", value)]).retry_after(now);
            assert_eq!(found, expected.map(Duration::from_secs), "{value}");
        };
        check("120", Some(120));
        check(" 0 ", Some(0));
        check("Fri, 20 Nov 2026 10:01:00 GMT", Some(60));
        check("Fri, 20 Nov 2026 09:00:00 GMT", Some(0));
        check("soon", None);
        check("-5", None);
    }

    #[test]
    fn a_media_type_is_kept_short_and_printable() {
        let check = |value: &str, expected: &str| {
            let exchange = exchange(&[("content-type", value)]);
            assert_eq!(exchange.mime().as_deref(), Some(expected));
        };
        check("text/html; charset=utf-8", "text/html; charset=utf-8");
        check("text/\u{9b}31mhtml\t", "text/31mhtml");
        check(&"x".repeat(60_000), &"x".repeat(256));
        assert_eq!(exchange(&[]).mime(), None);
    }

    #[test]
    fn a_redirect_leads_where_its_location_says() {
        let check = |location: &[u8], expected: Option<&str>| {
            let mut exchange = exchange(&[]);
            exchange.status = 302;
            exchange.headers = vec![("location".to_owned(), location.to_vec())];
            let url = crate::url::parse("http://a.example/d/e").unwrap();
            let target = exchange.redirect_target(&url);
            assert_eq!(target.as_ref().map(Url::as_str), expected, "{location:?}");
            exchange.status = 200;
            assert_eq!(exchange.redirect_target(&url), None);
        };
        check(b"f", Some("http://a.example/d/f"));
        check("/\u{e9}".as_bytes(), Some("http://a.example/%C3%A9"));
        check(b"/\xe9 \xff", Some("http://a.example/%E9%20%FF"));
        check(b"file:///etc/passwd", None);
        check(b"http://[::1", None);
    }

    #[test]
    fn an_answer_without_a_body_updates_the_head_of_the_earlier() {
        let mut answer = exchange(&[
            ("etag", "\"2\""),
            ("x-robots-tag", "noindex"),
            ("content-length", "0"),
            ("content-security-policy", "x"),
        ]);
        answer.status = 304;
        let mut earlier = exchange(&[
            ("content-type", "text/html"),
            ("content-length", "4"),
            ("etag", "\"1\""),
            ("x-robots-tag", "none"),
            ("x-robots-tag", "noai"),
        ]);
        (earlier.status, earlier.body) = (200, Bytes::from_static(b"page"));
        let form = earlier.replay_form();
        let whole = answer.with_unmodified(earlier);
        assert_eq!((whole.status, &whole.body[..]), (200, &b"page"[..]));
        assert_eq!(whole.replay_form(), form);
        assert_eq!(whole.header("etag"), Some("\"2\""));
        let robots: Vec<_> = whole.header_values("x-robots-tag").collect();
        assert_eq!(robots, ["noindex"]);
        assert_eq!(whole.header("content-length"), Some("4"));
        answer.headers.clear();
        assert_ne!(answer.replay_form(), form);
    }

    #[test]
    fn validators_are_kept_as_they_came_unless_they_are_odd() {
        let long = "x".repeat(300);
        let check = |headers: &[(&str, &str)], etag, last_modified| {
            let exchange = exchange(headers);
            let expected = Conditions {
                etag,
                last_modified,
            };
            assert_eq!(exchange.conditions(), expected, "{headers:?}");
        };
        let date = "Fri, 20 Nov 2026 10:01:00 GMT";
        check(
            &[("etag", "W/\"a b\""), ("last-modified", date)],
            Some("W/\"a b\""),
            Some(date),
        );
        check(&[("etag", "  "), ("last-modified", &long)], None, None);
        check(&[("etag", &long)], None, None);
        check(&[("etag", "\"\u{e9}\"")], None, None);
    }

    #[test]
    fn a_hidden_field_is_not_in_the_stored_head() {
        let mut exchange = exchange(&[("set-cookie", "a=hush"), ("server", "x")]);
        exchange.hide("set-cookie");
        let head = String::from_utf8(exchange.response_head()).unwrap();
        assert!(head.contains("set-cookie: (hidden)\r\n") && !head.contains("hush"));
    }

    #[test]
    fn the_stored_head_does_not_name_a_transfer_coding_that_is_undone() {
        let head = exchange(&[
            ("server", "x"),
            ("transfer-encoding", "chunked"),
            ("set-cookie", "a"),
            ("set-cookie", "b"),
        ])
        .response_head();
        assert_eq!(
            String::from_utf8(head).unwrap(),
            "HTTP/1.1 503 Service Unavailable\r\nserver: x\r\nset-cookie: a\r\nset-cookie: b\r\n\r\n"
        );
    }
}
