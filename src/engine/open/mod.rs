//! Opens a data directory: from what is on disk to a committer that continues where the last commit
//! ended.
//!
//! [`DataDirectory`] says which process has the directory, `migrate` brings its rows up to date,
//! `standby` makes store, runs and documents agree (with `rebuild` and `refingerprint`), and
//! `promote` begins to write. A directory may also follow a crawl that another process owns
//! (`standby/following.rs`), and be made from another worker's (`standby/copying.rs`). A store that
//! lost commits is noticed (`lost`), and repaired if the user wants that (`repair`). Where settings
//! let a crawl go further, stored pages are read again (`widen`). Each of these may be killed and
//! started again.

mod directory;
mod earlier;
mod known;
pub(crate) mod lost;
mod memory;
mod migrate;
mod parts;
mod promote;
mod rebuild;
mod records;
mod refingerprint;
mod repair;
mod reread;
mod since;
mod standby;
mod store;
mod times;
mod widen;

pub use directory::{DataDirectory, DirectoryError};
pub(super) use earlier::archives_of;
pub use known::known_files;
pub use memory::MemoryPlan;
pub use standby::{
    CopyChunk, CopyCursor, CopyId, CopySource, CopyStep, Copying, FollowStep, Following,
};
pub(crate) use store::{features, is_begun, open_copy, open_store, read_secret};
pub(super) use times::mend as mend_times;
pub use widen::{Widened, WouldAdmit};
pub(super) use widen::{is_widened, widen, would_admit};

use super::Options;
use super::clock::Clock;
use super::commit::Committer;
use super::error::Error;
use promote::{Shared, promote};
use standby::Standby;
use store::open_or_begin;

/// Opens everything and makes it agree.
pub(super) fn open(directory: &DataDirectory, options: &Options) -> Result<Committer, Error> {
    let path = directory.path();
    let mut failpoint = options.failpoint;
    let rows = open_or_begin(directory, options, &mut failpoint)?;
    let options = &Options {
        features: store::features(&*rows.0, options)?,
        ..options.clone()
    };
    let shared = Shared::new(&*rows.0, &rows.1, options, path)?;
    let standby = Standby::open(path, rows, options, &mut failpoint)?;
    let is_repairing = standby.is_repairing;
    let mut committer = promote(standby, path, options, failpoint, shared)?;
    if is_repairing {
        repair::follow_again(&mut committer, path, options)?;
    }
    committer.ask_robots_again(Clock::start().now())?;
    committer.take_up_deferred(Clock::start().now())?;
    Ok(committer)
}
