//! Who is there, who owns what, and what this worker is to do about it.
//!
//! No worker trusts the clock of another: one is taken for dead if its row did not change for a
//! while by the clock of who looks (as leases of the Kinesis client library are counted). One that
//! cannot say that it is there stops making visits before that, so that whoever takes over finds
//! hosts that nobody else visits.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use super::assignment::{ranking, wish};
use super::rows::{Beat, Owner, Rows, drawn};
use super::tells::Tells;
use crate::broker::{Error, Result};
use crate::engine::exchange::{Census, Look};

/// The times that all workers of a crawl go by.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Time between two beats.
    pub beat: Duration,
    /// Time after its last beat for which a worker may make visits.
    pub right: Duration,
    /// Time without a beat after which a worker counts as dead.
    pub dead: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            beat: Duration::from_secs(1),
            right: Duration::from_secs(7),
            dead: Duration::from_secs(10),
        }
    }
}

/// This worker among the others.
pub(super) struct Membership {
    rows: Rows,
    name: String,
    shards: u16,
    /// Copies of each shard, that of its owner included.
    copies: usize,
    dead: Duration,
    version: u64,
    beat: Beat,
    /// The number of the last beat of the process that had this name before.
    before: u64,
    /// Whether another process has said something under this name.
    is_contested: bool,
    census: Census,
    /// The number of the beat of each owner at the end of the last round of the census.
    counted: BTreeMap<String, u64>,
    /// Shards that it has given away and has not followed since.
    given: BTreeSet<u16>,
    /// What was heard last of each other worker.
    heard: BTreeMap<String, HeardOf>,
    /// The owners of all shards, as they were read last.
    owners: Vec<Owner>,
    /// How often this worker has taken over a shard whose owner was dead.
    take_overs: u64,
}

/// What was heard last of a worker.
struct HeardOf {
    beat: Beat,
    /// When that was new.
    at: Duration,
    /// Whether it is not the first that was heard, which may be of long ago.
    is_fresh: bool,
}

/// What a worker is to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Orders {
    /// Shards that it owns, and is to crawl.
    pub(super) own: BTreeSet<u16>,
    /// Shards that it is to have a copy of.
    pub(super) follow: BTreeSet<u16>,
    /// Those of them that nobody else has: it is to follow with what its disk has, and to make no
    /// copy in its place.
    pub(super) revive: BTreeSet<u16>,
    /// Shards that it owns and is to give to another worker, which has all of them but what is
    /// committed from now on.
    pub(super) give: BTreeMap<u16, String>,
    /// Shards that it owns, cannot go on with, and that nobody else follows yet.
    pub(super) unfit: BTreeSet<u16>,
    /// Shards whose owner is not there, and that it may have a copy of.
    pub(super) waiting: BTreeSet<u16>,
    /// How each shard is, as its owner says.
    pub(super) looks: BTreeMap<u16, Look>,
    /// Whether nothing is left to fetch in any shard, and nothing on its way between them.
    pub(super) is_drained: bool,
    /// Whether the owners of all shards have ended.
    pub(super) is_over: bool,
    /// Whether no other worker is there that could take anything over.
    pub(super) is_alone: bool,
}

/// What a worker has of its shards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Having {
    /// The shards that it follows, and the position in the log up to which it has read.
    pub(super) follows: BTreeMap<u16, u64>,
    /// The shards of which its disk has something that may be followed with, whether or not it
    /// follows them yet.
    pub(super) kept: BTreeSet<u16>,
    /// The position of the last entry of the shards that it owns.
    pub(super) ends: BTreeMap<u16, u64>,
    /// The shards that it owns in which nothing is left to fetch.
    pub(super) done: BTreeSet<u16>,
    /// The shards that it owns and has crawled: what others lack of them, the log has.
    pub(super) ended: BTreeSet<u16>,
    /// The shards that it owns, and of which it lacks what the log does not have any more.
    pub(super) unfit: BTreeSet<u16>,
    /// How the shards are that it owns.
    pub(super) looks: BTreeMap<u16, Look>,
    /// Whether it is to give away what it owns.
    pub(super) is_leaving: bool,
    /// What it tells people.
    pub(super) tells: Tells,
    /// Position up to which its library is durable.
    pub(super) library: u64,
}

/// What is known of a worker.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// What it said last.
    pub(super) beat: Beat,
    /// How long ago that was new; `None` if it is not known.
    pub(super) age: Option<Duration>,
    /// Whether it is taken for alive.
    pub(super) is_alive: bool,
}

