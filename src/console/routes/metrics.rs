//! `/metrics`, for Prometheus and those like it.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

use crate::console::Shared;
use crate::console::answer::Failed;
use crate::console::metrics;

pub(in crate::console) async fn metrics(State(shared): State<Shared>) -> Result<Response, Failed> {
    let crawl = shared.crawl()?;
    let text = shared.scrapes.text(&crawl.handles.watch, &crawl.directory);
    Ok(([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
}
