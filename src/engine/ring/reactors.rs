//! The reactors on which visits are made, apart from the one of the scheduler.
//!
//! What a server sends that is no response is read as fast as it comes, and the client does not
//! tell how much that is. So each registrable domain has its visits on one reactor of several: a
//! domain that floods keeps busy one thread, which the system interrupts for the others.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::url::{HostKey, Site};

/// Number of reactors. A domain that floods slows down one in so many of the others, if there are
/// more of them.
const REACTORS: usize = 32;
/// Number of tasks between two looks at what the network has. Reading what floods takes long each
/// time, so others are looked after in between; a look after each task would be six for a visit.
const TASKS: u32 = 8;
/// Number of domains at which those are forgotten that are not being visited.
const KEPT: usize = 16_384;

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
            .event_interval(TASKS)
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

/// Says on which reactor a host is visited. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Assignment {
    reactors: Arc<[Handle]>,
    places: Arc<Mutex<Places>>,
}

#[derive(Default)]
struct Places {
    domains: HashMap<Site, Place>,
    /// Number of visits in progress and of domains, of each reactor.
    load: Vec<(usize, usize)>,
}

/// Where a domain is visited.
struct Place {
    reactor: usize,
    /// Number of its visits in progress.
    visits: usize,
}

/// A visit on a reactor; it is over when dropped.
pub(crate) struct Seat {
    assignment: Assignment,
    site: Site,
    reactor: usize,
}

impl Reactors {
    pub(crate) fn start() -> io::Result<Self> {
        let reactors = (0..REACTORS).map(|_| Reactor::start());
        Ok(Self(reactors.collect::<io::Result<_>>()?))
    }

    pub(crate) fn assignment(&self) -> Assignment {
        let places = Places {
            domains: HashMap::new(),
            load: vec![(0, 0); self.0.len()],
        };
        Assignment {
            reactors: self.0.iter().map(|it| it.handle.clone()).collect(),
            places: Arc::new(Mutex::new(places)),
        }
    }
}

impl Assignment {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a visit of a host. A domain that is known stays on its reactor, because it may have
    /// connections there; another one goes where the fewest visits are in progress, so no more
    /// domains share a reactor with one that floods than must.
    pub(crate) fn begin(&self, host: &HostKey) -> Seat {
        let site = Site::of_name(host.name());
        let mut places = self.places();
        let Places { domains, load } = &mut *places;
        if domains.len() > KEPT {
            domains.retain(|_, it| {
                load[it.reactor].1 -= usize::from(it.visits == 0);
                it.visits > 0
            });
        }
        let place = domains.entry(site.clone()).or_insert_with(|| {
            let reactor = (0..load.len())
                .min_by_key(|it| load[*it])
                .unwrap_or_default();
            load[reactor].1 += 1;
            Place { reactor, visits: 0 }
        });
        let reactor = place.reactor;
        place.visits += 1;
        load[reactor].0 += 1;
        drop(places);
        Seat {
            assignment: self.clone(),
            site,
            reactor,
        }
    }
}

impl Seat {
    /// The reactor of the visit.
    pub(crate) fn reactor(&self) -> &Handle {
        &self.assignment.reactors[self.reactor]
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut places = self.assignment.places();
        places.load[self.reactor].0 -= 1;
        if let Some(place) = places.domains.get_mut(&self.site) {
            place.visits -= 1;
        }
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
    fn a_domain_has_one_reactor_and_shares_it_only_if_it_must() {
        let reactors = Reactors::start().unwrap();
        let assignment = reactors.assignment();
        let begin = |name: &str| {
            let url = parse(&format!("http://{name}/")).unwrap();
            assignment.begin(&HostKey::of(&url))
        };
        let hosts: Vec<_> = (0..50)
            .map(|n| begin(&format!("h{n}.hostile.example")))
            .collect();
        let its = hosts[0].reactor;
        assert!(hosts.iter().all(|it| it.reactor == its));
        // One after the other, as visits of a small crawl may be, or all at once.
        let others = 1..REACTORS;
        let reactors_of_others: HashSet<_> = others
            .map(|n| begin(&format!("good{n}.example")).reactor)
            .collect();
        assert_eq!(reactors_of_others.len(), REACTORS - 1);
        assert!(!reactors_of_others.contains(&its));
        // What floods is in progress for long, so it is avoided while there is another place.
        let more = 0..10 * KEPT;
        let near = more
            .map(|n| begin(&format!("more{n}.example")).reactor)
            .filter(|it| *it == its);
        assert_eq!(near.count(), 0);
        drop(hosts);
        let places = assignment.places();
        assert!(places.load.iter().all(|(visits, _)| *visits == 0));
        let domains: usize = places.load.iter().map(|(_, domains)| domains).sum();
        assert_eq!(domains, places.domains.len());
        assert!(domains <= KEPT + 1);
    }
}
