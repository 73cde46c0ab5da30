//! Forgets pages for good on a person's request: a takedown.
//!
//! From the first commit on, what was named is not admitted, not fetched and not recorded. Then, in
//! this order, each step some rows at a time:
//!
//! 1. its documents leave the index, so that nothing is found to repeat it any more;
//! 2. the log, the indexes and the page records are searched for what is in the archives about it,
//!    and for pages that rest on that: duplicates of it, and bodies kept as a difference from it;
//! 3. these pages are judged again, from bodies that are rebuilt before anything is lost
//!    (`orphans.rs`);
//! 4. its rows are removed;
//! 5. its records are overwritten in their files, and its lines in the log.
//!
//! Each step writes what the next one needs into the store, and doing any of them twice is
//! harmless. A row says that this is going on until it is done, so a kill is followed by all of it
//! once more, at the next start. While it goes on, no file of the archive leaves.

mod erase;
mod files;
mod find;
mod lines;
mod orphans;
mod others;
pub(crate) mod part;
mod records;
pub(crate) mod selected;

use std::path::Path;

use tokio::sync::oneshot;

use super::clock::Clock;
use super::commit::Committer;
use super::error::Error;
use super::open::{self, DataDirectory, open_store};
use super::options::Options;
use crate::store::{Store, Table, keys};
pub use files::FileSearch;
pub(crate) use find::Finder;
pub(crate) use part::ForgetPart;
pub use part::{ForgetCursor, ForgetDone, ForgetOrder};

#[cfg(test)]
mod tests;

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
        while let Some((part, _)) = finder.part(order, done.next.take())? {
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
        let Some((mut part, visits)) = finder.part(order, done.next.take())? else {
            return Ok(done);
        };
        let (reply, mut answer) = oneshot::channel();
        part.reply = Some(reply);
        committer.forget(part, visits, clock.now())?;
        done.add(answer.try_recv().unwrap_or_default());
        committer.checkpoint_if_due()?;
        if done.next.is_none() {
            return Ok(done);
        }
    }
}