/// Whether a process speaks under a name now: for two beats it is listened to, unless nobody ever
/// did or the last one has said that it ends.
pub(super) fn speaks(rows: &Rows, name: &str, beat: Duration) -> Result<bool> {
    let (version, last) = rows.beat(name)?;
    if version == 0 || last.is_leaving {
        return Ok(false);
    }
    thread::sleep(2 * beat);
    let (now, _) = rows.beat(name)?;
    Ok(now != version)
}

impl Membership {
    /// Joins the crawl that `rows` are of, as a worker of this name on this machine.
    pub(super) fn join(
        rows: Rows,
        (name, machine): (&str, &str),
        shards: u16,
        copies: usize,
        dead: Duration,
    ) -> Result<Self> {
        rows.join(name)?;
        let (version, last) = rows.beat(name)?;
        Ok(Self {
            rows,
            name: name.to_owned(),
            shards,
            copies,
            dead,
            version,
            beat: Beat {
                number: last.number,
                process: drawn()?,
                machine: machine.to_owned(),
                ..Beat::default()
            },
            before: last.number,
            is_contested: false,
            census: Census::new(shards),
            counted: BTreeMap::new(),
            given: BTreeSet::new(),
            heard: BTreeMap::new(),
            owners: Vec::new(),
            take_overs: 0,
        })
    }

    /// Says that this worker is there and what it has, listens to the others, and takes over what
    /// has no owner any more. `now` is the time of the clock that leases are counted by.
    ///
    /// # Errors
    ///
    /// [`Error::Moved`] if another process speaks under this name; [`Error::Away`] if the engine
    /// does not answer.
    pub(super) fn tick(&mut self, having: &Having, now: Duration) -> Result<Orders> {
        self.say(having)?;
        self.listen(now)?;
        self.given
            .retain(|shard| !having.follows.contains_key(shard));
        self.owners = self.rows.owners()?;
        let owners = self.owners.clone();
        let owner = |shard: u16| owners.get(usize::from(shard));
        let alive = self.alive(now);
        let staying = alive.iter().filter(|(_, beat)| !beat.is_leaving);
        let staying: Vec<&str> = staying.map(|(name, _)| *name).collect();
        let owned: Vec<Option<&str>> = (0..self.shards)
            .map(|shard| {
                owner(shard)
                    .map(|it| &*it.worker)
                    .filter(|it| !it.is_empty())
            })
            .collect();
        let most = |worker: &str| {
            let beat = alive.get(worker);
            beat.and_then(|beat| beat.tells.max_shards)
                .map_or(usize::MAX, usize::from)
        };
        let wished = wish(&owned, &staying, &most);
        let looks = looks(&owned, &alive);
        let round = round(&looks, &alive, &self.counted);
        let is_done = |(shard, owner): (u16, Option<&str>)| {
            let beat = owner.and_then(|owner| alive.get(owner));
            beat.is_some_and(|beat| beat.done.contains(&shard))
        };
        let mut orders = Orders {
            looks: (0..)
                .zip(&looks)
                .filter_map(|(shard, look)| Some((shard, look.as_ref()?.1.clone())))
                .collect(),
            is_over: (0..).zip(owned.iter().copied()).all(is_done),
            is_alone: staying.iter().all(|name| *name == self.name),
            ..Orders::default()
        };
        let mut taken_over = 0;
        for (shard, (owned, wished)) in (0..).zip(owned.iter().zip(&wished)) {
            let copies = self.copies_of(shard, *owned, *wished, &alive);
            let has_copy = having.follows.contains_key(&shard) || self.given.contains(&shard);
            match owned {
                Some(own) if *own == self.name && having.unfit.contains(&shard) => {
                    match heir(shard, &alive) {
                        Some(heir) => drop(orders.give.insert(shard, heir.to_owned())),
                        None => drop(orders.unfit.insert(shard)),
                    }
                }
                Some(own) if *own == self.name => match wished {
                    Some(wished)
                        if *wished != self.name && has_all(having, &alive, shard, wished) =>
                    {
                        orders.give.insert(shard, (*wished).to_owned());
                    }
                    _ => {
                        orders.own.insert(shard);
                    }
                },
                Some(other) if alive.contains_key(other) => {
                    // One that is no longer wished stays until others have one.
                    let others = copies.iter().filter(|it| self.follows(it, shard));
                    if copies.contains(&&*self.name) || (has_copy && others.count() < copies.len())
                    {
                        orders.follow.insert(shard);
                    }
                }
                // Nobody ever had it, or who had it is dead: then it is for who has most of it.
                // Where nobody else has any of it that can go on, it waits for its owner.
                _ => {
                    let heir = match owned {
                        Some(_) => heir(shard, &alive),
                        None => *wished,
                    };
                    if heir == Some(&*self.name) && self.claim(shard, owner(shard))? {
                        taken_over += u64::from(owned.is_some());
                        orders.own.insert(shard);
                    } else if has_copy {
                        orders.follow.insert(shard);
                    } else if heir.is_none() && having.kept.contains(&shard) {
                        // Who opens a copy says that it follows only when it is open.
                        orders.follow.insert(shard);
                        orders.revive.insert(shard);
                    } else {
                        orders.waiting.insert(shard);
                    }
                }
            }
        }
        self.take_overs += taken_over;
        if let Some((looks, numbers)) = round {
            orders.is_drained = self.census.round(looks);
            self.counted = numbers;
        }
        Ok(orders)
    }

