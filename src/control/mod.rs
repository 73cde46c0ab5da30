//! What stands around a crawl that is left running: a socket to speak to it ([`client`] is the other
//! end), a directory that seed lists are put into, and what systemd wants to hear.
//!
//! It owns nothing of the crawl: it sends what is asked through a [`Control`] and looks through a
//! [`Watch`]. All of it runs on one thread of its own, so that the crawl never waits for it.

pub mod client;
mod drop_directory;
mod protocol;
mod socket;
mod systemd;

use std::io;
use std::path::Path;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use crate::engine::{Control, StopHandle, Watch};

pub use protocol::{Request, Response};
pub use systemd::reloading;

/// What a crawl serves beside its fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeMode {
    /// It answers on its socket.
    Socket,
    /// It also takes seed lists from its directory, and tells systemd how it is.
    Daemon,
}

/// Serves a crawl until it is dropped.
#[derive(Debug)]
pub struct ControlServer {
    /// Dropped to end the thread.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ControlServer {
    /// Starts to serve the crawl in a data directory that this process holds.
    pub fn start(
        directory: &Path,
        mode: ServeMode,
        control: Control,
        watch: Watch,
        stop: StopHandle,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // What is there when the socket answers is there for whoever asks it.
        let seeds = match mode {
            ServeMode::Socket => None,
            ServeMode::Daemon => Some(drop_directory::open(directory)?),
        };
        let listener = runtime.block_on(async { socket::listen(directory) })?;
        let (end, ended) = oneshot::channel();
        let serve = async move {
            let seed_lists = async {
                match seeds {
                    Some(seeds) => seeds.watch(&control).await,
                    None => std::future::pending().await,
                }
            };
            let systemd = async {
                match mode {
                    ServeMode::Socket => std::future::pending().await,
                    ServeMode::Daemon => systemd::tell(&watch, &stop).await,
                }
            };
            tokio::select! {
                // Whoever starts us has it dropped or says so: both are the end.
                _ = ended => {}
                () = socket::serve(listener, control.clone(), watch.clone(), stop.clone()) => {}
                () = seed_lists => {}
                () = systemd => {}
            }
        };
        let thread = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || {
                runtime.block_on(serve);
                // Whoever asked for a long list must not keep the crawl from ending.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It fails only if it panicked, which it has said already.
            let _ = thread.join();
        }
    }
}
