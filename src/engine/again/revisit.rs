//! Revisits: from a page's record to a row in `Revisits`, and from there, when it is due, to its
//! host's queue. The result of a visit determines the time until the next ([`RevisitPolicy`]); a
//! visit without a result leaves the page's record as it was.
//!
//! Pages fetched before revisiting was enabled have no row yet; the first run that revisits adds
//! their rows, some at a time between commits.

use std::time::Duration;

use super::queue::{Asking, ROWS_PER_COMMIT, queue_revisit};
use super::succession;
use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::engine::learned::budgets::is_spent;
use crate::frontier::{Finding, Moment, Policies, RevisitMode, RevisitPolicy};
use crate::rows::{Fate, PAGES, Revisit};
use crate::store::{Batch, Durability, Store, Table, encode, keys};
use crate::url::{self, HostKey, UrlId};

/// What a run knows of revisits besides its store.
#[derive(Debug)]
pub(crate) struct Revisits {
    pub(crate) policy: RevisitPolicy,
    /// When the next row is due, as far as is known: never later than it is.
    next: Option<Moment>,
    /// Whether no row is due before the moment from which rows are read. Versions before let such
    /// rows be.
    is_swept: bool,
    /// How far the pages that have no row were looked for; `None` if there are none.
    adopting: Option<Vec<u8>>,
    /// Set if some cluster may be without an original.
    has_orphans: bool,
}

impl Revisits {
    /// Reads the state of revisits from the store.
    pub(crate) fn open(
        policy: RevisitPolicy,
        store: &dyn Store,
        from: Moment,
    ) -> Result<Self, Error> {
        let mut revisits = Self {
            policy: RevisitPolicy::off(),
            next: None,
            is_swept: false,
            adopting: None,
            has_orphans: true,
        };
        revisits.set_policy(policy, store, from)?;
        Ok(revisits)
    }

    /// Changes the policy. No row is due before `from`.
    pub(crate) fn set_policy(
        &mut self,
        policy: RevisitPolicy,
        store: &dyn Store,
        from: Moment,
    ) -> Result<(), Error> {
        self.policy = policy;
        let complete = store.get(Table::Meta, keys::meta::REVISITS)?.is_some();
        if !self.is_on() {
            self.adopting = None;
            if complete {
                // Pages that are visited while revisits are off get no row.
                let mut batch = Batch::new();
                batch.delete(Table::Meta, keys::meta::REVISITS);
                store.commit(batch, Durability::Disk)?;
            }
            return Ok(());
        }
        self.next = Some(from);
        if !complete && self.adopting.is_none() {
            self.adopting = Some(Vec::new());
        }
        Ok(())
    }

    fn is_on(&self) -> bool {
        self.policy.mode != RevisitMode::Off
    }

    /// Looks for rows that are due, whatever was known before.
    pub(crate) fn look_again(&mut self, now: Moment) {
        self.next = self.next.map(|next| next.min(now));
    }

    /// Returns the time until there is something to do.
    pub(crate) fn until(&self, now: Moment) -> Duration {
        if !self.is_on() {
            return Duration::MAX;
        }
        match (&self.adopting, self.next) {
            _ if self.has_orphans => Duration::ZERO,
            (Some(_), _) => Duration::ZERO,
            (None, Some(next)) => now.until(next),
            (None, None) => Duration::MAX,
        }
    }

    /// Updates the state with what a committed group scheduled.
    pub(crate) fn committed(&mut self, soonest: Option<Moment>, has_orphans: bool) {
        self.has_orphans |= has_orphans;
        if let Some(due) = soonest {
            self.next = Some(self.next.map_or(due, |next| next.min(due)));
        }
    }

