//! The byte budget: bounds the memory of all bodies in flight.
//!
//! The memory of a body is reserved before the body is read and released at its commit. Most bodies
//! are small: they draw from a pool in which each fetch has its share, so small bodies never wait
//! for large ones. A body that outgrows its share reserves all that it can ever need from a second
//! pool at once, so that half-read bodies never wait for one another.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that a body may take without drawing on the second pool.
const SMALL: usize = 512 << 10;
/// Bytes per permit. A semaphore's count is limited, so permits count kibibytes.
const UNIT: usize = 1 << 10;

/// The bytes that bodies may take in memory, across the crawl.
#[derive(Debug, Clone)]
pub struct ByteBudget {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    max_body: usize,
}

/// Memory reserved for one body; released when dropped.
#[derive(Debug, Default)]
pub struct Reservation {
    small: Option<OwnedSemaphorePermit>,
    large: Option<OwnedSemaphorePermit>,
    bytes: usize,
    /// Maximum length of the body, in bytes.
    limit: usize,
}

impl ByteBudget {
    /// Creates a budget of `total` bytes for bodies of at most `max_body` bytes each. At least one
    /// body of that length fits, even if `total` is smaller.
    pub fn new(total: usize, max_body: usize) -> Self {
        let large = (total / 2).max(max_body);
        let small = (total / 2).max(SMALL);
        Self {
            small: Arc::new(Semaphore::new(units(small))),
            large: Arc::new(Semaphore::new(units(large))),
            max_body,
        }
    }

    /// Waits for memory for a body of about `expected` bytes, if known, and of at most `limit`
    /// bytes. A long body gets no more than its share at first, because a server that announces
    /// much and sends little must not keep memory from others.
    pub async fn reserve(&self, expected: Option<u64>, limit: usize) -> Reservation {
        let expected = expected.map_or(SMALL, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let limit = limit.min(self.max_body);
        let small = expected.min(SMALL).min(limit);
        Reservation {
            // The pools are never closed; a closed one would merely not bound.
            small: Arc::clone(&self.small)
                .acquire_many_owned(units(small) as u32)
                .await
                .ok(),
            large: None,
            bytes: small,
            limit,
        }
    }

    /// Waits until the reservation is large enough for the longest body that it may hold.
    pub async fn grow(&self, reservation: &mut Reservation) {
        if reservation.large.is_none() && reservation.bytes < reservation.limit {
            let more = reservation.limit - reservation.bytes;
            reservation.large = Arc::clone(&self.large)
                .acquire_many_owned(units(more) as u32)
                .await
                .ok();
            reservation.bytes = reservation.limit;
        }
    }
}

impl Reservation {
    /// Returns the number of bytes reserved.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases what a body of `used` bytes does not need.
    pub fn shrink(&mut self, used: usize) {
        let mut keep = units(used);
        for permit in [&mut self.small, &mut self.large].into_iter().flatten() {
            let excess = permit.num_permits().saturating_sub(keep);
            keep = keep.saturating_sub(permit.num_permits());
            drop(permit.split(excess));
        }
        self.bytes = used;
    }
}

fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: usize = 4 << 20;

    #[tokio::test]
    async fn room_comes_back() {
        let budget = ByteBudget::new(8 << 20, BODY);
        let before = budget.small.available_permits() + budget.large.available_permits();
        let mut known = budget.reserve(Some(10_000), BODY).await;
        assert_eq!(known.bytes(), 10_000);
        let mut unknown = budget.reserve(None, BODY).await;
        budget.grow(&mut unknown).await;
        assert_eq!(unknown.bytes(), BODY);
        unknown.shrink(600 << 10);
        known.shrink(10_000);
        let held = before - budget.small.available_permits() - budget.large.available_permits();
        assert_eq!(held, 600 + 10);
        drop((known, unknown));
        assert_eq!(
            budget.small.available_permits() + budget.large.available_permits(),
            before
        );
    }

    #[tokio::test]
    async fn a_body_larger_than_the_budget_still_fits_alone() {
        let budget = ByteBudget::new(1, BODY);
        let mut reservation = budget.reserve(Some(1 << 40), BODY).await;
        assert_eq!(reservation.bytes(), SMALL, "said, and not yet sent");
        budget.grow(&mut reservation).await;
        assert_eq!(reservation.bytes(), BODY);
    }

    #[tokio::test]
    async fn a_body_takes_no_more_than_its_own_limit() {
        let budget = ByteBudget::new(8 << 20, BODY);
        let whole = async |limit| {
            let mut reservation = budget.reserve(Some(1 << 40), limit).await;
            budget.grow(&mut reservation).await;
            reservation
        };
        let one = whole(1 << 20).await;
        assert_eq!(one.bytes(), 1 << 20);
        // Another body fits beside it, although one of maximum length would not.
        let other = whole(2 << 20).await;
        assert_eq!(other.bytes(), 2 << 20);
        drop((one, other));
        assert_eq!(whole(1 << 40).await.bytes(), BODY);
    }
}
