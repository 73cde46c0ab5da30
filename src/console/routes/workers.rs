//! The cluster that a worker belongs to, as that worker sees it.

use axum::extract::State;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cluster::ClusterStatus;
use crate::console::Shared;
use crate::console::answer::{Failed, Json, Listed};

/// How the cluster stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::console) struct WorkersAnswer {
    /// What `gleaner cluster status --json` prints, as this worker sees it.
    #[serde(flatten)]
    now: ClusterStatus,
    /// This worker.
    worker: String,
    /// Whether the engine has not answered since the rest was read.
    is_engine_away: bool,
    /// The time of this answer (RFC 3339).
    server_time: String,
    /// Version of gleaner.
    version: &'static str,
    /// The data directory of this worker.
    data_dir: String,
}

pub(in crate::console) async fn workers(
    State(shared): State<Shared>,
) -> Result<Json<Listed<WorkersAnswer>>, Failed> {
    let Some(sharing) = shared.sharing.load_full() else {
        return Err(Failed::not_found("this crawl is not shared by workers"));
    };
    let now = sharing.view.status().ok_or_else(|| {
        Failed::later(
            "starting",
            "the worker has not heard of the others yet; try again soon",
        )
    })?;
    Ok(Json(Listed {
        list: WorkersAnswer {
            now: ClusterStatus::clone(&now),
            worker: sharing.worker.clone(),
            is_engine_away: sharing.view.is_engine_away(),
            server_time: format!("{:.3}", Timestamp::now()),
            version: env!("CARGO_PKG_VERSION"),
            data_dir: sharing.directory.display().to_string(),
        },
        command: format!("gleaner cluster status {}", sharing.address),
    }))
}
