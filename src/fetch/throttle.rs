//! The rate at which bodies are received, all hosts together, if it is limited: for a line that
//! others use too.
//!
//! A body that is ahead of the rate is not read on, so that its server waits: what the system has
//! received meanwhile, some hundred kilobytes a connection, is ahead of the count.

use std::num::NonZeroU32;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

/// Parts of a second of which the bytes may come at once.
const BURST: u32 = 8;

/// Bounds the bytes that are received each second.
#[derive(Debug)]
pub(super) struct Throttle(Option<Limited>);

#[derive(Debug)]
struct Limited {
    limiter: DefaultDirectRateLimiter,
    /// Most bytes that can be asked for at once.
    burst: NonZeroU32,
}

impl Throttle {
    /// At most so many bytes a second.
    pub(super) fn new(rate: Option<u64>) -> Self {
        let rate = rate.map(|rate| u32::try_from(rate).unwrap_or(u32::MAX));
        let limited = rate.and_then(NonZeroU32::new).map(|rate| {
            let burst = NonZeroU32::new(rate.get() / BURST).unwrap_or(NonZeroU32::MIN);
            let quota = Quota::per_second(rate).allow_burst(burst);
            let limiter = RateLimiter::direct(quota);
            Limited { limiter, burst }
        });
        Self(limited)
    }

    /// Waits until so many bytes more are within the rate.
    pub(super) async fn pass(&self, bytes: usize) {
        let Some(Limited { limiter, burst }) = &self.0 else {
            return;
        };
        let mut left = u32::try_from(bytes).unwrap_or(u32::MAX);
        while let Some(piece) = NonZeroU32::new(left.min(burst.get())) {
            match limiter.check_n(piece) {
                Ok(Err(not_until)) => {
                    let wait = not_until.wait_time_from(DefaultClock::default().now());
                    tokio::time::sleep(wait).await;
                }
                // No piece is larger than the burst.
                Ok(Ok(())) | Err(_) => left -= piece.get(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn bytes_beyond_the_rate_take_their_time() {
        let begin = Instant::now();
        Throttle::new(None).pass(usize::MAX).await;
        let throttle = Throttle::new(Some(80_000));
        throttle.pass(10_000).await;
        // These are within the burst; those that follow are not. Slow machines only take longer.
        let beyond = Instant::now();
        tokio::join!(throttle.pass(20_000), throttle.pass(4_000));
        assert!(
            beyond.elapsed() >= Duration::from_millis(290),
            "{:?}",
            begin.elapsed()
        );
    }
}
