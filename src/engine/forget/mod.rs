//! Forgets pages for good on a person's request: a takedown.
//!
//! From the first commit on, what was named is not admitted, not fetched and not recorded. Then, in
//! this order, each step some rows at a time:
//!
//! 1. its documents leave the index, so that nothing is found to repeat it any more;
//! 2. the log, the indexes and the page records are searched for what is in the archives about it,
//!    and for pages that rest on that: duplicates of it, and bodies kept as a difference from it;
//! 3. these pages are judged again, from bodies that are rebuilt before anything is lost (`orphans`);
//! 4. its rows are removed;
//! 5. its records are overwritten in their files, and its lines in the log.
//!
//! Each step writes what the next one needs into the store, and doing any of them twice is
//! harmless. A row says that this is going on until it is done, so a kill is followed by all of it
//! once more, at the next start. While it goes on, no file of the archive leaves.

mod erase;
mod find;
mod lines;
mod orphans;
mod selected;
mod take;

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::clock::Clock;
use super::commit::Committer;
use super::error::Error;
use super::open::{self, DataDirectory, open_store};
use super::options::Options;
use crate::dedup::DocumentId;
use crate::frontier::{Forgotten, MAX_RULES, Selection};
use crate::journal::Position;
use crate::store::{Store, Table, keys};
pub(crate) use find::Finder;
use orphans::Orphan;
use selected::Erasure;

/// What a person asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetOrder {
    /// What it is about. If nothing is selected, what an earlier order has left undone is done.
    pub selection: Selection,
    /// Set if it may come back, and is not to be forgotten.
    #[serde(default)]
    pub back: bool,
    /// Set if it is counted only.
    #[serde(default)]
    pub dry_run: bool,
}

/// Where to continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForgetCursor {
    /// Takes documents out of the index, from this one on.
    Documents(DocumentId),
    /// Searches the log, from this position on.
    Log(Position),
    /// Searches the index of this file of the archive, by its place among them.
    Index(u32),
    /// Searches the page records, from this key on.
    Pages(Vec<u8>),
    /// Searches the groups of pages that resemble one another, from this key on.
    Groups(Vec<u8>),
    /// Judges pages again that rest on what goes.
    Orphans,
    /// Removes page records, from this key on.
    Remove(Vec<u8>),
    /// Overwrites records.
    Erase,
    /// Overwrites lines of the log, from this position on.
    Lines(Position),
    /// Ends it.
    End,
}

/// What was done, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForgetDone {
    /// Pages that were forgotten, and other URLs that have a record.
    pub pages: u64,
    /// Records and bodies that were overwritten.
    pub records: u64,
    /// Lines of the log that were overwritten, in whole or in part.
    pub lines: u64,
    /// Pages that were judged again because what they repeated is gone.
    pub rehomed: u64,
    /// Those of which nothing was kept: they are visited again.
    pub refetched: u64,
    /// Files of the archive that were changed.
    pub files: BTreeSet<String>,
    /// Files that could not be changed because they are nowhere.
    pub nowhere: BTreeSet<String>,
    /// Files that were changed here after a copy of them was handed over.
    pub handed_over: BTreeSet<String>,
    /// Hosts and prefixes, and URLs, that may come back.
    pub back: u64,
    /// Where to continue; `None` at the end.
    pub next: Option<ForgetCursor>,
}

impl ForgetDone {
    /// Adds the result of the next part, and continues where that ended.
    pub fn add(&mut self, part: Self) {
        self.pages += part.pages;
        self.records += part.records;
        self.lines += part.lines;
        self.rehomed += part.rehomed;
        self.refetched += part.refetched;
        self.files.extend(part.files);
        self.nowhere.extend(part.nowhere);
        self.handed_over.extend(part.handed_over);
        self.back += part.back;
        self.next = part.next;
    }
}

/// A part of what is done, for the committer.
#[derive(Debug)]
pub struct ForgetPart {
    pub(crate) what: What,
    /// What was found so far.
    pub(crate) done: ForgetDone,
    /// Where to send the reply.
    pub(crate) reply: Option<oneshot::Sender<ForgetDone>>,
}

