//! Answers that go on: the pages and the events of a crawl, line by line, for who follows it.
//!
//! A line is made when there is room for it: a client that does not read costs the lines that are
//! in its socket and a few batches of them, and is left after a while (`connections.rs`). A batch
//! that is large, because a page is, has one of a few places until it is sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body as HttpBody, Frame};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::answer::Failed;
use super::{Crawling, Hub, Shared};
use crate::engine::{Error, Follower, Missed, Position, Told};
use crate::export::{Filter, PageOut, PageRead, Want};
use crate::inspect::{Feed, Outlook, chain};
use crate::page::Markup;

/// Time after which something is sent although there is nothing to tell, so that both ends notice
/// if the other is gone.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Bytes after which a batch of pages is sent.
const BATCH: usize = 64 << 10;
/// A batch that has more has one of the places for such.
const LARGE: usize = 512 << 10;
/// Number of events in a batch.
const EVENTS: usize = 256;
/// Time to wait for more after a commit, which ends with the line that says how far the log goes.
const SETTLE: Duration = Duration::from_millis(100);
/// Time after which the log is looked at although no commit was noticed.
const LOOK: Duration = Duration::from_secs(1);

/// The form of what is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// An object of JSON a line.
    Lines,
    /// Server-sent events.
    Sse,
}

impl Form {
    fn mime(self) -> &'static str {
        match self {
            Self::Lines => "application/x-ndjson",
            Self::Sse => "text/event-stream",
        }
    }
}

/// A body of which the parts come one after the other. An error ends it in a way that the client
/// notices.
struct Parts {
    parts: mpsc::Receiver<Result<Bytes, Broken>>,
    /// Its place among those who follow.
    _place: OwnedSemaphorePermit,
}

/// What is streamed could not be read any further.
#[derive(Debug, thiserror::Error)]
#[error("the rest could not be read")]
struct Broken;

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let part = self.parts.poll_recv(context);
        part.map(|part| part.map(|it| it.map(Frame::data)))
    }
}

/// Where the parts go.
type Out = mpsc::Sender<Result<Bytes, Broken>>;

/// A response whose parts `make` sends.
fn stream<F: Future<Output = ()> + Send + 'static>(
    hub: &Hub,
    form: Form,
    make: impl FnOnce(Out) -> F,
) -> Result<Response, Failed> {
    let place = Arc::clone(&hub.followers).try_acquire_owned();
    let place = place.map_err(|_| {
        Failed::later(
            "followers",
            "as many clients follow the crawl as may: close one, or try again later",
        )
    })?;
    let (out, parts) = mpsc::channel(1);
    tokio::spawn(make(out));
    let body = Body::new(Parts {
        parts,
        _place: place,
    });
    let head = [
        (CONTENT_TYPE, form.mime()),
        (CACHE_CONTROL, "no-store"),
        // A proxy that keeps lines back would make them late.
        (
            axum::http::HeaderName::from_static("x-accel-buffering"),
            "no",
        ),
    ];
    Ok((head, body).into_response())
}

/// Streams events behind one, and with `follow` those that come.
pub(super) fn events(
    shared: &Shared,
    after: Option<u64>,
    follow: bool,
    form: Form,
) -> Result<Response, Failed> {
    let crawl = shared.crawl()?;
    let events = crawl.handles.watch.events().clone();
    let mut ending = shared.ending.clone();
    stream(shared, form, |out| async move {
        if !follow {
            // Up to what is the last by now, a part at a time: all at once would be some MB.
            let (mut known, end) = (after, events.last());
            loop {
                let told = events.after(known, EVENTS);
                known = told.events.last().map(|event| event.id);
                let is_sent = out.send(Ok(written(&told, form))).await.is_ok();
                if !is_sent || known.is_none_or(|known| known >= end) {
                    return;
                }
            }
        }
        let mut follower: Follower = events.follow(after);
        // The head of the answer goes out with the first line: the client is to know that it came.
        let mut part = heartbeat(form);
        loop {
            if out.send(Ok(part)).await.is_err() {
                return;
            }
            part = tokio::select! {
                told = follower.next(EVENTS) => written(&told, form),
                () = tokio::time::sleep(HEARTBEAT) => heartbeat(form),
                () = out.closed() => return,
                () = over(&mut ending) => break,
            };
        }
        // What happened last.
        let rest = tokio::time::timeout(Duration::ZERO, follower.next(EVENTS)).await;
        if let Ok(told) = rest {
            let _ = out.send(Ok(written(&told, form))).await;
        }
    })
}

/// Waits until the console ends.
async fn over(ending: &mut watch::Receiver<bool>) {
    // If there is none that could say so, it has ended.
    let _ = ending.wait_for(|it| *it).await;
}

fn heartbeat(form: Form) -> Bytes {
    Bytes::from_static(match form {
        Form::Lines => b"{}\n",
        Form::Sse => b":\n\n",
    })
}

/// What a reader is told, as it is sent.
fn written(told: &Told, form: Form) -> Bytes {
    let mut text = Vec::new();
    let mut add = |id: Option<u64>, line: Vec<u8>| match form {
        Form::Lines => {
            text.extend(line);
            text.push(b'\n');
        }
        Form::Sse => {
            if let Some(id) = id {
                text.extend(format!("id: {id}\n").into_bytes());
            }
            text.extend(b"data: ");
            text.extend(line);
            text.extend(b"\n\n");
        }
    };
    if let Some(Missed { after, next }) = told.missed {
        let line = serde_json::json!({
            "kind": "missed",
            "after": after.to_string(),
            "next": next.to_string(),
        });
        add(None, line.to_string().into_bytes());
    }
    for event in &told.events {
        match serde_json::to_vec(&**event) {
            Ok(line) => add(Some(event.id), line),
            Err(error) => tracing::error!(%error, "an event cannot be written as JSON"),
        }
    }
    text.into()
}

