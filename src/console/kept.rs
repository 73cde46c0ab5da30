//! Answers that take long, kept for a while: who asks while one is being made waits for it, and who
//! asks soon after is given the same.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::answer::Failed;

/// Maximum number of answers of a kind.
const MAX_ANSWERS: usize = 32;

/// Answers of one kind, by what was asked.
pub(super) struct Kept<Q, A> {
    /// How long an answer is kept at least; one that took longer to make is kept as long as it
    /// took.
    least: Duration,
    slots: Mutex<HashMap<Q, Slot<A>>>,
}

/// The place of an answer. Locked while it is being made.
type Slot<A> = Arc<tokio::sync::Mutex<Option<Made<A>>>>;

struct Made<A> {
    answer: Arc<A>,
    until: Instant,
}

impl<Q: Hash + Eq + Clone, A: Send + Sync + 'static> Kept<Q, A> {
    pub(super) fn new(least: Duration) -> Self {
        Self {
            least,
            slots: Mutex::default(),
        }
    }

    /// The answer that is kept, or the one that `make` makes. It is made to its end even if whoever
    /// asked goes away.
    pub(super) async fn get<F>(
        &self,
        question: Q,
        make: impl FnOnce() -> F,
    ) -> Result<Arc<A>, Failed>
    where
        F: Future<Output = Result<A, Failed>> + Send + 'static,
    {
        let mut slot = self.slot(&question).lock_owned().await;
        if let Some(made) = &*slot
            && Instant::now() < made.until
        {
            return Ok(Arc::clone(&made.answer));
        }
        let (making, least) = (make(), self.least);
        let made = tokio::spawn(async move {
            let begun = Instant::now();
            let answer = Arc::new(making.await?);
            *slot = Some(Made {
                answer: Arc::clone(&answer),
                until: Instant::now() + begun.elapsed().max(least),
            });
            Ok(answer)
        });
        made.await.map_err(Failed::internal)?
    }

    fn slot(&self, question: &Q) -> Slot<A> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if !slots.contains_key(question) && slots.len() >= MAX_ANSWERS {
            let now = Instant::now();
            let is_wanted = |slot: &Slot<A>| match slot.try_lock() {
                Ok(made) => made.as_ref().is_some_and(|made| now < made.until),
                Err(_) => true,
            };
            slots.retain(|_, slot| is_wanted(slot));
            if slots.len() >= MAX_ANSWERS {
                slots.clear();
            }
        }
        Arc::clone(slots.entry(question.clone()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const LEAST: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_made_once_and_kept_for_as_long_as_it_took() {
        let kept = Arc::new(Kept::new(LEAST));
        let made = Arc::new(AtomicUsize::new(0));
        let ask = |question: &'static str, seconds: u64| {
            let (kept, made) = (Arc::clone(&kept), Arc::clone(&made));
            async move {
                let make = || async move {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    Ok(made.fetch_add(1, Ordering::Relaxed))
                };
                *kept.get(question, make).await.unwrap()
            }
        };
        assert_eq!(tokio::join!(ask("a", 60), ask("a", 60)), (0, 0));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(ask("a", 60).await, 0);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(ask("a", 1).await, 1);
        assert_eq!(ask("b", 1).await, 2);
        tokio::time::advance(Duration::from_secs(8)).await;
        assert_eq!((ask("a", 1).await, ask("b", 1).await), (1, 2));
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(ask("a", 1).await, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_is_asked_again_and_who_leaves_spoils_nothing() {
        let kept: Kept<u8, u8> = Kept::new(LEAST);
        let failing = kept.get(1, || async { Err(Failed::bad("no")) }).await;
        assert!(failing.is_err());
        let slow = kept.get(1, || async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(7)
        });
        let left = tokio::time::timeout(Duration::from_secs(1), slow).await;
        assert!(left.is_err());
        let answer = kept.get(1, || async { Ok(8) }).await.unwrap();
        assert_eq!(*answer, 7, "it was made to its end");
    }

    #[tokio::test(start_paused = true)]
    async fn few_are_kept() {
        let kept: Kept<usize, usize> = Kept::new(LEAST);
        for question in 0..10 * MAX_ANSWERS {
            kept.get(question, || async move { Ok(question) })
                .await
                .unwrap();
        }
        assert!(kept.slots.lock().unwrap().len() <= MAX_ANSWERS);
    }
}
