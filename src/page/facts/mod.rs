//! What a page says about itself: its metadata, its links, and what it asks of robots.

mod base;

pub(super) mod links;
pub(super) mod metadata;
pub(super) mod wishes;

pub(super) use base::Base;
