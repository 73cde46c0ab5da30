//! What enters without a visit, and is no seed: what other shards of the crawl send, which is
//! acknowledged in the batch that admits it; what earlier crawls know; what is put back.

use super::{Collected, Committer};
use crate::engine::admission::{know, take_in};
use crate::engine::error::Error;
use crate::engine::exchange::Arrived;
use crate::engine::requeue::PutBack;
use crate::engine::visit::{KnownPage, KnownPages, Receipt, Seeds};
use crate::frontier::{Moment, Seed};
use crate::rows::{Named, Sent};
use crate::url::{self, HostKey};

/// Maximum number of messages that are taken in with one commit.
const MAX_TAKEN_IN: usize = 1_000;

impl Committer {
    /// Takes in what arrived, and replies how far everything of its sender is committed. What was
    /// taken in before is passed over; what would leave a gap is left alone, since it comes again.
    pub(super) fn receive(&mut self, arrived: Arrived, now: Moment) -> Result<Vec<Receipt>, Error> {
        let Arrived {
            from,
            first,
            gone,
            mut messages,
            reply,
        } = arrived;
        let mut receipts = pass_over(self, from, gone, now)?;
        let through = self.exchange.received(from);
        let known = (through + 1).checked_sub(first);
        if let Some(known) = known.filter(|_| self.exchange.shards.has_other(from)) {
            let known = usize::try_from(known).unwrap_or(usize::MAX);
            messages.drain(..known.min(messages.len()));
            // What seeds add to the scope holds from the next commit on.
            let is_alike = |a: &Sent, b: &Sent| consent_of(Some(a)) == consent_of(Some(b));
            for part in messages.chunk_by(is_alike) {
                for part in part.chunks(MAX_TAKEN_IN) {
                    receipts.extend(self.take_in(from, part, now)?);
                    self.pulse.beat();
                }
            }
        }
        if let Some(reply) = reply {
            // Whoever asked may be gone.
            let _ = reply.send(self.exchange.received(from));
        }
        Ok(receipts)
    }

    /// Takes in the next messages of a shard with one commit: seeds with or without consent, or no
    /// seeds.
    fn take_in(&mut self, from: u16, part: &[Sent], now: Moment) -> Result<Vec<Receipt>, Error> {
        let through = self.exchange.received(from) + part.len() as u64;
        if let Some(consent) = consent_of(part.first()) {
            let seeds = Seeds {
                seeds: part.iter().filter_map(seed_in).collect(),
                consent,
                listed: None,
                reply: None,
            };
            return self.commit_seeds(seeds, Some((from, through)), now);
        }
        let collected = self.guarded(now, |judge, group| {
            for sent in part {
                take_in(judge.gate, sent, group)?;
            }
            group.set.end_receipt();
            Ok(())
        })?;
        match collected {
            Collected::Changes(mut set) => {
                set.exchanged.received = Some((from, through));
                self.write(*set)
            }
            Collected::Panicked if part.len() > 1 => {
                let mut receipts = Vec::new();
                for one in part.chunks(1) {
                    receipts.extend(self.take_in(from, one, now)?);
                }
                Ok(receipts)
            }
            Collected::Panicked => {
                // It would again and again, and what comes behind it would wait for ever.
                tracing::error!(
                    message = ?part.first(),
                    "taking in what another shard sent panicked; it is left out"
                );
                let mut set = self.write_set(now);
                set.exchanged.received = Some((from, through));
                self.write(set)
            }
        }
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
    set.exchanged.received = Some((from, gone));
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
