//! What a host of the web answers: a [`Site`] maps paths to [`Answer`]s, an answer says what is
//! sent and, with its [`Delivery`], how it goes over the wire. Plain data; `server` sends it.
//!
//! In bodies and header values `{host3}` stands for the origin of host number 3, for example
//! `http://127.0.7.4:40123`: ports are known only when the web has started.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::log::Request;

type Responder = Box<dyn Fn(&Request) -> Answer + Send + Sync>;

/// What one host answers. A path is looked up with its query, then without; what is not found is
/// answered by [`Site::otherwise`], or with a 404 page.
#[derive(Default)]
pub struct Site {
    pages: BTreeMap<String, Responder>,
    otherwise: Option<Responder>,
    pub(super) requests_per_connection: Option<usize>,
}

impl Site {
    /// A host that has nothing, not even a robots.txt.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text of `/robots.txt`.
    #[must_use]
    pub fn robots(self, text: &str) -> Self {
        self.page("/robots.txt", Answer::text(text))
    }

    /// The answer to a path, always the same.
    #[must_use]
    pub fn page(self, path: &str, answer: Answer) -> Self {
        self.page_with(path, move |_| answer.clone())
    }

    /// Answers to a path, one after the other; the last one stays.
    #[must_use]
    pub fn page_in_turn(self, path: &str, answers: Vec<Answer>) -> Self {
        assert!(!answers.is_empty(), "there is a last answer that stays");
        let turn = AtomicUsize::new(0);
        self.page_with(path, move |_| {
            let turn = turn.fetch_add(1, Ordering::Relaxed);
            answers[turn.min(answers.len() - 1)].clone()
        })
    }

    /// The answer to a path, made from the request.
    #[must_use]
    pub fn page_with(
        mut self,
        path: &str,
        respond: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        assert!(path.starts_with('/'), "paths begin with a slash: {path}");
        self.pages.insert(path.to_owned(), Box::new(respond));
        self
    }

    /// The answer to every path that has none: endless calendars and other traps.
    #[must_use]
    pub fn otherwise(
        mut self,
        respond: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        self.otherwise = Some(Box::new(respond));
        self
    }

    /// Closes each connection after `n` answers without announcing it, as servers do with
    /// connections that were idle: the next request on it meets a closed socket.
    #[must_use]
    pub fn requests_per_connection(mut self, n: usize) -> Self {
        self.requests_per_connection = Some(n);
        self
    }

    pub(super) fn answer(&self, request: &Request) -> Answer {
        let respond = self
            .pages
            .get(&request.path)
            .or_else(|| self.pages.get(request.bare_path()))
            .or(self.otherwise.as_ref());
        respond.map_or_else(|| Answer::status(404), |respond| respond(request))
    }
}

/// One answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Any number; 204 and 304 go out without a body.
    pub status: u16,
    /// The reason phrase.
    pub reason: String,
    /// Header lines in order. Those that frame the body are added by the delivery.
    pub headers: Vec<(String, String)>,
    /// The body before any content coding.
    pub body: Vec<u8>,
    /// How the answer goes over the wire.
    pub delivery: Delivery,
    /// Whether the body is sent as gzip, whatever the client said it accepts.
    pub gzip: bool,
    /// Time between the request and the first byte of the answer.
    pub delay: Duration,
}

/// How an answer goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// With a true `Content-Length`; the connection stays open.
    ContentLength,
    /// In chunks of at most 1,000 bytes; the connection stays open.
    Chunked,
    /// Without a length: the body ends where the connection does.
    CloseDelimited,
    /// With this `Content-Length`, whatever the body's length; then the connection is closed.
    WrongLength(usize),
    /// These bytes in place of the whole answer, head included, nothing replaced in them; then
    /// the connection is closed. No bytes: an answer that is just a closed connection.
    Raw(Vec<u8>),
    /// The body one byte at a time, with this pause before each.
    DripBytes(Duration),
    /// Nothing at all, until the client gives up.
    NeverAnswer,
    /// Head and half of the body, then a TCP reset.
    ResetMidBody,
}

impl Answer {
    /// A 200 page.
    pub fn html(body: impl Into<String>) -> Self {
        Self::with_type(200, "text/html; charset=utf-8", body.into().into_bytes())
    }

    /// A 200 plain text.
    pub fn text(body: impl Into<String>) -> Self {
        Self::with_type(200, "text/plain; charset=utf-8", body.into().into_bytes())
    }

    /// A 200 page sent with `Content-Encoding: gzip`.
    pub fn gzip(body: impl Into<String>) -> Self {
        Self {
            gzip: true,
            ..Self::html(body)
        }
    }

    /// A redirect to `location`, which is sent as given: relative, absolute or `{host1}/path`.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("Location", location)
    }

    /// A status with a short page that names it.
    pub fn status(code: u16) -> Self {
        let reason = reason(code);
        let body = format!(
            "<!doctype html>\n<html><head><title>{code} {reason}</title></head>\n\
             <body><h1>{code} {reason}</h1></body></html>\n"
        );
        Self::with_type(code, "text/html; charset=utf-8", body.into_bytes())
    }

    /// An answer of any type, with a true length.
    pub fn with_type(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        Self {
            status,
            reason: reason(status).to_owned(),
            headers: vec![("Content-Type".to_owned(), content_type.to_owned())],
            body,
            delivery: Delivery::ContentLength,
            gzip: false,
            delay: Duration::ZERO,
        }
    }

    /// These bytes in place of an answer.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::status(200).delivery(Delivery::Raw(bytes.into()))
    }

    /// Adds a header line.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the content type.
    #[must_use]
    pub fn content_type(mut self, value: &str) -> Self {
        self.headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case("Content-Type"));
        self.header("Content-Type", value)
    }

    /// Sets how the answer goes over the wire.
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Sets the time between the request and the first byte of the answer.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
