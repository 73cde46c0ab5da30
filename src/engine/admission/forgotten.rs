//! What a person had forgotten is not admitted; what was told to come back is, once, although the
//! crawl has seen it.

use crate::engine::Error;
use crate::engine::commit::Group;
use crate::frontier::{FetchTask, Forgotten, Purpose, Remembrance, SharedForgotten, ids_of};
use crate::store::Store;
use crate::url::{self, Identity, Url, UrlId};

/// What is forgotten, as admission asks for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ForgottenNow(pub(crate) SharedForgotten);

impl ForgottenNow {
    /// Returns what is known of a URL that may be forgotten.
    pub(super) fn remembrance(
        &self,
        (id, url): (UrlId, &Url),
        group: &Group<'_>,
    ) -> Result<Remembrance, Error> {
        if self.0.load().is_empty() || group.set.came_back.contains(&id) {
            return Ok(Remembrance::Usual);
        }
        Ok(self.0.load().of(url, &[id], &*group.set.store)?)
    }

    /// As [`remembrance`](Self::remembrance), of a URL as it is written.
    pub(super) fn remembrance_of(
        &self,
        (id, url): (UrlId, &str),
        group: &Group<'_>,
    ) -> Result<Remembrance, Error> {
        if self.0.load().is_empty() {
            return Ok(Remembrance::Usual);
        }
        match url::parse(url) {
            Ok(url) => self.remembrance((id, &url), group),
            Err(_) => Ok(Remembrance::Usual),
        }
    }

    /// Returns `true` if a URL, as it is written, is forgotten.
    pub(crate) fn has(&self, (id, url): (UrlId, &str), group: &Group<'_>) -> Result<bool, Error> {
        Ok(self.remembrance_of((id, url), group)? == Remembrance::Forgotten)
    }

    /// Returns `true` if a text is a URL that is forgotten under any name.
    pub(crate) fn names(
        &self,
        text: &str,
        identity: &Identity,
        store: &dyn Store,
    ) -> Result<bool, Error> {
        let forgotten = self.0.load();
        let Some(url) = url::parse(text).ok().filter(|_| !forgotten.is_empty()) else {
            return Ok(false);
        };
        let known = forgotten.of(&url, &ids_of(&url, identity), store)?;
        Ok(known == Remembrance::Forgotten)
    }

    /// Returns `true` if a URL was admitted, and was not told to come back since.
    pub(super) fn is_known(
        &self,
        (id, url): (UrlId, &str),
        group: &mut Group<'_>,
    ) -> Result<bool, Error> {
        Ok(group.is_seen(id) && self.remembrance_of((id, url), group)? != Remembrance::Back)
    }

    /// Returns `true` if nothing is to be recorded of a visit: it was under way when its URL was
    /// forgotten.
    pub(crate) fn is_forgotten(&self, task: &FetchTask, group: &Group<'_>) -> Result<bool, Error> {
        if self.0.load().is_empty() {
            return Ok(false);
        }
        if task.queued.purpose == Purpose::Robots {
            return Ok(self.0.load().rules().has_host(&task.host));
        }
        let known = self.remembrance_of((task.queued.id, &task.queued.url), group)?;
        Ok(known == Remembrance::Forgotten)
    }
}

/// Takes note that a URL has come back.
pub(super) fn comes_back(id: UrlId, group: &mut Group<'_>) {
    group.set.came_back.insert(id);
    Forgotten::remove_url(id, &mut group.set.batch);
}
