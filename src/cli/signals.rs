//! SIGINT and SIGTERM: the first ends the run in good order, the second ends the process.

use std::thread;

use tokio::signal::unix::{SignalKind, signal};

use super::exit::INTERRUPTED;
use super::output::Screen;
use crate::engine::StopHandle;

/// Does something on each SIGHUP from now on, one at a time.
pub(super) fn on_hangup(mut act: impl FnMut() + Send + 'static) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut hangups = runtime.block_on(async { signal(SignalKind::hangup()) })?;
    thread::Builder::new()
        .name("hangups".to_owned())
        .spawn(move || {
            while runtime.block_on(hangups.recv()).is_some() {
                act();
            }
        })?;
    Ok(())
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
