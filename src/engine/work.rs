//! What is done about visits behind the fetch, for which their domains are charged.

use std::time::{Duration, Instant};

use super::ring::turns::Turn;
use super::visit::Entry;
use crate::fetch::Outcome;
use crate::url::HostKey;

/// What a visit is taken to weigh at its commit beside its bytes.
const LEAST_WEIGHT: usize = 16 << 10;

/// How long it took to read and to commit a visit of a host.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) host: HostKey,
    pub(crate) turn: Turn,
    pub(crate) reading: Duration,
    pub(crate) committing: Duration,
}

/// The visits of a group that is being committed.
pub(crate) struct Committing {
    begun: Instant,
    /// What was done so far, and what each visit weighs.
    visits: Vec<(Work, usize)>,
}

impl Committing {
    /// Takes down what was done about a group whose commit begins.
    pub(crate) fn of(group: &mut [Entry]) -> Self {
        let visits = group.iter_mut().filter_map(|entry| match entry {
            Entry::Visit(visit) => Some(visit),
            _ => None,
        });
        let each = visits.map(|visit| {
            let body = match &visit.fetched.outcome {
                Outcome::Exchange(exchange) => exchange.body.len(),
                Outcome::Failed(_) => 0,
            };
            let work = Work {
                host: visit.fetched.task.host.clone(),
                turn: std::mem::take(&mut visit.fetched.turn),
                reading: visit.took,
                committing: Duration::ZERO,
            };
            (work, LEAST_WEIGHT + body + visit.findings.bytes())
        });
        Self {
            visits: each.collect(),
            begun: Instant::now(),
        }
    }

    /// Adds what the commit took, shared out by weight.
    pub(crate) fn done(self) -> Vec<Work> {
        let took = self.begun.elapsed();
        let all: usize = self.visits.iter().map(|(_, weight)| weight).sum();
        let shares = self.visits.into_iter().map(|(work, weight)| Work {
            committing: took.mul_f64(weight as f64 / all as f64),
            ..work
        });
        shares.collect()
    }
}
