//! The server of the control socket, `control.sock`. Only the owner of the data directory can
//! connect. A malformed request gets an error response and has no effect.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{RwLock, Semaphore};

use super::obey::{Handles, obey, refused};
use super::protocol::{MAX_LINE, Request};

/// File name of the socket in the data directory.
pub(super) const NAME: &str = "control.sock";
/// Maximum number of concurrent connections, each of which may hold one line in memory.
const MAX_CONNECTIONS: usize = 32;
/// How long the end of a crawl waits for orders that are being obeyed: once it is over, each is
/// answered at once, unless rows are being searched for it.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// How long a connection may be idle; idle connections keep others out.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// The listening socket. Dropping it removes the socket file.
pub(super) struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for Listener {
    fn drop(&mut self) {
        // A file that remains is replaced at the next start.
        let _ = fs::remove_file(&self.path);
    }
}

/// Path of the socket of a data directory, short enough for the operating system, which allows
/// about a hundred bytes (unix(7)). A longer directory is named by an open descriptor, which must
/// be kept while the path is in use.
pub(super) fn short_path(directory: &Path, name: &str) -> io::Result<(PathBuf, Option<fs::File>)> {
    /// `sun_path` holds 108 bytes on Linux and 104 elsewhere, the last of them a NUL.
    const MAX: usize = 103;
    let path = directory.join(name);
    if path.as_os_str().len() <= MAX {
        return Ok((path, None));
    }
    let open = fs::File::open(directory)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}/{name}", open.as_raw_fd()));
    Ok((path, Some(open)))
}

/// Opens the socket in a data directory whose lock this process holds. An existing socket belongs
/// to a process that has ended, and is replaced.
pub(super) fn listen(directory: &Path) -> io::Result<Listener> {
    // Created in a private directory, so that nobody can connect before its mode is set.
    let cradle = format!(".{NAME}");
    let _ = fs::remove_dir_all(directory.join(&cradle));
    DirBuilder::new()
        .mode(0o700)
        .create(directory.join(&cradle))?;
    let (born, _open) = short_path(directory, &format!("{cradle}/{NAME}"))?;
    let listener = UnixListener::bind(&born)?;
    fs::set_permissions(&born, Permissions::from_mode(0o600))?;
    let path = directory.join(NAME);
    fs::rename(&born, &path)?;
    fs::remove_dir(directory.join(&cradle))?;
    Ok(Listener { listener, path })
}

/// Orders that are being obeyed: each shares it until it is answered.
#[derive(Clone, Default)]
pub(super) struct Orders(Arc<RwLock<()>>);

impl Orders {
    /// Waits until those who gave orders have their answers. What was done must not look undone
    /// because the crawl ended with it.
    pub(super) async fn answered(&self) {
        if tokio::time::timeout(LAST_ANSWERS, self.0.write())
            .await
            .is_err()
        {
            tracing::warn!(
                "the crawl ended before an order was answered; see whether it was carried out"
            );
        }
    }
}

/// Serves every client that connects.
pub(super) async fn serve(listener: Listener, handles: Handles, orders: Orders) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        match listener.listener.accept().await {
            Ok((stream, _)) => {
                let (handles, orders) = (handles.clone(), orders.clone());
                tokio::spawn(async move {
                    // An error means that the client went away.
                    let _ = converse(stream, &handles, &orders).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Most likely out of file descriptors, of which some may be closed meanwhile.
                tracing::warn!(%error, "cannot accept a connection on the control socket");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn converse(stream: UnixStream, handles: &Handles, orders: &Orders) -> io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut reading = BufReader::new(reading);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut reading).take(MAX_LINE);
        let read = bounded.read_until(b'\n', &mut line);
        let read = tokio::time::timeout(IDLE_TIMEOUT, read).await??;
        if read == 0 {
            return Ok(());
        }
        let whole = line.ends_with(b"\n");
        let request = if whole {
            serde_json::from_slice(&line).map_err(|error| error.to_string())
        } else {
            Err(format!(
                "a request must be one line of at most {MAX_LINE} bytes"
            ))
        };
        // A question changes nothing, and may read for long.
        let order = match &request {
            Ok(Request::Ask(_)) => None,
            _ => Some(orders.0.read().await),
        };
        let response = match &request {
            Ok(request) => obey(request, handles).await,
            Err(reason) => refused(format_args!("malformed request: {reason}")),
        };
        let mut answer = serde_json::to_vec(&response)?;
        answer.push(b'\n');
        writing.write_all(&answer).await?;
        drop(order);
        if request == Ok(Request::Stop) {
            // The client waits for the connection to close, which happens when the process ends.
            std::future::pending::<()>().await;
        }
        if !whole {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_end_waits_for_answers_but_not_for_ever() {
        let orders = Orders::default();
        let order = Arc::clone(&orders.0).read_owned().await;
        let waiting = orders.clone();
        let end = tokio::spawn(async move { waiting.answered().await });
        tokio::time::sleep(LAST_ANSWERS / 2).await;
        assert!(!end.is_finished());
        drop(order);
        end.await.unwrap();
        let _unanswered = orders.0.read().await;
        orders.answered().await;
    }
}