    /// Returns the owners of the shards, and what is known of all workers at this time.
    pub(super) fn known(&self, now: Duration) -> (&[Owner], BTreeMap<String, Known>) {
        let others = self.heard.iter().map(|(name, heard)| {
            let age = now.saturating_sub(heard.at);
            (name, &heard.beat, age, age < self.dead)
        });
        let own = (&self.name, &self.beat, Duration::ZERO, true);
        let known = others.chain([own]).map(|(name, beat, age, is_alive)| {
            let known = Known {
                beat: beat.clone(),
                age: Some(age),
                is_alive,
            };
            (name.clone(), known)
        });
        (&self.owners, known.collect())
    }

    /// How often this worker has taken over a shard whose owner was dead.
    pub(super) fn take_overs(&self) -> u64 {
        self.take_overs
    }

    /// Gives a shard to another worker. What is not this worker's any more is not given.
    pub(super) fn give(&mut self, shard: u16, to: &str) -> Result<()> {
        let given = |owner: &Owner| {
            (owner.worker == self.name).then(|| Owner {
                worker: to.to_owned(),
                epoch: owner.epoch,
            })
        };
        self.rows.change_owner(shard, given)?;
        self.given.insert(shard);
        Ok(())
    }

    /// Takes a shard, if its owner is still the one that was seen.
    fn claim(&self, shard: u16, seen: Option<&Owner>) -> Result<bool> {
        let seen = seen.cloned().unwrap_or_default();
        let claimed = self.rows.change_owner(shard, |owner| {
            (*owner == seen).then(|| Owner {
                worker: self.name.clone(),
                epoch: owner.epoch,
            })
        })?;
        Ok(claimed.worker == self.name)
    }

    /// Writes the beat.
    fn say(&mut self, having: &Having) -> Result<()> {
        let beat = Beat {
            number: self.beat.number + 1,
            process: self.beat.process,
            is_leaving: having.is_leaving,
            follows: having.follows.clone(),
            done: having.done.clone(),
            looks: having.looks.clone(),
            machine: self.beat.machine.clone(),
            tells: having.tells.clone(),
            library: having.library,
        };
        match self.rows.put_beat(&self.name, self.version, &beat) {
            Ok(version) => {
                self.version = version;
                self.beat = beat;
                return Ok(());
            }
            // It, or an earlier beat, may have come without an answer.
            Err(Error::Moved | Error::Away(_)) => {}
            Err(error) => return Err(error),
        }
        let (version, read) = self.rows.beat(&self.name)?;
        self.version = version;
        if read == beat {
            self.beat = beat;
            return Ok(());
        }
        // The last beat of a process that died may come late; another one, from one that lives.
        if read.process != self.beat.process && read.number > self.before {
            if self.is_contested {
                return Err(Error::Moved);
            }
            self.is_contested = true;
        }
        self.beat.number = self.beat.number.max(read.number);
        Err(Error::Away("the beat did not arrive".to_owned()))
    }

    /// Reads what the others say.
    fn listen(&mut self, now: Duration) -> Result<()> {
        for name in self.rows.workers()? {
            if name == self.name {
                continue;
            }
            let (_, beat) = self.rows.beat(&name)?;
            let before = self.heard.get(&name);
            if before.is_none_or(|before| before.beat != beat) {
                let heard = HeardOf {
                    beat,
                    at: now,
                    is_fresh: before.is_some(),
                };
                self.heard.insert(name, heard);
            }
        }
        Ok(())
    }

    /// Returns the workers that are not dead, with their last beats.
    fn alive(&self, now: Duration) -> BTreeMap<&str, &Beat> {
        let others = self.heard.iter();
        let others = others.filter(|(_, heard)| now.saturating_sub(heard.at) < self.dead);
        let mut alive: BTreeMap<&str, &Beat> =
            others.map(|(name, heard)| (&**name, &heard.beat)).collect();
        alive.insert(&self.name, &self.beat);
        alive
    }

