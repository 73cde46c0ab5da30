//! Making a copy of a shard out of its owner's, over a log of the engine: the owner gives what the
//! rows and files of its directory have, a part at a time, and whoever makes the copy takes it. And
//! making a copy of a library out of another worker's, in the same way.
//!
//! What is on its way is bounded, since the owner gives no more than a window of what was not taken
//! yet. Either may be killed at any moment: what is taken next stands in a row of the engine, and
//! on the disk of who takes it; the owner remembers nothing that it could not begin again with.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Copies, Copy, Wish};
use crate::broker::{self, Broker};
use crate::cluster::rows::drawn;
use crate::engine::library::{LibraryCursor, LibrarySource};
use crate::engine::{self, CopyChunk, CopyCursor, CopyId, CopySource, CopyStep, Copying, Options};

/// Bytes that are on their way to a copy at most, one part aside.
const WINDOW: usize = 8 << 20;

/// Bytes after which whoever takes them says so.
const TOLD: usize = WINDOW / 4;

/// Time after which what was not taken is given again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest wait of either while there is nothing to do.
const IDLE: Duration = Duration::from_secs(1);

/// First wait of either for the other.
const BUSY: Duration = Duration::from_millis(20);

/// What copies are made from.
pub(in crate::cluster) trait Source {
    /// Says what a copy is given next.
    type Cursor: Clone + PartialEq + Serialize + DeserializeOwned;

    /// The same, for another copy.
    fn another(&self) -> Self;

    /// Returns what a copy is given behind a cursor, as bytes, and what follows: the end follows
    /// itself.
    fn chunk(
        &mut self,
        id: CopyId,
        from: &Self::Cursor,
    ) -> Result<(Vec<u8>, Self::Cursor), engine::Error>;
}

impl Source for CopySource {
    type Cursor = CopyCursor;

    fn another(&self) -> Self {
        self.another()
    }

    fn chunk(
        &mut self,
        id: CopyId,
        from: &CopyCursor,
    ) -> Result<(Vec<u8>, CopyCursor), engine::Error> {
        let chunk = self.chunk(id, from)?;
        Ok((chunk.encode(), chunk.to))
    }
}

impl Source for LibrarySource {
    type Cursor = LibraryCursor;

    fn another(&self) -> Self {
        self.clone()
    }

    fn chunk(
        &mut self,
        id: CopyId,
        from: &LibraryCursor,
    ) -> Result<(Vec<u8>, LibraryCursor), engine::Error> {
        let chunk = LibrarySource::chunk(self, id, from)?;
        Ok((chunk.encode(), chunk.to))
    }
}

/// Waits; returns whether to go on.
fn goes_on(ended: &Receiver<()>, wait: Duration) -> bool {
    ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout)
}

/// The wait that follows one in which nothing came.
fn longer(wait: Duration) -> Duration {
    (wait * 2).clamp(BUSY, IDLE)
}

/// Who has something of which others make copies, such as the owner of a shard.
pub(in crate::cluster) struct Giver<S: Source> {
    broker: Arc<dyn Broker>,
    copies: Copies<S::Cursor>,
    source: S,
    log: String,
    /// Where the log ends, if that is known.
    end: Option<u64>,
    /// Up to where it was trimmed.
    trimmed: u64,
    given: BTreeMap<String, Given<S>>,
}

/// What was given to one of them.
struct Given<S: Source> {
    source: S,
    /// What it wished for last.
    wish: Wish<S::Cursor>,
    /// What is given next.
    next: S::Cursor,
    /// Whether all is given.
    is_over: bool,
    /// What is on its way: what follows each part, its bytes, and its position in the log.
    on_way: VecDeque<(S::Cursor, usize, u64)>,
    /// When it took something last.
    moved: Instant,
}

impl<S: Source> Given<S> {
    fn new(source: &S, wish: &Wish<S::Cursor>) -> Self {
        Self {
            source: source.another(),
            wish: wish.clone(),
            next: wish.next.clone(),
            is_over: false,
            on_way: VecDeque::new(),
            moved: Instant::now(),
        }
    }

