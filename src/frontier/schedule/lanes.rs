//! Whose turn it is among the idle hosts with something to fetch: ordered by when each may be
//! visited, one visit to an address at a time (unless it takes long), and fair between registrable
//! domains if more hosts are due than can be visited. Pure: it is told the time.
//!
//! Hosts that share an address share a lane; a host whose address does not matter has its own. A
//! lane waits until its first host and its address may be visited. It then takes its place among
//! those of its domain, and domains are served by start-time fair queueing (Goyal, Vin, Cheng:
//! Start-time Fair Queueing, 1996): each turn of a domain comes as much after its last one as that
//! visit took, and none comes before the turn being served. A domain with a thousand hosts, or with
//! hosts that take long, therefore does not keep a domain with one host waiting.
//!
//! Fairness between those that wait is not enough: visits that hang hold what others will need in
//! a moment. So while there are others, a domain holds at most a quarter of all slots, and hosts
//! that do not answer at most half. A domain is also charged for what is done about its visits
//! behind the fetch. Each step takes O(log n).

mod shares;

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use shares::Shares;

use crate::frontier::Moment;
use crate::url::{HostKey, Site};

/// How long a visit keeps others from its address. A visit that takes longer waits for what one
/// host sends, or fails to send, and the others need not wait with it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of entries that may be out of date before all are checked.
const SLACK: usize = 1_024;

/// The idle hosts with something to fetch.
#[derive(Debug)]
pub(super) struct Lanes {
    /// Lanes that may not be served yet, by when they may.
    later: BTreeSet<(Moment, Lane)>,
    /// Lanes that may be served, by domain.
    shares: Shares,
    /// The position of each lane in `later` or `shares`.
    places: HashMap<Lane, LanePlace>,
    hosts: HashMap<HostKey, Idle>,
    /// Hosts that are being visited, and since when.
    visiting: HashMap<HostKey, (Party, Moment)>,
    addresses: HashMap<IpAddr, Address>,
    /// Number of addresses at which those out of date are dropped.
    look_through: usize,
}

/// Whether a host can be expected to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Standing {
    /// It answered when it was last asked.
    Answers,
    /// It never answered, and did not fail either.
    New,
    /// It did not answer when it was last asked.
    Fails,
}

