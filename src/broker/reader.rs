//! Reads a log as it grows, mostly without a request: the engine sends what comes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::parts::Joiner;
use super::{Broker, Result, Tail};

/// Time between two looks at a log of which nothing is sent: an engine that was restarted, or has
/// lost a part of the log, may have forgotten who reads it.
const LOOK: Duration = Duration::from_secs(1);

/// Time between two looks where the engine does not send.
const POLL: Duration = Duration::from_millis(50);

/// A reader of one log. Whatever becomes of what the engine sends, it returns each message behind a
/// position, in their order: what it is not sent it asks for.
pub struct Reader {
    broker: Arc<dyn Broker>,
    log: String,
    sent: Option<Sent>,
    /// An entry of which a part was read.
    begun: Option<Begun>,
}

/// What the engine sends.
struct Sent {
    tail: Tail,
    /// What was taken of it before anyone asked.
    next: Option<(u64, Vec<u8>)>,
    /// Position of the last message that was returned.
    position: u64,
    /// When it was last looked whether it is silent for a reason.
    looked: Instant,
}

struct Begun {
    /// Position behind which the entry is looked for.
    after: u64,
    /// Position of the last message that was read of it.
    through: u64,
    joiner: Joiner,
}

impl Sent {
    /// Returns what was sent next, if that is the message that follows; an error if nothing that
    /// is sent can be relied on any more.
    fn take(&mut self) -> std::result::Result<Option<Vec<u8>>, Broken> {
        use tokio::sync::mpsc::error::TryRecvError;
        loop {
            let next = match self.next.take() {
                Some(next) => next,
                None => match self.tail.try_recv() {
                    Ok(next) => next,
                    Err(TryRecvError::Empty) => return Ok(None),
                    Err(TryRecvError::Disconnected) => return Err(Broken),
                },
            };
            match next {
                (at, _) if at <= self.position => {}
                (at, message) if at == self.position + 1 => {
                    self.position = at;
                    self.looked = Instant::now();
                    return Ok(Some(message));
                }
                _ => return Err(Broken),
            }
        }
    }
}

/// Says that the engine has stopped sending, or has left something out.
struct Broken;

impl Reader {
    /// A reader of a log that is there.
    pub fn new(broker: Arc<dyn Broker>, log: &str) -> Self {
        Self {
            broker,
            log: log.to_owned(),
            sent: None,
            begun: None,
        }
    }

    /// Returns the message that follows that at `after`, and its position; `None` if there is none
    /// yet.
    ///
    /// # Errors
    ///
    /// Those of [`Broker::message_after`]. A reader that was silent for less than a second says
    /// nothing of an engine that is away.
    pub fn message_after(&mut self, after: u64) -> Result<Option<(u64, Vec<u8>)>> {
        if let Some(sent) = self.sent.as_mut().filter(|it| it.position == after) {
            match sent.take() {
                Ok(Some(message)) => return Ok(Some((after + 1, message))),
                Ok(None) if sent.looked.elapsed() < LOOK => return Ok(None),
                Ok(None) => {
                    sent.looked = Instant::now();
                    let found = self.broker.message_after(&self.log, after);
                    if !matches!(found, Ok(None)) {
                        self.sent = None;
                    }
                    return found;
                }
                Err(Broken) => {}
            }
        }
        self.sent = None;
        let found = self.broker.message_after(&self.log, after)?;
        if found.is_none() {
            self.listen(after);
        }
        Ok(found)
    }

    /// Returns the first whole entry whose first message is behind `after`, and the position of its
    /// last one; `None` if there is none yet.
    ///
    /// # Errors
    ///
    /// Those of [`message_after`](Self::message_after).
    pub fn entry_after(&mut self, after: u64) -> Result<Option<(u64, Vec<u8>)>> {
        let begun = self.begun.take().filter(|it| it.after == after);
        let mut begun = begun.unwrap_or_else(|| Begun {
            after,
            through: after,
            joiner: Joiner::default(),
        });
        while let Some((at, message)) = self.message_after(begun.through)? {
            begun.through = at;
            if let Some(entry) = begun.joiner.add(&message) {
                return Ok(Some((at, entry)));
            }
        }
        self.begun = Some(begun);
        Ok(None)
    }

    /// Waits until something may have come, so long at most. Nothing is lost where it is given up.
    pub async fn arrives(&mut self, wait: Duration) {
        let Some(sent) = &mut self.sent else {
            tokio::time::sleep(wait.min(POLL)).await;
            return;
        };
        if sent.next.is_some() {
            return;
        }
        match tokio::time::timeout(wait, sent.tail.recv()).await {
            Ok(Some(next)) => sent.next = Some(next),
            Ok(None) => self.sent = None,
            Err(_) => {}
        }
    }

