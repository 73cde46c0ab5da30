//! The way to the committer of what nobody visits: commands, and what other shards send.

use std::io;
use std::sync::mpsc::{Sender, SyncSender, channel};
use std::thread;

use crate::engine::visit::Entry;

/// Takes entries without waiting for room, and hands them on in the order in which they came: a
/// parcel of another shard that overtakes the one before it leaves a gap, and is not taken in until
/// it is sent again.
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