    /// Whether another worker says that it follows a shard, and has said something since this one
    /// listens: one that has died before counts as alive for a while.
    fn follows(&self, worker: &str, shard: u16) -> bool {
        let heard = self.heard.get(worker).filter(|it| it.is_fresh);
        heard.is_some_and(|it| it.beat.follows.contains_key(&shard))
    }

    /// Returns who is to have a copy of a shard beside its owner: who is to own it, and others on
    /// other machines, as many as are wished.
    fn copies_of<'a>(
        &self,
        shard: u16,
        owner: Option<&str>,
        wished: Option<&'a str>,
        alive: &BTreeMap<&'a str, &Beat>,
    ) -> Vec<&'a str> {
        let machine = |worker: &str| alive.get(worker).map(|beat| &*beat.machine);
        let mut copies: Vec<&str> = wished.filter(|it| Some(*it) != owner).into_iter().collect();
        let names: Vec<&str> = alive.keys().copied().collect();
        let mut machines: BTreeSet<&str> = owner
            .into_iter()
            .chain(copies.iter().copied())
            .filter_map(machine)
            .collect();
        for worker in ranking(usize::from(shard), &names) {
            if copies.len() + 1 >= self.copies {
                break;
            }
            let is_new = alive.get(worker).is_some_and(|beat| !beat.is_leaving);
            if is_new
                && Some(worker) != owner
                && machine(worker).is_some_and(|it| machines.insert(it))
            {
                copies.push(worker);
            }
        }
        copies
    }
}

/// Returns how each shard is, with the name of its owner, as far as that says it.
fn looks<'a>(
    owned: &[Option<&'a str>],
    alive: &BTreeMap<&str, &'a Beat>,
) -> Vec<Option<(&'a str, &'a Look)>> {
    let look = |(shard, owner): (u16, Option<&'a str>)| {
        let owner = owner?;
        Some((owner, alive.get(owner)?.looks.get(&shard)?))
    };
    (0..).zip(owned.iter().copied()).map(look).collect()
}

/// Returns a round of looks at all shards, each of which is younger than the round before, at the
/// end of which the beats of their owners had the numbers `counted`; and the numbers that they have
/// now. `None` as long as one is missing.
///
/// All shards must have read the same seeds: who has not may wake those who have, when they have
/// ended.
///
/// The next beat behind that end may say what was seen before it; the one after that does not.
fn round(
    looks: &[Option<(&str, &Look)>],
    alive: &BTreeMap<&str, &Beat>,
    counted: &BTreeMap<String, u64>,
) -> Option<(Vec<Look>, BTreeMap<String, u64>)> {
    let mut numbers = BTreeMap::new();
    let seeds = |(shard, look): (u16, &Option<(&str, &Look)>)| {
        let beat = alive.get((*look)?.0)?;
        let figures = beat.tells.figures.get(&shard);
        Some(figures.map_or(0, |it| it.seeds_through))
    };
    let seeds: Option<BTreeSet<u64>> = (0..).zip(looks).map(seeds).collect();
    if seeds?.len() > 1 {
        return None;
    }
    let look = |look: &Option<(&str, &Look)>| {
        let (owner, look) = (*look)?;
        let number = alive.get(owner)?.number;
        numbers.insert(owner.to_owned(), number);
        let is_new = counted.get(owner).is_none_or(|last| number >= last + 2);
        is_new.then(|| look.clone())
    };
    let looks = looks.iter().map(look).collect::<Option<_>>()?;
    Some((looks, numbers))
}

/// Whether a worker has read all of a shard that its owner had written at the last beat, or will
/// find it in the log. An owner that has just begun has not looked yet how far it is itself: a log
/// that was lost may not have what it has and others lack.
fn has_all(having: &Having, alive: &BTreeMap<&str, &Beat>, shard: u16, worker: &str) -> bool {
    let read = alive.get(worker).and_then(|beat| beat.follows.get(&shard));
    read.is_some_and(|read| match having.ends.get(&shard) {
        Some(end) => read >= end,
        None => having.ended.contains(&shard),
    })
}

/// Returns who is to take over a shard: of those that follow it the one that has read most.
fn heir<'a>(shard: u16, alive: &BTreeMap<&'a str, &Beat>) -> Option<&'a str> {
    let followers = alive.iter().filter(|(_, beat)| !beat.is_leaving);
    let followers = followers.filter_map(|(name, beat)| Some((*beat.follows.get(&shard)?, *name)));
    followers
        .max_by_key(|(position, name)| (*position, std::cmp::Reverse(*name)))
        .map(|it| it.1)
}

#[cfg(test)]
mod tests;