    /// Does what is due at `set.now`: successors of lost originals first, then due revisits, then
    /// pages without a row: those are due no earlier than what was read last.
    pub(crate) fn advance(&mut self, policies: &Policies, set: &mut WriteSet) -> Result<(), Error> {
        if self.has_orphans {
            self.has_orphans = succession::advance(set)?;
            if !set.batch.is_empty() {
                set.end_receipt();
                return Ok(());
            }
        }
        let now = set.now;
        let before = set.state.revisits_from;
        let from = match self.is_swept {
            true => keys::revisit(before.0, &[0; 16]),
            false => Vec::new(),
        };
        let store = &set.store;
        let rows = store.range(Table::Revisits, &[], &from, ROWS_PER_COMMIT)?;
        let whole = rows.len() == ROWS_PER_COMMIT;
        self.next = None;
        self.is_swept = true;
        for (key, _) in rows {
            let Some((due, id)) = keys::parse_revisit(&key) else {
                continue;
            };
            if Moment(due) > now {
                self.next = Some(Moment(due));
                break;
            }
            set.state.revisits_from = before.max(Moment(due));
            // Behind a whole part of such rows there may be more of them.
            self.is_swept = !whole || Moment(due) >= before;
            set.batch.delete(Table::Revisits, key);
            let id = UrlId::from_bytes(id);
            if !self.put_off(id, policies, set)? {
                queue_revisit(id, Asking::IfModified, set)?;
            }
        }
        if whole && self.next.is_none() {
            self.next = Some(now);
        }
        if let Some(after) = self.adopting.take() {
            self.adopt(&after, set)?;
        }
        if !set.batch.is_empty() {
            set.end_receipt();
        }
        Ok(())
    }

    /// Puts the revisit of a page off if the budget of its host is used up: it would be given up,
    /// each time it is due, until the setting is raised. Returns `false` if it is not.
    fn put_off(&self, id: UrlId, policies: &Policies, set: &mut WriteSet) -> Result<bool, Error> {
        let Some(page) = set.committed_page(id)? else {
            return Ok(false);
        };
        let Ok(url) = url::parse(&page.url) else {
            return Ok(false);
        };
        let host = HostKey::of(&url);
        if !is_spent(&host, &policies.of(&host).traps, set)? {
            return Ok(false);
        }
        let now = set.now;
        if let Some(page) = set.page(id)?
            && let Some(revisit) = &mut page.revisit
        {
            let interval = Duration::from_millis(revisit.interval);
            let due = now.plus(interval.max(self.policy.interval));
            revisit.due = due;
            set.schedule_revisit(id, due);
        }
        Ok(true)
    }

    /// Records that a site says a page was modified after its last visit: its revisit is due, but
    /// not before the minimum interval. A revisit that is queued already is left alone.
    pub(crate) fn changed(
        &self,
        id: UrlId,
        modified: Moment,
        set: &mut WriteSet,
    ) -> Result<(), Error> {
        // A modification time in the future is ignored.
        if !self.is_on() || modified > set.now {
            return Ok(());
        }
        let (now, from) = (set.now, set.state.revisits_from);
        let Some(page) = set.page(id)? else {
            return Ok(());
        };
        let visited = Moment::of_micros(page.time).min(now);
        let Some(revisit) = &mut page.revisit else {
            return Ok(());
        };
        let soonest = visited.plus(self.policy.min_interval);
        let due = soonest.max(now).max(from);
        // A row that is due is being queued, or is queued.
        if modified <= visited || revisit.due <= now || due >= revisit.due {
            return Ok(());
        }
        let before = std::mem::replace(&mut revisit.due, due);
        set.batch
            .delete(Table::Revisits, keys::revisit(before.0, id.as_bytes()));
        set.schedule_revisit(id, due);
        Ok(())
    }

    /// Adds rows for some pages that have none; the rest follow later.
    fn adopt(&mut self, after: &[u8], set: &mut WriteSet) -> Result<(), Error> {
        let store = &set.store;
        let rows = store.range(Table::Pages, &[], after, ROWS_PER_COMMIT)?;
        for (key, row) in &rows {
            let mut page = PAGES.decode(row)?;
            let (Fate::Answered { status, .. } | Fate::Sitemap { status, .. }, None, Ok(id)) =
                (&page.fate, page.revisit, key.as_slice().try_into())
            else {
                continue;
            };
            let id = UrlId::from_bytes(id);
            let finding = match is_gone(*status) {
                true => Finding::Gone,
                false => Finding::First,
            };
            let visited = Moment::of_micros(page.time).min(set.now);
            let Some(interval) = self.policy.next(None, finding) else {
                continue;
            };
            let due = visited.plus(interval).max(set.state.revisits_from);
            page.revisit = Some(Revisit {
                due,
                interval: millis(interval),
                // Nothing is known of the response except its document.
                mark: 0,
            });
            set.batch.put(Table::Pages, key.clone(), encode(&page));
            set.schedule_revisit(id, due);
        }
        match rows.last() {
            Some((key, _)) if rows.len() == ROWS_PER_COMMIT => {
                self.adopting = Some([key, &[0][..]].concat());
            }
            _ => set.batch.put(Table::Meta, keys::meta::REVISITS, Vec::new()),
        }
        Ok(())
    }
}

