//! TLS sessions of the servers that were visited last, so that the next connection to one of them
//! resumes its session (RFC 8446, section 2.2): that saves the server's certificates, their
//! verification, and about half of what the handshake costs.
//!
//! The store that rustls brings keeps eight tickets a server, and so 32 servers by default; here a
//! crawl has thousands of servers, each with one connection at a time, so one ticket is kept of
//! each, which the next connection uses up and renews.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

use crate::url::Site;

/// Bytes of a session as most servers have it: the two certificates of its chain, and a ticket.
pub(crate) const SESSION_BYTES: u64 = 3 << 10;

/// Maximum number of sessions of one registrable domain. Certificates and ticket of a session may
/// have 64 kB each, and one certificate is enough for any number of names.
const OF_DOMAIN: usize = 64;

/// The sessions of a crawl.
#[derive(Debug)]
pub(super) struct Sessions {
    /// Maximum number of servers.
    most: usize,
    servers: Mutex<Servers>,
}

/// Servers by name, in the order in which they were first visited.
#[derive(Debug, Default)]
struct Servers {
    sessions: HashMap<ServerName<'static>, Session>,
    order: VecDeque<ServerName<'static>>,
    of_domains: HashMap<Site, usize>,
}

/// What is kept of a server.
#[derive(Debug, Default)]
struct Session {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tls13: Option<Tls13ClientSessionValue>,
}

impl Sessions {
    /// Keeps sessions of at most so many servers.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            servers: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, server: ServerName<'static>, change: impl FnOnce(&mut Session)) {
        let mut servers = self.lock();
        if let Some(session) = servers.sessions.get_mut(&server) {
            return change(session);
        }
        if self.most == 0 || !servers.take_in(&server, self.most) {
            return;
        }
        change(servers.sessions.entry(server).or_default());
    }
}

impl Servers {
    /// Makes room for another server, and counts it. Returns `false` if its domain has enough.
    fn take_in(&mut self, server: &ServerName<'static>, most: usize) -> bool {
        let known = self.of_domains.get(&domain(server));
        if known.is_some_and(|known| *known >= OF_DOMAIN) {
            return false;
        }
        while self.sessions.len() >= most
            && let Some(oldest) = self.order.pop_front()
        {
            self.sessions.remove(&oldest);
            let domain = domain(&oldest);
            if let Some(known) = self.of_domains.get_mut(&domain) {
                *known -= 1;
                if *known == 0 {
                    self.of_domains.remove(&domain);
                }
            }
        }
        *self.of_domains.entry(domain(server)).or_default() += 1;
        self.order.push_back(server.clone());
        true
    }
}

fn domain(server: &ServerName<'_>) -> Site {
    Site::of_name(&server.to_str())
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.change(server, |session| session.group = Some(group));
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.lock().sessions.get(server)?.group
    }

    fn set_tls12_session(&self, server: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.change(server, |session| session.tls12 = Some(value));
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.lock().sessions.get(server)?.tls12.clone()
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        if let Some(session) = self.lock().sessions.get_mut(server) {
            session.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.change(server, |session| session.tls13 = Some(value));
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.lock().sessions.get_mut(server)?.tls13.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(sessions: &Sessions, server: &str) {
        let server = ServerName::try_from(server.to_owned()).unwrap();
        sessions.set_kx_hint(server, NamedGroup::X25519);
    }

    fn knows(sessions: &Sessions, server: &str) -> bool {
        let server = ServerName::try_from(server).unwrap();
        sessions.kx_hint(&server).is_some()
    }

    #[test]
    fn the_servers_that_came_last_are_known() {
        let sessions = Sessions::new(100);
        for number in 0..250 {
            visit(&sessions, &format!("www.site{number}.example"));
        }
        assert!(!knows(&sessions, "www.site149.example"));
        assert!(knows(&sessions, "www.site150.example"));
        assert!(knows(&sessions, "www.site249.example"));
        let servers = sessions.lock();
        assert_eq!((servers.sessions.len(), servers.order.len()), (100, 100));
        assert_eq!(servers.of_domains.len(), 100);
    }

    #[test]
    fn a_domain_with_any_number_of_names_does_not_take_all() {
        let sessions = Sessions::new(100);
        visit(&sessions, "www.good.example");
        for number in 0..1_000 {
            visit(&sessions, &format!("host{number}.bad.example"));
        }
        assert!(knows(&sessions, "www.good.example"));
        assert_eq!(sessions.lock().sessions.len(), 1 + OF_DOMAIN);
        // Platforms that give each user a domain are no single domain.
        for number in 0..80 {
            visit(&sessions, &format!("user{number}.github.io"));
        }
        assert!(knows(&sessions, "user79.github.io"));
        let none = Sessions::new(0);
        visit(&none, "www.good.example");
        assert!(!knows(&none, "www.good.example"));
    }
}
