//! Where the console listens, and who may come: checked and bound before a crawl is opened, so that
//! what is wrong with either is said at once.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use super::guard::{Access, Token, is_loopback};
use super::holder;

/// The least number of bytes of a token.
const LEAST_TOKEN: usize = 32;
/// The most that is read of a file that is given for a token.
const MOST_TOKEN: u64 = 4_096;

/// What a person says of the console.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenOptions {
    /// Where it listens: `ADDRESS:PORT` or `unix:PATH`.
    pub address: String,
    /// Names under which it is reached beside those of this machine's loopback.
    pub hosts: Vec<String>,
    /// The file with the token that its clients have to send.
    pub token_file: Option<PathBuf>,
}

/// Why the console cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// What was given makes no sense, or would let in anyone.
    #[error("{0}")]
    Usage(String),
    /// The address is in use, or cannot be bound.
    #[error("cannot listen on {address}: {reason}")]
    Taken {
        /// The address as it was given.
        address: String,
        /// Why not, and what to do.
        reason: String,
    },
}

/// A bound socket, and who may use it. Dropping it removes the file of a Unix socket.
#[derive(Debug)]
pub struct Listening {
    pub(super) socket: Socket,
    pub(super) access: Access,
}

/// The two kinds of sockets.
#[derive(Debug)]
pub(super) enum Socket {
    /// On the network.
    Tcp(TcpListener),
    /// In the file system.
    Unix(UnixListener, SocketFile),
}

/// The file of a socket.
#[derive(Debug)]
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A file that remains is replaced at the next start.
        let _ = fs::remove_file(&self.0);
    }
}

impl Listening {
    /// Checks what was given, and binds the socket.
    ///
    /// # Errors
    ///
    /// [`ListenError::Usage`] for an address that cannot be read, and for one that others reach
    /// while there is no token; [`ListenError::Taken`] where the socket cannot be bound.
    pub fn open(options: &ListenOptions) -> Result<Self, ListenError> {
        let token = options.token_file.as_deref().map(token).transpose()?;
        let given = options.address.trim();
        let (socket, own) = match given.strip_prefix("unix:") {
            Some(path) => (unix(given, Path::new(path))?, None),
            None => {
                let (addresses, is_own) = addresses(given)?;
                if !is_own && token.is_none() {
                    return Err(ListenError::Usage(format!(
                        "--listen {given} lets in other machines: give --token-file FILE (daemon.token_file) with a secret of {LEAST_TOKEN} bytes or more that clients send, or listen on 127.0.0.1:PORT or unix:PATH"
                    )));
                }
                let own = addresses.first().map(SocketAddr::ip);
                (tcp(given, &addresses)?, own)
            }
        };
        let access = Access::new(own, &options.hosts, token).map_err(ListenError::Usage)?;
        Ok(Self { socket, access })
    }

    /// Where a browser or curl finds it.
    pub fn place(&self) -> String {
        match &self.socket {
            Socket::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("http://{address}/"),
                Err(_) => "an unknown address".to_owned(),
            },
            Socket::Unix(_, SocketFile(path)) => format!("unix:{}", path.display()),
        }
    }
}

/// Reads `ADDRESS:PORT`, and tells whether only this machine reaches it.
fn addresses(given: &str) -> Result<(Vec<SocketAddr>, bool), ListenError> {
    let usage = |reason: &str| {
        ListenError::Usage(format!(
            "--listen {given:?}: {reason}; write 127.0.0.1:7979, [::1]:7979 or unix:PATH"
        ))
    };
    if given.is_empty() {
        return Err(usage("it names no address"));
    }
    let Some((_, port)) = given.rsplit_once(':') else {
        return Err(usage("it has no port"));
    };
    if port.parse::<u16>().is_err() {
        return Err(usage("its port is no number up to 65535"));
    }
    // A number, or a name of this machine.
    let found = given.to_socket_addrs();
    let found: Vec<SocketAddr> = found.map_err(|error| usage(&error.to_string()))?.collect();
    if found.is_empty() {
        return Err(usage("the name has no address"));
    }
    let is_own = found.iter().all(|it| is_loopback(it.ip()));
    Ok((found, is_own))
}

