//! How a running crawl is controlled from outside: a Unix socket ([`client`] is its other end), a
//! drop directory for seed lists, and notifications to systemd.
//!
//! This room owns no state of the crawl: it has its [`Handles`], and answers questions with
//! [`inspect`](crate::inspect). It runs on one thread of its own, so the crawl never waits for
//! it, but for the last answers when it ends.

pub mod client;
mod drop_directory;
mod obey;
mod protocol;
mod socket;
mod systemd;

use std::io;
use std::path::Path;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

pub use obey::{Handles, obey};
pub use protocol::{MAX_SEEDS, Request, Response};
pub use systemd::{Starting, reloading};

/// Which of its services a [`ControlServer`] offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeMode {
    /// The control socket only, as `gleaner crawl` does.
    Socket,
    /// Also the drop directory and notifications to systemd, as `gleaner daemon` does.
    Daemon,
}

/// A thread that serves a crawl. Dropping it closes the socket and ends the thread.
#[derive(Debug)]
pub struct ControlServer {
    /// Dropped to end the thread.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ControlServer {
    /// Starts to serve the crawl in a data directory, whose lock this process must hold.
    pub fn start(directory: &Path, mode: ServeMode, handles: Handles) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // A client that can connect may rely on the drop directory: create it first.
        let seeds = match mode {
            ServeMode::Socket => None,
            ServeMode::Daemon => Some(drop_directory::open(directory)?),
        };
        let listener = runtime.block_on(async { socket::listen(directory) })?;
        let (end, ended) = oneshot::channel();
        let orders = socket::Orders::default();
        let serve = async move {
            let seed_lists = async {
                match seeds {
                    Some(seeds) => seeds.watch(&handles.control).await,
                    None => std::future::pending().await,
                }
            };
            let systemd = async {
                match mode {
                    ServeMode::Socket => std::future::pending().await,
                    ServeMode::Daemon => systemd::tell(&handles.watch, &handles.stop).await,
                }
            };
            tokio::select! {
                // Ready when the sender is dropped: that is how the server ends.
                _ = ended => {}
                () = socket::serve(listener, handles.clone(), orders.clone()) => {}
                () = seed_lists => {}
                () = systemd => {}
            }
            orders.answered().await;
        };
        let thread = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || {
                runtime.block_on(serve);
                // A question that is still being answered must not delay the end of the crawl.
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
            // An error means that the thread panicked, which was reported when it happened.
            let _ = thread.join();
        }
    }
}
