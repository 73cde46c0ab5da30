//! Commands that a run takes from outside: pause, resume, add seeds, retry, change settings.
//! Nothing here acts on them; the scheduler and the committer do.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use arc_swap::ArcSwap;

use tokio::sync::{mpsc, oneshot};
use tokio::task::coop::unconstrained;

use crate::engine::again::find;
use crate::engine::events::{Events, Happening};
use crate::engine::exchange::{Arrived, Heard, Look};
use crate::engine::forget::{Finder, ForgetCursor, ForgetDone, ForgetOrder, ForgetPart};
use crate::engine::hold::HoldOrder;
use crate::engine::messages::{Over, SeedsAdded};
use crate::engine::requeue::{PutBack, Retried, RetryCursor, RetryFilter};
use crate::engine::visit::Analysed;
use crate::engine::{Error, LiveOptions, Options, View};
use crate::fetch::{Guard, Refused};
use crate::frontier::Seed;
use crate::store::Store;
use crate::url::{HostKey, Url};

/// Capacity of the command queue. The scheduler empties it at once, whatever else is full.
const WAITING: usize = 16;

/// A command to a run.
#[derive(Debug)]
pub(crate) enum Command {
    /// Make no new visits; replies when none is in progress.
    Pause(oneshot::Sender<()>),
    /// Makes visits again.
    Resume(oneshot::Sender<()>),
    /// Add seeds; replies when they are committed.
    AddSeeds {
        /// The seeds.
        seeds: Vec<Seed>,
        /// Set if a user gave them to this crawl.
        consent: bool,
        /// Where they stand in the list of the crawl, if they come from there.
        listed: Option<u64>,
        /// Where to send the reply.
        reply: oneshot::Sender<SeedsAdded>,
    },
    /// Requeue failed URLs; replies when that is committed.
    Retry(Box<PutBack>),
    /// Forget a part of what is to be; replies when that is committed.
    Forget(Box<ForgetPart>, Vec<Analysed>),
    /// Hold hosts or let them go on; replies when that is committed, and tells when no visit of
    /// them is in progress.
    Hold(HoldOrder, oneshot::Sender<()>),
    /// Take in what arrived from another shard; replies when it is committed.
    Receive(Box<Arrived>),
    /// Another shard has committed what was sent to it.
    Acknowledge {
        /// Number of that shard.
        to: u16,
        /// Number of the last message.
        through: u64,
    },
    /// What this shard has told all others has come back, or these have told something.
    Hear(Box<Heard>),
    /// Reply how the shard is.
    Look(oneshot::Sender<Look>),
    /// End the run as drained if the shard is like this; replies whether it is.
    End(Look, oneshot::Sender<bool>),
    /// Change settings; replies when they are in force.
    Change(Box<LiveOptions>, oneshot::Sender<()>),
}

/// The way of commands to a run. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Commands(mpsc::Sender<Command>);

impl Commands {
    /// Creates the way, and the queue at its end.
    pub(crate) fn new() -> (Self, CommandQueue) {
        let (commands, queue) = mpsc::channel(WAITING);
        (Self(commands), CommandQueue(queue))
    }

    /// Gives a command to which there is no reply.
    pub(crate) async fn tell(&self, command: Command) -> Result<(), Over> {
        self.0.send(command).await.map_err(|_| Over)
    }

    /// Gives a command and waits for the reply.
    pub(crate) async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, Over> {
        let (reply, answer) = oneshot::channel();
        self.tell(command(reply)).await?;
        answer.await.map_err(|_| Over)
    }
}

/// Commands that a run has not taken yet. When it is dropped, so are all of these, and whoever
/// waits for a reply hears that the run is over.
#[derive(Debug)]
pub(crate) struct CommandQueue(mpsc::Receiver<Command>);

impl CommandQueue {
    /// Waits for the next command; `None` if nobody can give any more.
    pub(crate) async fn next(&mut self) -> Option<Command> {
        self.0.recv().await
    }
}

