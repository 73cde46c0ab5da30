//! Notifications to systemd (`sd_notify(3)`): that a start makes progress, ready, reloading,
//! stopping, a status line, and keep-alive messages if a watchdog is configured: as long as the
//! committer, through which everything passes, waits for work or does some. Without `NOTIFY_SOCKET`
//! none are sent.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sd_notify::NotifyState;

use crate::engine::{Opening, StopHandle, Watch};

/// Time between updates of the line that `systemctl status` shows.
const STATUS_INTERVAL: Duration = Duration::from_secs(10);

/// Time between two looks at whether the opening of a crawl makes progress.
const LOOK: Duration = Duration::from_secs(10);
/// Time that systemd then gives the start from that moment on, in microseconds.
const MORE_TIME: u32 = 120_000_000;

/// A start that takes long: systemd is told to wait while there is progress. Dropping it ends that.
#[derive(Debug)]
pub struct Starting {
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Starting {
    /// Begins to look after an opening.
    pub fn begin(opening: &Opening) -> io::Result<Self> {
        let opening = opening.clone();
        let (end, ended) = channel();
        let thread = thread::Builder::new()
            .name("starting".to_owned())
            .spawn(move || {
                let mut progress = Progress::default();
                while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    if progress.is_made(opening.steps()) {
                        say(&[NotifyState::ExtendTimeoutUsec(MORE_TIME)]);
                    }
                }
            })?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        drop(self.end.take());
        // A panic was reported when it happened.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What was seen last of something that counts its steps.
#[derive(Debug, Default)]
struct Progress(u64);

impl Progress {
    /// Whether there were steps since the last look.
    fn is_made(&mut self, steps: u64) -> bool {
        std::mem::replace(&mut self.0, steps) != steps
    }
}

/// Reports that the crawl is ready, then its status, until it is asked to stop.
pub(super) async fn tell(watch: &Watch, stop: &StopHandle) {
    say(&[NotifyState::Ready]);
    // Twice as often as the watchdog asks for, as `sd_watchdog_enabled(3)` advises.
    let watchdog = sd_notify::watchdog_enabled().map(|limit| limit / 2);
    let mut ticks =
        tokio::time::interval(watchdog.map_or(STATUS_INTERVAL, |limit| limit.min(STATUS_INTERVAL)));
    let stopped = stop.stopped();
    tokio::pin!(stopped);
    let mut commits = Progress::default();
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
                let pulse = watch.pulse();
                let is_alive = commits.is_made(pulse.beats()) || pulse.rests();
                if watchdog.is_some() && is_alive {
                    say(&[NotifyState::Watchdog]);
                } else if !is_alive {
                    tracing::warn!("a commit makes no progress");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_what_changes_between_two_looks() {
        let mut progress = Progress::default();
        assert!(!progress.is_made(0));
        assert!(progress.is_made(3));
        assert!(!progress.is_made(3));
        assert!(progress.is_made(4));
    }
}
