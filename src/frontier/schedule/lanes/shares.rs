//! Which domain's turn it is, and who may take another slot.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::{Lane, Party, SLACK, Standing};
use crate::frontier::Moment;
use crate::url::Site;

/// What a visit is charged when it begins, in milliseconds of a slot. When it ends, it is charged
/// what it took beyond this, and when it is committed, what reading and committing it took.
const LEAST: u64 = 100;

/// Visits of a domain that may be made and not committed, whatever its slots: as many as are
/// committed together. A crash loses what is not committed, and nothing is learned from it yet.
const UNCOMMITTED: usize = 32;

/// Lanes that may be served, and the slots that are taken.
#[derive(Debug)]
pub(super) struct Shares {
    /// Slots that one domain may hold while others wait.
    of_domain: usize,
    /// Slots that those hosts of one domain may hold which do not answer, while others wait.
    of_domain_silent: usize,
    /// Slots that one domain may hold while no others do. A slot is not taken back, so some are
    /// kept free for whoever comes: hosts whose pages are just being read have nothing that waits.
    of_lone_domain: usize,
    /// Slots that hosts which do not answer may hold while others wait.
    of_silent: usize,
    domains: HashMap<Site, Domain>,
    /// Domains with lanes that may be served, by share and order of arrival: for hosts that answer,
    /// and for others.
    turns: [BTreeSet<(u64, u64, Site)>; 2],
    /// The share that was served last.
    share: u64,
    arrivals: u64,
    /// Number of slots that hosts hold which do not answer.
    silent: usize,
    /// Number of hosts that wait or are being visited and answer.
    answering: usize,
    /// Number of domains with hosts that wait or are being visited and do not fail.
    well: usize,
    /// Number of domains at which those out of date are dropped.
    look_through: usize,
}

/// A domain with hosts that wait or are being visited, or that is ahead of its share.
#[derive(Debug, Default)]
struct Domain {
    /// The share at which its next turn comes.
    next: u64,
    /// Lanes that may be served and since when: of hosts that answer, and of others.
    due: [BTreeSet<(Moment, Lane)>; 2],
    /// Where it is in the turns for these.
    turns: [Option<(u64, u64)>; 2],
    /// Number of its hosts that are being visited: of those that answer, and of others.
    busy: [usize; 2],
    /// Number of its visits that were made and wait to be read. That one waits no more may be heard
    /// before it is heard that it was made.
    behind: isize,
    /// Number of its visits that were made and are not committed.
    uncommitted: usize,
    /// Number of its hosts that wait or are being visited.
    hosts: usize,
    /// Number of these that do not fail.
    well: usize,
}

/// The position of a party in pairs.
fn kind(standing: Standing) -> usize {
    usize::from(standing != Standing::Answers)
}

