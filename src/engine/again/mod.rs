//! Pages after their first visit: their records, when they are revisited, which page succeeds a
//! lost original, what expires, what is lost with a disk, and what a user requeues or
//! holds.

mod earlier;
pub(crate) mod early;
mod expiry;
mod give_up;
mod hold;
mod kept;
mod lost_disks;
mod membership;
mod page_records;
mod queue;
mod requeue;
mod restore;
mod revisit;
mod robots;
mod succession;

pub(crate) use earlier::{
    document_of, document_place, earlier_place, forget_since, note_since, remember, settle_since,
};
pub(crate) use expiry::{Expiry, is_mostly_dead, read_retired, retire};
pub use give_up::Dropped;
pub use hold::hold;
pub use kept::body_place;
pub(crate) use lost_disks::put_back_lost;
pub use lost_disks::{LostDisks, LostWorker};
pub(crate) use membership::file_gone;
pub(crate) use page_records::{validators, write_page_record};
pub(crate) use queue::visit_sitemap_again;
pub(crate) use requeue::{find, let_in};
pub use requeue::{retry, retry_classes};
pub(crate) use restore::stored_head;
pub use restore::{RestoreFilter, Restored, restore};
pub(crate) use revisit::{Revisits, bound_revisits};
pub(crate) use robots::{
    forget as forget_robots, forget_document as forget_robots_document, keep as keep_robots,
    never_asked,
};
pub(crate) use succession::orphan;