fn tcp(given: &str, addresses: &[SocketAddr]) -> Result<Socket, ListenError> {
    let taken = |error: &io::Error| {
        let reason = match error.kind() {
            io::ErrorKind::AddrInUse => {
                let mut named = addresses.iter().filter_map(|it| holder::of_port(it.port()));
                let other = match named.next() {
                    Some(name) => format!("another process listens there: {name}"),
                    None => "another process listens there, perhaps another crawl; `ss -ltnp` tells which"
                        .to_owned(),
                };
                format!("{other}. Stop it, or give another port with --listen")
            }
            io::ErrorKind::AddrNotAvailable => {
                "this machine has no such address; give one of its own, such as 127.0.0.1:PORT"
                    .to_owned()
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 are for the superuser; give a higher one".to_owned()
            }
            _ => error.to_string(),
        };
        ListenError::Taken {
            address: given.to_owned(),
            reason,
        }
    };
    let listener = TcpListener::bind(addresses).map_err(|error| taken(&error))?;
    listener
        .set_nonblocking(true)
        .map_err(|error| taken(&error))?;
    Ok(Socket::Tcp(listener))
}

fn unix(given: &str, path: &Path) -> Result<Socket, ListenError> {
    let taken = |reason: String| ListenError::Taken {
        address: given.to_owned(),
        reason,
    };
    if path.as_os_str().is_empty() {
        return Err(ListenError::Usage(format!(
            "--listen {given:?}: it names no file; write unix:/run/gleaner/console.sock"
        )));
    }
    if let Ok(found) = fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Err(taken(format!(
                "{} is there and is no socket; give a path that is free",
                path.display()
            )));
        }
        if UnixStream::connect(path).is_ok() {
            return Err(taken(
                "another process listens there, perhaps another crawl; `ss -lxp` tells which. \
                 Stop it, or give another path"
                    .to_owned(),
            ));
        }
        // Whoever made it has ended.
        let _ = fs::remove_file(path);
    }
    // Bound beside its name in a directory that is the owner's alone, so that nobody can connect
    // before its mode is set.
    let failed = |error: io::Error| taken(format!("{error}; is the directory there, and yours?"));
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let cradle = parent.join(format!(".gleaner-console-{}", std::process::id()));
    let _ = fs::remove_dir_all(&cradle);
    fs::create_dir(&cradle).map_err(failed)?;
    let bound = (|| {
        fs::set_permissions(&cradle, fs::Permissions::from_mode(0o700))?;
        let born = cradle.join("sock");
        let listener = UnixListener::bind(&born)?;
        fs::set_permissions(&born, fs::Permissions::from_mode(0o600))?;
        fs::rename(&born, path)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    })();
    let _ = fs::remove_dir_all(&cradle);
    let listener = bound.map_err(failed)?;
    Ok(Socket::Unix(listener, SocketFile(path.to_owned())))
}

/// Reads the token of a file.
fn token(path: &Path) -> Result<Token, ListenError> {
    let usage = |reason: String| {
        ListenError::Usage(format!(
            "--token-file {}: {reason}; `(umask 077; head -c 32 /dev/urandom | base64 > FILE)` makes one",
            path.display()
        ))
    };
    let mut file = File::open(path).map_err(|error| usage(error.to_string()))?;
    let meta = file.metadata().map_err(|error| usage(error.to_string()))?;
    let mode = meta.permissions().mode() & 0o777;
    if !meta.is_file() {
        return Err(usage("it is no file".to_owned()));
    }
    if mode & 0o077 != 0 {
        return Err(usage(format!(
            "others can read it (mode {mode:04o}): `chmod 600` it, and use another secret"
        )));
    }
    let mut text = String::new();
    (&mut file)
        .take(MOST_TOKEN)
        .read_to_string(&mut text)
        .map_err(|error| usage(error.to_string()))?;
    let token = text.trim();
    if token.len() < LEAST_TOKEN {
        return Err(usage(format!(
            "the token has {} bytes, and {LEAST_TOKEN} are needed",
            token.len()
        )));
    }
    if !token.bytes().all(|it| it.is_ascii_graphic()) {
        return Err(usage(
            "the token has characters that cannot stand in a header".to_owned(),
        ));
    }
    Ok(Token::new(token))
}
