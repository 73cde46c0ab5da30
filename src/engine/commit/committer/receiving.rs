//! What enters without a visit, and is no seed: what other shards of the crawl send, which is
//! acknowledged in the batch that admits it; what earlier crawls know; what is put back.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use super::{Collected, Committer, Group, Judge};
use crate::engine::admission::{know, take_in};
use crate::engine::error::Error;
use crate::engine::exchange::{Arrived, Exchange};
use crate::engine::requeue::PutBack;
use crate::engine::visit::{Analysed, KnownPage, KnownPages, Receipt, Seeds};
use crate::frontier::{Moment, Seed};
use crate::rows::{Named, Sent};
use crate::url::{self, HostKey};

/// Maximum number of messages that are taken in with one commit.
const MAX_TAKEN_IN: usize = 1_000;

impl Committer {
    /// Commits visits and what other shards sent, and replies to these.
    pub(super) fn commit_together(
        &mut self,
        (visits, parcels): (Vec<Analysed>, Vec<Arrived>),
        now: Moment,
    ) -> Result<Vec<Receipt>, Error> {
        let mut received = self.receive(parcels, now)?;
        let mut receipts = std::mem::take(&mut received.receipts);
        receipts.extend(match visits.is_empty() {
            true => take_all_in(self, &mut received.taken, now)?,
            false => self.commit_visits(visits, std::mem::take(&mut received.taken))?,
        });
        received.reply(&self.exchange);
        Ok(receipts)
    }

    /// Takes what arrived of other shards, and takes in what cannot share a commit with the rest.
    /// What was taken in before is passed over; what would leave a gap is left alone, since it
    /// comes again.
    fn receive(&mut self, arrived: Vec<Arrived>, now: Moment) -> Result<Received, Error> {
        let mut received = Received::default();
        let Received {
            receipts,
            replies,
            taken,
        } = &mut received;
        for parcel in arrived {
            let from = parcel.from;
            if parcel.gone > self.exchange.received(from) {
                receipts.extend(take_all_in(self, taken, now)?);
                receipts.extend(pass_over(self, from, parcel.gone, now)?);
            }
            let through = taken.through(from, &self.exchange);
            let known = (through + 1).checked_sub(parcel.first);
            if let Some(known) = known.filter(|_| self.exchange.shards.has_other(from)) {
                let known = usize::try_from(known).unwrap_or(usize::MAX);
                let new = parcel.messages.into_iter().skip(known);
                // What seeds add to the scope holds from the next commit on.
                let is_alike = |a: &Sent, b: &Sent| consent_of(Some(a)) == consent_of(Some(b));
                for part in new.collect::<Vec<_>>().chunk_by(is_alike) {
                    if consent_of(part.first()).is_some() {
                        receipts.extend(take_all_in(self, taken, now)?);
                        receipts.extend(take_seeds_in(self, from, part, now)?);
                        continue;
                    }
                    for part in part.chunks(MAX_TAKEN_IN) {
                        if taken.count() + part.len() > MAX_TAKEN_IN {
                            receipts.extend(take_all_in(self, taken, now)?);
                        }
                        taken.parts.push((from, part.to_vec()));
                    }
                }
            }
            replies.extend(parcel.reply.map(|reply| (from, reply)));
        }
        Ok(received)
    }

    /// Admits what a part of an earlier crawl's archive knows.
    pub(super) fn commit_known(
        &mut self,
        mut known: KnownPages,
        now: Moment,
    ) -> Result<Vec<Receipt>, Error> {
        let shards = self.exchange.shards;
        if !shards.is_one() {
            let host = |url: &str| url::parse(url).ok().map(|url| HostKey::of(&url));
            let is_own = |page: &KnownPage| host(&page.url).is_some_and(|it| shards.is_own(&it));
            known.pages.retain(is_own);
        }
        let set = self.collect(now, |judge, group| know(known, judge.rules, group))?;
        self.write(set)
    }

    /// Requeues a part of what failed.
    pub(super) fn put_back(
        &mut self,
        mut part: PutBack,
        now: Moment,
    ) -> Result<Vec<Receipt>, Error> {
        let mut done = None;
        let set = self.collect(now, |judge, group| {
            let policies = judge.gate.policies.load();
            done = Some(part.put_back_politely(&policies, &mut group.set)?);
            Ok(())
        })?;
        let receipts = self.write(set)?;
        if let (Some(reply), Some(done)) = (part.reply.take(), done) {
            // Whoever asked may be gone.
            let _ = reply.send(done);
        }
        Ok(receipts)
    }

    /// Makes a commit for what left the outbox, if anything is owed.
    pub(crate) fn settle_outbox(&mut self, now: Moment) -> Result<(), Error> {
        while self.exchange.owed() > 0 {
            let set = self.write_set(now);
            self.write(set)?;
        }
        Ok(())
    }
}

