//! The list of a crawl: to it any machine appends seeds, and orders to put back what failed or to
//! forget something, and every shard reads all of it. Each of them knows in its own state how far
//! it has read, so that a seed is admitted once by the shard that it belongs to, and comes into the
//! scope of all.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::rows::drawn;
use crate::broker::{Broker, Error, Result};
use crate::engine::{ForgetOrder, RetryFilter};
use crate::frontier::Seed;
use crate::seeds::{parse, to_line};

/// The log that is the list.
const LOG: &str = "seeds";

/// Seeds of one entry: as many are admitted with one commit.
const PART: usize = 1_000;

/// Tries of an append that was not answered.
const TRIES: u32 = 20;

/// What an entry of the list says.
#[derive(Debug, PartialEq)]
pub(super) enum Entry {
    /// These are to be admitted.
    Seeds(Vec<Seed>),
    /// What failed like this is to be put back into the queues.
    Retry(RetryFilter),
    /// This is to be forgotten, or may come back.
    Forget(ForgetOrder),
}

/// A class that no failure has: by the filter that names it, versions that know of no other orders
/// put nothing back.
const NO_CLASS: &str = "forget";

/// How an entry begins. Behind it may be a [`RetryFilter`], and behind that a [`ForgetOrder`]: a
/// worker that does not know of one does not read it.
#[derive(Serialize, Deserialize, PartialEq)]
struct Part {
    /// By which whoever appends it knows it again.
    id: [u8; 8],
    /// The seeds, as they are written in lists.
    lines: Vec<String>,
}

/// Makes the list, unless there is one.
pub(super) fn create(broker: &dyn Broker) -> Result<()> {
    broker.create(LOG)
}

/// Makes the list again, of which shards have read as far as this position: what is added from now
/// on stands behind it. What nobody had read is lost with the engine.
pub(super) fn restore(broker: &dyn Broker, through: u64) -> Result<()> {
    create(broker)?;
    let mut last = end(broker)?;
    while last < through {
        last = append(broker, last, &written(&Entry::Seeds(Vec::new()))?)?;
    }
    Ok(())
}

/// Returns the position of the last entry.
pub(super) fn end(broker: &dyn Broker) -> Result<u64> {
    broker.end(LOG)
}

/// Appends seeds. Returns the position of the last entry then.
///
/// # Errors
///
/// What the engine says. Then some may have been appended; whoever appends them again does no harm,
/// since a seed that is known is not queued again.
pub fn add(broker: &dyn Broker, seeds: impl IntoIterator<Item = Seed>) -> Result<u64> {
    let mut part = Vec::new();
    let mut last = end(broker)?;
    for seed in seeds {
        part.push(seed);
        if part.len() == PART {
            let entry = Entry::Seeds(std::mem::take(&mut part));
            last = append(broker, last, &written(&entry)?)?;
        }
    }
    match part.is_empty() {
        true => Ok(last),
        false => append(broker, last, &written(&Entry::Seeds(part))?),
    }
}

/// Appends an order. Returns its position.
///
/// # Errors
///
/// What the engine says. Then it may have been appended; to order it again does no harm.
pub(super) fn order(broker: &dyn Broker, order: &Entry) -> Result<u64> {
    append(broker, end(broker)?, &written(order)?)
}

/// Returns the bytes of an entry.
fn written(entry: &Entry) -> Result<Vec<u8>> {
    let lines = match entry {
        Entry::Seeds(seeds) => seeds.iter().map(to_line).collect(),
        Entry::Retry(_) | Entry::Forget(_) => Vec::new(),
    };
    let part = Part {
        id: drawn()?,
        lines,
    };
    let bytes = postcard::to_stdvec(&part).and_then(|bytes| match entry {
        Entry::Seeds(_) => Ok(bytes),
        Entry::Retry(filter) => postcard::to_extend(filter, bytes),
        Entry::Forget(order) => {
            let none = RetryFilter {
                classes: vec![NO_CLASS.to_owned()],
                host: None,
            };
            postcard::to_extend(&none, bytes).and_then(|bytes| postcard::to_extend(order, bytes))
        }
    });
    bytes.map_err(|error| Error::Refused(format!("an entry of the list: {error}")))
}

