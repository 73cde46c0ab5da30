//! What the crawl is doing, and with which settings.

use std::time::Instant;

use axum::extract::State;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::STALE;
use crate::console::answer::{Failed, Json, Listed, command};
use crate::console::{Setting, Shared};
use crate::engine::{Limit, Omissions, Status, View};
use crate::inspect::StatusNow;

/// What of the status is read from disk, and when it was.
pub(in crate::console) struct Beside {
    now: StatusNow,
    at: Instant,
}

/// What the crawl is doing.
#[derive(Serialize, JsonSchema)]
pub(in crate::console) struct StatusAnswer {
    /// What `gleaner status --json` prints; `hosts` are to be asked for at `hosts`.
    #[serde(flatten)]
    now: StatusNow,
    state: Going,
    /// What limits the crawl, in words.
    limit_text: &'static str,
    /// The time of this answer (RFC 3339): the clock of the reader may be another.
    server_time: String,
    /// When the process began (RFC 3339).
    started: String,
    /// Version of gleaner.
    version: &'static str,
    /// The data directory.
    data_dir: String,
    /// Whether nothing can be changed from here.
    read_only: bool,
}

/// Whether it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "State")]
enum Going {
    /// Fetching has not begun.
    Starting,
    /// It goes on.
    Running,
    /// It makes no visits until it is resumed.
    Paused,
    /// It is about to end.
    Stopping,
}

pub(in crate::console) async fn status(
    State(shared): State<Shared>,
) -> Result<Json<Listed<StatusAnswer>>, Failed> {
    let crawl = shared.crawl()?;
    let reader = Shared::clone(&shared);
    let beside = shared.kept.status.get_soon((), STALE, || async move {
        let crawl = reader.crawl()?;
        let read = move |view: &View| {
            let omissions = Omissions::read(view.store(), false)?;
            Ok(beside(&crawl.directory, omissions))
        };
        // Whoever asks for it is answered whatever else waits.
        let turn = reader.turn().await?;
        reader.read_in(turn, read).await
    });
    let beside = beside.await?;
    let watch = &crawl.handles.watch;
    let gauges = watch.gauges();
    let mut now = beside.now.clone();
    now.status = Status {
        running: true,
        complete: false,
        time: format!("{:.0}", Timestamp::now()),
        seconds: now.status.seconds + beside.at.elapsed().as_secs(),
        counters: watch.counters(),
        deferred: watch.deferred(),
        gauges,
        memory: watch.memory(),
        shares: watch.shares().to_vec(),
        handover: watch.handover(),
        ..now.status
    };
    now.status.note_held(&watch.held());
    let state = match gauges.limit {
        _ if crawl.handles.stop.is_stopped() => Going::Stopping,
        Limit::Ending => Going::Stopping,
        Limit::Starting => Going::Starting,
        Limit::Paused => Going::Paused,
        _ => Going::Running,
    };
    Ok(Json(Listed {
        list: StatusAnswer {
            now,
            state,
            limit_text: gauges.limit.meaning(),
            server_time: format!("{:.3}", Timestamp::now()),
            started: format!("{:.3}", shared.started),
            version: env!("CARGO_PKG_VERSION"),
            data_dir: crawl.directory.display().to_string(),
            read_only: false,
        },
        command: command(&["status", "--json"], &crawl.directory),
    }))
}

/// Reads what the data directory tells.
fn beside(directory: &std::path::Path, omissions: Omissions) -> Beside {
    // Another run may have left the file, or it is being replaced: then it says nothing yet.
    let status = Status::of_running(directory).unwrap_or_default();
    let mut now = StatusNow::beside(directory, status);
    now.omissions = Some(omissions);
    Beside {
        now,
        at: Instant::now(),
    }
}

/// Every setting.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::console) struct ConfigAnswer {
    /// Sorted by key.
    settings: Vec<Setting>,
}

pub(in crate::console) async fn config(
    State(shared): State<Shared>,
) -> Result<Json<Listed<ConfigAnswer>>, Failed> {
    let crawl = shared.crawl()?;
    let settings = crawl.settings.all();
    Ok(Json(Listed {
        list: ConfigAnswer { settings },
        command: command(&["config", "show", "--json"], &crawl.directory),
    }))
}
