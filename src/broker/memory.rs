//! An engine in memory: the model that others must match, which also breaks whatever may break
//! between a worker and an engine, on demand.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{Sender, channel};

use super::{Broker, Error, Result, Tail};

/// What happens to a request that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: it is done, and answered.
    None,
    /// It is lost.
    RequestLost,
    /// It is done, and the answer is lost.
    AnswerLost,
    /// There is no answer, and it is done after so many further requests of anyone.
    Delayed(u8),
}

/// A connection to an engine that lives as long as the process.
#[derive(Debug)]
pub struct Memory {
    engine: Arc<Mutex<Engine>>,
    connection: Mutex<Connection>,
    /// Number of the connection.
    number: u64,
}

/// Number of messages that are on their way to one reader at most.
const SENT: usize = 1_024;

/// What may break of a connection.
#[derive(Debug, Default)]
struct Connection {
    /// What happens to the next requests that write.
    faults: VecDeque<Fault>,
    is_cut_off: bool,
    requests: u64,
}

/// The engine, for all connections.
#[derive(Debug)]
struct Engine {
    logs: BTreeMap<String, Log>,
    rows: BTreeMap<String, (u64, Vec<u8>)>,
    /// Writes that are on their way, and after how many requests they arrive.
    delayed: Vec<(u8, Write)>,
    max_message: usize,
    /// Number of connections so far.
    connections: u64,
    listeners: Vec<Listener>,
}

/// Who is sent what comes.
#[derive(Debug)]
struct Listener {
    log: String,
    connection: u64,
    sender: Sender<(u64, Vec<u8>)>,
}

#[derive(Debug, Default)]
struct Log {
    end: u64,
    messages: BTreeMap<u64, Vec<u8>>,
}

/// A request that writes.
#[derive(Debug, Clone)]
enum Write {
    Append {
        log: String,
        /// Where the log has to end, if that matters.
        after: Option<u64>,
        message: Vec<u8>,
    },
    Row {
        name: String,
        version: u64,
        row: Vec<u8>,
    },
}

impl Engine {
    fn log(&mut self, name: &str) -> Result<&mut Log> {
        let log = self.logs.get_mut(name);
        log.ok_or_else(|| Error::Missing(name.to_owned()))
    }

    fn write(&mut self, write: Write) -> Result<u64> {
        match write {
            Write::Append {
                log,
                after,
                message,
            } => {
                let name = log;
                let log = self.log(&name)?;
                if after.is_some_and(|after| log.end != after) {
                    return Err(Error::Moved);
                }
                log.end += 1;
                let end = log.end;
                log.messages.insert(end, message.clone());
                // Who does not keep up is sent no more.
                self.listeners.retain(|it| {
                    it.log != name || it.sender.try_send((end, message.clone())).is_ok()
                });
                Ok(end)
            }
            Write::Row { name, version, row } => {
                let known = self.rows.get(&name).map_or(0, |(version, _)| *version);
                if known != version {
                    return Err(Error::Moved);
                }
                self.rows.insert(name, (version + 1, row));
                Ok(version + 1)
            }
        }
    }

    /// A request arrives: what was on its way until now arrives before it.
    fn arrive(&mut self) {
        let (due, waiting) = std::mem::take(&mut self.delayed)
            .into_iter()
            .partition::<Vec<_>, _>(|(after, _)| *after == 0);
        let nearer = waiting.into_iter().map(|(after, write)| (after - 1, write));
        self.delayed = nearer.collect();
        for (_, write) in due {
            // Nobody waits for the answer.
            let _ = self.write(write);
        }
    }
}

impl Memory {
    /// Starts an engine whose messages have at most so many bytes.
    pub fn start(max_message: usize) -> Self {
        let engine = Engine {
            logs: BTreeMap::new(),
            rows: BTreeMap::new(),
            delayed: Vec::new(),
            max_message,
            connections: 0,
            listeners: Vec::new(),
        };
        Self {
            engine: Arc::new(Mutex::new(engine)),
            connection: Mutex::default(),
            number: 0,
        }
    }

    /// Opens another connection to the same engine.
    #[must_use]
    pub fn connect(&self) -> Self {
        let mut engine = self.engine();
        engine.connections += 1;
        Self {
            engine: Arc::clone(&self.engine),
            connection: Mutex::default(),
            number: engine.connections,
        }
    }

