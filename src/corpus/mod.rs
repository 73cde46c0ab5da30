//! Deduplication of corpora that others crawled: the work of `gleaner dedup` and `gleaner
//! fingerprint`.
//!
//! A run ([`dedup_jsonl`], [`dedup_warc`]) reads documents from files, a [`Signer`] turns each into
//! a plain value on any thread, and a [`Corpus`] judges them in their order. Everything is in
//! memory. Documents are compared by the methods of the room `dedup`; the index of a crawl is not
//! used.

mod run;

mod files;
mod parallel;

mod pages;

mod figures;
mod sign;
mod weights;

mod bottom;
mod judge;
mod lookup;

mod spool;
mod texts;
mod waiting;

mod expiry;
mod saved;
mod verdicts;

pub mod warc;

mod error;

pub use error::Error;
pub use figures::{Figures, sign_minhash, sign_simhash};
pub use files::{
    Content, Extraction, Fields, FileKind, Input, StoredBodies, Watch, files_in, open,
};
pub use judge::{Corpus, CorpusVerdict, EarlierMatch};
pub use lookup::{Found, MAX_GUARANTEED, Tables};
pub(crate) use pages::{ArchivedPage, each_page};
pub(crate) use parallel::{Worked, in_order};
pub use run::{count_shingles, dedup_jsonl, dedup_warc, figures};
pub use saved::{Saved, SavedEntry, SavedError};
pub use sign::{Clusters, NearMethod, Options, Signed, Signer};
pub use verdicts::Keeping;
pub use weights::{DfCounts, DfError, DfTable, Weights};
