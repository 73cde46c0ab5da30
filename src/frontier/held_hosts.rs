//! Hosts that a person holds: they are not visited until the person lets them go on, and what is
//! queued for them waits. Each is a row of `Meta`.

use std::collections::BTreeMap;

use super::Moment;
use crate::store::{Batch, Result, Store, Table, decode, encode, for_each, keys};
use crate::url::{self, HostKey};

/// Maximum number of hosts that are held. All are in memory.
pub const MAX_HELD_HOSTS: usize = 10_000;

/// The hosts that are held, each with the time since when it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldHosts(BTreeMap<HostKey, Moment>);

impl HeldHosts {
    /// Reads the hosts that are held.
    pub fn read(store: &dyn Store) -> Result<Self> {
        let mut held = BTreeMap::new();
        let prefix = keys::meta::HELD_HOST;
        for_each(store, Table::Meta, prefix, &mut |key, row| {
            let name = key
                .strip_prefix(prefix)
                .and_then(|it| std::str::from_utf8(it).ok());
            if let Some(host) = name.and_then(HostKey::parse) {
                held.insert(host, decode(Table::Meta, row)?);
            }
            Ok(())
        })?;
        Ok(Self(held))
    }

    /// Returns since when a host is held, if it is.
    pub fn since(&self, host: &HostKey) -> Option<Moment> {
        self.0.get(host).copied()
    }

    /// Returns `true` if a host is held.
    pub fn has(&self, host: &HostKey) -> bool {
        self.0.contains_key(host)
    }

    /// Returns the hosts by name, each with the time since when it is held.
    pub fn iter(&self) -> impl Iterator<Item = (&HostKey, Moment)> {
        self.0.iter().map(|(host, since)| (host, *since))
    }

    /// Returns their number.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if no host is held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Holds a host from a time on, or lets it go on, and writes that.
    pub fn set(&mut self, host: &HostKey, since: Option<Moment>, batch: &mut Batch) {
        let key = keys::held_host(host.as_str());
        match since {
            Some(since) => {
                self.0.insert(host.clone(), since);
                batch.put(Table::Meta, key, encode(&since));
            }
            None => {
                self.0.remove(host);
                batch.delete(Table::Meta, key);
            }
        }
    }
}

/// What was named is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no host: give a name as in example.org, one with a port as in example.org:8080, or scheme and name as in https://example.org"
)]
pub struct NoHost(pub String);

/// Returns the hosts that a person means: of a name without a scheme, those of http and https.
/// Subdomains are hosts of their own.
pub fn hosts_named(name: &str) -> std::result::Result<Vec<HostKey>, NoHost> {
    let of = |text: String| {
        let url = url::parse(&text).ok()?;
        let is_bare = url.path() == "/" && url.query().is_none();
        let is_name = !name.contains(['*', '@', '#']);
        (is_bare && is_name).then(|| HostKey::of(&url))
    };
    let hosts: Option<Vec<_>> = match name.contains("://") {
        true => of(name.to_owned()).map(|host| vec![host]),
        false => ["http", "https"]
            .map(|scheme| of(format!("{scheme}://{name}")))
            .into_iter()
            .collect(),
    };
    hosts.ok_or_else(|| NoHost(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Durability, Memory};

    #[test]
    fn a_host_is_named_with_or_without_its_scheme() {
        let check = |name: &str, expected: &[&str]| {
            let hosts = hosts_named(name).unwrap();
            let hosts: Vec<_> = hosts.iter().map(HostKey::as_str).collect();
            assert_eq!(hosts, expected, "{name}");
        };
        check("a.example", &["http://a.example", "https://a.example"]);
        check(
            "A.Example:8080",
            &["http://a.example:8080", "https://a.example:8080"],
        );
        check("https://a.example", &["https://a.example"]);
        check("http://a.example:80/", &["http://a.example"]);
        check(
            "bücher.example",
            &[
                "http://xn--bcher-kva.example",
                "https://xn--bcher-kva.example",
            ],
        );
        check("[::1]:81", &["http://[::1]:81", "https://[::1]:81"]);
        for name in [
            "",
            "*.a.example",
            "a.example/b",
            "ftp://a.example",
            "a b",
            "https://a.example/?q",
            "u@a.example",
        ] {
            let error = hosts_named(name).unwrap_err();
            assert!(error.to_string().contains("names no host"), "{name}");
        }
    }

    #[test]
    fn what_is_held_is_read_again() {
        let store = Memory::default();
        let host = |name: &str| HostKey::parse(name).unwrap();
        let mut held = HeldHosts::default();
        let mut batch = Batch::new();
        held.set(&host("http://b.example"), Some(Moment(7)), &mut batch);
        held.set(&host("http://a.example"), Some(Moment(9)), &mut batch);
        store.commit(batch, Durability::Process).unwrap();
        assert_eq!(HeldHosts::read(&store).unwrap(), held);
        assert_eq!(held.since(&host("http://b.example")), Some(Moment(7)));
        let mut batch = Batch::new();
        held.set(&host("http://b.example"), None, &mut batch);
        store.commit(batch, Durability::Process).unwrap();
        let read = HeldHosts::read(&store).unwrap();
        let names: Vec<_> = read
            .iter()
            .map(|(host, since)| (host.as_str(), since.0))
            .collect();
        assert_eq!(names, [("http://a.example", 9)]);
    }
}