/// What the committer does.
#[derive(Debug)]
pub(crate) enum What {
    /// Nothing is admitted from now on that is selected.
    Begin(Selection),
    /// What is selected may come back.
    Back(Selection),
    /// Documents leave the index, from this one on.
    Documents(DocumentId),
    /// What was found is written down.
    Note(Found),
    /// Pages are judged again.
    Orphans(Vec<Orphan>),
    /// Rows are removed: the keys of their pages.
    Remove(Vec<Vec<u8>>),
    /// What was overwritten is no longer to be: keys of rows.
    Erased(Vec<Vec<u8>>),
    /// Nothing: what was done needs no commit.
    Nothing,
    /// It is done.
    End,
}

/// What a part of a search found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What is to be overwritten.
    pub(crate) erasures: Vec<Erasure>,
    /// Keys of pages that are to be judged again.
    pub(crate) orphans: Vec<Vec<u8>>,
    /// Keys of rows that tell of a group named by what goes.
    pub(crate) groups: Vec<Vec<u8>>,
}

/// Forgets what is selected, or lets it come back. No crawl may be running.
///
/// # Errors
///
/// [`Error::Forget`] if the order cannot be carried out as it is.
pub fn forget(path: &Path, options: &Options, order: &ForgetOrder) -> Result<ForgetDone, Error> {
    let directory = DataDirectory::take_existing(path)?;
    if order.dry_run {
        let store = open_store(&directory)?;
        let finder = Finder::new(store, path, options)?;
        let mut done = ForgetDone::default();
        while let Some(part) = finder.part(order, done.next.take())? {
            done.add(part.done);
            if done.next.is_none() {
                break;
            }
        }
        return Ok(done);
    }
    let mut committer = open::open(&directory, options)?;
    let options = &Options {
        features: committer.lookups.index.features().clone(),
        ..options.clone()
    };
    let done = carry_out(&mut committer, path, options, order)?;
    committer.pack(Clock::start().now())?;
    committer.close_files()?;
    committer.checkpoint()?;
    Ok(done)
}

/// Carries out what an earlier run was told to forget and has not, if there is something.
pub(crate) fn finish(
    committer: &mut Committer,
    path: &Path,
    options: &Options,
) -> Result<(), Error> {
    if !is_begun(&*committer.store)? {
        return Ok(());
    }
    tracing::warn!("what was to be forgotten is not yet: this goes on where it ended");
    let order = ForgetOrder::default();
    let done = carry_out(committer, path, options, &order)?;
    tracing::warn!(
        pages = done.pages,
        records = done.records,
        "what was to be forgotten is"
    );
    Ok(())
}

/// Returns `true` if something was to be forgotten and is not yet.
pub fn is_begun(store: &dyn Store) -> Result<bool, Error> {
    Ok(store.get(Table::Meta, keys::meta::FORGETTING)?.is_some())
}

fn carry_out(
    committer: &mut Committer,
    path: &Path,
    options: &Options,
    order: &ForgetOrder,
) -> Result<ForgetDone, Error> {
    let clock = Clock::start();
    let mut done = ForgetDone::default();
    loop {
        let finder = Finder::new(committer.store.clone(), path, options)?;
        let Some(mut part) = finder.part(order, done.next.take())? else {
            return Ok(done);
        };
        let (reply, mut answer) = oneshot::channel();
        part.reply = Some(reply);
        committer.forget(part, clock.now())?;
        done.add(answer.try_recv().unwrap_or_default());
        committer.checkpoint_if_due()?;
        if done.next.is_none() {
            return Ok(done);
        }
    }
}

#[cfg(test)]
mod tests;

impl ForgetOrder {
    /// Checks an order against what is forgotten by now.
    fn check(&self, forgotten: &Forgotten) -> Result<(), Error> {
        if !self.back {
            let rules = (&self.selection).into();
            if forgotten.clone().add(&rules, false).is_err() {
                return Err(Error::Forget(format!(
                    "more than {MAX_RULES} hosts and prefixes cannot be forgotten: give some of \
                     them as one, or as URLs"
                )));
            }
        }
        Ok(())
    }
}
