//! Whose turn it is among the idle hosts with something to fetch: ordered by when each may be
//! visited, one visit to an address at a time (unless it takes long), and fair between registrable
//! domains if more hosts are due than can be visited. Pure: it is told the time.
//!
//! Hosts that share an address share a lane; a host whose address does not matter has its own. A
//! lane waits until its first host and its address may be visited. It then takes its place among
//! the due lanes by start-time fair queueing (Goyal, Vin, Cheng: Start-time Fair Queueing, 1996):
//! each place of a domain comes one share after its last one, and none comes before the share being
//! served. A domain with a thousand hosts therefore does not keep a domain with one host waiting.
//! Each step takes O(log n).

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use crate::frontier::Moment;
use crate::url::{HostKey, Site};

/// How long a visit keeps others from its address. A visit that takes longer waits for what one
/// host sends, or fails to send, and the others need not wait with it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of entries that may be out of date before all are checked.
const SLACK: usize = 1_024;

/// The idle hosts with something to fetch.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// Lanes that may not be served yet, by when they may.
    later: BTreeSet<(Moment, Lane)>,
    /// Lanes that may be served, by share and by when they became due.
    due: BTreeSet<(u64, Moment, Lane)>,
    /// The position of each lane in `later` or `due`.
    places: HashMap<Lane, LanePlace>,
    hosts: HashMap<HostKey, Idle>,
    addresses: HashMap<IpAddr, Address>,
    /// The share that was served last.
    share: u64,
    /// The next share of each domain that is ahead of `share`.
    domains: HashMap<Site, u64>,
    /// Numbers of addresses and domains at which those out of date are dropped.
    look_through: (usize, usize),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Lane {
    Host(HostKey),
    Address(IpAddr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LanePlace {
    Later(Moment),
    Due(u64, Moment),
}

/// A host that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Idle {
    due: Moment,
    address: Option<IpAddr>,
}

/// An address, and the hosts that wait for it.
#[derive(Debug, Default)]
struct Address {
    hosts: BTreeSet<(Moment, HostKey)>,
    /// The earliest time of its next visit.
    free_from: Moment,
    /// The host that is visiting it, and until when that keeps others from it.
    visitor: Option<(HostKey, Moment)>,
}

impl Address {
    /// Until when the current visit keeps others from the address.
    fn held_until(&self) -> Moment {
        self.visitor.as_ref().map_or(Moment(0), |(_, until)| *until)
    }
}

impl Lanes {
    /// Adds a host that may be visited from `due` on, at this address if it matters. Replaces the
    /// entry of a host that waits already.
    pub(super) fn insert(&mut self, host: &HostKey, due: Moment, address: Option<IpAddr>) {
        let idle = Idle { due, address };
        if self.hosts.get(host) == Some(&idle) {
            return;
        }
        self.remove(host);
        self.hosts.insert(host.clone(), idle);
        match address {
            None => self.place(Lane::Host(host.clone())),
            Some(ip) => {
                let lane = self.addresses.entry(ip).or_default();
                lane.hosts.insert((due, host.clone()));
                self.place(Lane::Address(ip));
            }
        }
    }

    /// Removes a host that no longer waits.
    pub(super) fn remove(&mut self, host: &HostKey) {
        let Some(idle) = self.hosts.remove(host) else {
            return;
        };
        match idle.address {
            None => self.place(Lane::Host(host.clone())),
            Some(ip) => {
                if let Some(address) = self.addresses.get_mut(&ip) {
                    address.hosts.remove(&(idle.due, host.clone()));
                }
                self.place(Lane::Address(ip));
            }
        }
    }

    /// Takes out the host to visit now, if there is one, and marks its address as being visited.
    pub(super) fn pop(&mut self, now: Moment) -> Option<HostKey> {
        self.promote(now);
        let (share, _, lane) = self.due.pop_first()?;
        self.places.remove(&lane);
        self.share = share.max(self.share);
        let host = match lane {
            Lane::Host(host) => host,
            Lane::Address(ip) => {
                let address = self.addresses.get_mut(&ip)?;
                let host = address.hosts.pop_first()?.1;
                address.visitor = Some((host.clone(), now.plus(PATIENCE)));
                self.place(Lane::Address(ip));
                host
            }
        };
        self.hosts.remove(&host);
        Some(host)
    }

    /// When the next host may be visited; a time in the past if one may be visited now.
    pub(super) fn next(&self) -> Option<Moment> {
        if self.due.is_empty() {
            self.later.first().map(|(moment, _)| *moment)
        } else {
            Some(Moment::default())
        }
    }

    /// Records that a host's visit to an address ended, and that the address may be visited from
    /// `free_from` on.
    pub(super) fn visited(&mut self, host: &HostKey, ip: IpAddr, free_from: Moment, now: Moment) {
        self.leave_alone(ip, free_from);
        self.release(host, ip, now);
    }

    /// Records that an address may not be visited before `free_from`.
    pub(super) fn leave_alone(&mut self, ip: IpAddr, free_from: Moment) {
        let address = self.addresses.entry(ip).or_default();
        address.free_from = address.free_from.max(free_from);
        self.place(Lane::Address(ip));
    }

    /// Releases an address from a host, whose visit ended or went elsewhere.
    pub(super) fn release(&mut self, host: &HostKey, ip: IpAddr, now: Moment) {
        if let Some(address) = self.addresses.get_mut(&ip) {
            // The address may have been given to another host since.
            address.visitor.take_if(|(visitor, _)| visitor == host);
            self.place(Lane::Address(ip));
        }
        if self.addresses.len() > self.look_through.0 {
            let is_wanted =
                |it: &Address| !it.hosts.is_empty() || it.free_from > now || it.held_until() > now;
            self.addresses.retain(|_, it| is_wanted(it));
            self.look_through.0 = 2 * self.addresses.len() + SLACK;
        }
    }

    /// Up to `most` hosts that may not be visited before `far`, or that wait for an address behind
    /// `crowd` others.
    pub(super) fn far(&self, far: Moment, crowd: usize, most: usize) -> Vec<HostKey> {
        let late = |lane: &Lane| match lane {
            Lane::Host(host) => vec![host.clone()],
            Lane::Address(ip) => {
                let hosts = self.addresses.get(ip).map(|address| &address.hosts);
                hosts.into_iter().flatten().map(|it| it.1.clone()).collect()
            }
        };
        let lanes = self.later.iter().rev();
        let lanes = lanes.take_while(|(moment, _)| *moment > far);
        let waiting = self.addresses.values().flat_map(|address| {
            let hosts = address.hosts.iter().enumerate();
            let last = hosts.filter(move |(at, (due, _))| *at >= crowd || *due > far);
            last.map(|(_, (_, host))| host.clone())
        });
        let mut found: Vec<HostKey> = lanes.flat_map(|(_, lane)| late(lane)).collect();
        found.extend(waiting);
        found.sort();
        found.dedup();
        found.truncate(most);
        found
    }

    /// Number of addresses that are being visited, waited for, or left alone for now.
    pub(super) fn addresses(&self) -> usize {
        self.addresses.len()
    }

    /// When a lane may be served; `None` if it is empty.
    fn wanted(&self, lane: &Lane) -> Option<Moment> {
        match lane {
            Lane::Host(host) => self.hosts.get(host).map(|idle| idle.due),
            Lane::Address(ip) => {
                let address = self.addresses.get(ip)?;
                let (due, _) = address.hosts.first()?;
                Some(address.free_from.max(*due).max(address.held_until()))
            }
        }
    }

    /// Moves a lane to its position after a change.
    fn place(&mut self, lane: Lane) {
        let wanted = self.wanted(&lane);
        match (self.places.get(&lane), wanted) {
            (Some(LanePlace::Due(_, noticed)), Some(moment)) if moment <= *noticed => return,
            (Some(LanePlace::Later(at)), Some(moment)) if *at == moment => return,
            _ => {}
        }
        match self.places.remove(&lane) {
            Some(LanePlace::Due(share, noticed)) => {
                self.due.remove(&(share, noticed, lane.clone()));
            }
            Some(LanePlace::Later(at)) => {
                self.later.remove(&(at, lane.clone()));
            }
            None => {}
        }
        if let Some(moment) = wanted {
            self.later.insert((moment, lane.clone()));
            self.places.insert(lane, LanePlace::Later(moment));
        }
    }

    /// Moves the lanes that have become due to `due` and assigns their shares.
    fn promote(&mut self, now: Moment) {
        while self.later.first().is_some_and(|(moment, _)| *moment <= now) {
            let Some((_, lane)) = self.later.pop_first() else {
                return;
            };
            let first = match &lane {
                Lane::Host(host) => Some(host),
                Lane::Address(ip) => {
                    let hosts = self.addresses.get(ip).map(|address| &address.hosts);
                    hosts.and_then(|it| it.first()).map(|(_, host)| host)
                }
            };
            let Some(domain) = first.map(|host| Site::of(&host.url())) else {
                continue;
            };
            let next = self.domains.entry(domain).or_default();
            let share = self.share.max(*next);
            *next = share + 1;
            self.places.insert(lane.clone(), LanePlace::Due(share, now));
            self.due.insert((share, now, lane));
        }
        if self.domains.len() > self.look_through.1 {
            // Advances even if new domains keep arriving, so that domains with a share get their
            // turn.
            self.share += 1;
            let share = self.share;
            self.domains.retain(|_, next| *next > share);
            self.look_through.1 = 2 * self.domains.len() + SLACK;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> HostKey {
        HostKey::parse(&format!("http://{name}")).unwrap()
    }

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn popped(lanes: &mut Lanes, now: u64) -> Option<String> {
        lanes.pop(Moment(now)).map(|host| host.name().to_owned())
    }

    #[test]
    fn hosts_come_by_their_time() {
        let mut lanes = Lanes::default();
        lanes.insert(&host("b.example"), Moment(20), None);
        lanes.insert(&host("a.example"), Moment(30), None);
        lanes.insert(&host("c.example"), Moment(5), None);
        lanes.remove(&host("c.example"));
        assert_eq!(lanes.next(), Some(Moment(20)));
        assert_eq!(popped(&mut lanes, 19), None);
        assert_eq!(popped(&mut lanes, 25).as_deref(), Some("b.example"));
        assert_eq!(popped(&mut lanes, 25), None);
        lanes.insert(&host("a.example"), Moment(25), None);
        assert_eq!(popped(&mut lanes, 25).as_deref(), Some("a.example"));
        assert_eq!(lanes.next(), None);
    }

    #[test]
    fn an_address_is_visited_by_one_host_at_a_time_and_then_left_alone() {
        let mut lanes = Lanes::default();
        for name in ["a.example", "b.example", "c.example"] {
            lanes.insert(&host(name), Moment(1), Some(ip(1)));
        }
        lanes.insert(&host("d.example"), Moment(2), Some(ip(2)));
        assert_eq!(popped(&mut lanes, 9).as_deref(), Some("a.example"));
        assert_eq!(popped(&mut lanes, 9).as_deref(), Some("d.example"));
        assert_eq!(popped(&mut lanes, 9), None);
        lanes.visited(&host("a.example"), ip(1), Moment(50), Moment(9));
        assert_eq!(lanes.next(), Some(Moment(50)));
        assert_eq!(popped(&mut lanes, 49), None);
        assert_eq!(popped(&mut lanes, 50).as_deref(), Some("b.example"));
        // The visit went elsewhere: the address is free again.
        lanes.release(&host("b.example"), ip(1), Moment(50));
        assert_eq!(popped(&mut lanes, 50).as_deref(), Some("c.example"));
    }

    #[test]
    fn a_visit_that_drags_on_keeps_nobody_waiting_with_it() {
        let mut lanes = Lanes::default();
        for name in ["a.example", "b.example", "c.example"] {
            lanes.insert(&host(name), Moment(1), Some(ip(1)));
        }
        assert_eq!(popped(&mut lanes, 10).as_deref(), Some("a.example"));
        assert_eq!(lanes.next(), Some(Moment(2_010)));
        assert_eq!(popped(&mut lanes, 2_009), None);
        assert_eq!(popped(&mut lanes, 2_010).as_deref(), Some("b.example"));
        // The end of an earlier visit does not release the address of the current one.
        lanes.visited(&host("a.example"), ip(1), Moment(2_100), Moment(2_050));
        assert_eq!(lanes.next(), Some(Moment(4_010)));
        lanes.visited(&host("b.example"), ip(1), Moment(2_300), Moment(2_200));
        assert_eq!(popped(&mut lanes, 2_299), None);
        assert_eq!(popped(&mut lanes, 2_300).as_deref(), Some("c.example"));
    }

    #[test]
    fn domains_share_what_is_due_whatever_the_number_of_their_hosts() {
        let mut lanes = Lanes::default();
        for number in 0..100 {
            let name = format!("h{number}.many.example");
            lanes.insert(&host(&name), Moment(1), None);
        }
        lanes.insert(&host("one.single.example"), Moment(2), None);
        lanes.insert(&host("www.other.test"), Moment(3), None);
        let first: Vec<String> = (0..4).filter_map(|_| popped(&mut lanes, 5)).collect();
        assert!(first.contains(&"www.other.test".to_owned()), "{first:?}");
        // A host that arrives later does not overtake those with the same share.
        lanes.insert(&host("late.test"), Moment(4), None);
        let next: Vec<String> = (0..3).filter_map(|_| popped(&mut lanes, 6)).collect();
        assert!(next.contains(&"late.test".to_owned()), "{next:?}");
        let rest = std::iter::from_fn(|| popped(&mut lanes, 6)).count();
        assert_eq!(rest + 7, 103);
    }

    #[test]
    fn what_waits_long_is_told() {
        let mut lanes = Lanes::default();
        lanes.insert(&host("near.example"), Moment(1), None);
        lanes.insert(&host("far.example"), Moment(99), None);
        for number in 0..5 {
            let name = format!("h{number}.example");
            lanes.insert(&host(&name), Moment(1), Some(ip(1)));
        }
        lanes.insert(&host("late.example"), Moment(99), Some(ip(2)));
        let far = lanes.far(Moment(50), 3, 10);
        let names: Vec<&str> = far.iter().map(HostKey::name).collect();
        assert_eq!(
            names,
            ["far.example", "h3.example", "h4.example", "late.example"]
        );
        assert_eq!(lanes.far(Moment(50), 3, 2).len(), 2);
    }

    #[test]
    fn addresses_and_domains_that_are_over_are_forgotten() {
        let mut lanes = Lanes::default();
        for number in 0..10 * SLACK {
            let name = format!("h{number}.example");
            let ip = IpAddr::from((number as u32).to_be_bytes());
            lanes.insert(&host(&name), Moment(1), Some(ip));
            assert_eq!(popped(&mut lanes, 2), Some(name));
            lanes.visited(
                &host(&format!("h{number}.example")),
                ip,
                Moment(3),
                Moment(4),
            );
        }
        assert!(lanes.addresses() <= 2 * SLACK + 1, "{}", lanes.addresses());
        assert!(lanes.domains.len() <= 2 * SLACK + 1);
    }
}
