//! Answers that take long, kept for a while: who asks while one is being made waits for it, and who
//! asks soon after is given the same.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::answer::Failed;

/// Answers of one kind, by what was asked.
pub(super) struct Kept<Q, A> {
    /// How long an answer is kept at least; one that took longer to make is kept as long as it
    /// took.
    least: Duration,
    /// Maximum number of answers.
    most: usize,
    slots: Mutex<HashMap<Q, Arc<Slot<A>>>>,
}

/// The place of an answer.
struct Slot<A> {
    /// The last that was made.
    made: Mutex<Option<Made<A>>>,
    /// Locked while one is being made.
    turn: Arc<tokio::sync::Mutex<()>>,
}

struct Made<A> {
    answer: Arc<A>,
    until: Instant,
}

impl<A> Default for Slot<A> {
    fn default() -> Self {
        Self {
            made: Mutex::default(),
            turn: Arc::default(),
        }
    }
}

impl<A: Send + Sync + 'static> Slot<A> {
    /// The answer, if it has been out of date for less than this.
    fn answer(&self, stale: Duration) -> Option<Arc<A>> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let made = made.as_ref()?;
        (Instant::now() < made.until + stale).then(|| Arc::clone(&made.answer))
    }

    /// Makes the answer.
    async fn fill(
        self: Arc<Self>,
        _turn: OwnedMutexGuard<()>,
        making: impl Future<Output = Result<A, Failed>>,
        least: Duration,
    ) -> Result<Arc<A>, Failed> {
        let begun = Instant::now();
        let answer = Arc::new(making.await?);
        let made = Made {
            answer: Arc::clone(&answer),
            until: Instant::now() + begun.elapsed().max(least),
        };
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(answer)
    }
}

impl<Q: Hash + Eq + Clone, A: Send + Sync + 'static> Kept<Q, A> {
    pub(super) fn new(least: Duration, most: usize) -> Self {
        Self {
            least,
            most,
            slots: Mutex::default(),
        }
    }

    /// The answer that is kept, or the one that `make` makes of what `begin` gives. Whoever leaves
    /// while `begin` waits leaves nothing behind; what has begun is made to its end.
    pub(super) async fn get<B, F>(
        &self,
        question: Q,
        begin: impl Future<Output = Result<B, Failed>>,
        make: impl FnOnce(B) -> F,
    ) -> Result<Arc<A>, Failed>
    where
        F: Future<Output = Result<A, Failed>> + Send + 'static,
    {
        let slot = self.slot(&question);
        if let Some(answer) = slot.answer(Duration::ZERO) {
            return Ok(answer);
        }
        let turn = Arc::clone(&slot.turn).lock_owned().await;
        if let Some(answer) = slot.answer(Duration::ZERO) {
            return Ok(answer);
        }
        let making = make(begin.await?);
        let made = tokio::spawn(slot.fill(turn, making, self.least));
        made.await.map_err(Failed::internal)?
    }

    /// The answer that is kept, even if it has been out of date for up to `stale`: then another is
    /// made, and nobody waits for it.
    pub(super) async fn get_soon<F>(
        &self,
        question: Q,
        stale: Duration,
        make: impl FnOnce() -> F,
    ) -> Result<Arc<A>, Failed>
    where
        F: Future<Output = Result<A, Failed>> + Send + 'static,
    {
        let slot = self.slot(&question);
        let Some(answer) = slot.answer(stale) else {
            return self.get(question, async { Ok(()) }, |()| make()).await;
        };
        if slot.answer(Duration::ZERO).is_none()
            && let Ok(turn) = Arc::clone(&slot.turn).try_lock_owned()
        {
            tokio::spawn(slot.fill(turn, make(), self.least));
        }
        Ok(answer)
    }

    fn slot(&self, question: &Q) -> Arc<Slot<A>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if !slots.contains_key(question) && slots.len() >= self.most {
            let is_wanted =
                |it: &Slot<A>| it.turn.try_lock().is_err() || it.answer(Duration::ZERO).is_some();
            slots.retain(|_, slot| is_wanted(slot));
            if slots.len() >= self.most {
                // Those that are being made stay, so that they are made once.
                slots.retain(|_, slot| slot.turn.try_lock().is_err());
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
    const MOST: usize = 32;

    /// What lets everything begin at once.
    fn at_once() -> std::future::Ready<Result<(), Failed>> {
        std::future::ready(Ok(()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_made_once_and_kept_for_as_long_as_it_took() {
        let kept = Arc::new(Kept::new(LEAST, MOST));
        let made = Arc::new(AtomicUsize::new(0));
        let ask = |question: &'static str, seconds: u64| {
            let (kept, made) = (Arc::clone(&kept), Arc::clone(&made));
            async move {
                let make = |()| async move {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    Ok(made.fetch_add(1, Ordering::Relaxed))
                };
                *kept.get(question, at_once(), make).await.unwrap()
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
        let kept: Kept<u8, u8> = Kept::new(LEAST, MOST);
        let failing = kept
            .get(1, at_once(), |()| async { Err(Failed::bad("no")) })
            .await;
        assert!(failing.is_err());
        let slow = kept.get(1, at_once(), |()| async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(7)
        });
        let left = tokio::time::timeout(Duration::from_secs(1), slow).await;
        assert!(left.is_err());
        let answer = kept.get(1, at_once(), |()| async { Ok(8) }).await.unwrap();
        assert_eq!(*answer, 7, "it was made to its end");
    }

    #[tokio::test(start_paused = true)]
    async fn few_are_kept() {
        let kept: Kept<usize, usize> = Kept::new(LEAST, MOST);
        for question in 0..10 * MOST {
            kept.get(question, at_once(), |()| async move { Ok(question) })
                .await
                .unwrap();
        }
        assert!(kept.slots.lock().unwrap().len() <= MOST);
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_not_begun_ends_with_who_asked() {
        let kept: Kept<u8, u8> = Kept::new(LEAST, MOST);
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let never = std::future::pending::<Result<(), Failed>>();
        let waiting = kept.get(1, never, move |()| async move {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(1)
        });
        let left = tokio::time::timeout(Duration::from_secs(1), waiting).await;
        assert!(left.is_err());
        let answer = kept.get(1, at_once(), |()| async { Ok(2) }).await.unwrap();
        assert_eq!((*answer, made.load(Ordering::Relaxed)), (2, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_a_little_old_is_given_while_another_is_made() {
        const STALE: Duration = Duration::from_mins(1);
        let kept: Kept<u8, u8> = Kept::new(LEAST, MOST);
        let ask = |answer: u8| {
            kept.get_soon(1, STALE, move || async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                Ok(answer)
            })
        };
        assert_eq!(*ask(1).await.unwrap(), 1);
        tokio::time::advance(Duration::from_secs(11)).await;
        let begun = Instant::now();
        assert_eq!((*ask(2).await.unwrap(), *ask(3).await.unwrap()), (1, 1));
        assert_eq!(begun.elapsed(), Duration::ZERO, "nobody waits");
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(*ask(4).await.unwrap(), 2, "made once");
        tokio::time::advance(Duration::from_secs(90)).await;
        assert_eq!(*ask(5).await.unwrap(), 5, "too old to be given");
    }
}