/// Appends an entry behind the one at `end`, or behind those that others have appended meanwhile.
/// Returns its position.
fn append(broker: &dyn Broker, mut end: u64, entry: &[u8]) -> Result<u64> {
    let mut tries = 0;
    // Behind the last whole entry that is known.
    let mut from = end;
    loop {
        let error = match broker.append(LOG, end, entry) {
            Ok(at) => return Ok(at),
            Err(error @ (Error::Moved | Error::Away(_))) => error,
            Err(error) => return Err(error),
        };
        tries += u32::from(matches!(error, Error::Away(_)));
        if tries > TRIES {
            return Err(error);
        }
        // Without an answer it may be there, or its last part may come; and where others were
        // first, it goes behind them.
        loop {
            // Before it is read: what comes from here on moves the end, or is read.
            let found = self::end(broker).and_then(|end| Ok((end, broker.next(LOG, from)?)));
            match found {
                Ok((_, Some((at, found)))) if found == entry => return Ok(at),
                Ok((_, Some((at, _)))) => from = at,
                // Parts that somebody was interrupted in are behind the last whole entry.
                Ok((known, None)) => {
                    end = known;
                    break;
                }
                Err(Error::Away(_)) if tries <= TRIES => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns the entry behind a position, and its position; `None` at the end. What cannot be read is
/// left out, and said.
pub(super) fn after(broker: &dyn Broker, position: u64) -> Result<Option<(u64, Entry)>> {
    let found = marked_after(broker, position)?;
    Ok(found.map(|((at, _), entry)| (at, entry)))
}

/// As [`after`], and with the position a number for what stands there.
pub(super) fn marked_after(
    broker: &dyn Broker,
    position: u64,
) -> Result<Option<((u64, u64), Entry)>> {
    let Some((at, bytes)) = broker.next(LOG, position)? else {
        return Ok(None);
    };
    let entry = read(&bytes).unwrap_or_else(|error| {
        tracing::warn!(at, %error, "an entry of the crawl's list of seeds cannot be read");
        Entry::Seeds(Vec::new())
    });
    Ok(Some(((at, xxh3_64(&bytes)), entry)))
}

/// Returns a number for what stands at a position; `None` if nothing does.
pub(super) fn stands_at(broker: &dyn Broker, position: u64) -> Result<Option<u64>> {
    let Some(before) = position.checked_sub(1) else {
        return Ok(None);
    };
    let found = broker.next(LOG, before)?;
    let found = found.filter(|(at, _)| *at == position);
    Ok(found.map(|(_, bytes)| xxh3_64(&bytes)))
}

fn read(bytes: &[u8]) -> postcard::Result<Entry> {
    let (part, rest) = postcard::take_from_bytes::<Part>(bytes)?;
    if !rest.is_empty() {
        let (filter, rest) = postcard::take_from_bytes(rest)?;
        return match rest.is_empty() {
            true => Ok(Entry::Retry(filter)),
            false => postcard::from_bytes(rest).map(Entry::Forget),
        };
    }
    let seed = |line: &String| match parse(line) {
        Ok(seed) => Some(seed),
        Err(error) => {
            tracing::warn!(line, %error, "a seed of the crawl cannot be read");
            None
        }
    };
    Ok(Entry::Seeds(part.lines.iter().filter_map(seed).collect()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::broker::{Fault, Memory};
    use crate::frontier::Selection;
    use crate::url::{UrlId, parse as url};

    fn all(engine: &Memory) -> Vec<String> {
        let (mut position, mut found) = (0, Vec::new());
        while let Some((at, entry)) = after(engine, position).unwrap() {
            if let Entry::Seeds(seeds) = entry {
                found.extend(seeds.iter().map(to_line));
            }
            position = at;
        }
        found
    }

    fn seeds(from: usize, count: usize) -> Vec<Seed> {
        let seed = |number| url(&format!("http://a{number}.example/")).unwrap().into();
        (from..from + count).map(seed).collect()
    }

    #[test]
    fn seeds_keep_their_settings() {
        let engine = Memory::start(1_000);
        create(&engine).unwrap();
        let lines = ["https://a.example/ depth=2 tag=news", "b.example"];
        let given: Vec<Seed> = lines.iter().map(|line| parse(line).unwrap()).collect();
        let at = add(&engine, given.clone()).unwrap();
        assert_eq!(after(&engine, 0).unwrap(), Some((at, Entry::Seeds(given))));
        assert_eq!(after(&engine, at).unwrap(), None);
    }

    #[test]
    fn orders_stand_among_seeds_and_who_knows_none_reads_no_seeds() {
        let engine = Memory::start(1_000);
        create(&engine).unwrap();
        let first = add(&engine, seeds(0, 1)).unwrap();
        let filter = RetryFilter {
            classes: vec!["dns".to_owned(), "timeout".to_owned()],
            host: Some("a.example".parse().unwrap()),
        };
        let retry = order(&engine, &Entry::Retry(filter.clone())).unwrap();
        let forgets = ForgetOrder {
            selection: Selection {
                hosts: vec!["a.example".parse().unwrap()],
                ids: vec![UrlId::from_bytes([7; 16])],
                ..Selection::default()
            },
            ..ForgetOrder::default()
        };
        let forget = order(&engine, &Entry::Forget(forgets.clone())).unwrap();
        add(&engine, seeds(1, 1)).unwrap();
        let entry = |from| after(&engine, from).unwrap().unwrap();
        assert_eq!(entry(first), (retry, Entry::Retry(filter)));
        assert_eq!(entry(retry), (forget, Entry::Forget(forgets)));
        for from in [first, retry] {
            let (_, bytes) = engine.next(LOG, from).unwrap().unwrap();
            let (known, rest) = postcard::take_from_bytes::<Part>(&bytes).unwrap();
            assert_eq!(known.lines, Vec::<String>::new());
            // A version that knows of no other orders puts back what failed like that: nothing.
            let known: RetryFilter = postcard::from_bytes(rest).unwrap();
            assert_eq!(known.classes == [NO_CLASS], from == retry);
        }
        assert_eq!(all(&engine).len(), 2);
    }

    fn fault() -> impl Strategy<Value = Fault> {
        prop_oneof![
            Just(Fault::RequestLost),
            Just(Fault::AnswerLost),
            (0..4_u8).prop_map(Fault::Delayed),
            Just(Fault::None),
        ]
    }

    proptest! {
        /// Whatever becomes of requests, and whoever else appends, each list is there once.
        #[test]
        fn no_seed_is_lost_or_doubled(
            faults in prop::collection::vec(fault(), 0..12),
            counts in prop::collection::vec(1..2_500_usize, 1..4),
            max_message in 200..9_000_usize,
        ) {
            let engine = Memory::start(max_message);
            create(&engine).unwrap();
            engine.fail(faults);
            let mut from = 0;
            for count in counts {
                add(&engine, seeds(from, count)).unwrap();
                from += count;
            }
            let expected: Vec<String> = seeds(0, from).iter().map(to_line).collect();
            prop_assert_eq!(all(&engine), expected);
        }
    }

    #[test]
    fn of_two_machines_both_lists_are_there() {
        let engine = Memory::start(100);
        create(&engine).unwrap();
        std::thread::scope(|scope| {
            for machine in 0..2 {
                let own = engine.connect();
                scope.spawn(move || {
                    for number in 0..20 {
                        add(&own, seeds(machine * 100 + number, 1)).unwrap();
                    }
                });
            }
        });
        let found: std::collections::BTreeSet<_> = all(&engine).into_iter().collect();
        assert_eq!((found.len(), all(&engine).len()), (40, 40));
    }
}
