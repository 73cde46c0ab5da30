//! Servers of NATS on loopback, each a process with a directory of its own.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

use gleaner::broker::{Address, Broker, Nats};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;

use crate::run::{PATIENCE, Running};

/// The variable that names a nats-server.
const VARIABLE: &str = "TEST_NATS_SERVER";

/// The nats-server: what the variable names, what `tests/tools/install` installed, or what is in
/// the path.
pub(crate) fn binary(tools: &Path) -> PathBuf {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return named.into();
    }
    match tools.join("bin/nats-server") {
        installed if installed.is_file() => installed,
        _ => "nats-server".into(),
    }
}

/// Why there is no nats-server; nothing if there is one.
pub(crate) fn missing(tools: &Path) -> Option<String> {
    let binary = binary(tools);
    let version = Command::new(&binary).arg("--version").output();
    let version = version.ok().filter(|output| output.status.success());
    let Some(version) = version else {
        return Some(format!(
            "there is no nats-server: run tests/tools/install, or name one by {VARIABLE}"
        ));
    };
    let text = String::from_utf8_lossy(&version.stdout).into_owned();
    let numbers = text.rsplit('v').next().unwrap_or_default();
    let numbers = numbers.trim().split(['.', '-']).take(3);
    let numbers: Vec<u64> = numbers.filter_map(|it| it.parse().ok()).collect();
    (numbers < vec![2, 10, 26]).then(|| {
        format!(
            "{} is {}, and 2.10.26 is the oldest that is used: run tests/tools/install",
            binary.display(),
            text.trim()
        )
    })
}

/// Servers that keep one another's data.
pub(crate) struct Servers {
    binary: PathBuf,
    directory: TempDir,
    ports: Vec<u16>,
    routes: Vec<u16>,
    monitors: Vec<u16>,
    running: Vec<Option<Running>>,
    /// What each is given besides.
    more: Vec<OsString>,
}

/// Copies a directory.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the directory above is ours");
    for entry in fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("it can be read");
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("it is there");
        if kind.is_dir() {
            copy(&path, &to);
        } else if kind.is_file() {
            fs::copy(&path, &to).expect("nobody changes it now");
        }
    }
}

/// Ports that were free a moment ago, below those that the system gives to connections and to
/// servers that ask for any: one of these may be taken before a server is started.
fn free_ports(count: usize) -> Vec<u16> {
    const FIRST: u16 = 10_000;
    const PORTS: u16 = 20_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Another process that does the same begins elsewhere.
    let start = (std::process::id() % u32::from(PORTS)) as u16;
    let next = || FIRST + start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let ports = std::iter::repeat_with(next).take(usize::from(PORTS));
    ports.filter(is_free).take(count).collect()
}

impl Servers {
    /// Starts so many.
    pub(crate) fn start(count: usize, tools: &Path) -> Self {
        Self::with(count, tools, Vec::new())
    }

    /// Starts so many, which are given this besides.
    pub(crate) fn with(count: usize, tools: &Path, more: Vec<OsString>) -> Self {
        let ports = free_ports(3 * count);
        let mut servers = Self {
            binary: binary(tools),
            directory: tempfile::tempdir().expect("there is a directory for temporary files"),
            ports: ports[..count].to_vec(),
            routes: ports[count..2 * count].to_vec(),
            monitors: ports[2 * count..].to_vec(),
            running: (0..count).map(|_| None).collect(),
            more,
        };
        (0..count).for_each(|number| servers.run(number));
        servers
    }

    /// Starts a server that does not run.
    pub(crate) fn run(&mut self, number: usize) {
        let mut command = Command::new(&self.binary);
        let directory = self.directory.path().join(number.to_string());
        command
            .args(["-a", "127.0.0.1", "-p", &self.ports[number].to_string()])
            .args(["-m", &self.monitors[number].to_string()])
            .args(["-n", &format!("server-{number}"), "-js", "-sd"])
            .arg(directory)
            .args(&self.more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if self.ports.len() > 1 {
            let route = |port: &u16| format!("nats://127.0.0.1:{port}");
            let routes: Vec<_> = self.routes.iter().map(route).collect();
            command
                .args(["--cluster_name", "tests", "--cluster", &routes[number]])
                // Who reaches them by a proxy is to know of no other way.
                .arg("--no_advertise")
                .args(["--routes", &routes.join(",")]);
        }
        let running = Running::start(command);
        running.wait_for_line("Server is ready");
        self.running[number] = Some(running);
    }

    /// Kills a server.
    pub(crate) fn kill(&mut self, number: usize) {
        if let Some(running) = self.running[number].take() {
            running.signal(Signal::KILL);
            running.end();
        }
    }

    /// Keeps what a server that does not run has now.
    pub(crate) fn keep(&self, number: usize) {
        let directory = self.directory.path();
        copy(
            &directory.join(number.to_string()),
            &directory.join(format!("{number}-then")),
        );
    }

    /// Puts back what was kept.
    pub(crate) fn put_back(&self, number: usize) {
        let directory = self.directory.path();
        let now = directory.join(number.to_string());
        fs::remove_dir_all(&now).expect("nobody uses it");
        fs::rename(directory.join(format!("{number}-then")), now).expect("it was kept");
    }

    /// The port of a server.
    pub(crate) fn port(&self, number: usize) -> u16 {
        self.ports[number]
    }

    /// What a server that runs says of itself.
    pub(crate) fn figures(&self, number: usize) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.monitors[number]))
            .expect("a server that runs listens");
        stream
            .write_all(b"GET /varz HTTP/1.0\r\n\r\n")
            .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("it has a head");
        serde_json::from_str(body).expect("it is JSON")
    }

    /// The process of a server that runs.
    pub(crate) fn pid(&self, number: usize) -> Pid {
        let running = self.running[number].as_ref();
        running.expect("it runs").pid()
    }

    /// Where a crawl of this name is there.
    pub(crate) fn address(&self, name: &str) -> String {
        let server = |port: &u16| format!("127.0.0.1:{port}");
        let servers: Vec<_> = self.ports.iter().map(server).collect();
        format!("nats://{}/{name}", servers.join(","))
    }

    /// Connects to a crawl of this name. Servers that have just started have to find one another
    /// before they make a log.
    pub(crate) fn connect(&self, name: &str) -> Nats {
        let address: Address = self.address(name).parse().expect("it is an address");
        let broker = Nats::connect(&address).expect("the servers run");
        let start = Instant::now();
        while let Err(error) = broker.create("ready") {
            assert!(start.elapsed() < PATIENCE, "{error}");
            std::thread::yield_now();
        }
        broker
    }
}