    /// Lets faults happen to the next requests of this connection that write, one each.
    pub fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.connection().faults.extend(faults);
    }

    /// Cuts this connection off, or lets it through again.
    pub fn cut_off(&self, is_cut_off: bool) {
        self.connection().is_cut_off = is_cut_off;
        let mut engine = self.engine();
        engine.listeners.retain(|it| it.connection != self.number);
    }

    /// Returns the number of requests of this connection.
    pub fn requests(&self) -> u64 {
        self.connection().requests
    }

    /// Lets the engine forget what a log has behind a position, acknowledged or not.
    pub fn lose_tail(&self, log: &str, through: u64) {
        let mut engine = self.engine();
        if let Ok(log) = engine.log(log) {
            log.messages.retain(|at, _| *at <= through);
            log.end = log.end.min(through);
        }
    }

    /// Lets the engine forget everything, as if its disks were lost.
    pub fn lose_all(&self) {
        let mut engine = self.engine();
        engine.logs.clear();
        engine.rows.clear();
        engine.delayed.clear();
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        let connection = self.connection.lock();
        connection.unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine as a request finds it that arrives now.
    fn reach(&self) -> Result<MutexGuard<'_, Engine>> {
        let mut connection = self.connection();
        connection.requests += 1;
        if connection.is_cut_off {
            return Err(Error::Away("the connection is cut off".to_owned()));
        }
        drop(connection);
        let mut engine = self.engine();
        engine.arrive();
        Ok(engine)
    }

    fn write(&self, write: Write) -> Result<u64> {
        let fault = self.connection().faults.pop_front();
        let mut engine = self.reach()?;
        let lost = |what: &str| Err(Error::Away(format!("{what} was lost")));
        match fault.unwrap_or(Fault::None) {
            Fault::None => engine.write(write),
            Fault::RequestLost => lost("the request"),
            Fault::AnswerLost => {
                let _ = engine.write(write);
                lost("the answer")
            }
            Fault::Delayed(requests) => {
                engine.delayed.push((requests, write));
                lost("the answer")
            }
        }
    }
}

impl Memory {
    fn append_behind(&self, log: &str, after: Option<u64>, message: &[u8]) -> Result<u64> {
        let max = self.max_message();
        if message.len() > max {
            return Err(Error::Refused(format!("a message has at most {max} bytes")));
        }
        self.write(Write::Append {
            log: log.to_owned(),
            after,
            message: message.to_vec(),
        })
    }
}

impl Broker for Memory {
    fn create(&self, log: &str) -> Result<()> {
        self.reach()?.logs.entry(log.to_owned()).or_default();
        Ok(())
    }

    fn end(&self, log: &str) -> Result<u64> {
        Ok(self.reach()?.log(log)?.end)
    }

    fn append_message(&self, log: &str, after: u64, message: &[u8]) -> Result<u64> {
        self.append_behind(log, Some(after), message)
    }

    fn publish(&self, log: &str, message: &[u8]) -> Result<()> {
        self.append_behind(log, None, message).map(drop)
    }

    fn message_after(&self, log: &str, after: u64) -> Result<Option<(u64, Vec<u8>)>> {
        let mut engine = self.reach()?;
        let log = engine.log(log)?;
        match log.messages.range(after + 1..).next() {
            None => Ok(None),
            Some((&at, message)) if at == after + 1 => Ok(Some((at, message.clone()))),
            Some((&first, _)) => Err(Error::Trimmed { first }),
        }
    }

    fn tail(&self, log: &str, after: u64) -> Result<Tail> {
        let mut engine = self.reach()?;
        let (sender, tail) = channel(SENT);
        for (at, message) in engine.log(log)?.messages.range(after + 1..) {
            // The rest is asked for.
            let _ = sender.try_send((*at, message.clone()));
        }
        engine.listeners.push(Listener {
            log: log.to_owned(),
            connection: self.number,
            sender,
        });
        Ok(tail)
    }

    fn max_message(&self) -> usize {
        self.engine().max_message
    }

    fn trim(&self, log: &str, through: u64) -> Result<()> {
        let mut engine = self.reach()?;
        let log = engine.log(log)?;
        let end = log.end;
        log.messages.retain(|at, _| *at > through || *at == end);
        Ok(())
    }

    fn bytes(&self, log: &str) -> Result<u64> {
        let mut engine = self.reach()?;
        let messages = engine.log(log)?.messages.values();
        Ok(messages.map(|it| it.len() as u64).sum())
    }

    fn row(&self, name: &str) -> Result<Option<(u64, Vec<u8>)>> {
        Ok(self.reach()?.rows.get(name).cloned())
    }

    fn put_row(&self, name: &str, version: u64, row: &[u8]) -> Result<u64> {
        self.write(Write::Row {
            name: name.to_owned(),
            version,
            row: row.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_its_way_arrives_later_or_finds_the_end_moved() {
        let ours = Memory::start(100);
        let others = ours.connect();
        ours.create("a").unwrap();
        ours.fail([Fault::Delayed(1), Fault::AnswerLost, Fault::RequestLost]);
        assert!(matches!(ours.append("a", 0, b"late"), Err(Error::Away(_))));
        assert_eq!(others.end("a"), Ok(0));
        assert_eq!(others.end("a"), Ok(1));
        assert!(matches!(ours.append("a", 1, b"there"), Err(Error::Away(_))));
        assert!(matches!(ours.append("a", 2, b"lost"), Err(Error::Away(_))));
        assert_eq!(others.end("a"), Ok(2));
        ours.fail([Fault::Delayed(0)]);
        assert!(ours.append("a", 2, b"first").is_err());
        // It arrives just before this one.
        assert_eq!(others.append("a", 2, b"second"), Err(Error::Moved));
        let entry = |after| others.next("a", after).unwrap().unwrap().1;
        assert_eq!(
            [entry(0), entry(1), entry(2)],
            [&b"late"[..], b"there", b"first"]
        );
        ours.cut_off(true);
        assert!(matches!(ours.end("a"), Err(Error::Away(_))));
        assert_eq!(others.end("a"), Ok(3));
    }
}
