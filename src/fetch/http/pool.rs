//! Connections that are kept for the next request to the same server.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Connection;
use crate::fetch::Proxy;

/// How long an idle connection is kept. Servers close theirs after 5 s or more (Apache's default is
/// 5 s); a shorter time here makes it unlikely to send into a closing connection.
const IDLE: Duration = Duration::from_secs(4);

/// Idle connections, by proxy and by scheme, host and port: one of each, because a host has one
/// visit at a time.
#[derive(Debug, Default)]
pub(in crate::fetch) struct Pool(Mutex<HashMap<(Proxy, String), Idle>>);

#[derive(Debug)]
struct Idle {
    connection: Connection,
    since: Instant,
}

impl Pool {
    /// Takes a connection on which a request can be sent; to this address, if there is one.
    pub(in crate::fetch) async fn take(
        &self,
        proxy: &Proxy,
        origin: &str,
        at: Option<IpAddr>,
    ) -> Option<Connection> {
        let key = (proxy.clone(), origin.to_owned());
        let idle = {
            let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            idle.remove(&key)?
        };
        let mut connection = idle.connection;
        let remote = connection.remote.map(|remote| remote.ip());
        let leads_there = at.is_none() || remote.is_none() || remote == at;
        let is_fresh = idle.since.elapsed() < IDLE;
        (leads_there && is_fresh && connection.ready().await).then_some(connection)
    }

    /// Keeps a connection whose last response was read to its end.
    pub(in crate::fetch) fn put(&self, proxy: &Proxy, origin: &str, connection: Connection) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|_, it| it.since.elapsed() < IDLE && !it.connection.is_closed());
        let since = Instant::now();
        let key = (proxy.clone(), origin.to_owned());
        idle.insert(key, Idle { connection, since });
    }
}
