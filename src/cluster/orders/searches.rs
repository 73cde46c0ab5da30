//! What a worker does about takedowns on its own disk: it searches the files of shards that others
//! own by now, or own until it takes them over.
//!
//! The directory of a shard has a mark: the position in the list up to which its files have nothing
//! of what was to be forgotten. Whoever crawls the shard there carries orders out by its rows, and
//! moves the mark; otherwise the files are searched, and only for what the shard's owner has
//! carried out, and what has not come back since. So a page that came back is never taken for what
//! it was, however late files are searched.

mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::takedown::{refused, tell_searched};
use crate::broker::{self, Broker};
use crate::cluster::kept;
use crate::cluster::list::{self, Entry};
use crate::cluster::log::log_of;
use crate::cluster::terms::Terms;
use crate::engine::{self, Events, FileSearch, ForgetDone, Options, StopHandle};
use crate::frontier::Selection;
use crate::url::{Identity, Secret};
use state::{Known, Marks, State};

/// Longest wait for something to do.
const WAIT: Duration = Duration::from_millis(200);

/// Time after which a search that failed is made again.
const AGAIN: Duration = Duration::from_mins(1);

/// Name of the file in the worker's directory that says what was searched.
const FILE: &str = "forgotten.json";

/// Name of the directory in the worker's directory for what searches find.
const SCRATCH: &str = "forgetting";

/// Searches the files of a worker.
#[derive(Clone)]
pub(in crate::cluster) struct Searches {
    shared: Arc<(Mutex<State>, Condvar)>,
    broker: Arc<dyn Broker>,
    worker: String,
    directory: PathBuf,
    secret: Secret,
    options: Arc<Options>,
    /// Number of shards of the crawl, and the position behind which its list begins.
    count: u16,
    from: u64,
}

/// The thread that does so.
pub(in crate::cluster) struct Searching {
    searches: Searches,
    thread: JoinHandle<()>,
}

/// While this is there, a shard is crawled here, and its files are left alone.
pub(in crate::cluster) struct Crawled {
    searches: Searches,
    shard: u16,
}

/// While this is there, the files of a shard are searched, and its crawl does not begin.
struct Busy<'a>(&'a Searches);

/// What is to be searched for, and up to which order that is.
struct Sought {
    orders: Vec<u64>,
    selection: Selection,
}

impl Searches {
    /// Of the worker of this name, in its directory.
    pub(in crate::cluster) fn new(
        broker: Arc<dyn Broker>,
        (worker, directory): (&str, &Path),
        terms: &Terms,
        options: &Options,
    ) -> io::Result<Self> {
        let marks: Option<Marks> = kept::read(&directory.join(FILE))?;
        let state = State {
            marks: marks.unwrap_or_default(),
            ..State::default()
        };
        Ok(Self {
            shared: Arc::new((Mutex::new(state), Condvar::new())),
            broker,
            worker: worker.to_owned(),
            directory: directory.to_owned(),
            secret: terms.secret.clone(),
            options: Arc::new(options.clone()),
            count: terms.shards,
            from: terms.seeds_from,
        })
    }

