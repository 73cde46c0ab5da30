//! A small web inside the test process: several hosts on loopback, with honest and hostile pages,
//! that records what it was asked and when.
//!
//! It is what the crawler under test fetches from. Host number `i` listens on `127.0.7.(i + 1)`,
//! all hosts on one port drawn at start, so each is a host of its own to a crawler and several
//! webs can exist at once. The answers are written byte by byte on TCP, without an HTTP library,
//! so that they can also be wrong. It never looks at what the crawler does with an answer, never
//! leaves loopback, reads no file and puts no date into an answer: the same web always answers
//! the same.
//!
//! - `site`: what a host answers: [`Site`], [`Answer`], [`Delivery`].
//! - `server`: connections, requests, the ways of delivering.
//! - `log`: what was asked, when, and how much at once.
//! - `clusters`: a ready-made web of several hosts whose duplicates are known.
//! - `links`, `words`, `markup`: its links, its texts and its pages.

// Each test binary includes the whole web and uses its part of it; what is public here is public
// to that binary only.
#![allow(dead_code, unused_imports, unreachable_pub)]

mod site;

mod server;

mod log;

mod clusters;

mod links;

mod words;

mod markup;

use std::net::{SocketAddrV4, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::watch;

pub use clusters::{ClusterOptions, Expected, Kind, Place, cluster_web};
pub use log::Request;
pub use site::{Answer, Delivery, Site};
pub use words::{Article, Random};

use log::Log;
use server::Shared;

/// The third number of the addresses of [`Web::start`].
const NET: u8 = 7;

/// Ports tried before the web gives up: a port that is free on the first address may be taken on
/// another one by a web of a neighbouring test process.
const PORT_ATTEMPTS: usize = 100;

/// A running web. Dropping it closes every listener and connection and ends its threads.
pub struct Web {
    shared: Arc<Shared>,
    /// Taken by `drop` only.
    runtime: Option<Runtime>,
}

impl Web {
    /// Starts one host per site, on `127.0.7.1`, `127.0.7.2` and so on.
    pub fn start(sites: Vec<Site>) -> Self {
        Self::start_at(NET, sites)
    }

    /// As [`Web::start`], on `127.0.net.1` and so on.
    pub fn start_at(net: u8, sites: Vec<Site>) -> Self {
        assert!((1..=254).contains(&sites.len()), "a web has 1 to 254 hosts");
        let (port, listeners) = listen(net, sites.len());
        let shared = Arc::new(Shared {
            net,
            port,
            log: Log::new(sites.len()),
            sites,
            gate: watch::Sender::new(usize::MAX),
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("web")
            .enable_all()
            .build()
            .expect("a test process may start two threads");
        let context = runtime.enter();
        for (host, listener) in listeners.into_iter().enumerate() {
            let listener = tokio::net::TcpListener::from_std(listener)
                .expect("the listener is non-blocking and the runtime drives sockets");
            runtime.spawn(server::serve(listener, Arc::clone(&shared), host));
        }
        drop(context);
        Self {
            shared,
            runtime: Some(runtime),
        }
    }

    /// The URL of `path` (which begins with `/`) on a host.
    pub fn url(&self, host: usize, path: &str) -> String {
        format!("{}{path}", self.shared.origin(host))
    }

    /// The port of all hosts.
    pub fn port(&self) -> u16 {
        self.shared.port
    }

    /// Every request since the start or the last [`Web::clear_log`], in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log.requests()
    }

    /// What was asked of a host, robots.txt aside, in the order of arrival.
    pub fn asked(&self, host: usize) -> Vec<String> {
        let own = self.requests().into_iter().filter(|it| it.host == host);
        own.map(|it| it.path)
            .filter(|path| path != "/robots.txt")
            .collect()
    }

    /// Forgets the requests so far, and the peaks of [`Web::max_concurrent`].
    pub fn clear_log(&self) {
        self.shared.log.clear();
    }

    /// The most requests of a host that were in progress at one moment: arrived, and the last
    /// byte of the answer not yet sent.
    pub fn max_concurrent(&self, host: usize) -> usize {
        self.shared.log.max_concurrent(host)
    }

    /// As [`Web::max_concurrent`], over all hosts together.
    pub fn max_concurrent_overall(&self) -> usize {
        self.shared.log.max_concurrent_overall()
    }

    /// Waits until the log holds `n` requests; false when `timeout` passed before.
    pub fn wait_for_requests(&self, n: usize, timeout: Duration) -> bool {
        self.shared.log.wait_for(n, timeout)
    }

    /// From now on no answer is begun until [`Web::release`]; requests are accepted and logged.
    pub fn hold(&self) {
        self.shared.gate.send_replace(0);
    }

    /// Lets the next `n` requests to arrive be answered and holds the answers to those after
    /// them: a crawler can be killed at the same point of its crawl each time.
    pub fn hold_after(&self, n: usize) {
        self.shared
            .gate
            .send_replace(self.shared.log.arrived_in_all() + n);
    }

    /// Opens the gate: what was held is answered, as far as the client is still there.
    pub fn release(&self) {
        self.shared.gate.send_replace(usize::MAX);
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let runtime = self.runtime.take();
        // On a thread of its own: tokio forbids ending a runtime inside an async test. Waiting for
        // it makes sure that no listener outlives the web.
        let ended = std::thread::spawn(move || drop(runtime)).join();
        // A second panic during an unwinding test would abort the process and hide the first.
        assert!(
            ended.is_ok() || std::thread::panicking(),
            "the web's threads did not end cleanly"
        );
    }
}

/// Listeners on the first `hosts` addresses of a net, all on one free port.
fn listen(net: u8, hosts: usize) -> (u16, Vec<TcpListener>) {
    let mut failure = None;
    for _ in 0..PORT_ATTEMPTS {
        match try_listen(net, hosts) {
            Ok(listening) => return listening,
            Err(error) => failure = Some(error),
        }
    }
    panic!("no port is free on {hosts} addresses of 127.0.{net}.0: {failure:?}");
}

fn try_listen(net: u8, hosts: usize) -> std::io::Result<(u16, Vec<TcpListener>)> {
    let mut port = 0;
    let mut listeners = Vec::with_capacity(hosts);
    for host in 0..hosts {
        let listener = TcpListener::bind(SocketAddrV4::new(server::address(net, host), port))?;
        port = listener.local_addr()?.port();
        listener.set_nonblocking(true)?;
        listeners.push(listener);
    }
    Ok((port, listeners))
}
