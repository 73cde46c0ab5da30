//! How entries reach the committer: what nobody visits in the order in which it came, and which
//! visits are committed together, namely what arrived while the last group was being committed and
//! what is being read meanwhile.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::turns::Turns;
use crate::engine::visit::Entry;

/// Maximum number of visits that share one sync. Larger groups gain nothing and take more memory.
const MAX_GROUP: usize = 32;
/// How long a commit waits for visits that are being read. Syncing takes about as long on a disk
/// that is busy, and each commit syncs and writes rows of hosts and sites, however many visits it
/// has.
const LINGER: Duration = Duration::from_millis(20);

/// How long a commit waits that goes through the log of an engine, where it is a message, written
/// and synced by several servers, and a commit in each copy: for anything, as long as visits are
/// being made or read that will join it. In a longer time, more shards would store the same page
/// without knowing of one another (docs/performance.md).
const LINGER_SHARED: Duration = Duration::from_millis(100);

/// How long such a commit waits after the last arrival while no visits are on their way. The next
/// ones may be handed out in a moment.
const QUIET: Duration = Duration::from_millis(10);

/// Returns what is committed together with an entry: what is there, and what is about to come.
/// `is_shared` says whether commits go through a log.
pub(crate) fn gather(
    first: Entry,
    entries: &Receiver<Entry>,
    turns: &Turns,
    is_shared: bool,
) -> Vec<Entry> {
    let begun = Instant::now();
    let mut group = Vec::new();
    let mut next = Some(first);
    while let Some(mut entry) = next {
        if let Entry::Visit(visit) = &mut entry {
            visit.fetched.turn.arrive();
        }
        // Whoever gives a command waits for it.
        let joins = entry.joins_visits();
        group.push(entry);
        if group.len() == MAX_GROUP || !joins {
            break;
        }
        let arrived = Instant::now();
        next = loop {
            let left = match is_shared {
                true => left_of_shared(begun, arrived, turns),
                false if turns.reading() > 0 => LINGER.saturating_sub(begun.elapsed()),
                false => Duration::ZERO,
            };
            match entries.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                next => break next.ok(),
            }
        };
    }
    group
}

/// How long a commit that goes through a log waits until it is asked again whether visits are
/// coming; nothing if it waits no more.
fn left_of_shared(begun: Instant, arrived: Instant, turns: &Turns) -> Duration {
    let left = LINGER_SHARED.saturating_sub(begun.elapsed()).min(QUIET);
    match turns.are_coming() {
        true => left,
        false => left.saturating_sub(arrived.elapsed()),
    }
}

/// The way to the committer of commands and of what other shards send. It takes entries without
/// waiting for room, and hands them on in the order in which they came: a parcel of another shard
/// that overtakes the one before it leaves a gap, and is not taken in until it is sent again.
#[derive(Debug)]
pub(crate) struct Entrance {
    waiting: Sender<Entry>,
}

impl Entrance {
    /// Starts the thread that hands them on. It ends when the entrance is gone and all that entered
    /// is handed on, or when nobody takes any more: whoever waits for a reply learns that then.
    ///
    /// # Errors
    ///
    /// If there can be no more threads.
    pub(crate) fn open(committer: SyncSender<Entry>) -> io::Result<Self> {
        let (waiting, entered) = channel();
        let hand_on = move || {
            for entry in entered {
                if committer.send(entry).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("entrance".to_owned())
            .spawn(hand_on)?;
        Ok(Self { waiting })
    }

    /// Takes an entry. If the committer is gone, the entry is too.
    pub(crate) fn enter(&self, entry: Entry) {
        let _ = self.waiting.send(entry);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::engine::visit::Seeds;

    #[test]
    fn entries_keep_their_order_where_the_committer_is_slow() {
        const ENTRIES: u64 = 200;
        let (committer, entries) = sync_channel(1);
        let entrance = Entrance::open(committer).unwrap();
        for through in 0..ENTRIES {
            entrance.enter(Entry::Acknowledged { to: 0, through });
        }
        drop(entrance);
        let numbers = entries.into_iter().map(|entry| match entry {
            Entry::Acknowledged { through, .. } => through,
            _ => unreachable!("none entered"),
        });
        assert!(numbers.eq(0..ENTRIES));
    }

    #[test]
    fn a_command_ends_a_group() {
        let (sender, entries) = sync_channel(9);
        let send = |through| sender.send(Entry::Acknowledged { to: 0, through }).unwrap();
        (0..3).for_each(send);
        let seeds = Seeds {
            seeds: Vec::new(),
            consent: false,
            listed: None,
            reply: None,
        };
        sender.send(Entry::Seeds(seeds)).unwrap();
        send(4);
        let turns = Turns::new(1);
        // As long as this visit is made, others may come.
        let _made = turns.make();
        let first = entries.recv().unwrap();
        assert_eq!(gather(first, &entries, &turns, true).len(), 4);
        assert!(entries.try_recv().is_ok());
    }

    #[test]
    fn who_waits_for_a_reply_learns_that_the_committer_is_gone() {
        let (committer, entries) = sync_channel(1);
        let entrance = Entrance::open(committer).unwrap();
        drop(entries);
        let (reply, answer) = tokio::sync::oneshot::channel();
        let seeds = Seeds {
            seeds: Vec::new(),
            consent: false,
            listed: None,
            reply: Some(reply),
        };
        entrance.enter(Entry::Seeds(seeds));
        assert!(answer.blocking_recv().is_err());
    }
}