/// For whom a slot is taken: a domain, and what can be expected of the host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Party {
    domain: Site,
    standing: Standing,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Lane {
    Host(HostKey),
    Address(IpAddr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LanePlace {
    Later(Moment),
    Due(Party, Moment),
}

/// A host that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Idle {
    due: Moment,
    address: Option<IpAddr>,
    party: Party,
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
    /// No hosts, and this many visits at a time.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            later: BTreeSet::new(),
            shares: Shares::new(slots),
            places: HashMap::new(),
            hosts: HashMap::new(),
            visiting: HashMap::new(),
            addresses: HashMap::new(),
            look_through: 0,
        }
    }

    /// Adds a host that may be visited from `due` on, at this address if it matters. Replaces the
    /// entry of a host that waits already.
    pub(super) fn insert(
        &mut self,
        host: &HostKey,
        due: Moment,
        address: Option<IpAddr>,
        standing: Standing,
    ) {
        let is_same =
            |idle: &Idle| (idle.due, idle.address, idle.party.standing) == (due, address, standing);
        if self.hosts.get(host).is_some_and(is_same) {
            return;
        }
        let before = self.take_out(host);
        let domain = match before {
            Some(idle) => idle.party.domain,
            None => Site::of(&host.url()),
        };
        let party = Party { domain, standing };
        self.shares.join(&party);
        let idle = Idle {
            due,
            address,
            party,
        };
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
        self.take_out(host);
    }

    fn take_out(&mut self, host: &HostKey) -> Option<Idle> {
        let idle = self.hosts.remove(host)?;
        self.shares.part(&idle.party);
        match idle.address {
            None => self.place(Lane::Host(host.clone())),
            Some(ip) => {
                if let Some(address) = self.addresses.get_mut(&ip) {
                    address.hosts.remove(&(idle.due, host.clone()));
                }
                self.place(Lane::Address(ip));
            }
        }
        Some(idle)
    }

    /// Takes out the host to visit now, if there is one, and marks its address as being visited.
    /// [`ended`](Self::ended) reports the end of the visit.
    pub(super) fn pop(&mut self, now: Moment) -> Option<HostKey> {
        self.promote(now);
        let lane = self.shares.pop()?;
        self.places.remove(&lane);
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
        let idle = self.hosts.remove(&host)?;
        self.shares.begin(&idle.party);
        self.visiting.insert(host.clone(), (idle.party, now));
        Some(host)
    }

    /// Records that a visit ended, and charges its domain for it.
    pub(super) fn ended(&mut self, host: &HostKey, now: Moment) {
        if let Some((party, since)) = self.visiting.remove(host) {
            self.shares.end(&party, since.until(now));
            self.shares.part(&party);
        }
    }

    /// Records that a visit on behalf of a host is over, and waits to be read.
    pub(super) fn hand_on(&mut self, host: &HostKey) {
        self.shares.hand_on(&Site::of_name(host.name()));
    }

    /// Records that such a visit waits no more.
    pub(super) fn taken_up(&mut self, domain: &Site) {
        self.shares.take_up(domain);
    }

    /// Records that a visit on behalf of a host was committed.
    pub(super) fn committed(&mut self, host: &HostKey) {
        self.shares.commit(&Site::of_name(host.name()));
    }

    /// Charges the domain of a host for what was done about its visits after they were made.
    pub(super) fn charge_work(&mut self, host: &HostKey, took: Duration) {
        self.shares.charge_work(&Site::of_name(host.name()), took);
    }

    /// Whether hosts are due whose domains hold too much for another visit.
    pub(super) fn holds_back(&self) -> bool {
        self.shares.holds_back()
    }

    /// When the next host may be visited; a time in the past if one may be visited now, and `None`
    /// if that depends on the end of a visit.
    pub(super) fn next(&mut self, now: Moment) -> Option<Moment> {
        self.promote(now);
        if self.shares.has_turn() {
            Some(Moment::default())
        } else {
            self.later.first().map(|(moment, _)| *moment)
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
        if self.addresses.len() > self.look_through {
            let is_wanted =
                |it: &Address| !it.hosts.is_empty() || it.free_from > now || it.held_until() > now;
            self.addresses.retain(|_, it| is_wanted(it));
            self.look_through = 2 * self.addresses.len() + SLACK;
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

    /// The host of a lane whose turn comes first.
    fn first_host<'a>(&'a self, lane: &'a Lane) -> Option<&'a HostKey> {
        match lane {
            Lane::Host(host) => Some(host),
            Lane::Address(ip) => {
                let hosts = self.addresses.get(ip).map(|address| &address.hosts)?;
                hosts.first().map(|(_, host)| host)
            }
        }
    }

    /// Moves a lane to its position after a change.
    fn place(&mut self, lane: Lane) {
        let wanted = self.wanted(&lane);
        let first = self.first_host(&lane).and_then(|host| self.hosts.get(host));
        match (self.places.get(&lane), wanted) {
            (Some(LanePlace::Due(party, noticed)), Some(moment))
                if moment <= *noticed && first.is_some_and(|idle| idle.party == *party) =>
            {
                return;
            }
            (Some(LanePlace::Later(at)), Some(moment)) if *at == moment => return,
            _ => {}
        }
        match self.places.remove(&lane) {
            Some(LanePlace::Due(party, noticed)) => {
                self.shares.remove(&party, noticed, &lane);
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

    /// Moves the lanes that have become due to the turns of their domains.
    fn promote(&mut self, now: Moment) {
        while self.later.first().is_some_and(|(moment, _)| *moment <= now) {
            let Some((_, lane)) = self.later.pop_first() else {
                return;
            };
            let first = self.first_host(&lane).and_then(|host| self.hosts.get(host));
            let Some(party) = first.map(|idle| idle.party.clone()) else {
                self.places.remove(&lane);
                continue;
            };
            self.shares.insert(&party, now, lane.clone());
            self.places.insert(lane, LanePlace::Due(party, now));
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

    fn insert(lanes: &mut Lanes, host: &HostKey, due: Moment, address: Option<IpAddr>) {
        lanes.insert(host, due, address, Standing::Answers);
    }

    fn popped(lanes: &mut Lanes, now: u64) -> Option<String> {
        let host = lanes.pop(Moment(now))?;
        // Its slot is free again.
        lanes.ended(&host, Moment(now));
        Some(host.name().to_owned())
    }

    #[test]
    fn hosts_come_by_their_time() {
        let mut lanes = Lanes::new(64);
        insert(&mut lanes, &host("b.example"), Moment(20), None);
        insert(&mut lanes, &host("a.example"), Moment(30), None);
        insert(&mut lanes, &host("c.example"), Moment(5), None);
        lanes.remove(&host("c.example"));
        assert_eq!(lanes.next(Moment(0)), Some(Moment(20)));
        assert_eq!(popped(&mut lanes, 19), None);
        assert_eq!(popped(&mut lanes, 25).as_deref(), Some("b.example"));
        assert_eq!(popped(&mut lanes, 25), None);
        insert(&mut lanes, &host("a.example"), Moment(25), None);
        assert_eq!(popped(&mut lanes, 25).as_deref(), Some("a.example"));
        assert_eq!(lanes.next(Moment(0)), None);
    }

    #[test]
    fn an_address_is_visited_by_one_host_at_a_time_and_then_left_alone() {
        let mut lanes = Lanes::new(64);
        for name in ["a.example", "b.example", "c.example"] {
            insert(&mut lanes, &host(name), Moment(1), Some(ip(1)));
        }
        insert(&mut lanes, &host("d.example"), Moment(2), Some(ip(2)));
        assert_eq!(popped(&mut lanes, 9).as_deref(), Some("a.example"));
        assert_eq!(popped(&mut lanes, 9).as_deref(), Some("d.example"));
        assert_eq!(popped(&mut lanes, 9), None);
        lanes.visited(&host("a.example"), ip(1), Moment(50), Moment(9));
        assert_eq!(lanes.next(Moment(0)), Some(Moment(50)));
        assert_eq!(popped(&mut lanes, 49), None);
        assert_eq!(popped(&mut lanes, 50).as_deref(), Some("b.example"));
        // The visit went elsewhere: the address is free again.
        lanes.release(&host("b.example"), ip(1), Moment(50));
        assert_eq!(popped(&mut lanes, 50).as_deref(), Some("c.example"));
    }

    #[test]
    fn a_visit_that_drags_on_keeps_nobody_waiting_with_it() {
        let mut lanes = Lanes::new(64);
        for name in ["a.example", "b.example", "c.example"] {
            insert(&mut lanes, &host(name), Moment(1), Some(ip(1)));
        }
        assert_eq!(popped(&mut lanes, 10).as_deref(), Some("a.example"));
        assert_eq!(lanes.next(Moment(0)), Some(Moment(2_010)));
        assert_eq!(popped(&mut lanes, 2_009), None);
        assert_eq!(popped(&mut lanes, 2_010).as_deref(), Some("b.example"));
        // The end of an earlier visit does not release the address of the current one.
        lanes.visited(&host("a.example"), ip(1), Moment(2_100), Moment(2_050));
        assert_eq!(lanes.next(Moment(0)), Some(Moment(4_010)));
        lanes.visited(&host("b.example"), ip(1), Moment(2_300), Moment(2_200));
        assert_eq!(popped(&mut lanes, 2_299), None);
        assert_eq!(popped(&mut lanes, 2_300).as_deref(), Some("c.example"));
    }

    #[test]
    fn domains_share_what_is_due_whatever_the_number_of_their_hosts() {
        let mut lanes = Lanes::new(64);
        for number in 0..100 {
            let name = format!("h{number}.many.example");
            insert(&mut lanes, &host(&name), Moment(1), None);
        }
        insert(&mut lanes, &host("one.single.example"), Moment(2), None);
        insert(&mut lanes, &host("www.other.test"), Moment(3), None);
        let first: Vec<String> = (0..4).filter_map(|_| popped(&mut lanes, 5)).collect();
        assert!(first.contains(&"www.other.test".to_owned()), "{first:?}");
        // A host that arrives later does not overtake those with the same share.
        insert(&mut lanes, &host("late.test"), Moment(4), None);
        let next: Vec<String> = (0..3).filter_map(|_| popped(&mut lanes, 6)).collect();
        assert!(next.contains(&"late.test".to_owned()), "{next:?}");
        let rest = std::iter::from_fn(|| popped(&mut lanes, 6)).count();
        assert_eq!(rest + 7, 103);
    }

    /// A site whose hosts are visited again and again.
    struct Played {
        host: HostKey,
        standing: Standing,
        /// How long a visit takes, and how long the host is left alone then, in milliseconds.
        takes: u64,
        rests: u64,
        visits: usize,
    }

    impl Played {
        fn new(name: &str, standing: Standing, takes: u64, rests: u64) -> Self {
            Self {
                host: host(name),
                standing,
                takes,
                rests,
                visits: 0,
            }
        }
    }

    /// Visits hosts with 64 slots for a minute and a half. Returns the most slots that hosts held
    /// which are not good, at once.
    fn play(hosts: &mut [Played]) -> usize {
        let is_good = |host: &Played| host.host.name().starts_with("good");
        let mut lanes = Lanes::new(64);
        let places: HashMap<HostKey, usize> = hosts
            .iter()
            .enumerate()
            .map(|(at, it)| (it.host.clone(), at))
            .collect();
        for host in hosts.iter() {
            lanes.insert(&host.host, Moment(0), None, host.standing);
        }
        let (mut ends, mut worst) = (BTreeSet::new(), 0);
        for now in (0..90_000).step_by(10) {
            while let Some((end, at)) = ends.first().copied().filter(|(end, _)| *end <= now) {
                ends.pop_first();
                let Played {
                    host,
                    standing,
                    rests,
                    visits,
                    ..
                } = &mut hosts[at];
                *visits += 1;
                if *standing == Standing::New {
                    *standing = Standing::Fails;
                }
                lanes.ended(host, Moment(now));
                lanes.insert(host, Moment(end + *rests), None, *standing);
            }
            while ends.len() < 64
                && let Some(host) = lanes.pop(Moment(now))
            {
                let at = places[&host];
                ends.insert((now + hosts[at].takes, at));
            }
            let others = ends.iter().filter(|(_, at)| !is_good(&hosts[*at]));
            worst = worst.max(others.count());
        }
        worst
    }

    /// 20 hosts that answer at once and are visited once a second.
    fn good() -> Vec<Played> {
        let names = (0..20).map(|number| format!("good{number}.example"));
        names
            .map(|name| Played::new(&name, Standing::Answers, 50, 1_000))
            .collect()
    }

    fn visits_of_good(hosts: &[Played]) -> usize {
        hosts.iter().take(20).map(|host| host.visits).sum()
    }

    #[test]
    fn hosts_that_hang_leave_slots_to_others() {
        let mut alone = good();
        play(&mut alone);
        let expected = visits_of_good(&alone);
        for (kind, standing, most) in [
            ("one domain that never answers", Standing::New, 4),
            ("one domain that answered once", Standing::Answers, 16),
            ("domains that never answer", Standing::New, 32),
            ("domains that no longer answer", Standing::Fails, 32),
        ] {
            let mut hosts = good();
            hosts.extend((0..5_000).map(|number| {
                let name = match most {
                    32 => format!("evil{number}.example"),
                    _ => format!("b{number}.evil.example"),
                };
                Played::new(&name, standing, 30_000, 5_000)
            }));
            let worst = play(&mut hosts);
            assert!(worst <= most, "{kind}: {worst} slots");
            let visits = visits_of_good(&hosts);
            assert!(
                visits * 100 >= expected * 95,
                "{kind}: {visits} of {expected}"
            );
        }
    }

    #[test]
    fn a_domain_that_is_alone_leaves_some_slots_for_who_comes() {
        for standing in [Standing::Answers, Standing::New, Standing::Fails] {
            let names = (0..200).map(|number| format!("b{number}.one.example"));
            let mut hosts: Vec<Played> = names
                .map(|name| Played::new(&name, standing, 500, 1_000))
                .collect();
            assert_eq!(play(&mut hosts), 56, "{standing:?}");
        }
    }

    #[test]
    fn who_comes_late_finds_a_slot() {
        let mut lanes = Lanes::new(64);
        for number in 0..200 {
            let name = format!("h{number}.one.example");
            insert(&mut lanes, &host(&name), Moment(0), None);
        }
        let held = std::iter::from_fn(|| lanes.pop(Moment(0))).count();
        assert_eq!(held, 56);
        insert(&mut lanes, &host("other.test"), Moment(1), None);
        let next = lanes.pop(Moment(1)).map(|host| host.name().to_owned());
        assert_eq!(next.as_deref(), Some("other.test"));
    }

    /// Hosts of one domain, and another that waits.
    fn many_and_another() -> Lanes {
        let mut lanes = Lanes::new(64);
        for number in 0..200 {
            let name = format!("h{number}.one.example");
            insert(&mut lanes, &host(&name), Moment(0), None);
        }
        insert(&mut lanes, &host("other.test"), Moment(99), None);
        lanes
    }

    /// Makes all visits that may be made, and has `after` done behind each.
    fn make_all(lanes: &mut Lanes, after: impl Fn(&mut Lanes, &HostKey)) -> Vec<HostKey> {
        let mut made = Vec::new();
        while let Some(host) = lanes.pop(Moment(0)) {
            lanes.ended(&host, Moment(0));
            lanes.hand_on(&host);
            after(lanes, &host);
            made.push(host);
        }
        made
    }

    #[test]
    fn what_waits_to_be_read_counts() {
        let mut lanes = many_and_another();
        let made = make_all(&mut lanes, |_, _| {});
        assert_eq!(made.len(), 16);
        assert!(lanes.holds_back());
        lanes.taken_up(&Site::of_name(made[0].name()));
        let another = lanes.pop(Moment(0)).unwrap();
        assert!(lanes.pop(Moment(0)).is_none());
        // What comes of it may be heard in any order.
        lanes.taken_up(&Site::of_name(another.name()));
        lanes.ended(&another, Moment(0));
        lanes.hand_on(&another);
        assert!(lanes.pop(Moment(0)).is_some());
        assert!(lanes.pop(Moment(0)).is_none());
        assert!(lanes.holds_back());
        // Nobody else waits any more.
        lanes.remove(&host("other.test"));
        assert!(!lanes.holds_back());
        assert!(lanes.pop(Moment(0)).is_some());
    }

    #[test]
    fn a_domain_has_no_more_than_a_group_to_be_committed() {
        let mut lanes = many_and_another();
        let made = make_all(&mut lanes, |lanes, host| {
            lanes.taken_up(&Site::of_name(host.name()));
        });
        assert_eq!(made.len(), 32);
        lanes.committed(&made[0]);
        assert!(lanes.pop(Moment(0)).is_some());
        assert!(lanes.pop(Moment(0)).is_none());
    }

    #[test]
    fn a_domain_is_charged_for_what_its_pages_cost() {
        let mut lanes = many_and_another();
        for number in 0..40 {
            let name = format!("h{number}.two.example");
            insert(&mut lanes, &host(&name), Moment(0), None);
        }
        lanes.charge_work(&host("h0.one.example"), Duration::from_mins(1));
        let turns = std::iter::from_fn(|| popped(&mut lanes, 0)).take(41);
        let of_two = turns.filter(|name| name.ends_with("two.example"));
        assert_eq!(of_two.count(), 40);
    }

    #[test]
    fn slots_are_shared_by_time_and_not_by_visits() {
        let mut lanes = Lanes::new(1);
        let mut taken = HashMap::<String, (u64, u64)>::new();
        for name in ["fast.test", "slow.example"] {
            for number in 0..5 {
                insert(
                    &mut lanes,
                    &host(&format!("h{number}.{name}")),
                    Moment(0),
                    None,
                );
            }
        }
        let mut now = 0;
        while now < 600_000 {
            let host = lanes.pop(Moment(now)).unwrap();
            let is_slow = host.name().ends_with("slow.example");
            let takes = if is_slow { 10_000 } else { 200 };
            now += takes;
            lanes.ended(&host, Moment(now));
            insert(&mut lanes, &host, Moment(now), None);
            let of = taken.entry(is_slow.to_string()).or_default();
            (of.0, of.1) = (of.0 + 1, of.1 + takes);
        }
        let (fast, slow) = (taken["false"], taken["true"]);
        assert!(
            fast.1 * 10 > slow.1 * 8 && slow.1 * 10 > fast.1 * 8,
            "{fast:?} {slow:?}"
        );
    }

    #[test]
    fn what_waits_long_is_told() {
        let mut lanes = Lanes::new(64);
        insert(&mut lanes, &host("near.example"), Moment(1), None);
        insert(&mut lanes, &host("far.example"), Moment(99), None);
        for number in 0..5 {
            let name = format!("h{number}.example");
            insert(&mut lanes, &host(&name), Moment(1), Some(ip(1)));
        }
        insert(&mut lanes, &host("late.example"), Moment(99), Some(ip(2)));
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
        let mut lanes = Lanes::new(64);
        for number in 0..10 * SLACK {
            let name = format!("h{number}.example");
            let ip = IpAddr::from((number as u32).to_be_bytes());
            insert(&mut lanes, &host(&name), Moment(1), Some(ip));
            assert_eq!(popped(&mut lanes, 2), Some(name));
            lanes.visited(
                &host(&format!("h{number}.example")),
                ip,
                Moment(3),
                Moment(4),
            );
        }
        assert!(lanes.addresses() <= 2 * SLACK + 1, "{}", lanes.addresses());
        assert!(lanes.shares.domains() <= 2 * SLACK + 1);
    }
}
