//! `/metrics`, for Prometheus and those like it.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

use crate::console::Shared;
use crate::console::answer::Failed;
use crate::console::metrics;

pub(in crate::console) async fn metrics(State(shared): State<Shared>) -> Result<Response, Failed> {
    let sharing = shared.sharing.load_full();
    let seen = sharing.and_then(|it| Some((it.view.status()?, it)));
    let text = match seen {
        Some((now, it)) => metrics::text_of_worker(&it.worker, now, it.view.is_engine_away()),
        None => {
            let crawl = shared.crawl()?;
            shared.scrapes.text(&crawl.handles.watch, &crawl.directory)
        }
    };
    Ok(([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
}
