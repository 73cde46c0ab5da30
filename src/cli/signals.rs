//! SIGINT and SIGTERM: the first ends the run in good order, the second ends the process.

use std::thread;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::INTERRUPTED;
use super::output::Screen;
use crate::engine::StopHandle;

/// SIGHUPs, from when this was made: one that comes before anybody waits for it is remembered.
pub(super) struct Hangups {
    runtime: Runtime,
    signals: Signal,
}

impl Hangups {
    /// From now on a SIGHUP does not end the process.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let signals = runtime.block_on(async { signal(SignalKind::hangup()) })?;
        Ok(Self { runtime, signals })
    }

    /// Does something on each, one at a time, until the process ends.
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

/// Listens for signals until the process ends.
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
                    screen.say("stopping: fetches in progress are ended and everything that arrived is committed; a second signal exits at once");
                } else {
                    screen.clear();
                    // Safe at any moment: only committed state counts.
                    std::process::exit(INTERRUPTED);
                }
            }
        });
    })?;
    Ok(())
}