/// What arrived of other shards.
#[derive(Default)]
struct Received {
    /// Of what is committed of it.
    receipts: Vec<Receipt>,
    /// The rest.
    taken: Taken,
    /// Where to say how far everything of a shard is committed.
    replies: Vec<(u16, oneshot::Sender<u64>)>,
}

impl Received {
    /// Replies to those who sent it, once all of it is committed.
    fn reply(self, exchange: &Exchange) {
        for (from, reply) in self.replies {
            // Whoever asked may be gone.
            let _ = reply.send(exchange.received(from));
        }
    }
}

/// Messages of other shards that are no seeds, each part the next of its shard.
#[derive(Default)]
pub(super) struct Taken {
    parts: Vec<(u16, Vec<Sent>)>,
}

impl Taken {
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The number of the last message of each shard, with these.
    pub(super) fn received(&self, exchange: &Exchange) -> BTreeMap<u16, u64> {
        let shards = self.parts.iter().map(|(from, _)| *from);
        shards
            .map(|from| (from, self.through(from, exchange)))
            .collect()
    }

    /// Takes them in with a group.
    pub(super) fn take_in(&self, judge: &Judge<'_>, group: &mut Group<'_>) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        for sent in self.parts.iter().flat_map(|(_, part)| part) {
            take_in(judge.gate, sent, group)?;
        }
        group.set.end_receipt();
        Ok(())
    }

    fn count(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.len()).sum()
    }

    /// The number of the last message of a shard, with these.
    fn through(&self, from: u16, exchange: &Exchange) -> u64 {
        let of_shard = self.parts.iter().filter(|(shard, _)| *shard == from);
        let count: usize = of_shard.map(|(_, part)| part.len()).sum();
        exchange.received(from) + count as u64
    }
}

/// Takes in the next messages of a shard with one commit, all of them seeds with consent, or all
/// without.
fn take_seeds_in(
    committer: &mut Committer,
    from: u16,
    part: &[Sent],
    now: Moment,
) -> Result<Vec<Receipt>, Error> {
    let through = committer.exchange.received(from) + part.len() as u64;
    let seeds = Seeds {
        seeds: part.iter().filter_map(seed_in).collect(),
        consent: consent_of(part.first()).unwrap_or_default(),
        listed: None,
        reply: None,
    };
    committer.commit_seeds(seeds, Some((from, through)), now)
}

/// Takes in, with one commit, what was taken so far.
pub(super) fn take_all_in(
    committer: &mut Committer,
    taken: &mut Taken,
    now: Moment,
) -> Result<Vec<Receipt>, Error> {
    let taken = std::mem::take(taken);
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    committer.pulse.beat();
    let received = taken.received(&committer.exchange);
    let collected = committer.guarded(now, |judge, group| taken.take_in(judge, group))?;
    let mut set = match collected {
        Collected::Changes(set) => *set,
        Collected::Panicked if taken.count() > 1 => {
            let mut receipts = Vec::new();
            for (from, part) in taken.parts {
                for one in part {
                    let mut alone = Taken {
                        parts: vec![(from, vec![one])],
                    };
                    receipts.extend(take_all_in(committer, &mut alone, now)?);
                }
            }
            return Ok(receipts);
        }
        Collected::Panicked => {
            // It would again and again, and what comes behind it would wait for ever.
            tracing::error!(
                message = ?taken.parts.first(),
                "taking in what another shard sent panicked; it is left out"
            );
            committer.write_set(now)
        }
    };
    set.exchanged.received = received;
    committer.write(set)
}

/// Passes over messages of another shard that are kept nowhere any more. Only a shard that has lost
/// commits lacks what it has acknowledged, and it would wait for ever.
fn pass_over(
    committer: &mut Committer,
    from: u16,
    gone: u64,
    now: Moment,
) -> Result<Vec<Receipt>, Error> {
    let lost = gone.saturating_sub(committer.exchange.received(from));
    if lost == 0 || !committer.exchange.shards.has_other(from) {
        return Ok(Vec::new());
    }
    tracing::error!(
        from,
        messages = lost,
        "links of another shard are lost with the commits that had taken them in; what only they \
         lead to is not found"
    );
    let mut set = committer.write_set(now);
    (0..lost).for_each(|_| set.state.counters.links.add_named(&Lost));
    set.exchanged.received = BTreeMap::from([(from, gone)]);
    committer.write(set)
}

/// What was sent and taken in, and is lost since.
struct Lost;

impl Named for Lost {
    fn name(&self) -> &'static str {
        "lost"
    }
}

/// Returns whether consent was given with a seed; `None` for what is none.
fn consent_of(sent: Option<&Sent>) -> Option<bool> {
    match sent {
        Some(Sent::Seed(seed)) => Some(seed.consent),
        _ => None,
    }
}

fn seed_in(sent: &Sent) -> Option<Seed> {
    let Sent::Seed(seed) = sent else {
        return None;
    };
    Some(Seed {
        url: url::parse(&seed.url).ok()?,
        is_bare: seed.is_bare,
        settings: seed.settings.clone(),
    })
}