impl Shares {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            of_domain: (slots / 4).max(1),
            of_domain_silent: (slots / 16).max(1),
            of_lone_domain: slots - slots / 8,
            of_silent: (slots / 2).max(1),
            domains: HashMap::new(),
            turns: [BTreeSet::new(), BTreeSet::new()],
            share: 0,
            arrivals: 0,
            silent: 0,
            answering: 0,
            well: 0,
            look_through: SLACK,
        }
    }

    /// A host waits, or is being visited.
    pub(super) fn join(&mut self, party: &Party) {
        let domain = self.domains.entry(party.domain.clone()).or_default();
        domain.hosts += 1;
        self.answering += usize::from(party.standing == Standing::Answers);
        if party.standing != Standing::Fails {
            self.well += usize::from(domain.well == 0);
            domain.well += 1;
        }
    }

    /// A host neither waits nor is being visited any more.
    pub(super) fn part(&mut self, party: &Party) {
        let Some(domain) = self.domains.get_mut(&party.domain) else {
            return;
        };
        domain.hosts -= 1;
        self.answering -= usize::from(party.standing == Standing::Answers);
        if party.standing != Standing::Fails {
            domain.well -= 1;
            self.well -= usize::from(domain.well == 0);
        }
        self.forget();
    }

    /// A host takes a slot.
    pub(super) fn begin(&mut self, party: &Party) {
        self.silent += kind(party.standing);
        if let Some(domain) = self.domains.get_mut(&party.domain) {
            domain.busy[kind(party.standing)] += 1;
        }
        self.charge(&party.domain, LEAST);
    }

    /// A host gives its slot back after this time.
    pub(super) fn end(&mut self, party: &Party, took: Duration) {
        self.silent -= kind(party.standing);
        if let Some(domain) = self.domains.get_mut(&party.domain) {
            domain.busy[kind(party.standing)] -= 1;
        }
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.charge(&party.domain, took.saturating_sub(LEAST));
    }

    /// A visit of a domain was made, and waits to be read.
    pub(super) fn hand_on(&mut self, site: &Site) {
        let domain = self.domains.entry(site.clone()).or_default();
        domain.behind += 1;
        domain.uncommitted += 1;
    }

    /// A visit of a domain was committed.
    pub(super) fn commit(&mut self, site: &Site) {
        if let Some(domain) = self.domains.get_mut(site) {
            domain.uncommitted = domain.uncommitted.saturating_sub(1);
        }
    }

    /// A visit of a domain waits to be read no more, and has given its slot back.
    pub(super) fn take_up(&mut self, site: &Site) {
        self.domains.entry(site.clone()).or_default().behind -= 1;
    }

    /// Charges a domain for what was done about its visits after they were made.
    pub(super) fn charge_work(&mut self, site: &Site, took: Duration) {
        self.charge(site, u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    }

    /// A lane may be served, because of its first host.
    pub(super) fn insert(&mut self, party: &Party, since: Moment, lane: Lane) {
        let domain = self.domains.entry(party.domain.clone()).or_default();
        domain.due[kind(party.standing)].insert((since, lane));
        self.file(&party.domain, kind(party.standing), false);
    }

    /// A lane may no longer be served.
    pub(super) fn remove(&mut self, party: &Party, since: Moment, lane: &Lane) {
        if let Some(domain) = self.domains.get_mut(&party.domain) {
            domain.due[kind(party.standing)].remove(&(since, lane.clone()));
        }
        self.file(&party.domain, kind(party.standing), false);
    }

    /// Whether lanes could be served now if their domains held less.
    pub(super) fn holds_back(&self) -> bool {
        let waits = |turns: &BTreeSet<_>| !turns.is_empty();
        self.turns.iter().any(waits) && !self.has_turn()
    }

    /// Whether a lane may be served now.
    pub(super) fn has_turn(&self) -> bool {
        self.turn().is_some()
    }

    /// Takes out the lane whose turn it is.
    pub(super) fn pop(&mut self) -> Option<Lane> {
        let (share, site, kind) = self.turn()?;
        let site = site.clone();
        self.share = self.share.max(share);
        let domain = self.domains.get_mut(&site)?;
        let (_, lane) = domain.due[kind].pop_first()?;
        self.file(&site, kind, false);
        Some(lane)
    }

    /// The domain whose turn it is, its share, and whether the turn is for hosts that do not
    /// answer.
    fn turn(&self) -> Option<(u64, &Site, usize)> {
        // Those that are passed over hold many slots each.
        let first = |kind: usize| {
            let mut turns = self.turns[kind].iter();
            let turn = turns.find(|(.., site)| !self.has_its_part(site, kind));
            turn.map(|(share, arrival, site)| (*share, *arrival, site, kind))
        };
        let is_full = self.silent >= self.of_silent && self.answering > 0;
        let turns = [first(0), if is_full { None } else { first(1) }];
        let turn = turns.into_iter().flatten().min();
        turn.map(|(share, _, site, kind)| (share, site, kind))
    }

    /// Whether a domain holds as much as it may to visit a host that answers, or another.
    fn has_its_part(&self, site: &Site, kind: usize) -> bool {
        let Some(domain) = self.domains.get(site) else {
            return false;
        };
        // What waits to be read has its slot still.
        let behind = usize::try_from(domain.behind).unwrap_or(0);
        let busy = domain.busy[0] + domain.busy[1];
        let has_others = self.well > usize::from(domain.well > 0);
        let most = match has_others {
            true => self.of_domain,
            false => self.of_lone_domain,
        };
        busy + behind >= most
            || busy + domain.uncommitted >= most.max(UNCOMMITTED)
            || has_others && kind == 1 && domain.busy[1] >= self.of_domain_silent
    }

    /// Moves the next turn of a domain further away.
    fn charge(&mut self, site: &Site, cost: u64) {
        let share = self.share;
        if let Some(domain) = self.domains.get_mut(site) {
            domain.next = domain.next.max(share).saturating_add(cost);
        }
        if cost > 0 {
            self.file(site, 0, true);
            self.file(site, 1, true);
        }
    }

    /// Files a domain by its next turn, if it has lanes that may be served.
    fn file(&mut self, site: &Site, kind: usize, anew: bool) {
        let Some(domain) = self.domains.get_mut(site) else {
            return;
        };
        let is_due = !domain.due[kind].is_empty();
        if is_due && domain.turns[kind].is_some() && !anew {
            return;
        }
        if let Some((share, arrival)) = domain.turns[kind].take() {
            self.turns[kind].remove(&(share, arrival, site.clone()));
        }
        if is_due {
            self.arrivals += 1;
            let turn = (self.share.max(domain.next), self.arrivals);
            domain.turns[kind] = Some(turn);
            self.turns[kind].insert((turn.0, turn.1, site.clone()));
        }
    }

    /// Forgets domains without hosts that are not ahead of their share.
    fn forget(&mut self) {
        if self.domains.len() <= self.look_through {
            return;
        }
        // Advances even if new domains keep arriving, so that domains with a share get their turn.
        self.share += LEAST;
        let share = self.share;
        self.domains.retain(|_, it| {
            it.hosts > 0 || it.behind != 0 || it.uncommitted > 0 || it.next > share
        });
        self.look_through = 2 * self.domains.len() + SLACK;
    }

    /// Number of domains that are known.
    #[cfg(test)]
    pub(super) fn domains(&self) -> usize {
        self.domains.len()
    }
}
