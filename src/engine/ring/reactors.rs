//! The reactors on which visits are made, apart from the one of the scheduler.
//!
//! What a server sends that is no response is read as fast as it comes, and the client does not
//! tell how much that is. So each registrable domain has its visits on one reactor of several: a
//! domain that floods keeps busy one thread, which the system interrupts for the others.

use std::hash::{BuildHasher as _, RandomState};
use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::url::{HostKey, Site};

/// Number of reactors. A domain that floods slows down one in so many of the others.
const REACTORS: usize = 32;

/// Runs the reactors. They must be ended outside of any of them.
pub(crate) struct Reactors(Vec<Runtime>);

/// Says on which reactor a host is visited.
pub(crate) struct Assignment {
    reactors: Vec<Handle>,
    /// Drawn for each run, so that nobody can choose who shares a reactor with whom.
    hasher: RandomState,
}

impl Reactors {
    pub(crate) fn start() -> io::Result<Self> {
        let reactor = || {
            Builder::new_multi_thread()
                .worker_threads(1)
                .thread_name("visits")
                // Reading what floods takes long each time, so others are looked after in between.
                .event_interval(1)
                .global_queue_interval(1)
                .enable_all()
                .build()
        };
        let reactors = (0..REACTORS).map(|_| reactor());
        Ok(Self(reactors.collect::<io::Result<_>>()?))
    }

    pub(crate) fn assignment(&self) -> Assignment {
        Assignment {
            reactors: self.0.iter().map(|it| it.handle().clone()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Ends them; nothing that hangs is waited for.
    pub(crate) fn end(self) {
        for reactor in self.0 {
            reactor.shutdown_background();
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

    use super::*;
    use crate::url::parse;

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
        reactors.end();
    }
}