    /// Notes what it wishes for now.
    fn hear(&mut self, wish: &Wish<S::Cursor>) {
        let is_known = (wish.process, wish.id) == (self.wish.process, self.wish.id);
        let is_next = |it: &(S::Cursor, usize, u64)| it.0 == wish.next;
        if is_known && *wish == self.wish {
            let is_late = self.moved.elapsed() >= PATIENCE;
            if !is_late || self.on_way.is_empty() {
                return;
            }
        } else if is_known && let Some(at) = self.on_way.iter().position(is_next) {
            self.on_way.drain(..=at);
            self.wish = wish.clone();
            self.moved = Instant::now();
            return;
        }
        // It begins, was killed, or something was lost on its way.
        *self = Self::new(&self.source, wish);
    }

    fn bytes(&self) -> usize {
        self.on_way.iter().map(|it| it.1).sum()
    }
}

/// Why a turn ends early.
enum Trouble {
    /// The crawl of the shard is over, or cannot be read.
    Source(engine::Error),
    /// The engine does not do what it is asked for.
    Engine(broker::Error),
}

impl From<broker::Error> for Trouble {
    fn from(error: broker::Error) -> Self {
        Self::Engine(error)
    }
}

impl<S: Source> Giver<S> {
    pub(in crate::cluster) fn new(
        broker: Arc<dyn Broker>,
        copies: Copies<S::Cursor>,
        source: S,
    ) -> Self {
        Self {
            broker,
            log: copies.log(),
            copies,
            source,
            end: None,
            trimmed: 0,
            given: BTreeMap::new(),
        }
    }

    /// Gives until the crawl of the shard is over, or until asked to end; only while it is its turn
    /// to do so.
    pub(in crate::cluster) fn run(
        mut self,
        ended: &Receiver<()>,
        mut is_its_turn: impl FnMut(&BTreeMap<String, Copy<S::Cursor>>) -> broker::Result<bool>,
    ) {
        let mut wait = BUSY;
        while goes_on(ended, wait) {
            wait = match self.turn(&mut is_its_turn) {
                Ok(true) => BUSY,
                Ok(false) => longer(wait),
                Err(Trouble::Source(engine::Error::Over(_))) => return,
                Err(Trouble::Source(error)) => {
                    tracing::error!(%error, "no copy can be made from here");
                    IDLE
                }
                Err(Trouble::Engine(error)) => {
                    tracing::debug!(%error, "no copies are made for the moment");
                    self.end = None;
                    IDLE
                }
            };
        }
    }

    /// Gives to each copy what it wishes for, if it is its turn. Returns whether it gave something.
    fn turn(
        &mut self,
        is_its_turn: &mut impl FnMut(&BTreeMap<String, Copy<S::Cursor>>) -> broker::Result<bool>,
    ) -> Result<bool, Trouble> {
        let mut has_given = false;
        let copies = self.copies.read()?;
        if !is_its_turn(&copies)? {
            return Ok(false);
        }
        let wish = |name: &String| copies.get(name).and_then(|it| it.wish.as_ref());
        self.given.retain(|name, _| wish(name).is_some());
        for (name, copy) in &copies {
            let Some(wish) = &copy.wish else {
                continue;
            };
            let given = self.given.entry(name.clone());
            let given = given.or_insert_with(|| Given::new(&self.source, wish));
            given.hear(wish);
            while !given.is_over && given.bytes() < WINDOW {
                let chunk = given.source.chunk(given.wish.id, &given.next);
                let (bytes, to) = chunk.map_err(Trouble::Source)?;
                let end = match self.end {
                    Some(end) => end,
                    None => {
                        self.broker.create(&self.log)?;
                        self.broker.end(&self.log)?
                    }
                };
                // Another owner may write there too, for a moment.
                self.end = None;
                let at = self.broker.append(&self.log, end, &bytes)?;
                self.end = Some(at);
                has_given = true;
                given.is_over = given.next == to;
                given.next = to;
                given
                    .on_way
                    .push_back((given.next.clone(), bytes.len(), at));
            }
        }
        self.trim()?;
        Ok(has_given)
    }

    /// Removes from the log what all have taken.
    fn trim(&mut self) -> Result<(), Trouble> {
        let Some(end) = self.end else {
            return Ok(());
        };
        let first = self.given.values().filter_map(|it| it.on_way.front());
        let first = first.map(|it| it.2).min();
        let through = first.map_or(end, |first| first.saturating_sub(1));
        if through > self.trimmed {
            self.broker.trim(&self.log, through)?;
            self.trimmed = through;
        }
        Ok(())
    }
}

