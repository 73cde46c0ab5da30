//! Notifications to systemd (`sd_notify(3)`): ready, reloading, stopping, a status line, and
//! keep-alive messages if a watchdog is configured. Without `NOTIFY_SOCKET` none are sent.

use std::time::Duration;

use sd_notify::NotifyState;

use crate::engine::{StopHandle, Watch};

/// Time between updates of the line that `systemctl status` shows.
const STATUS_INTERVAL: Duration = Duration::from_secs(10);

/// Reports that the crawl is ready, then its status, until it is asked to stop.
pub(super) async fn tell(watch: &Watch, stop: &StopHandle) {
    say(&[NotifyState::Ready]);
    // Twice as often as the watchdog asks for, as `sd_watchdog_enabled(3)` advises.
    let watchdog = sd_notify::watchdog_enabled().map(|limit| limit / 2);
    let mut ticks =
        tokio::time::interval(watchdog.map_or(STATUS_INTERVAL, |limit| limit.min(STATUS_INTERVAL)));
    let stopped = stop.stopped();
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            () = &mut stopped => break,
            _ = ticks.tick() => {
                let (counters, gauges) = (watch.counters(), watch.gauges());
                let status = format!(
                    "{} pages, {} queued, limit: {}",
                    counters.pages,
                    counters.queued,
                    gauges.limit.name()
                );
                say(&[NotifyState::Status(&status)]);
                if watchdog.is_some() {
                    say(&[NotifyState::Watchdog]);
                }
            }
        }
    }
    say(&[NotifyState::Stopping]);
    // The exit of the process reports the rest.
    std::future::pending::<()>().await;
}

/// Reports that settings are being reloaded while `reload` runs.
pub fn reloading<T>(reload: impl FnOnce() -> T) -> T {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => say(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "cannot read the clock for systemd"),
    }
    let result = reload();
    say(&[NotifyState::Ready]);
    result
}

fn say(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "cannot notify systemd");
    }
}
