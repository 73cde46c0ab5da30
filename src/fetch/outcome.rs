//! What comes of a fetch: an exchange or a failure, as data.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use crate::url::{Url, join};

/// Characters of an entity tag that is kept. Those of common servers are shorter than 80.
const MAX_ETAG: usize = 256;
/// Characters of a Last-Modified that is kept; a date has 29.
const MAX_DATE: usize = 40;

/// What came of a fetch.
#[derive(Debug)]
pub enum Outcome {
    /// The server answered, whatever it said.
    Exchange(Box<Exchange>),
    /// There is no answer.
    Failed(Failure),
}

/// A request and its answer, as they went over the wire, as far as the client library tells.
#[derive(Debug)]
pub struct Exchange {
    /// When the request was begun.
    pub started: Timestamp,
    /// From then to the last byte.
    pub duration: Duration,
    /// Where the answer came from.
    pub remote: Option<SocketAddr>,
    /// Protocols below and of HTTP, as WARC-Protocol names them: `h2`, `http/1.1`, `tls/1.3`.
    pub protocols: Vec<&'static str>,
    /// The request's head, as sent.
    pub request_head: Vec<u8>,
    /// Status code of the answer.
    pub status: u16,
    /// Header fields of the answer, repeated ones in their order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body as received: content codings kept, transfer coding gone.
    pub body: Bytes,
    /// Why the body ends early, if it does.
    pub cut: Option<Cut>,
}

/// What a server named an earlier answer by: sent with a request, it asks for the body only if that is
/// another by now (RFC 9110, section 13.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conditions<'a> {
    /// Sent as If-None-Match.
    pub etag: Option<&'a str>,
    /// Sent as If-Modified-Since.
    pub last_modified: Option<&'a str>,
}

/// Why a body ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// It is longer than allowed.
    Length,
    /// It took longer than allowed.
    Time,
    /// The connection broke.
    Disconnect,
}

impl Exchange {
    /// The first value of a header field, as text; names are lower-case.
    pub fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.header_values(name).next()
    }

    /// All values of a header field that are text, in their order.
    pub fn header_values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + Clone {
        self.headers
            .iter()
            .filter(move |(field, _)| field == name)
            .filter_map(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// Whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the server says that the answer its validators were of still holds (RFC 9110, section
    /// 15.4.5). An answer to conditions only if there were any.
    pub fn is_not_modified(&self) -> bool {
        self.status == 304
    }

    /// What the answer can be asked for by the next time: validators that can be sent back as they
    /// came, and are no longer than honest ones.
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

    /// Whether the server is overloaded, or we ask too much of it: to be asked again, later.
    pub fn asks_for_time(&self) -> bool {
        matches!(self.status, 429 | 503)
    }

    /// Whether the status is a redirect that names its target in Location.
    pub fn is_redirect(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308)
    }

    /// Where a redirect leads, from `url`; `None` if it is none, or leads nowhere.
    pub fn redirect_target(&self, url: &Url) -> Option<Url> {
        let (_, location) = self.headers.iter().find(|(name, _)| name == "location")?;
        let target = join(url, &readable(location)).ok();
        target.filter(|_| self.is_redirect())
    }

    /// The head of the answer as it is stored: the transfer coding, which is undone, is not named.
    pub fn response_head(&self) -> Vec<u8> {
        let reason = reqwest::StatusCode::from_u16(self.status)
            .ok()
            .and_then(|status| status.canonical_reason())
            .unwrap_or("Unknown");
        // HTTP/2 has no status line: it is written as HTTP/1.1, and WARC-Protocol tells.
        let version = match self.protocols.contains(&"http/1.0") {
            true => "1.0",
            false => "1.1",
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

    /// How long a server that is overloaded asks to be left alone, from `now` (RFC 9110, section
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

/// A reference in a header: what is no UTF-8 is escaped, byte by byte, as browsers do.
fn readable(reference: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(reference) {
        return text.into();
    }
    let mut escaped = String::new();
    for byte in reference {
        match byte.is_ascii() {
            true => escaped.push(char::from(*byte)),
            // Writing into a string does not fail.
            false => drop(write!(escaped, "%{byte:02X}")),
        }
    }
    escaped.into()
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Of which class.
    pub class: FailureClass,
    /// What happened, for a person.
    pub message: String,
}

impl Failure {
    /// A failure of a class.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
        }
    }

    /// Whether the host was contacted, or at least looked for.
    pub fn asked(&self) -> bool {
        !matches!(
            self.class,
            FailureClass::Guard
                | FailureClass::Robots
                | FailureClass::Budget
                | FailureClass::Internal
        )
    }
}

/// Classes of failure, by what can be done about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureClass {
    /// The name was not resolved.
    Dns,
    /// No connection was made.
    Connect,
    /// No secure connection was made.
    Tls,
    /// The answer did not come in time.
    Timeout,
    /// The connection broke before the head of the answer.
    Disconnect,
    /// The answer is not HTTP, or beyond the bounds.
    Protocol,
    /// The address is private, and was not allowed.
    Guard,
    /// robots.txt forbids the URL, or could not be had.
    Robots,
    /// Its host, or its domain, had its share.
    Budget,
    /// The page made gleaner fail.
    Internal,
}

impl FailureClass {
    /// The class's name in logs and counters.
    pub fn name(self) -> &'static str {
        match self {
            FailureClass::Dns => "dns",
            FailureClass::Connect => "connect",
            FailureClass::Tls => "tls",
            FailureClass::Timeout => "timeout",
            FailureClass::Disconnect => "disconnect",
            FailureClass::Protocol => "protocol",
            FailureClass::Guard => "guard",
            FailureClass::Robots => "robots",
            FailureClass::Budget => "budget",
            FailureClass::Internal => "internal",
        }
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
