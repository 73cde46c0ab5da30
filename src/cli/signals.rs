//! Signals. The first SIGINT or SIGTERM shuts down gracefully, the second exits at once; SIGHUP
//! reloads the settings of a daemon.

use std::thread;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::INTERRUPTED;
use super::output::Screen;
use crate::engine::StopHandle;

/// Receives SIGHUP from its creation on: signals that arrive before [`Hangups::each`] are kept.
pub(super) struct Hangups {
    runtime: Runtime,
    signals: Signal,
}

impl Hangups {
    /// Starts to listen. From now on a SIGHUP does not end the process.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let signals = runtime.block_on(async { signal(SignalKind::hangup()) })?;
        Ok(Self { runtime, signals })
    }

    /// Runs `act` on each SIGHUP, one at a time, until the process ends.
    pub(super) fn each(mut self, mut act: impl FnMut() + Send + 'static) -> anyhow::Result<()> {
        thread::Builder::new()
            .name("hangups".to_owned())
            .spawn(move || {
                while self.runtime.block_on(self.signals.recv()).is_some() {
                    act();
                }
            })?;
        Ok(())
    }
}

/// Listens for SIGINT and SIGTERM until the process ends.
#[expect(clippy::disallowed_methods, reason = "a second signal exits at once")]
pub(super) fn listen(stop: StopHandle, screen: Screen) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut interrupts = runtime.block_on(async { signal(SignalKind::interrupt()) })?;
    let mut terminations = runtime.block_on(async { signal(SignalKind::terminate()) })?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupts.recv() => {}
                    _ = terminations.recv() => {}
                }
                if stop.stop() {
                    screen.say("stopping: finishing fetches in progress and committing what has arrived; press Ctrl-C again to exit at once");
                } else {
                    screen.clear();
                    // Safe at any time: a crawl resumes from what is committed.
                    std::process::exit(INTERRUPTED);
                }
            }
        });
    })?;
    Ok(())
}
