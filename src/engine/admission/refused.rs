//! URLs that were refused for a reason that the URL alone does not tell, such as the depth of the
//! page that links to it, or that rests on settings or budgets: why, and by whom they were linked.
//!
//! Each has one row, so that it counts once however often it is linked, is taken back when it is
//! admitted in another way, and can be explained.

use crate::engine::Error;
use crate::engine::commit::Group;
use crate::frontier::Admission;
use crate::rows::{Reason, ReasonKind, RefusedUrl};
use crate::url::UrlId;

/// Maximum number of such rows, of some 40 bytes each; further URLs are counted as links only.
pub(crate) const MAX_REFUSED: u64 = 1_000_000;

/// The reasons. Those of budgets have the names of their settings.
const REASONS: [Reason; 12] = [
    of("too-deep"),
    of("too-many-redirects"),
    of("nofollow"),
    of("other-language"),
    of("excluded"),
    of("not-included"),
    of("traps.max_pages_per_host"),
    of("traps.max_pages_per_domain"),
    of("traps.max_bytes_per_host"),
    of("traps.max_bytes_per_domain"),
    of("traps.max_seconds_per_host"),
    of("traps.max_seconds_per_domain"),
];

const fn of(name: &'static str) -> Reason {
    let kind = ReasonKind::Refused;
    Reason { kind, name }
}

/// Returns `true` if refusals of this name are noted for each URL.
pub(crate) fn is_noted(name: &str) -> bool {
    reason(name).is_some()
}

fn reason(name: &str) -> Option<Reason> {
    REASONS.into_iter().find(|it| it.name == name)
}

impl Group<'_> {
    /// Notes that a link to a URL was refused, if this is a reason of those that are noted.
    pub(crate) fn refuse(
        &mut self,
        answer: &Admission,
        (id, url): (UrlId, &str),
        via: Option<UrlId>,
    ) -> Result<(), Error> {
        self.refuse_for(answer.name(), (id, url), via)
    }

    /// Notes that a link to a URL was refused for a reason of this name.
    pub(crate) fn refuse_for(
        &mut self,
        name: &str,
        (id, url): (UrlId, &str),
        via: Option<UrlId>,
    ) -> Result<(), Error> {
        let Some(reason) = reason(name) else {
            return Ok(());
        };
        if self.is_seen(id) || self.set.refused(id)?.is_some() {
            return Ok(());
        }
        let rows = self.set.refused_rows(&REASONS)?;
        if *rows < MAX_REFUSED {
            *rows += 1;
            let row = RefusedUrl {
                reason: name.to_owned(),
                via,
            };
            self.set.set_refused(id, Some(row));
            self.set.leave_out(reason, url);
        }
        Ok(())
    }

    /// Takes back that a URL was refused, because it is admitted now.
    pub(crate) fn no_longer_refused(&mut self, id: UrlId, url: &str) -> Result<(), Error> {
        if *self.set.refused_rows(&REASONS)? == 0 {
            return Ok(());
        }
        let Some(row) = self.set.refused(id)? else {
            return Ok(());
        };
        if let Some(reason) = reason(&row.reason) {
            self.set.no_longer_left_out(reason, url);
        }
        self.set.set_refused(id, None);
        let rows = self.set.refused_rows(&REASONS)?;
        *rows = rows.saturating_sub(1);
        Ok(())
    }
}
