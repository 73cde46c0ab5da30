//! Work that all cores do and that is given on in its order.
//!
//! One thread reads jobs, the workers do them, and the caller's thread takes the results in the
//! order of the jobs. What is in flight is bounded, so a slow reader of the output slows the
//! reading of the input, and memory does not grow with it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Jobs between reader and taker, for each worker.
const JOBS_A_WORKER: usize = 4;

/// What became of a job: the values it gave, up to what failed in it.
pub(crate) struct Worked<T, E> {
    pub(crate) values: Vec<T>,
    pub(crate) failure: Option<E>,
}

/// Hands each job that `read` gives to one of `threads` threads (none: one a core), which `work` on
/// them, and gives the values to `take`, in order. `read` is told false when no more jobs are
/// wanted. The first failure ends it, after all values before it were taken.
pub(crate) fn in_order<J: Send, T: Send, E: Send>(
    threads: Option<NonZeroUsize>,
    read: impl FnOnce(&mut dyn FnMut(J) -> bool) -> Result<(), E> + Send,
    work: impl Fn(J) -> Worked<T, E> + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let (permits, passed) = mpsc::sync_channel::<()>(threads * JOBS_A_WORKER);
    let (jobs, waiting) = mpsc::channel();
    let (results, done) = mpsc::channel();
    let waiting = Mutex::new(waiting);
    let (work, waiting) = (&work, &waiting);
    thread::scope(|scope| {
        let failed = results.clone();
        scope.spawn(move || {
            let mut sequence = 0_u64;
            let ended = read(&mut |job| {
                let is_wanted = permits.send(()).is_ok() && jobs.send((sequence, job)).is_ok();
                sequence += 1;
                is_wanted
            });
            if let Err(failure) = ended {
                let worked = Worked {
                    values: Vec::new(),
                    failure: Some(failure),
                };
                // Whoever would take it may have ended.
                let _ = failed.send((sequence, worked));
            }
        });
        for _ in 0..threads {
            let results = results.clone();
            scope.spawn(move || do_jobs(waiting, &results, work));
        }
        drop(results);
        // Whatever ends this early drops the receivers, and the threads find nobody to send to.
        let (passed, done): (Receiver<()>, Receiver<(u64, Worked<T, E>)>) = (passed, done);
        let mut early = BTreeMap::new();
        let mut next = 0;
        for (sequence, worked) in done {
            early.insert(sequence, worked);
            while let Some(worked) = early.remove(&next) {
                next += 1;
                for value in worked.values {
                    take(value)?;
                }
                if let Some(failure) = worked.failure {
                    return Err(failure);
                }
                // A failure of the reader has no permit to give back.
                let _ = passed.try_recv();
            }
        }
        Ok(())
    })
}

/// Does jobs until there are no more.
fn do_jobs<J, T, E>(
    waiting: &Mutex<Receiver<(u64, J)>>,
    results: &Sender<(u64, Worked<T, E>)>,
    work: &impl Fn(J) -> Worked<T, E>,
) {
    loop {
        let job = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok((sequence, job)) = job else {
            return;
        };
        if results.send((sequence, work(job))).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(threads: usize, failing: Option<u64>) -> (Vec<u64>, bool) {
        let mut taken = Vec::new();
        let result = in_order(
            NonZeroUsize::new(threads),
            |hand_over| {
                let _ = (0..5_000).all(hand_over);
                Ok(())
            },
            |number: u64| Worked {
                values: vec![number],
                failure: (Some(number) == failing).then_some("no"),
            },
            |number| {
                taken.push(number);
                Ok(())
            },
        );
        (taken, result.is_err())
    }

    #[test]
    fn values_come_in_order_whatever_the_threads() {
        for threads in [1, 2, 7] {
            assert_eq!(numbers(threads, None), ((0..5_000).collect(), false));
        }
    }

    #[test]
    fn a_failure_ends_it_after_what_was_before() {
        assert_eq!(numbers(3, Some(1_234)), ((0..=1_234).collect(), true));
    }
}
