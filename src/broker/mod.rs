//! What the workers of one crawl share: ordered logs and versioned rows, in an engine that keeps
//! them on several machines.
//!
//! A [`Broker`] promises three things, and nothing else is built on it:
//!
//! - A log is appended to only where its end is the one that the writer names. So of several
//!   writers one wins, and who is behind cannot write, whatever its clock says.
//! - What was appended is read in the order of its positions, by whoever asks, until it is trimmed.
//! - A row is replaced only where its version is the one that the writer names.
//!
//! It does not promise that an answer arrives: [`Error::Away`] says that something may have been
//! done, also later. Who writes looks at the log then, before writing again. And it does not
//! promise that an engine keeps what it acknowledged: who relies on that compares positions.
//!
//! `nats` is NATS JetStream; `memory` is the model in tests, and breaks whatever may break. A
//! message of an engine is bounded, so long entries go in parts (`parts`).

mod memory;
mod nats;
mod parts;
mod reader;

pub use memory::{Fault, Memory};
pub use nats::{About, Address, LEAST_VERSION, Nats, Peer, TlsFiles};
pub use reader::Reader;

use parts::Joiner;

/// What an engine does for the workers of a crawl. Each call waits for the answer.
///
/// The logs of a crawl are named by the caller, and so are its rows: by letters, digits and dots.
pub trait Broker: Send + Sync {
    /// Makes a log of this name, unless there is one.
    fn create(&self, log: &str) -> Result<()>;

    /// Returns the position of the last message of a log; 0 if it never had one.
    fn end(&self, log: &str) -> Result<u64>;

    /// Appends a message of at most [`max_message`](Self::max_message) bytes if the last one is at
    /// `after`, and returns its position.
    fn append_message(&self, log: &str, after: u64, message: &[u8]) -> Result<u64>;

    /// Appends a message wherever the log ends. Where there is no answer, it may be there, or come
    /// later.
    fn publish(&self, log: &str, message: &[u8]) -> Result<()>;

    /// Returns the message that follows that at `after`, and its position; `None` at the end.
    fn message_after(&self, log: &str, after: u64) -> Result<Option<(u64, Vec<u8>)>>;

    /// Lets the engine send what a log has behind `after`, and what comes.
    fn tail(&self, log: &str, after: u64) -> Result<Tail>;

    /// Length of the longest message, in bytes.
    fn max_message(&self) -> usize;

    /// Removes the messages through this position, but not the last one of the log, by which its
    /// end is known.
    fn trim(&self, log: &str, through: u64) -> Result<()>;

    /// Returns about how many bytes the messages of a log take.
    fn bytes(&self, log: &str) -> Result<u64>;

    /// Returns a row and its version; `None` if there is none.
    fn row(&self, name: &str) -> Result<Option<(u64, Vec<u8>)>>;

    /// Writes a row if its version is this one, 0 if there is none, and returns the new version.
    fn put_row(&self, name: &str, version: u64, row: &[u8]) -> Result<u64>;

    /// Appends an entry of any length if the last message of the log is at `after`, and returns the
    /// position of its last message. Of an entry that fails in the middle, readers see nothing.
    fn append(&self, log: &str, after: u64, entry: &[u8]) -> Result<u64> {
        let parts = parts::cut(entry, self.max_message());
        let append = |after, part: Vec<u8>| self.append_message(log, after, &part);
        parts.into_iter().try_fold(after, append)
    }

    /// Returns the first whole entry whose first message is behind `after`, and the position of its
    /// last one; `None` if there is none.
    fn next(&self, log: &str, mut after: u64) -> Result<Option<(u64, Vec<u8>)>> {
        let mut joiner = Joiner::default();
        while let Some((at, message)) = self.message_after(log, after)? {
            if let Some(entry) = joiner.add(&message) {
                return Ok(Some((at, entry)));
            }
            after = at;
        }
        Ok(None)
    }
}

/// What an engine sends of a log: messages and their positions, in their order. It ends where the
/// engine stops sending, and may leave something out, or be silent; a [`Reader`] gets it all.
pub type Tail = tokio::sync::mpsc::Receiver<(u64, Vec<u8>)>;

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The end of the log, or the version of the row, is another one: nothing was written.
    #[error("another writer was first")]
    Moved,
    /// There was no answer. What was to be written may be there, or come later.
    #[error("the engine does not answer: {0}")]
    Away(String),
    /// The message that is asked for was removed.
    #[error("what stood before position {first} of the log is gone")]
    Trimmed {
        /// The first position that is left.
        first: u64,
    },
    /// The engine has no such log.
    #[error("the engine has no log {0}")]
    Missing(String),
    /// The engine refuses for good, and says why.
    #[error("{0}")]
    Refused(String),
}