/// A worker that makes a copy.
pub(in crate::cluster) struct Taker<C = CopyCursor> {
    broker: Arc<dyn Broker>,
    copies: Copies<C>,
    log: String,
    process: [u8; 8],
    /// Position of the last part that was read.
    position: Option<u64>,
    /// What it said last.
    told: Option<Copy<C>>,
    /// Bytes that it has taken since.
    taken: usize,
    /// When something came last.
    moved: Instant,
}

impl Taker {
    /// Takes until the copy of a shard is complete. Returns `false` if it was asked to end before.
    pub(in crate::cluster) fn run(
        mut self,
        copying: &mut Copying,
        options: &Options,
        ended: &Receiver<()>,
    ) -> Result<bool, engine::Error> {
        let mut wait = Duration::ZERO;
        loop {
            wait = match copying.step(options)? {
                CopyStep::Applied => Duration::ZERO,
                CopyStep::AtEnd | CopyStep::Away(_) => longer(wait),
                CopyStep::Chunk => match self.next(copying.wish(), copying.position()) {
                    Ok(Some(bytes)) => {
                        match CopyChunk::decode(&bytes) {
                            Ok(chunk) => drop(copying.take(chunk, options)?),
                            Err(reason) => unreadable(&reason),
                        }
                        Duration::ZERO
                    }
                    Ok(None) => longer(wait),
                    Err(error) => {
                        tracing::debug!(%error, "the copy waits for the engine");
                        IDLE
                    }
                },
                CopyStep::Complete => {
                    let position = copying.position();
                    let wish = None;
                    let told = self.copies.put(&Copy { position, wish });
                    if let Err(error) = told {
                        // It is told again when it follows.
                        tracing::debug!(%error, "the copy was not registered");
                    }
                    return Ok(true);
                }
            };
            if !goes_on(ended, wait) {
                return Ok(false);
            }
        }
    }
}

/// What becomes of a part that is damaged, or of another version: it is given again, or another
/// worker will be able to read it.
pub(in crate::cluster) fn unreadable(reason: &str) {
    tracing::warn!(reason, "a part of a copy cannot be read");
}

impl<C: Clone + PartialEq + Serialize + DeserializeOwned> Taker<C> {
    pub(in crate::cluster) fn new(
        broker: Arc<dyn Broker>,
        copies: Copies<C>,
    ) -> broker::Result<Self> {
        Ok(Self {
            broker,
            log: copies.log(),
            copies,
            process: drawn()?,
            position: None,
            told: None,
            taken: 0,
            moved: Instant::now(),
        })
    }

    /// Says what is needed, of which copy, and up to which position in its log nothing is, and
    /// returns what has come of it.
    pub(in crate::cluster) fn next(
        &mut self,
        wish: (CopyId, C),
        through: u64,
    ) -> broker::Result<Option<Vec<u8>>> {
        let after = match self.position {
            Some(position) => position,
            None => {
                self.broker.create(&self.log)?;
                self.broker.end(&self.log)?
            }
        };
        self.position = Some(after);
        let (id, next) = wish;
        let copy = Copy {
            position: through,
            wish: Some(Wish {
                process: self.process,
                id,
                next,
            }),
        };
        if self.told.is_none() || self.taken >= TOLD {
            self.tell(&copy)?;
        }
        let (at, bytes) = match self.broker.next(&self.log, after) {
            Ok(Some(next)) => next,
            Ok(None) => {
                if self.moved.elapsed() >= PATIENCE {
                    // It may have been dropped meanwhile.
                    self.moved = Instant::now();
                    self.told = None;
                }
                self.tell(&copy)?;
                return Ok(None);
            }
            Err(broker::Error::Trimmed { first }) => {
                self.position = Some(first.saturating_sub(1));
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.position = Some(at);
        self.taken += bytes.len();
        self.moved = Instant::now();
        Ok(Some(bytes))
    }

    fn tell(&mut self, copy: &Copy<C>) -> broker::Result<()> {
        if self.told.as_ref() != Some(copy) {
            self.copies.put(copy)?;
            self.told = Some(copy.clone());
        }
        self.taken = 0;
        Ok(())
    }
}