    /// Lets the engine send what comes behind a position.
    fn listen(&mut self, after: u64) {
        match self.broker.tail(&self.log, after) {
            Ok(tail) => {
                self.sent = Some(Sent {
                    tail,
                    next: None,
                    position: after,
                    looked: Instant::now(),
                });
            }
            // It is asked for instead.
            Err(error) => tracing::debug!(log = self.log, %error, "the engine does not send"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::broker::{Error, Memory};

    fn reader(engine: &Memory) -> (Reader, Arc<Memory>) {
        let connection = Arc::new(engine.connect());
        let broker = Arc::clone(&connection) as Arc<dyn Broker>;
        (Reader::new(broker, "a"), connection)
    }

    #[test]
    fn what_is_sent_takes_no_request() {
        let engine = Memory::start(100);
        engine.create("a").unwrap();
        engine.append("a", 0, b"first").unwrap();
        let (mut reader, connection) = reader(&engine);
        assert_eq!(reader.message_after(0).unwrap().unwrap().0, 1);
        assert_eq!(reader.message_after(1), Ok(None));
        let before = connection.requests();
        for at in 1..50 {
            engine.append("a", at, b"next").unwrap();
            assert_eq!(reader.message_after(at).unwrap().unwrap().0, at + 1);
            assert_eq!(reader.message_after(at + 1), Ok(None));
        }
        assert_eq!(connection.requests(), before);
    }

    #[test]
    fn it_waits_until_something_comes() {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build();
        let engine = Memory::start(100);
        engine.create("a").unwrap();
        let (mut reader, _) = reader(&engine);
        assert_eq!(reader.message_after(0), Ok(None));
        let arrived = runtime.unwrap().block_on(async {
            let hour = Duration::from_hours(1);
            let ((), ()) = tokio::join!(reader.arrives(hour), async {
                tokio::time::sleep(hour / 2).await;
                engine.append("a", 0, b"first").unwrap();
            });
            reader.message_after(0)
        });
        assert_eq!(arrived.unwrap().unwrap().0, 1);
    }

    /// What happens while a log is read.
    #[derive(Debug, Clone)]
    enum Event {
        Append(usize),
        Read,
        /// Everything that is sent stops.
        CutOff,
        Trim(u64),
        /// The end of the log is lost.
        Lose(u64),
        Silence,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0..60_usize).prop_map(Event::Append),
            4 => Just(Event::Read),
            1 => Just(Event::CutOff),
            1 => (0..3_u64).prop_map(Event::Trim),
            1 => (0..3_u64).prop_map(Event::Lose),
            1 => Just(Event::Silence),
        ]
    }

    proptest! {
        /// It returns each entry once, in their order, whatever becomes of what is sent.
        #[test]
        fn it_reads_what_is_there(events in prop::collection::vec(event(), 0..40)) {
            let engine = Memory::start(30);
            engine.create("a").unwrap();
            let (mut reader, connection) = reader(&engine);
            // What was appended, by its first position, with its last one, and what was read.
            let mut entries: BTreeMap<u64, (u64, Vec<u8>)> = BTreeMap::new();
            let mut after = 0;
            for event in events {
                let end = engine.end("a").unwrap();
                match event {
                    Event::Append(length) => {
                        let entry = vec![length as u8; length];
                        let at = engine.append("a", end, &entry).unwrap();
                        entries.insert(end + 1, (at, entry));
                    }
                    Event::CutOff => {
                        connection.cut_off(true);
                        connection.cut_off(false);
                    }
                    Event::Trim(kept) => engine.trim("a", end.saturating_sub(kept)).unwrap(),
                    Event::Lose(lost) => {
                        let end = end.saturating_sub(lost);
                        engine.lose_tail("a", end);
                        entries.retain(|_, (at, _)| *at <= end);
                        // Who finds that begins anew.
                        reader = Reader::new(Arc::clone(&connection) as Arc<dyn Broker>, "a");
                        after = after.min(end);
                    }
                    Event::Silence => {
                        if let Some(sent) = &mut reader.sent {
                            sent.looked = Instant::now().checked_sub(LOOK).unwrap();
                        }
                    }
                    Event::Read => match reader.entry_after(after) {
                        // What was sent before it was trimmed is read all the same.
                        Err(Error::Trimmed { first }) => {
                            let expected = engine.next("a", after);
                            prop_assert_eq!(expected, Err(Error::Trimmed { first }));
                            after = first - 1;
                        }
                        Ok(Some((at, entry))) => {
                            let next = entries.range(after + 1..).next();
                            prop_assert_eq!(next.map(|it| it.1), Some(&(at, entry)));
                            after = at;
                        }
                        other => {
                            prop_assert_eq!(other, Ok(None));
                            prop_assert!(!matches!(engine.next("a", after), Ok(Some(_))));
                        }
                    },
                }
            }
        }
    }
}
