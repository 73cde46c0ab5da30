//! Which worker is to own a shard, and which is to have a copy of it.
//!
//! Each worker computes the same from the same rows, so that nobody has to decide for all.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

/// Returns who is to own each shard, by who owns it now (none, or one that is not there, for a
/// shard that is free): each worker owns as many as any other, or one more, and no shard moves that
/// need not. `workers` are in ascending order, each once; without any, nobody owns a shard. None
/// owns more than `most` says; what is over then is for nobody.
pub(super) fn wish<'a>(
    owners: &[Option<&'a str>],
    workers: &[&'a str],
    most: &dyn Fn(&str) -> usize,
) -> Vec<Option<&'a str>> {
    let Parts {
        full,
        least,
        mut with_one_more,
    } = parts(owners.len(), workers, most);
    let mut counts: BTreeMap<&str, usize> = workers.iter().map(|it| (*it, 0)).collect();
    let mut wished = vec![None; owners.len()];
    let mut place = |shard: usize, worker: &'a str, wished: &mut Vec<Option<&'a str>>| {
        let Some(count) = counts.get_mut(worker) else {
            return false;
        };
        let own = full.get(worker);
        let least = own.copied().unwrap_or(least);
        let is_more = own.is_none() && *count == least && with_one_more > 0;
        if *count >= least && !is_more {
            return false;
        }
        with_one_more -= usize::from(is_more);
        *count += 1;
        if let Some(wish) = wished.get_mut(shard) {
            *wish = Some(worker);
        }
        true
    };
    let mut free = Vec::new();
    for (shard, owner) in owners.iter().enumerate() {
        if !owner.is_some_and(|owner| place(shard, owner, &mut wished)) {
            free.push(shard);
        }
    }
    for shard in free {
        let mut ranked = ranking(shard, workers).into_iter();
        ranked.find(|worker| place(shard, worker, &mut wished));
    }
    wished
}

/// How many shards each worker is to own.
struct Parts<'a> {
    /// Those that own no more than they may.
    full: BTreeMap<&'a str, usize>,
    /// As many, or one more, each of the others.
    least: usize,
    /// How many of these own one more.
    with_one_more: usize,
}

/// Parts shards evenly among workers, of whom some may own less than their part: the others own
/// more then.
fn parts<'a>(shards: usize, workers: &[&'a str], most: &dyn Fn(&str) -> usize) -> Parts<'a> {
    let mut left = shards;
    let mut full = BTreeMap::new();
    let mut rising: Vec<(usize, &str)> = workers.iter().map(|it| (most(it), *it)).collect();
    rising.sort_unstable();
    for (number, (most, worker)) in rising.iter().enumerate() {
        let others = rising.len() - number;
        if *most > left / others {
            return Parts {
                full,
                least: left / others,
                with_one_more: left % others,
            };
        }
        full.insert(*worker, *most);
        left -= most;
    }
    Parts {
        full,
        least: 0,
        with_one_more: 0,
    }
}

/// Returns the workers in the order in which they are asked to have a shard (rendezvous hashing):
/// where one comes or goes, the order of the others stays.
pub(super) fn ranking<'a>(shard: usize, workers: &[&'a str]) -> Vec<&'a str> {
    let score = |worker: &str| xxh3_64(format!("{shard}/{worker}").as_bytes());
    let mut ranked = workers.to_vec();
    ranked.sort_by_key(|worker| (std::cmp::Reverse(score(worker)), *worker));
    ranked
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whoever it is may own any number.
    const ANY: &dyn Fn(&str) -> usize = &|_| usize::MAX;

    fn counts(wished: &[Option<&str>]) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for worker in wished.iter().flatten() {
            *counts.entry((*worker).to_owned()).or_insert(0) += 1;
        }
        counts
    }

    proptest! {
        #[test]
        fn each_owns_as_many_and_what_is_settled_stays(
            shards in 0..70_usize,
            then in prop::collection::btree_set("[a-f]{1,2}", 0..9),
            now in prop::collection::btree_set("[a-f]{1,2}", 1..9),
        ) {
            let then: Vec<&str> = then.iter().map(String::as_str).collect();
            let now: Vec<&str> = now.iter().map(String::as_str).collect();
            let before = wish(&vec![None; shards], &then, ANY);
            let after = wish(&before, &now, ANY);
            let counts = counts(&after);
            for worker in &now {
                let count = counts.get(*worker).copied().unwrap_or(0);
                prop_assert!((shards / now.len()..=shards.div_ceil(now.len())).contains(&count));
            }
            prop_assert!(after.iter().all(Option::is_some));
            // Who is there and has not too many keeps what it has.
            let stays = |worker: &str| before.iter().filter(|it| **it == Some(worker)).count()
                <= shards / now.len();
            for (before, after) in before.iter().zip(&after) {
                if let Some(worker) = before.filter(|it| now.contains(it) && stays(it)) {
                    prop_assert_eq!(*after, Some(worker));
                }
            }
            // What is as it is to be stays so.
            prop_assert_eq!(wish(&after, &now, ANY), after);
        }
    }

    proptest! {
        #[test]
        fn none_owns_more_than_it_may_and_no_shard_is_without_owner_for_no_reason(
            shards in 0..70_usize,
            most in prop::collection::btree_map("[a-f]{1,2}", 0..30_usize, 1..9),
            then in 0..9_usize,
        ) {
            let names: Vec<&str> = most.keys().map(String::as_str).collect();
            let of = |worker: &str| most.get(worker).copied().unwrap_or(0);
            let before = wish(&vec![None; shards], &names[..then.min(names.len())], &of);
            let after = wish(&before, &names, &of);
            let counts = counts(&after);
            let count = |worker: &str| counts.get(worker).copied().unwrap_or(0);
            let sum: usize = most.values().sum();
            let owned = after.iter().flatten().count();
            prop_assert_eq!(owned, shards.min(sum));
            let largest = names.iter().map(|it| count(it)).max().unwrap_or(0);
            for worker in &names {
                prop_assert!(count(worker) <= of(worker));
                // Who owns less than others could not own more.
                prop_assert!(count(worker) + 1 >= largest || count(worker) == of(worker));
            }
            prop_assert_eq!(wish(&after, &names, &of), after);
        }
    }

    #[test]
    fn where_nobody_is_nobody_owns() {
        assert_eq!(wish(&[None, Some("a")], &[], ANY), [None, None]);
    }

    #[test]
    fn a_ranking_keeps_its_order_when_one_goes() {
        let all = ["a", "b", "c", "d"];
        for shard in 0..20 {
            let ranked = ranking(shard, &all);
            let without: Vec<_> = ranked.iter().copied().filter(|it| *it != "b").collect();
            assert_eq!(ranking(shard, &["a", "c", "d"]), without);
        }
    }
}