/// Which pages are streamed.
#[derive(Debug, Clone)]
pub(super) struct Pages {
    pub(super) after: Position,
    pub(super) follow: bool,
    pub(super) unique: bool,
    /// Whether texts are read.
    pub(super) text: bool,
    /// The form of the texts, if they are no plain text.
    pub(super) markup: Option<Markup>,
}

/// The pages that are read of the log, and how far.
struct Reading {
    feed: Feed,
    crawl: Arc<Crawling>,
    pages: Pages,
}

/// Streams the pages behind a position, and with `follow` those that are committed later.
pub(super) async fn pages(shared: &Shared, pages: Pages) -> Result<Response, Failed> {
    let crawl = shared.crawl()?;
    let (directory, follow) = (crawl.directory.clone(), pages.follow);
    let after = pages.after;
    let opened = tokio::task::spawn_blocking(move || Feed::open(&directory, after)).await;
    let feed = opened
        .map_err(Failed::internal)?
        .map_err(|error| match error {
            Error::Position { .. } => Failed::bad(format!("the query: {}", chain(&error))),
            error => Failed::internal(chain(&error)),
        })?;
    let mut watch = crawl.handles.watch.clone();
    let mut reading = Reading { feed, crawl, pages };
    let mut ending = shared.ending.clone();
    let hub = Shared::clone(shared);
    stream(shared, Form::Lines, |out| async move {
        let mut is_last = !follow;
        let mut beat = tokio::time::Instant::now() + HEARTBEAT;
        loop {
            // All that there is.
            loop {
                let Some((again, part)) = next(&hub, reading).await else {
                    let _ = out.send(Err(Broken)).await;
                    return;
                };
                reading = again;
                let (Some(part), has_more) = part else {
                    break;
                };
                let Some(part) = placed(&hub, part).await else {
                    return;
                };
                beat = tokio::time::Instant::now() + HEARTBEAT;
                if out.send(Ok(part)).await.is_err() {
                    return;
                }
                if !has_more {
                    break;
                }
            }
            if is_last {
                return;
            }
            tokio::select! {
                goes_on = watch.committed() => {
                    tokio::time::sleep(SETTLE).await;
                    if !goes_on {
                        // The run is over; the console ends soon.
                        let _ = tokio::time::timeout(LOOK, over(&mut ending)).await;
                    }
                }
                () = tokio::time::sleep(LOOK) => {}
                () = out.closed() => return,
                () = over(&mut ending) => {}
            }
            is_last = *ending.borrow();
            if tokio::time::Instant::now() >= beat {
                beat = tokio::time::Instant::now() + HEARTBEAT;
                // An empty line, which readers of lines of JSON pass over.
                if out.send(Ok(Bytes::from_static(b"\n"))).await.is_err() {
                    return;
                }
            }
            let looked = tokio::task::spawn_blocking(move || {
                let outlook = reading.feed.refresh();
                (reading, outlook)
            });
            let Ok((again, outlook)) = looked.await else {
                return;
            };
            reading = again;
            match outlook {
                Ok(Outlook::Ended) => is_last = true,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(error = chain(&error), "the log cannot be followed");
                    let _ = out.send(Err(Broken)).await;
                    return;
                }
            }
        }
    })
}

/// A batch as it is sent: a large one with its place, for which it waits.
async fn placed(hub: &Hub, part: Vec<u8>) -> Option<Bytes> {
    if part.len() <= LARGE {
        return Some(part.into());
    }
    let place = Arc::clone(&hub.large_parts).acquire_owned().await.ok()?;
    Some(Bytes::from_owner(Placed {
        part,
        _place: place,
    }))
}

/// A large batch. It has its place until it is sent, or whoever it is for has gone.
struct Placed {
    part: Vec<u8>,
    _place: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Placed {
    fn as_ref(&self) -> &[u8] {
        &self.part
    }
}

/// The next batch of lines, if there is one, and whether there may be more; `None` if the log or
/// the archive cannot be read.
async fn next(hub: &Hub, mut reading: Reading) -> Option<(Reading, (Option<Vec<u8>>, bool))> {
    let turn = Arc::clone(&hub.following).acquire_owned().await.ok()?;
    let read = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let batch = reading.batch();
        (reading, batch)
    });
    match read.await.ok()? {
        (reading, Ok(batch)) => Some((reading, batch)),
        (_, Err(error)) => {
            tracing::warn!(error, "pages cannot be read any further");
            None
        }
    }
}

impl Reading {
    /// Lines of output, and whether there may be more.
    fn batch(&mut self) -> Result<(Option<Vec<u8>>, bool), String> {
        /// Lines of the log that are read for a batch: most may be of visits that are not asked
        /// for.
        const LINES: usize = 10_000;
        let filter = Filter {
            unique: self.pages.unique,
            ..Filter::default()
        };
        let want = Want {
            text: self.pages.text,
            markup: self.pages.markup,
            ..Want::default()
        };
        let mut text = Vec::new();
        for _ in 0..LINES {
            if text.len() >= BATCH {
                break;
            }
            let read = self.feed.read_line().map_err(|error| chain(&error))?;
            let Some((line, position)) = read else {
                return Ok(((!text.is_empty()).then_some(text), false));
            };
            let Some(found) = self.crawl.reader.find(&line, &filter, want) else {
                continue;
            };
            let read = found.read.map(|read| PageRead::of(read, want.markup));
            let page = PageOut::of(&line, found.page, position, found.language, read);
            serde_json::to_writer(&mut text, &page).map_err(|error| error.to_string())?;
            text.push(b'\n');
        }
        Ok((Some(text), true))
    }
}
