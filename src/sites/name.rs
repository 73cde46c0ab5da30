//! The site of a page.

use std::sync::Arc;

use crate::url::{HostKey, Site, Url};

/// A site, as a name of its template: the registrable domain; where a host is an address, the host
/// with its port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SiteName(Arc<str>);

impl SiteName {
    /// Returns the site of a URL.
    pub(crate) fn of(url: &Url) -> Self {
        match url.domain() {
            Some(_) => Self(Site::of(url).as_str().into()),
            None => Self(HostKey::of(url).as_str().into()),
        }
    }

    /// Returns the name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a number that only pages of this site have.
    pub(crate) fn number(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(self.0.as_bytes())
    }
}
