//! Merging of run files: several sorted sources read as one, the choice of files to merge, and the
//! thread that does it.
//!
//! Files of about the same size form a tier. A full tier becomes one file of a higher tier, so the
//! number of files grows with the logarithm of the number of keys, and each key is written once per
//! tier. The thread only reads immutable files and writes one that nothing refers to yet; the
//! catalog installs it at the next checkpoint.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use super::error::Error;
use super::fence::Bounds;
use super::file::{Pairs, RunFile, discard, is_missing};
use super::pair::Pair;
use super::retired::Retired;
use super::table::Range;

/// Several ascending sources as one ascending sequence without repetitions. All heads are compared
/// linearly: for the dozen files that there are, this is faster than a heap.
pub(super) struct Union<I> {
    heads: Vec<(Pair, I)>,
}

impl<I: Iterator<Item = Pair>> Union<I> {
    pub(super) fn new(sources: impl IntoIterator<Item = I>) -> Self {
        let head = |mut source: I| Some((source.next()?, source));
        Self {
            heads: sources.into_iter().filter_map(head).collect(),
        }
    }
}

impl<I: Iterator<Item = Pair>> Iterator for Union<I> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        let least = self.heads.iter().map(|(pair, _)| *pair).min()?;
        self.heads.retain_mut(|(pair, source)| {
            if *pair != least {
                return true;
            }
            match source.next() {
                Some(next) => *pair = next,
                None => return false,
            }
            true
        });
        Some(least)
    }
}

/// A source of a look-up: a table in memory or a file.
pub(super) enum PairSource<'a> {
    Memory(Range<'a>),
    File(Pairs<'a>),
}

impl Iterator for PairSource<'_> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        match self {
            Self::Memory(pairs) => pairs.next().copied(),
            Self::File(pairs) => pairs.next(),
        }
    }
}

/// Chooses the files to merge into one: the lowest full tier, and every higher tier that this
/// fills. Returns no files if no tier is full.
pub(super) fn choose(files: &[Arc<RunFile>], merge_at: usize) -> Vec<Arc<RunFile>> {
    let full = merge_at.max(2);
    let mut tiers: BTreeMap<u32, Vec<Arc<RunFile>>> = BTreeMap::new();
    for file in files {
        tiers
            .entry(tier(file.count(), full))
            .or_default()
            .push(Arc::clone(file));
    }
    let lowest = tiers.values_mut().find(|tier| tier.len() >= full);
    let mut chosen = lowest.map(std::mem::take).unwrap_or_default();
    while !chosen.is_empty() {
        let merged = tier(chosen.iter().map(|file| file.count()).sum(), full);
        match tiers.get_mut(&merged) {
            Some(tier) if tier.len() + 1 >= full => chosen.append(tier),
            _ => break,
        }
    }
    chosen
}

fn tier(count: u64, merge_at: usize) -> u32 {
    /// Number of pairs below which a file belongs to the lowest tier: merging it takes a few
    /// milliseconds.
    const SMALL: u64 = 1 << 16;
    (count / SMALL)
        .checked_ilog(merge_at as u64)
        .map_or(0, |tier| tier + 1)
}

/// A merge to do.
pub(super) struct Plan {
    /// Index of the structure.
    pub(super) structure: usize,
    pub(super) inputs: Vec<Arc<RunFile>>,
    /// Number of the file to write.
    pub(super) id: u64,
    pub(super) path: PathBuf,
    /// Values whose pairs are omitted.
    pub(super) retired: Option<Arc<Retired>>,
}

/// A finished merge.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) structure: usize,
    /// Numbers of the files that the output replaces.
    pub(super) replaced: Vec<u64>,
    pub(super) output: Arc<RunFile>,
}

/// The merging thread. It is started with a list of plans and ends when they are done. Dropping the
/// handle stops the thread within a few milliseconds (or after the sync it is in) and waits for it.
#[derive(Debug, Default)]
pub(super) struct Background {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Outcome>>,
}

/// The finished merges, and the error that ended the thread, if any.
type Outcome = (Vec<Merged>, Result<(), Error>);

impl Background {
    pub(super) fn is_idle(&self) -> bool {
        self.thread.is_none()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Starts the thread, if there is anything to do. Must be called only while it is idle: one
    /// thread, one core.
    pub(super) fn start(&mut self, plans: Vec<Plan>) -> io::Result<()> {
        debug_assert!(self.is_idle());
        if !plans.is_empty() {
            let stop = Arc::clone(&self.stop);
            let builder = thread::Builder::new().name("runs-merge".to_owned());
            self.thread = Some(builder.spawn(move || merge_all(plans, &stop))?);
        }
        Ok(())
    }

    /// Waits for the thread and returns its merges.
    pub(super) fn collect(&mut self) -> Outcome {
        match self.thread.take().map(JoinHandle::join) {
            None => (Vec::new(), Ok(())),
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) => (Vec::new(), Err(Error::ThreadPanicked)),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Nobody is left to report a failure to, and nothing was installed.
        let _ = self.collect();
    }
}

fn merge_all(plans: Vec<Plan>, stop: &AtomicBool) -> Outcome {
    let mut done = Vec::new();
    for plan in plans {
        match merge(&plan, stop) {
            Ok(Some(merged)) => done.push(merged),
            Ok(None) => {}
            Err(error) => return (done, Err(error)),
        }
    }
    (done, Ok(()))
}

/// Merges files. Returns `None` if the thread was stopped, or the inputs were dropped meanwhile.
fn merge(plan: &Plan, stop: &AtomicBool) -> Result<Option<Merged>, Error> {
    // Verify the inputs once more, so that a bit that has flipped since the start does not get a
    // fresh checksum, and a bad sector is met here and not under the map.
    let mut inputs = Vec::new();
    for input in &plan.inputs {
        match RunFile::open(input.path(), input.id()) {
            Ok(file) => inputs.push(file),
            // The structure was cleared, and a checkpoint has removed its files.
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    let bounds = inputs.iter().map(RunFile::bounds).reduce(|a, b| Bounds {
        min: a.min.min(b.min),
        max: a.max.max(b.max),
        count: a.count.saturating_add(b.count),
    });
    let Some(bounds) = bounds else {
        return Ok(None);
    };

    let stopped = || stop.load(Ordering::Relaxed);
    let is_kept = |pair: &Pair| match &plan.retired {
        Some(retired) => !retired.contains(pair.1),
        None => true,
    };
    let pairs = || {
        Union::new(inputs.iter().map(|file| file.pairs(0, u64::MAX)))
            .take_while(|_| !stopped())
            .filter(is_kept)
    };
    let output = RunFile::write(&plan.path, plan.id, bounds, pairs);
    if stopped() {
        // The pairs ended early, so the output is incomplete.
        discard(&plan.path);
        return Ok(None);
    }
    let replaced = plan.inputs.iter().map(|file| file.id()).collect();
    let newest = plan.inputs.iter().map(|file| file.newest()).max();
    Ok(Some(Merged {
        structure: plan.structure,
        replaced,
        output: Arc::new(output?.with_newest(newest.unwrap_or_default())),
    }))
}
