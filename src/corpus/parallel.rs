//! Ordered parallel work: all cores process jobs, and the results are taken in the order of the
//! jobs.
//!
//! One thread reads jobs, workers process them, and the calling thread takes the results. The
//! number of jobs in flight is bounded, so that a slow reader of the output slows down the reading
//! of the input, and memory does not grow with the input.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Maximum number of jobs in flight, per worker.
const JOBS_A_WORKER: usize = 4;

/// The result of a job: its values, and the failure that ended it, if any.
pub(crate) struct Worked<T, E> {
    pub(crate) values: Vec<T>,
    pub(crate) failure: Option<E>,
}

/// Processes jobs on several threads, by default one per core, and takes their values in order.
///
/// `read` passes each job to a function that returns false when no more jobs are wanted. `work`
/// runs on the workers. `take` gets the values in the order of the jobs. The first failure ends
/// everything, after all earlier values were taken.
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
                // The taker may have ended already.
                let _ = failed.send((sequence, worked));
            }
        });
        for _ in 0..threads {
            let results = results.clone();
            scope.spawn(move || do_jobs(waiting, &results, work));
        }
        drop(results);
        // An early return drops these receivers, which ends the threads that send to them.
        let passed: Receiver<()> = passed;
        let done: Receiver<(u64, Worked<T, E>)> = done;
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
                // A failure of the reader holds no permit.
                let _ = passed.try_recv();
            }
        }
        Ok(())
    })
}

/// Processes jobs until there are no more.
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
