//! The reactors on which visits are made, apart from the one of the scheduler.
//!
//! What a server sends that is no response is read as fast as it comes, and the client does not
//! tell how much that is. So each registrable domain has its visits on one reactor of several: a
//! domain that floods keeps busy one thread, which the system interrupts for the others.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::url::{HostKey, Site};

/// Number of reactors. A domain that floods slows down one in so many of the others.
const REACTORS: usize = 32;

/// Runs the reactors, until it is dropped.
pub(crate) struct Reactors(Vec<Reactor>);

struct Reactor {
    handle: Handle,
    /// Ends it when dropped.
    _end: oneshot::Sender<()>,
}

impl Reactor {
    /// Starts a reactor of one thread. It serves whatever is ready in turn: one of several threads
    /// would prefer what is ready again at once, as the connection of a flood always is.
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            // Reading what floods takes long each time, so others are looked after in between.
            .event_interval(1)
            .global_queue_interval(1)
            .build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        thread::Builder::new()
            .name("visits".to_owned())
            .spawn(move || {
                let _ = runtime.block_on(ended);
                // Nothing that hangs is waited for.
                runtime.shutdown_background();
            })?;
        Ok(Self { handle, _end: end })
    }
}

/// Says on which reactor a host is visited.
pub(crate) struct Assignment {
    reactors: Vec<Handle>,
    /// Drawn for each run, so that nobody can choose who shares a reactor with whom.
    hasher: RandomState,
}

impl Reactors {
    pub(crate) fn start() -> io::Result<Self> {
        let reactors = (0..REACTORS).map(|_| Reactor::start());
        Ok(Self(reactors.collect::<io::Result<_>>()?))
    }

    pub(crate) fn assignment(&self) -> Assignment {
        Assignment {
            reactors: self.0.iter().map(|it| it.handle.clone()).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl Assignment {
    /// Returns the reactor of a host: the same for all hosts of its domain, during a run.
    pub(crate) fn of(&self, host: &HostKey) -> &Handle {
        let hash = self.hasher.hash_one(Site::of_name(host.name()));
        let place = hash % self.reactors.len() as u64;
        &self.reactors[usize::try_from(place).unwrap_or_default()]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::*;
    use crate::url::parse;

    /// A task that is always ready, as the connection of a flood is, keeps no other from its turn,
    /// and from its end.
    #[tokio::test]
    async fn what_is_always_ready_does_not_keep_others() {
        let reactor = Reactor::start().unwrap();
        let (began, begins) = oneshot::channel();
        let busy = reactor.handle.spawn(async {
            let _ = began.send(());
            loop {
                tokio::task::consume_budget().await;
            }
        });
        begins.await.unwrap();
        let timer = async { tokio::time::sleep(Duration::from_millis(1)).await };
        reactor.handle.spawn(timer).await.unwrap();
        busy.abort();
        assert!(busy.await.unwrap_err().is_cancelled());
    }

    #[test]
    fn a_domain_has_one_reactor_and_domains_have_several() {
        let reactors = Reactors::start().unwrap();
        let assignment = reactors.assignment();
        let of = |name: String| {
            let url = parse(&format!("http://{name}/")).unwrap();
            assignment.of(&HostKey::of(&url)).id()
        };
        let hosts = (0..50).map(|n| of(format!("h{n}.hostile.example")));
        assert_eq!(hosts.collect::<HashSet<_>>().len(), 1);
        let domains = (0..500).map(|n| of(format!("good{n}.example")));
        assert_eq!(domains.collect::<HashSet<_>>().len(), REACTORS);
    }
}
