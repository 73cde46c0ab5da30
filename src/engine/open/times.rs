//! Times in rows that no clock which is right can have written. A clock that was ahead once (a
//! computer without a battery, a wrong zone) leaves hosts and revisits due in years, and the crawl
//! would wait for them. They are looked for when the last commit was later than now, or nothing
//! says when it was.

use std::time::Duration;

use crate::engine::again::bound_revisits;
use crate::engine::commit::Committer;
use crate::engine::error::Error;
use crate::frontier::{HostState, Moment};
use crate::store::{Table, decode};
use crate::url::HostKey;

/// Rows read and mended in one commit.
const ROWS: usize = 1_000;

/// How far ahead a clock may be without anything being looked for: what was written then is due
/// soon.
const SLACK: Duration = Duration::from_mins(1);

/// Brings forward what is due later than the settings can have asked for.
pub(in crate::engine) fn mend(committer: &mut Committer, now: Moment) -> Result<(), Error> {
    let is_later = |last: Moment| last > now.plus(SLACK);
    if committer.state.sequence == 0 || committer.last_commit.is_some_and(|it| !is_later(it)) {
        return Ok(());
    }
    let hosts = mend_hosts(committer, now)?;
    let mut revisits = 0;
    let mut from = Some(Vec::new());
    while let Some(after) = from {
        let mut set = committer.write_set(now);
        let (mended, next) = bound_revisits(&committer.revisits.policy, &after, &mut set)?;
        revisits += mended;
        from = next;
        if !set.batch.is_empty() || set.state.revisits_from != committer.state.revisits_from {
            committer.write(set)?;
        }
    }
    committer.revisits.look_again(now);
    if hosts + revisits > 0 {
        tracing::warn!(
            hosts,
            revisits,
            "the clock was ahead when these were last visited; they are visited when it is their time by the clock as it is now"
        );
    }
    Ok(())
}

fn mend_hosts(committer: &mut Committer, now: Moment) -> Result<u64, Error> {
    let policies = committer.gate.policies.load_full();
    let (mut mended, mut after) = (0, Vec::new());
    loop {
        let rows = committer.store.range(Table::Hosts, &[], &after, ROWS)?;
        let mut set = committer.write_set(now);
        let mut is_changed = false;
        for (key, row) in &rows {
            let Some(host) = std::str::from_utf8(key).ok().and_then(HostKey::parse) else {
                continue;
            };
            let politeness = policies.of(&host).politeness;
            let mut state: HostState = decode(Table::Hosts, row)?;
            if state.mend_times(&politeness, now) {
                set.host(&host)?.mend_times(&politeness, now);
                is_changed = true;
                mended += 1;
            }
        }
        if is_changed {
            committer.write(set)?;
        }
        match rows.last() {
            Some((last, _)) if rows.len() == ROWS => after = [last, &[0][..]].concat(),
            _ => return Ok(mended),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{Answer, DAY, World, html, words};
    use crate::url::parse;

    const PAGE: &str = "http://a.example/page";

    fn host_of(world: &World) -> HostState {
        let host = HostKey::of(&parse(PAGE).unwrap());
        let row = world.store().get(Table::Hosts, host.as_str().as_bytes());
        decode(Table::Hosts, &row.unwrap().unwrap()).unwrap()
    }

    #[test]
    fn a_clock_that_was_ahead_stops_neither_visits_nor_revisits() {
        let mut world = World::new();
        let now = Moment(world.now);
        world.now += 3_650 * DAY;
        world.visit(PAGE, &html("", &words(1)));
        world.wait(10);
        // One revisit is due then, and made.
        world.revisit(PAGE, &Answer::Same);
        world.seed(&["http://a.example/new", "http://b.example/"]);
        assert!(host_of(&world).due > now.plus(Duration::from_hours(24)));
        world.restart();
        world.now = now.0;
        mend(world.committer(), now).unwrap();
        let host = host_of(&world);
        assert!(host.due <= now.plus(Duration::from_secs(1)), "{host:?}");
        assert!(host.last_visit <= now);
        assert_eq!(world.waiting().len(), 2);
        // What was learned of the page's changes is kept.
        let revisit = world.page(PAGE).revisit.unwrap();
        assert_eq!(
            revisit.due,
            now.plus(Duration::from_millis(revisit.interval))
        );
        world.now = revisit.due.0;
        world.settle();
        assert!(world.queued().contains(PAGE));
        // Once is enough, and what is right is left alone.
        world.restart();
        let before = world.page(PAGE);
        mend(world.committer(), Moment(revisit.due.0)).unwrap();
        assert_eq!(world.page(PAGE), before);
    }
}