/// Brings forward some revisits, from a key on, that are due later than the policy can have asked
/// for. Returns how many, and where to continue.
pub(crate) fn bound_revisits(
    policy: &RevisitPolicy,
    after: &[u8],
    set: &mut WriteSet,
) -> Result<(u64, Option<Vec<u8>>), Error> {
    let now = set.now;
    set.state.revisits_from = set.state.revisits_from.min(now);
    if policy.mode == RevisitMode::Off {
        return Ok((0, None));
    }
    let longest = now.plus(policy.max_interval.max(policy.interval));
    let first = keys::revisit(longest.0.saturating_add(1), &[0; 16]);
    let from = first.as_slice().max(after);
    let rows = set
        .store
        .range(Table::Revisits, &[], from, ROWS_PER_COMMIT)?;
    let last = rows.last().filter(|_| rows.len() == ROWS_PER_COMMIT);
    let next = last.map(|(key, _)| [key, &[0][..]].concat());
    let mut mended = 0;
    for (key, _) in rows {
        let Some((due, id)) = keys::parse_revisit(&key) else {
            continue;
        };
        let id = UrlId::from_bytes(id);
        set.batch.delete(Table::Revisits, key);
        let page = set.page(id)?;
        let revisit = page.and_then(|page| page.revisit.as_mut());
        let Some(revisit) = revisit.filter(|it| it.due == Moment(due)) else {
            continue;
        };
        let due = now
            .plus(Duration::from_millis(revisit.interval))
            .min(longest);
        revisit.due = due;
        set.schedule_revisit(id, due);
        mended += 1;
    }
    Ok((mended, next))
}

impl WriteSet {
    /// Schedules a revisit of a page, not before `due`.
    pub(super) fn schedule_revisit(&mut self, id: UrlId, due: Moment) {
        let row = keys::revisit(due.0, id.as_bytes());
        self.batch.put(Table::Revisits, row, Vec::new());
        let soonest = self.soonest_revisit.map_or(due, |next| next.min(due));
        self.soonest_revisit = Some(soonest);
    }
}

/// Returns `true` if a status means that the page no longer exists.
pub(super) fn is_gone(status: u16) -> bool {
    matches!(status, 404 | 410)
}

/// Converts an interval to milliseconds, as in rows.
pub(super) fn millis(interval: Duration) -> u64 {
    u64::try_from(interval.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{DAY, World, html, options, words};

    const FIRST: &str = "http://a.example/1";
    const SECOND: &str = "http://a.example/2";

    fn daily() -> RevisitPolicy {
        let day = Duration::from_hours(24);
        RevisitPolicy {
            mode: RevisitMode::Fixed,
            interval: day,
            min_interval: day,
            max_interval: day,
        }
    }

    fn world() -> World {
        let mut options = options();
        options.revisit = daily();
        World::with(options)
    }

    fn restart(world: &mut World, policy: RevisitPolicy) {
        world.options.revisit = policy;
        world.restart();
    }

    /// A page that was visited while revisits were off may be due before one that has its row.
    #[test]
    fn a_page_without_a_row_is_visited_again_whatever_was_read_before() {
        let mut world = world();
        world.visit(FIRST, &html("", &words(1)));
        restart(&mut world, RevisitPolicy::off());
        world.now -= DAY / 2;
        world.visit(SECOND, &html("", &words(2)));
        world.now += 10 * DAY;
        restart(&mut world, daily());
        assert_eq!(world.queued().len(), 2, "{:?}", world.queued());
    }

    /// Versions before let rows be that were due earlier than what they had read.
    #[test]
    fn a_row_that_was_passed_over_is_read_at_the_next_start() {
        let mut world = world();
        world.visit(FIRST, &html("", &words(1)));
        let passed = Moment(world.now + 5 * DAY);
        world.committer().state.revisits_from = passed;
        world.visit(SECOND, &html("", &words(2)));
        world.now += 10 * DAY;
        restart(&mut world, daily());
        assert_eq!(world.queued().len(), 2, "{:?}", world.queued());
    }
}
