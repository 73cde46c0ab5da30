//! Whether an engine does what the workers of a crawl rely on: of writers that race for the end of
//! a log one wins. And what of its settings is to be changed.

use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::rows::drawn;
use super::terms::terms;
use crate::broker::{About, Address, Broker, Error, Nats, Result};

/// Writers that race.
const WRITERS: usize = 3;

/// Questions about what became of an append that was not answered.
const TRIES: usize = 20;

/// Streams of a crawl beside the two of each shard: rows, seeds, documents.
const STREAMS: u64 = 3;

/// Bytes that an engine should have room for at least: some minutes of a fast crawl, and what is
/// kept for a worker that is away.
const ROOM: u64 = 16 << 30;

/// What was found of an engine.
#[derive(Debug, Clone)]
pub struct EngineCheck {
    /// What it says of itself.
    pub about: About,
    /// What came of the race.
    pub race: Race,
    /// What is wrong or could be better, the worst first.
    pub findings: Vec<Finding>,
}

impl EngineCheck {
    /// Whether a crawl can rely on the engine.
    pub fn is_fit(&self) -> bool {
        self.findings.iter().all(|finding| !finding.is_bad)
    }
}

/// What is to be said of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether no crawl can rely on it like this.
    pub is_bad: bool,
    /// What it is, and what to do.
    pub text: String,
}

/// What came of a race of three writers for the end of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Race {
    /// Times that they raced.
    pub rounds: usize,
    /// Times that several won.
    pub doubled: usize,
    /// Times that nobody did.
    pub lost: usize,
    /// The time that half of the appends took at most.
    pub half: Duration,
    /// The time that all but a hundredth of them took at most.
    pub most: Duration,
}

/// Checks an engine: races so many times, on a log of its own, which is removed again.
///
/// # Errors
///
/// [`Error::Refused`] if the server is too old or has no JetStream, [`Error::Away`] if it does not
/// answer.
pub fn check(address: &Address, rounds: usize) -> Result<EngineCheck> {
    let first = Nats::connect(address)?;
    let shards = terms(&first)?.map(|terms| terms.shards);
    let number = u64::from_le_bytes(drawn()?);
    let log = format!("check{number:016x}");
    first.create(&log)?;
    let writers = (0..WRITERS).map(|_| Ok(Arc::new(Nats::connect(address)?) as Arc<dyn Broker>));
    let writers: Result<Vec<_>> = writers.collect();
    let raced = writers.and_then(|writers| race(&writers, &log, rounds));
    let about = first.about(&log);
    let removed = first.remove(&log);
    let (race, about) = (raced?, about?);
    removed?;
    Ok(EngineCheck {
        findings: findings(&about, &race, shards),
        about,
        race,
    })
}

/// What each writer says after a round.
type Said = Vec<Result<(bool, Duration)>>;

/// Lets writers race for the end of a log.
fn race(writers: &[Arc<dyn Broker>], log: &str, rounds: usize) -> Result<Race> {
    let barrier = Barrier::new(writers.len());
    let said: Mutex<Vec<Said>> = Mutex::new((0..rounds).map(|_| Vec::new()).collect());
    thread::scope(|scope| {
        for (writer, broker) in (0_u8..).zip(writers) {
            let (barrier, said) = (&barrier, &said);
            scope.spawn(move || {
                for round in 0..rounds {
                    // Nobody writes between two rounds.
                    let end = patiently(|| broker.end(log));
                    barrier.wait();
                    let start = Instant::now();
                    let won = end.and_then(|end| has_won(&**broker, log, end, writer));
                    let won = won.map(|won| (won, start.elapsed()));
                    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(round) = said.get_mut(round) {
                        round.push(won);
                    }
                    drop(said);
                    barrier.wait();
                }
            });
        }
    });
    let said = said.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut race = Race {
        rounds,
        ..Race::default()
    };
    let mut times = Vec::new();
    for round in said {
        let mut winners = 0;
        for won in round {
            let (has_won, took) = won?;
            if has_won {
                winners += 1;
                times.push(took);
            }
        }
        race.doubled += usize::from(winners > 1);
        race.lost += usize::from(winners == 0);
    }
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 100).copied();
    race.half = at(50).unwrap_or_default();
    race.most = at(99).unwrap_or_default();
    Ok(race)
}

/// Appends at the end that is given. Returns whether the append is there.
fn has_won(broker: &dyn Broker, log: &str, end: u64, writer: u8) -> Result<bool> {
    match broker.append(log, end, &[writer]) {
        Ok(_) => Ok(true),
        Err(Error::Moved) => Ok(false),
        Err(Error::Away(_)) => {
            let entry = patiently(|| broker.next(log, end))?;
            Ok(entry.is_some_and(|(_, entry)| entry == [writer]))
        }
        Err(error) => Err(error),
    }
}

/// Asks again while there is no answer.
fn patiently<T>(ask: impl Fn() -> Result<T>) -> Result<T> {
    let mut answer = ask();
    for _ in 0..TRIES {
        match answer {
            Err(Error::Away(_)) => answer = ask(),
            answer => return answer,
        }
    }
    answer
}