impl Drop for CommandQueue {
    /// A receiver that is dropped passes over what is being sent at that moment: it would stay
    /// until the last sender is gone, and one of these waits for the reply to it. A receiver that
    /// was closed gives that too, before it says that there is nothing more.
    fn drop(&mut self) {
        /// Looks for what a sender, between two steps, has not put there yet. One that is never
        /// polled again is not waited for.
        const LOOKS: u32 = 1_000;
        self.0.close();
        let mut rest = pin!(unconstrained(async {
            while self.0.recv().await.is_some() {}
        }));
        let mut nobody = Context::from_waker(Waker::noop());
        for _ in 0..LOOKS {
            if rest.as_mut().poll(&mut nobody).is_ready() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Sends commands to a crawl that runs, or is about to. Cheap to clone.
#[derive(Clone)]
pub struct Control {
    commands: Commands,
    guard: Arc<Guard>,
    /// Weak, so that a control does not keep the store open after the crawl.
    store: Weak<dyn Store>,
    data: PathBuf,
    options: Arc<ArcSwap<Options>>,
    events: Events,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

impl Control {
    pub(crate) fn new(
        guard: Arc<Guard>,
        store: &Arc<dyn Store>,
        data: &Path,
        options: Options,
        events: Events,
    ) -> (Self, CommandQueue) {
        let (commands, queue) = Commands::new();
        let control = Self {
            commands,
            guard,
            store: Arc::downgrade(store),
            data: data.to_owned(),
            options: Arc::new(ArcSwap::from_pointee(options)),
            events,
        };
        (control, queue)
    }

    /// Returns where commands go.
    pub(crate) fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// Makes no new visits until the crawl is resumed. Returns when none is in progress: from then
    /// on no server sees a request.
    pub async fn pause(&self) -> Result<(), Over> {
        self.commands.ask(Command::Pause).await?;
        self.events.tell(&Happening::Paused);
        Ok(())
    }

    /// Makes visits again.
    pub async fn resume(&self) -> Result<(), Over> {
        self.commands.ask(Command::Resume).await?;
        self.events.tell(&Happening::Resumed);
        Ok(())
    }

    /// Checks whether a seed can be visited, as far as is known now. With `consent`, a user gives
    /// it to this crawl, which opens the guard for a private address that it names.
    pub fn check_seed(&self, seed: &Url, consent: bool) -> Result<(), Refused> {
        match consent && Guard::consent_of(seed).is_some() {
            true => Ok(()),
            false => self.guard.check(seed),
        }
    }

    /// Admits seeds. Returns when they are committed.
    pub async fn add_seeds(&self, seeds: Vec<Seed>, consent: bool) -> Result<SeedsAdded, Over> {
        let added = self.commands.ask(|reply| Command::AddSeeds {
            seeds,
            consent,
            listed: None,
            reply,
        });
        added.await
    }

    /// Tells that seeds were added: all those of a list at once, or of a request.
    pub fn tell_seeds(&self, list: Option<String>, added: &SeedsAdded) {
        let SeedsAdded { new, known } = *added;
        self.events
            .tell(&Happening::SeedsAdded { list, new, known });
    }

    /// Returns a read-only view of the crawl.
    pub fn view(&self) -> Result<View, Over> {
        let store = self.store.upgrade().ok_or(Over)?;
        Ok(View::new(store, self.options.load_full()))
    }

    /// Requeues failed URLs, a limited number of rows per call; the result says where to continue.
    /// Returns when they are committed.
    pub async fn retry(
        &self,
        filter: RetryFilter,
        from: Option<RetryCursor>,
    ) -> Result<Retried, Error> {
        let store = self.store.upgrade().ok_or(Error::Over(Over))?;
        let found = tokio::task::spawn_blocking(move || find(&*store, &filter, from)).await;
        let mut part = found.map_err(|error| Error::Internal(error.to_string()))??;
        let retried = self.commands.ask(|reply| {
            part.reply = Some(reply);
            Command::Retry(Box::new(part))
        });
        Ok(retried.await?)
    }

    /// Carries out a part of an order to forget something; the result says where to continue.
    /// Returns when it is committed.
    pub async fn forget(
        &self,
        order: ForgetOrder,
        from: Option<ForgetCursor>,
    ) -> Result<ForgetDone, Error> {
        let store = self.store.upgrade().ok_or(Error::Over(Over))?;
        let (data, options) = (self.data.clone(), self.options.load_full());
        let find = move || {
            let finder = Finder::new(store, &data, &options)?;
            finder.part(&order, from)
        };
        let found = tokio::task::spawn_blocking(find).await;
        let found = found.map_err(|error| Error::Internal(error.to_string()))??;
        let Some((mut part, visits)) = found else {
            return Ok(ForgetDone::default());
        };
        let done = self.commands.ask(|reply| {
            part.reply = Some(reply);
            Command::Forget(Box::new(part), visits)
        });
        Ok(done.await?)
    }

    /// Holds hosts until they are let go on, or lets them go on. Returns those for which that is
    /// new, when it is committed and no visit of them is in progress: from then on they see no
    /// request.
    pub async fn hold(&self, hosts: Vec<HostKey>, is_held: bool) -> Result<Vec<HostKey>, Error> {
        let (idle, is_idle) = oneshot::channel();
        let changed = self.commands.ask(|reply| {
            let order = HoldOrder {
                hosts,
                is_held,
                reply,
            };
            Command::Hold(order, idle)
        });
        let changed = changed.await??;
        // A run that ends, as it may for want of anything else to fetch, makes no visits either.
        let _ = is_idle.await;
        Ok(changed)
    }

    /// Changes the settings. Returns when they are in force. `changed` tells what is different, in
    /// a sentence each.
    pub async fn change(&self, options: LiveOptions, changed: Vec<String>) -> Result<(), Over> {
        let mut all = Options::clone(&self.options.load());
        all.take(options.clone());
        self.options.store(Arc::new(all));
        self.commands
            .ask(|reply| Command::Change(Box::new(options), reply))
            .await?;
        self.events.tell(&Happening::Reloaded { changed });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    #[test]
    fn who_asks_at_the_end_of_a_run_hears_that_it_is_over() {
        let (commands, queue) = Commands::new();
        let (reply, mut answer) = oneshot::channel();
        // It was let in before the end, and sends after it.
        let place = commands.0.try_reserve().expect("there is room");
        thread::scope(|scope| {
            let end = scope.spawn(|| drop(queue));
            while !commands.0.is_closed() {
                thread::yield_now();
            }
            // Time enough to end, for an end that does not wait for it at all.
            for _ in 0..50 {
                thread::yield_now();
            }
            place.send(Command::Look(reply));
            end.join().expect("it ends");
        });
        assert_eq!(answer.try_recv(), Err(TryRecvError::Closed));
    }
}
