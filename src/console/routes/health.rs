//! Whether the process, and the crawl, are well: for what watches over them.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::console::Shared;
use crate::console::answer::Json;
use crate::engine::Limit;

/// How it is.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::console) struct Health {
    /// Whether it is well.
    ok: bool,
    /// If it is not, what is the matter.
    reason: Option<&'static str>,
}

impl IntoResponse for Health {
    fn into_response(self) -> Response {
        let status = match self.ok {
            true => StatusCode::OK,
            false => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, Json(self)).into_response()
    }
}

pub(in crate::console) async fn healthz() -> Health {
    Health {
        ok: true,
        reason: None,
    }
}

/// A crawl that is paused is ready: it does as it was told.
pub(in crate::console) async fn readyz(State(shared): State<Shared>) -> Health {
    let reason = match (shared.crawl(), shared.sharing.load_full()) {
        (Err(_), Some(worker)) if worker.view.is_engine_away() => {
            Some("the engine of the cluster does not answer")
        }
        (Err(_), Some(worker)) if worker.view.status().is_some() => None,
        (Err(_), _) => Some("the crawl is being opened"),
        (Ok(crawl), _) => {
            let handles = &crawl.handles;
            match handles.watch.gauges().limit {
                _ if handles.stop.is_stopped() => Some("the run is ending"),
                Limit::Disk => Some("less than state.disk_reserve is free on the disk"),
                _ if !shared.commits(handles.watch.pulse()) => {
                    Some("a commit has made no progress for a minute")
                }
                _ => None,
            }
        }
    };
    Health {
        ok: reason.is_none(),
        reason,
    }
}
