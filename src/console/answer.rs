//! What requests carry and answers are made of: JSON both ways, and one form for what fails.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path as PathOf, Query, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::SemaphorePermit;

use super::Shared;
use crate::engine::Over;
use crate::{control, inspect};

/// The largest body of a request in bytes.
const MAX_BODY: u64 = 4 << 20;
/// What is larger of a body waits for one of the few places in which such bodies are read.
const SMALL_BODY: usize = 64 << 10;
/// Time in which a body has to be there.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Why a request failed.
#[derive(Debug)]
pub(super) struct Failed {
    status: StatusCode,
    code: &'static str,
    message: String,
}

/// What is sent of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(super) struct FailedBody {
    error: Reason,
}

/// Why a request failed.
#[derive(Debug, Serialize, JsonSchema)]
struct Reason {
    /// A word for programs.
    code: String,
    /// What happened, and what to do, for people.
    message: String,
}

impl Failed {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
        }
    }

    /// The request makes no sense.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", message)
    }

    pub(super) fn forbidden(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    /// What the crawl would not do.
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "refused", reason)
    }

    /// It can be asked for again later.
    pub(super) fn later(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    pub(super) fn internal(error: impl Display) -> Self {
        let message = error.to_string();
        tracing::warn!(error = %message, "the console could not answer");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let body = FailedBody {
            error: Reason {
                code: self.code.to_owned(),
                message: self.message,
            },
        };
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        match self.status {
            StatusCode::UNAUTHORIZED => {
                let asks = HeaderValue::from_static("Bearer");
                headers.insert(header::WWW_AUTHENTICATE, asks);
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

impl From<Over> for Failed {
    fn from(over: Over) -> Self {
        Self::later("ending", over.to_string())
    }
}

impl From<inspect::Error> for Failed {
    fn from(error: inspect::Error) -> Self {
        match error {
            inspect::Error::Url { .. } => Self::bad(error.to_string()),
            inspect::Error::NoBody { .. } | inspect::Error::Body { .. } => {
                Self::refused(inspect::chain(&error))
            }
            error => Self::internal(inspect::chain(&error)),
        }
    }
}

/// An answer as JSON.
pub(super) struct Json<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => json(body.into()),
            Err(error) => {
                tracing::error!(%error, "an answer cannot be written as JSON");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

/// An answer of which the JSON is there.
pub(super) fn json(body: Bytes) -> Response {
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::from(body)).into_response()
}

/// A list with the command that gives the same in a terminal.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Answer")]
pub(super) struct Listed<T> {
    /// What was asked for.
    #[serde(flatten)]
    pub(super) list: T,
    /// The command that gives the same in a terminal.
    pub(super) command: String,
}

/// The command line that does the same.
pub(super) fn command(words: &[&str], directory: &Path) -> String {
    let directory = directory.display().to_string();
    let words = words.iter().copied().chain(["--data-dir", &directory]);
    let words: Vec<String> = words.map(quoted).collect();
    format!("gleaner {}", words.join(" "))
}

/// A word as a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:=,@%+".contains(it);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// What a query asks for.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failed> {
        let query = Query::try_from_uri(&parts.uri);
        query.map(|Query(it)| Self(it)).map_err(|error| {
            // It repeats itself with each of its causes.
            let reason = error.body_text();
            let reason = reason
                .rsplit_once("query string: ")
                .map_or(&*reason, |it| it.1);
            Failed::bad(format!("the query: {reason}"))
        })
    }
}

/// The part of a path that names something.
pub(super) struct Named(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failed> {
        let name = PathOf::<String>::from_request_parts(parts, state).await;
        name.map(|PathOf(name)| Self(name))
            .map_err(|error| Failed::bad(format!("the path: {}", error.body_text())))
    }
}

/// What a body asks for.
pub(super) struct Sent<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Shared> for Sent<T> {
    type Rejection = Failed;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, Failed> {
        let body = tokio::time::timeout(BODY_TIME, body(request, shared)).await;
        let (body, _place) = body.map_err(|_| {
            Failed::new(
                StatusCode::REQUEST_TIMEOUT,
                "timeout",
                format!("the body was not there within {} s", BODY_TIME.as_secs()),
            )
        })??;
        // A command that needs nothing may be sent without a body.
        let text = if body.is_empty() { b"{}" } else { &body[..] };
        serde_json::from_slice(text)
            .map(Self)
            .map_err(|error| Failed::bad(format!("the body: {error}")))
    }
}

/// Reads a body. A large one comes with its place, which it has until it is read.
async fn body(
    request: Request,
    shared: &Shared,
) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Failed> {
    let too_large = || {
        Failed::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            format!("a body may have {MAX_BODY} bytes; send it in parts"),
        )
    };
    let length = request.headers().get(CONTENT_LENGTH);
    let length = length.and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|it| it > MAX_BODY) {
        return Err(too_large());
    }
    let mut body = request.into_body();
    let (mut read, mut place) = (BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Failed::bad(format!("the body could not be read: {error}")))?;
        let Ok(part) = frame.into_data() else {
            continue;
        };
        if (read.len() + part.len()) as u64 > MAX_BODY {
            return Err(too_large());
        }
        if place.is_none() && read.len() + part.len() > SMALL_BODY {
            // Whoever sends slowly does not come here, and so takes no place from others.
            place = shared.large_bodies.acquire().await.ok();
        }
        read.extend_from_slice(&part);
    }
    Ok((read.freeze(), place))
}

/// What came of a command.
pub(super) fn obeyed(response: control::Response) -> Result<control::Response, Failed> {
    match response {
        control::Response::Refused { reason } => Err(Failed::refused(reason)),
        response => Ok(response),
    }
}
