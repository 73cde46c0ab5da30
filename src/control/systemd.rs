//! What systemd wants to hear of a service (`sd_notify(3)`): that it is ready, reloads, stops, how
//! it is, and, where a watchdog is set, that it lives. Without `NOTIFY_SOCKET` nothing is said.

use std::time::Duration;

use sd_notify::NotifyState;

use crate::engine::{StopHandle, Watch};

/// Time between two states of what `systemctl status` shows.
const INTERVAL: Duration = Duration::from_secs(10);

/// Tells that the crawl is ready, then how it is, until it is asked to stop.
pub(super) async fn tell(watch: &Watch, stop: &StopHandle) {
    say(&[NotifyState::Ready]);
    // Twice as often as the watchdog asks for, as `sd_watchdog_enabled(3)` advises.
    let watchdog = sd_notify::watchdog_enabled().map(|limit| limit / 2);
    let mut ticks = tokio::time::interval(watchdog.map_or(INTERVAL, |limit| limit.min(INTERVAL)));
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
    // The rest is said by the end of the process.
    std::future::pending::<()>().await;
}

/// Tells that settings are read again while this is done.
pub fn reloading<T>(reload: impl FnOnce() -> T) -> T {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => say(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "no time to tell systemd"),
    }
    let result = reload();
    say(&[NotifyState::Ready]);
    result
}

fn say(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "systemd does not listen");
    }
}