    /// Begins to search on a thread. Others know from now on that this worker does.
    pub(in crate::cluster) fn start(self) -> io::Result<Searching> {
        let own = self.clone();
        let thread = thread::Builder::new().name("takedowns".to_owned());
        Ok(Searching {
            thread: thread.spawn(move || own.run())?,
            searches: self,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let (state, _) = &*self.shared;
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.shared.1.notify_all();
    }

    /// Notes where the list ends, how far the owners of shards are in it, and what is followed
    /// here, if that is known.
    pub(in crate::cluster) fn heard(
        &self,
        end: u64,
        passed: &BTreeMap<u16, u64>,
        followed: Option<BTreeSet<u16>>,
    ) {
        let mut state = self.state();
        state.end = end;
        if state.list == Known::Another {
            state.list = Known::Same;
        }
        for (shard, through) in passed {
            let known = state.passed.entry(*shard).or_default();
            *known = (*known).max(*through);
        }
        state.followed = followed;
        drop(state);
        self.changed();
    }

    /// Notes that all shards have done what the list says, up to its end.
    pub(in crate::cluster) fn heard_that_all_have(&self, end: u64, shards: Range<u16>) {
        self.heard(end, &shards.map(|shard| (shard, end)).collect(), None);
    }

    /// Notes that nothing is followed here unless it is known by now: the crawl is over.
    pub(in crate::cluster) fn end_following(&self) {
        self.state().followed.get_or_insert_default();
        self.changed();
    }

    /// Notes that the engine does not answer: it may come back with less than it had.
    pub(in crate::cluster) fn doubt(&self) {
        self.state().list = Known::Nothing;
    }

    /// Whether nothing is left to search by what the list has, or nothing that can be.
    pub(in crate::cluster) fn are_over(&self) -> bool {
        let shards = self.shards();
        let state = self.state();
        let is_over = |shard: &u16| {
            let lacking = state.marks.lacking(*shard, state.end);
            lacking.is_empty() || state.troubles.contains_key(shard)
        };
        let has_read = state.marks.read.max(self.from) >= state.end;
        let is_done = has_read && shards.iter().all(is_over);
        state.has_told && (is_done || state.list == Known::Another)
    }

    /// Lets a shard be crawled here: from when this returns on, its files are left alone.
    pub(in crate::cluster) fn leave(&self, shard: u16, stop: &StopHandle) -> Crawled {
        let mut state = self.state();
        state.crawled.insert(shard);
        // It ends at its next step.
        while state.searched == Some(shard) && !stop.is_stopped() {
            state = self.wait(state, WAIT);
        }
        drop(state);
        Crawled {
            searches: self.clone(),
            shard,
        }
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        let (_, changed) = &*self.shared;
        let waited = changed.wait_timeout(state, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Keeps what was read and searched. What is not kept is read and searched again.
    fn keep_if_it_can(&self, marks: &Marks) {
        if let Err(error) = kept::write(&self.directory.join(FILE), marks) {
            tracing::warn!(%error, "what was searched cannot be kept");
        }
    }

    /// Searches until it is ended.
    fn run(&self) {
        let mut told = None;
        let mut state = self.state();
        while !state.has_ended {
            let end = state.end;
            drop(state);
            let turned = self.turn(end, &mut told);
            state = self.state();
            if let Err(error) = turned {
                tracing::debug!(%error, "takedowns are not heard of for the moment");
                // It may come back with less than it had.
                (state.list, state.has_told) = (Known::Nothing, false);
            }
            if !state.has_ended {
                state = self.wait(state, WAIT);
            }
        }
    }

    /// Reads on, searches the files of a shard if there is something to do, and tells what came of
    /// it.
    fn turn(&self, end: u64, told: &mut Option<(u64, Option<String>)>) -> broker::Result<()> {
        self.read_on(end)?;
        let shards = self.shards();
        if let Some((shard, through)) = self.next(&shards) {
            let _busy = Busy(self);
            let sought = self.sought(shard, through)?;
            let goes_on = || {
                let state = self.state();
                !state.has_ended && !state.crawled.contains(&shard)
            };
            if let Err(error) = self.search(shard, &sought, None, &goes_on) {
                self.fail(shard, &error);
            }
        }
        let mut state = self.state();
        let trouble = state.troubles.values().next();
        let trouble = trouble.map(|(trouble, _)| trouble.clone());
        let now = (state.marks.through(shards.iter(), self.from), trouble);
        let done = std::mem::take(&mut state.done);
        drop(state);
        if told.as_ref() != Some(&now) || !done.is_empty() {
            let trouble = now.1.as_deref();
            let answered = tell_searched(&*self.broker, &self.worker, (now.0, trouble), &done);
            if answered.is_err() {
                for (order, done) in done {
                    self.state().done.entry(order).or_default().add(done);
                }
            }
            answered?;
            *told = Some(now);
        }
        let mut state = self.state();
        let through = state.marks.through(shards.iter(), self.from);
        let is_same = told.as_ref().is_some_and(|(known, _)| *known == through);
        state.has_told = is_same && state.done.is_empty();
        Ok(())
    }

    fn fail(&self, shard: u16, error: &engine::Error) {
        tracing::error!(shard, %error, "files cannot be searched for what is to be forgotten");
        let trouble = format!("shard {shard:02}: {error}");
        let mut state = self.state();
        state.troubles.insert(shard, (trouble, Instant::now()));
    }

    /// Returns a shard whose files are to be searched, and up to which position.
    fn next(&self, shards: &BTreeSet<u16>) -> Option<(u16, u64)> {
        let mut state = self.state();
        state.followed.as_ref()?;
        let can_be = |shard: &&u16| {
            let trouble = state.troubles.get(*shard);
            trouble.is_none_or(|(_, at)| at.elapsed() >= AGAIN)
        };
        let shards = shards.difference(&state.crawled).filter(can_be);
        let mut lacking = shards.filter_map(|shard| {
            let passed = state.passed.get(shard).copied()?;
            let is_any = !state.marks.lacking(*shard, passed).is_empty();
            is_any.then_some((*shard, passed))
        });
        let found = lacking.next();
        drop(lacking);
        state.searched = found.map(|(shard, _)| shard);
        found
    }

    /// Returns the shards that have a directory here.
    fn shards(&self) -> BTreeSet<u16> {
        let entries = fs::read_dir(self.directory.join("shards"));
        let names = entries.into_iter().flatten().flatten();
        let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(|shard| *shard < self.count).collect()
    }

    /// Reads the list up to a position.
    fn read_on(&self, through: u64) -> broker::Result<()> {
        self.recognize()?;
        loop {
            let read = self.state().marks.read.max(self.from);
            if read >= through {
                return Ok(());
            }
            let found = list::marked_after(&*self.broker, read)?;
            let Some(((at, stood), entry)) = found else {
                return Ok(());
            };
            let is_order = matches!(&entry, Entry::Forget(order) if !order.dry_run);
            let mut state = self.state();
            let marks = &mut state.marks;
            // Another thread may have read it.
            if marks.read.max(self.from) != read {
                continue;
            }
            (marks.read, marks.stood) = (at, Some(stood));
            if is_order {
                marks.orders.push(at);
                self.keep_if_it_can(marks);
            }
        }
    }

    /// Looks whether the list is the one that was read, if that is in doubt. If something else
    /// stands where it was read last, the engine had lost it, and positions say nothing of what was
    /// searched.
    fn recognize(&self) -> broker::Result<()> {
        let (known, read, stood) = {
            let state = self.state();
            (state.list, state.marks.read, state.marks.stood)
        };
        if known != Known::Nothing {
            return Ok(());
        }
        let stands = match stood {
            Some(_) => list::stands_at(&*self.broker, read)?,
            None => None,
        };
        let mut state = self.state();
        if state.marks.read == read {
            state.list = match stands == stood {
                true => Known::Same,
                false => Known::Another,
            };
            if state.list == Known::Another {
                tracing::warn!("the list of the crawl is another one: files are searched again");
                state.marks = Marks::default();
                state.passed.clear();
                self.keep_if_it_can(&state.marks);
            }
        }
        Ok(())
    }

    /// Returns what the files of a shard are to be searched for, up to a position: what of the
    /// orders was not refused, and has not come back by later ones.
    fn sought(&self, shard: u16, through: u64) -> broker::Result<Sought> {
        let orders = self.state().marks.lacking(shard, through);
        let mut selection = Selection::default();
        if orders.is_empty() {
            return Ok(Sought { orders, selection });
        }
        let identity = Identity::new(self.options.canonicalizer.clone(), self.secret.clone());
        let refused = refused(&*self.broker, shard)?;
        // The crawl may be further than is known here, and have fetched what has come back.
        let mut later = self.state().marks.orders.clone();
        later.retain(|at| *at > through);
        for at in orders.iter().chain(&later) {
            match list::after(&*self.broker, at - 1)? {
                Some((found, Entry::Forget(order))) if found == *at => match order.back {
                    _ if refused.contains(at) => {}
                    true => selection.take_out(&order.selection, &identity),
                    false if *at > through => {}
                    false => selection.add(order.selection),
                },
                _ => {
                    self.doubt();
                    let lost = format!("entry {at} of the list is another one than before");
                    return Err(broker::Error::Away(lost));
                }
            }
        }
        Ok(Sought { orders, selection })
    }

    /// Searches the files of a shard, as long as that goes on.
    fn search(
        &self,
        shard: u16,
        sought: &Sought,
        events: Option<Events>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), engine::Error> {
        let Some(last) = sought.orders.last().copied() else {
            return Ok(());
        };
        let data = self.directory.join("shards").join(log_of(shard));
        let scratch = self.directory.join(SCRATCH).join(log_of(shard));
        let mut done = ForgetDone::default();
        // What was found before it came back is overwritten, too: it is of before.
        if !sought.selection.is_empty() || scratch.exists() {
            tracing::info!(
                shard,
                "files of the shard are searched for what is to be forgotten"
            );
            let with = (&self.secret, &*self.options);
            let of = (&*data, events);
            let mut search = FileSearch::begin(of, &scratch, with, &sought.selection)?;
            done = loop {
                if !goes_on() {
                    return Ok(());
                }
                if let Some(done) = search.step()? {
                    break done;
                }
            };
            search.end()?;
            let (records, files) = (done.records, done.files.len());
            tracing::info!(shard, records, files, "files of the shard are searched");
        }
        let mut state = self.state();
        let is_followed = state.followed.as_ref().is_none_or(|it| it.contains(&shard));
        let is_used = is_followed || state.crawled.contains(&shard);
        let is_stale = !is_used && data.join("store").exists();
        for at in &sought.orders {
            let told = state.done.entry(*at).or_default();
            told.stale.extend(is_stale.then_some(shard));
        }
        state.done.entry(last).or_default().add(done.into());
        state.moves(shard, last);
        self.keep_if_it_can(&state.marks);
        Ok(())
    }
}

impl Searching {
    /// Returns what searches.
    pub(in crate::cluster) fn searches(&self) -> &Searches {
        &self.searches
    }

    /// Ends it: what was begun is begun again at the next start.
    pub(in crate::cluster) fn end(self) {
        self.searches.state().has_ended = true;
        self.searches.changed();
        // All that a panic takes with it is on the disk.
        let _ = self.thread.join();
        let state = self.searches.state();
        self.searches.keep_if_it_can(&state.marks);
    }
}

impl Crawled {
    /// Searches the files of the shard for what its crawl, which has done what the list says up to
    /// a position, had done elsewhere. `close` closes those that the crawl has opened, and returns
    /// its events. If files cannot be searched, that is told, and the crawl goes on.
    ///
    /// # Errors
    ///
    /// What goes wrong with files as they are closed.
    pub(in crate::cluster) fn catch_up(
        &self,
        through: u64,
        stop: &StopHandle,
        close: impl FnOnce() -> Result<Events, engine::Error>,
    ) -> Result<(), engine::Error> {
        let (searches, shard) = (&self.searches, self.shard);
        let sought = loop {
            if stop.is_stopped() {
                return Ok(());
            }
            let read = searches.read_on(through);
            match read.and_then(|()| searches.sought(shard, through)) {
                Ok(sought) => break sought,
                Err(error) => {
                    tracing::debug!(%error, "the list is not read for the moment");
                    thread::sleep(WAIT);
                }
            }
        };
        if sought.orders.is_empty() {
            let mut state = searches.state();
            state.troubles.remove(&shard);
            if state.marks.shards.get(&shard) != Some(&through) {
                // What it has not done of the list is not done.
                state.moves(shard, through);
                searches.keep_if_it_can(&state.marks);
            }
            return Ok(());
        }
        let events = close()?;
        let goes_on = || !stop.is_stopped();
        if let Err(error) = searches.search(shard, &sought, Some(events), &goes_on) {
            searches.fail(shard, &error);
        }
        Ok(())
    }

    /// Notes that the crawl of the shard has carried out the order at a position, with all before
    /// it, or has passed it by for good.
    ///
    /// # Errors
    ///
    /// What the engine says.
    pub(in crate::cluster) fn passes(&self, order: u64) -> broker::Result<()> {
        self.searches.read_on(order)?;
        let mut state = self.searches.state();
        if state.marks.lacking(self.shard, order - 1).is_empty() {
            state.moves(self.shard, order);
            self.searches.keep_if_it_can(&state.marks);
        }
        Ok(())
    }

    /// Notes that the crawl could not carry an order out. The files are searched when the shard is
    /// crawled here no more.
    pub(in crate::cluster) fn fails(&self, error: &engine::Error) {
        self.searches.fail(self.shard, error);
    }
}

impl Drop for Crawled {
    fn drop(&mut self) {
        self.searches.state().crawled.remove(&self.shard);
        self.searches.changed();
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.state().searched = None;
        self.0.changed();
    }
}

#[cfg(test)]
mod tests;
