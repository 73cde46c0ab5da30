//! What is remembered of addresses for a short time: where the connections lead that the client may
//! use again, and which addresses accept no connection.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an address that accepted no connection comes after the others of its name.
const SHUNNED: Duration = Duration::from_mins(10);
/// Maximum number of such addresses.
const MAX_SHUNNED: usize = 4_096;
/// Maximum number of servers whose connections are used again. A visit of another one makes a
/// connection of its own. Takes some 1 MB at most.
const MAX_SERVERS: usize = 8_192;

/// What is remembered of addresses.
#[derive(Debug)]
pub(super) struct Addresses {
    /// Where connections lead, by scheme, host and port; and when they were last in use.
    connected: Mutex<HashMap<String, (IpAddr, Instant)>>,
    /// How long after its last use a connection may still be open.
    open_for: Duration,
    /// Addresses that accepted no connection, and when.
    shunned: Mutex<HashMap<IpAddr, Instant>>,
}

impl Addresses {
    /// Remembers nothing yet. `open_for` is the time after its last use for which the client may
    /// keep a connection.
    pub(super) fn new(open_for: Duration) -> Self {
        Self {
            connected: Mutex::default(),
            open_for,
            shunned: Mutex::default(),
        }
    }

    /// Returns `true` if a visit of `server` at this address may use a connection of an earlier
    /// visit: there is none that leads elsewhere. Counts as a use.
    pub(super) fn may_reuse(&self, server: &str, ip: IpAddr) -> bool {
        let mut connected = lock(&self.connected);
        if let Some((known, used)) = connected.get_mut(server) {
            if *known != ip && used.elapsed() < self.open_for {
                return false;
            }
            (*known, *used) = (ip, Instant::now());
            return true;
        }
        if connected.len() >= MAX_SERVERS {
            connected.retain(|_, (_, used)| used.elapsed() < self.open_for);
        }
        let has_room = connected.len() < MAX_SERVERS;
        if has_room {
            connected.insert(server.to_owned(), (ip, Instant::now()));
        }
        has_room
    }

    /// Notes that a visit of `server` at this address, whose connection is kept, ended just now.
    pub(super) fn used(&self, server: &str, ip: IpAddr) {
        lock(&self.connected).insert(server.to_owned(), (ip, Instant::now()));
    }

    /// Notes that an address accepted a connection.
    pub(super) fn accepts(&self, ip: IpAddr) {
        lock(&self.shunned).remove(&ip);
    }

    /// Notes that an address accepted no connection, so that another one of its host is tried.
    pub(super) fn shun(&self, ip: IpAddr) {
        let mut shunned = lock(&self.shunned);
        if shunned.len() >= MAX_SHUNNED {
            shunned.retain(|_, at| at.elapsed() < SHUNNED / 10);
        }
        if shunned.len() < MAX_SHUNNED {
            shunned.insert(ip, Instant::now());
        }
    }

    /// Returns the first of these addresses that may accept a connection, or the first.
    pub(super) fn best(&self, found: &[SocketAddr]) -> Option<IpAddr> {
        let shunned = lock(&self.shunned);
        let is_shunned = |ip: IpAddr| shunned.get(&ip).is_some_and(|at| at.elapsed() < SHUNNED);
        let mut ips = found.iter().map(SocketAddr::ip);
        let best = ips.clone().find(|ip| !is_shunned(*ip));
        best.or_else(|| ips.next())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn a_connection_is_used_again_only_for_the_address_it_leads_to() {
        let addresses = Addresses::new(Duration::MAX);
        assert!(addresses.may_reuse("http://a.example", A));
        assert!(addresses.may_reuse("http://a.example", A));
        assert!(!addresses.may_reuse("http://a.example", B));
        assert!(addresses.may_reuse("https://a.example", B));
        addresses.used("http://a.example", A);
        assert!(!addresses.may_reuse("http://a.example", B));

        let closed = Addresses::new(Duration::ZERO);
        assert!(closed.may_reuse("http://a.example", A));
        assert!(closed.may_reuse("http://a.example", B));
    }

    #[test]
    fn connections_of_so_many_servers_are_used_again() {
        let addresses = Addresses::new(Duration::MAX);
        for nth in 0..MAX_SERVERS {
            assert!(addresses.may_reuse(&nth.to_string(), A));
        }
        assert!(!addresses.may_reuse("one more", A));
        assert!(addresses.may_reuse("0", A));
    }

    #[test]
    fn an_address_that_accepts_nothing_comes_last() {
        let addresses = Addresses::new(Duration::ZERO);
        let found = [A, B].map(|ip| SocketAddr::new(ip, 0));
        assert_eq!(addresses.best(&found), Some(A));
        addresses.shun(A);
        assert_eq!(addresses.best(&found), Some(B));
        addresses.shun(B);
        assert_eq!(addresses.best(&found), Some(A));
        addresses.accepts(B);
        assert_eq!(addresses.best(&found), Some(B));
        assert_eq!(addresses.best(&[]), None);
    }
}
