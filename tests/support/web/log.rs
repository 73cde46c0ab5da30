//! What the web was asked: requests in order of arrival, how many of a host were in progress at
//! one moment, and a way to wait for them without polling. It decides nothing.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Request {
    /// The number of the host that was asked.
    pub host: usize,
    /// `GET`, most likely.
    pub method: String,
    /// The request target as sent: path and query.
    pub path: String,
    /// The whole head, up to and with its empty line.
    pub head: Vec<u8>,
    /// When the head was complete.
    pub arrived: Instant,
    /// When the answer ended: taken just before its last byte is sent, so that nothing the answer
    /// causes can be earlier. `None` while it is under way, and for good when the client left.
    pub finished: Option<Instant>,
    /// Number of the connection, counted over all hosts since the web started.
    pub connection: usize,
}

impl Request {
    /// The value of a request header, by its name in any case; the first one if it is repeated.
    pub fn header(&self, name: &str) -> Option<String> {
        let head = String::from_utf8_lossy(&self.head);
        head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    }

    /// The path without its query.
    pub fn bare_path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

/// The log of one web, shared by all its connections.
pub(super) struct Log {
    // Held for a few instructions at a time, never across an await.
    state: Mutex<State>,
    arrival: Condvar,
}

struct State {
    /// Requests that were cleared: the serial number of `requests[0]`.
    cleared: usize,
    requests: Vec<Request>,
    connections: usize,
    hosts: Vec<Load>,
    overall: Load,
}

/// Requests in progress now, and the most there were.
#[derive(Clone, Copy, Default)]
struct Load {
    now: usize,
    most: usize,
}

impl Load {
    fn begin(&mut self) {
        self.now += 1;
        self.most = self.most.max(self.now);
    }

    fn end(&mut self) {
        self.now -= 1;
    }

    fn forget(&mut self) {
        self.most = self.now;
    }
}

impl Log {
    pub(super) fn new(hosts: usize) -> Self {
        Self {
            state: Mutex::new(State {
                cleared: 0,
                requests: Vec::new(),
                connections: 0,
                hosts: vec![Load::default(); hosts],
                overall: Load::default(),
            }),
            arrival: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    pub(super) fn clear(&self) {
        let mut state = self.state();
        state.cleared += state.requests.len();
        state.requests.clear();
        state.hosts.iter_mut().for_each(Load::forget);
        state.overall.forget();
    }

    pub(super) fn max_concurrent(&self, host: usize) -> usize {
        self.state().hosts[host].most
    }

    pub(super) fn max_concurrent_overall(&self) -> usize {
        self.state().overall.most
    }

    /// Requests since the web started, cleared ones included.
    pub(super) fn arrived_in_all(&self) -> usize {
        let state = self.state();
        state.cleared + state.requests.len()
    }

    pub(super) fn wait_for(&self, n: usize, timeout: Duration) -> bool {
        let (state, _) = self
            .arrival
            .wait_timeout_while(self.state(), timeout, |state| state.requests.len() < n)
            .unwrap_or_else(PoisonError::into_inner);
        state.requests.len() >= n
    }

    /// The number of a new connection.
    pub(super) fn connect(&self) -> usize {
        let mut state = self.state();
        state.connections += 1;
        state.connections - 1
    }
}

/// A request in progress; it ends when this is finished or dropped.
pub(super) struct Progress {
    shared: Arc<super::Shared>,
    host: usize,
    /// Number of the request since the web started.
    pub(super) serial: usize,
    open: bool,
}

impl Progress {
    /// Writes a request that has just arrived into the log.
    pub(super) fn begin(shared: &Arc<super::Shared>, request: &mut Request) -> Self {
        let mut state = shared.log.state();
        // Read under the lock, so that the log is in the order of its times.
        request.arrived = Instant::now();
        let host = request.host;
        let serial = state.cleared + state.requests.len();
        state.requests.push(request.clone());
        state.hosts[host].begin();
        state.overall.begin();
        drop(state);
        shared.log.arrival.notify_all();
        Self {
            shared: Arc::clone(shared),
            host,
            serial,
            open: true,
        }
    }

    /// The answer is complete but for its last byte.
    pub(super) fn finish(&mut self) {
        let mut state = self.shared.log.state();
        if let Some(place) = self.serial.checked_sub(state.cleared)
            && let Some(request) = state.requests.get_mut(place)
        {
            request.finished = Some(Instant::now());
        }
        drop(state);
        self.end();
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.open) {
            let mut state = self.shared.log.state();
            state.hosts[self.host].end();
            state.overall.end();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
