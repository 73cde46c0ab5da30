//! The server of the control socket, `control.sock`. Only the owner of the data directory can
//! connect. A malformed request gets an error response and has no effect.

use std::fmt::Display;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

use super::protocol::{MAX_LINE, MAX_SEEDS, Request, Response};
use crate::engine::{Control, StopHandle, Watch, hosts_named};
use crate::inspect::{Question, answer};
use crate::seeds::{self, Seed};

/// File name of the socket in the data directory.
pub(super) const NAME: &str = "control.sock";
/// Maximum number of concurrent connections, each of which may hold one line in memory.
const MAX_CONNECTIONS: usize = 32;
/// How long a connection may be idle; idle connections keep others out.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a pause waits for fetches in progress before the response is sent anyway.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(10);

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

/// Serves every client that connects.
pub(super) async fn serve(listener: Listener, control: Control, watch: Watch, stop: StopHandle) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        match listener.listener.accept().await {
            Ok((stream, _)) => {
                let (control, watch, stop) = (control.clone(), watch.clone(), stop.clone());
                tokio::spawn(async move {
                    // An error means that the client went away.
                    let _ = converse(stream, &control, &watch, &stop).await;
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

async fn converse(
    stream: UnixStream,
    control: &Control,
    watch: &Watch,
    stop: &StopHandle,
) -> io::Result<()> {
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
        let response = match &request {
            Ok(request) => obey(request, control, watch, stop).await,
            Err(reason) => refused(format_args!("malformed request: {reason}")),
        };
        let mut answer = serde_json::to_vec(&response)?;
        answer.push(b'\n');
        writing.write_all(&answer).await?;
        if request == Ok(Request::Stop) {
            // The client waits for the connection to close, which happens when the process ends.
            std::future::pending::<()>().await;
        }
        if !whole {
            return Ok(());
        }
    }
}

async fn obey(request: &Request, control: &Control, watch: &Watch, stop: &StopHandle) -> Response {
    match request {
        Request::Pause => match tokio::time::timeout(PAUSE_TIMEOUT, control.pause()).await {
            Ok(Ok(())) => {
                tracing::info!("paused");
                Response::Done
            }
            Ok(Err(over)) => refused(over),
            Err(_) => Response::Pausing {
                fetching: watch.gauges().fetching,
            },
        },
        Request::Resume => match control.resume().await {
            Ok(()) => {
                tracing::info!("resumed");
                Response::Done
            }
            Err(over) => refused(over),
        },
        Request::Hold { host } => hold(control, host, true).await,
        Request::Release { host } => hold(control, host, false).await,
        Request::Stop => {
            stop.stop();
            Response::Done
        }
        Request::Retry { filter, from } => {
            match control.retry(filter.clone(), from.clone()).await {
                Ok(retried) => Response::Retried(retried),
                Err(error) => refused(error),
            }
        }
        Request::Forget { order, from } => {
            match control.forget(order.clone(), from.clone()).await {
                Ok(done) => Response::Forgotten(done),
                Err(error) => refused(error),
            }
        }
        Request::Ask(question) => ask(control, question.clone()).await,
        Request::AddSeeds { urls } => match parsed(urls, control) {
            Ok(seeds) => match control.add_seeds(seeds, true).await {
                Ok(added) => {
                    tracing::info!(new = added.new, known = added.known, "seeds added");
                    Response::Added(added)
                }
                Err(over) => refused(over),
            },
            Err(reason) => refused(reason),
        },
    }
}

/// Holds the hosts of a name, or lets them go on.
async fn hold(control: &Control, name: &str, is_held: bool) -> Response {
    let hosts = match hosts_named(name) {
        Ok(hosts) => hosts,
        Err(error) => return refused(error),
    };
    match tokio::time::timeout(PAUSE_TIMEOUT, control.hold(hosts, is_held)).await {
        Ok(Ok(hosts)) => Response::Held {
            hosts: hosts.iter().map(|host| host.as_str().to_owned()).collect(),
        },
        Ok(Err(error)) => refused(error),
        // It is held already, and one of its visits is in progress.
        Err(_) => Response::Pausing { fetching: 1 },
    }
}

/// Answers a question on a thread that may block, because reading the store does.
async fn ask(control: &Control, question: Question) -> Response {
    let view = match control.view() {
        Ok(view) => view,
        Err(over) => return refused(over),
    };
    match tokio::task::spawn_blocking(move || answer(&view, &question)).await {
        Ok(Ok(answer)) => Response::Answer(Box::new(answer)),
        Ok(Err(error)) => refused(error),
        Err(error) => refused(error),
    }
}

fn refused(reason: impl Display) -> Response {
    Response::Refused {
        reason: reason.to_string(),
    }
}

/// Parses and checks seeds. Fails at the first that cannot be crawled.
fn parsed(urls: &[String], control: &Control) -> Result<Vec<Seed>, String> {
    if urls.len() > MAX_SEEDS {
        return Err(format!("at most {MAX_SEEDS} seeds in one request"));
    }
    urls.iter()
        .map(|text| {
            let seed = seeds::parse(text).map_err(|error| format!("{text:?}: {error}"))?;
            control
                .check_seed(&seed.url, true)
                .map_err(|error| format!("{text:?}: {error}"))?;
            Ok(seed)
        })
        .collect()
}