/// What is wrong or could be better. Pure.
fn findings(about: &About, race: &Race, shards: Option<u16>) -> Vec<Finding> {
    let bad = |text: String| Finding { is_bad: true, text };
    let note = |text: String| Finding {
        is_bad: false,
        text,
    };
    let mut found = Vec::new();
    if race.doubled + race.lost > 0 {
        found.push(bad(format!(
            "in {} of {} races for the end of a log not one writer won: two workers could commit \
             the same shard. Do not use this server",
            race.doubled + race.lost,
            race.rounds
        )));
    }
    let needed = 2 * u64::from(shards.unwrap_or(16)) + STREAMS;
    if let Some(most) = about.max_streams.filter(|most| *most < needed) {
        found.push(bad(format!(
            "the account may have {most} streams, and a crawl of {} shards needs {needed}: raise \
             max_streams",
            shards.unwrap_or(16)
        )));
    }
    for server in about.servers.iter().filter(|it| it.is_offline) {
        found.push(bad(format!(
            "server {} is away: another one that fails stops the crawl",
            server.name
        )));
    }
    let behind = about.servers.iter().filter(|it| !it.is_offline);
    for server in behind.filter(|it| !it.is_current) {
        found.push(note(format!("server {} is behind its leader", server.name)));
    }
    if about.replicas < 3 {
        found.push(note(
            "one server: while it is away no page is committed, and if its disk is lost the crawl \
             goes on from what the workers have. Three servers on machines of their own go on \
             without one"
                .to_owned(),
        ));
    }
    if let Some(most) = about.max_stored {
        if about.stored.saturating_mul(5) > most.saturating_mul(4) {
            found.push(bad(format!(
                "{} of the {} MB that JetStream may store are in use: raise max_file_store",
                about.stored >> 20,
                most >> 20
            )));
        } else if most < ROOM {
            found.push(note(format!(
                "JetStream may store {} MB: set max_file_store to {} MB or more, where there is \
                 room",
                most >> 20,
                ROOM >> 20
            )));
        }
    }
    if about.max_message < (1 << 20) - (1 << 12) {
        found.push(note(format!(
            "messages may have {} bytes: with max_payload at its default of 1 MB, entries go in \
             fewer parts",
            about.max_message
        )));
    }
    found.push(note(
        "sync_interval cannot be read from here. Without it a server writes to its disk every two \
         minutes: where servers share power, set `sync_interval: always` in the block jetstream"
            .to_owned(),
    ));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::{Memory, Peer};

    /// An engine that appends wherever its log ends, as old servers do now and then.
    struct Sloppy(Memory);

    impl Broker for Sloppy {
        fn create(&self, log: &str) -> Result<()> {
            self.0.create(log)
        }
        fn end(&self, log: &str) -> Result<u64> {
            self.0.end(log)
        }
        fn append_message(&self, log: &str, _: u64, message: &[u8]) -> Result<u64> {
            self.0.publish(log, message)?;
            self.0.end(log)
        }
        fn publish(&self, log: &str, message: &[u8]) -> Result<()> {
            self.0.publish(log, message)
        }
        fn message_after(&self, log: &str, after: u64) -> Result<Option<(u64, Vec<u8>)>> {
            self.0.message_after(log, after)
        }
        fn tail(&self, log: &str, after: u64) -> Result<crate::broker::Tail> {
            self.0.tail(log, after)
        }
        fn max_message(&self) -> usize {
            self.0.max_message()
        }
        fn trim(&self, log: &str, through: u64) -> Result<()> {
            self.0.trim(log, through)
        }
        fn bytes(&self, log: &str) -> Result<u64> {
            self.0.bytes(log)
        }
        fn row(&self, name: &str) -> Result<Option<(u64, Vec<u8>)>> {
            self.0.row(name)
        }
        fn put_row(&self, name: &str, version: u64, row: &[u8]) -> Result<u64> {
            self.0.put_row(name, version, row)
        }
    }

    #[test]
    fn of_writers_that_race_one_wins_or_it_is_found() {
        let engine = Memory::start(1_000);
        engine.create("race").unwrap();
        let connect = |_| Arc::new(engine.connect()) as Arc<dyn Broker>;
        let sound: Vec<_> = (0..3).map(connect).collect();
        let raced = race(&sound, "race", 40).unwrap();
        assert_eq!((raced.rounds, raced.doubled, raced.lost), (40, 0, 0));
        let connect = |_| Arc::new(Sloppy(engine.connect())) as Arc<dyn Broker>;
        let sloppy: Vec<_> = (0..3).map(connect).collect();
        let raced = race(&sloppy, "race", 10).unwrap();
        assert_eq!((raced.doubled, raced.lost), (10, 0));
    }

    fn about() -> About {
        let server = |name: &str| Peer {
            name: name.to_owned(),
            is_current: true,
            is_offline: false,
        };
        About {
            version: "2.11.0".to_owned(),
            replicas: 3,
            servers: ["a", "b", "c"].map(server).into(),
            max_message: 1 << 20,
            stored: 1 << 20,
            max_stored: Some(64 << 30),
            streams: 5,
            max_streams: None,
        }
    }

    #[test]
    fn what_is_well_is_not_complained_of() {
        let found = findings(&about(), &Race::default(), Some(16));
        let [only] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(!only.is_bad && only.text.contains("sync_interval"));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_do() {
        let check = |about: About, race: Race, is_bad: bool, part: &str| {
            let found = findings(&about, &race, Some(16));
            assert_eq!(found[0].is_bad, is_bad, "{found:?}");
            assert!(found[0].text.contains(part), "{found:?}");
        };
        let raced = Race {
            rounds: 400,
            doubled: 355,
            ..Race::default()
        };
        check(about(), raced, true, "355 of 400 races");
        let none = Race::default();
        let mut few = about();
        few.max_streams = Some(20);
        check(few, none.clone(), true, "needs 35");
        let mut full = about();
        full.stored = 60 << 30;
        check(full, none.clone(), true, "max_file_store");
        let mut small = about();
        small.max_stored = Some(1 << 30);
        check(small, none.clone(), false, "1024 MB");
        let mut away = about();
        away.servers[1].is_offline = true;
        check(away, none.clone(), true, "server b is away");
        let alone = About {
            replicas: 1,
            servers: Vec::new(),
            ..about()
        };
        check(alone, none, false, "one server");
    }
}
