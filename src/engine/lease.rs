//! Until when a crawl may make visits, where another worker may take it over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time between two looks of who waits for the right to make visits.
const LOOK: Duration = Duration::from_millis(100);

/// The right to make visits, which ends by itself unless it is renewed.
///
/// It is counted by `CLOCK_BOOTTIME`, which goes on while a process is stopped and while the
/// machine sleeps: who wakes up late knows it before the first visit. Clones are the same lease.
#[derive(Debug, Clone, Default)]
pub struct Lease(Arc<AtomicU64>);

impl Lease {
    /// Returns the time of the clock that leases are counted by.
    pub fn now() -> Duration {
        let now = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
    }

    /// Lets visits be made until this time of the clock.
    pub fn renew(&self, until: Duration) {
        let until = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_max(until, Ordering::Relaxed);
    }

    /// Waits until a visit may be made.
    pub(crate) async fn held(&self) {
        while !self.holds() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Whether a visit may be made now.
    pub fn holds(&self) -> bool {
        Self::now().as_millis() < u128::from(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[test]
    fn a_lease_holds_until_its_time_and_is_renewed() {
        let lease = Lease::default();
        assert!(!lease.holds());
        let renewing = lease.clone();
        renewing.renew(Lease::now() + Duration::from_hours(1));
        assert!(lease.holds());
        // What was promised is not taken back.
        renewing.renew(Lease::now());
        assert!(lease.holds());
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_no_right_waits_for_it() {
        let lease = Lease::default();
        let mut held = pin!(lease.held());
        let waits = tokio::time::timeout(Duration::from_mins(10), &mut held);
        assert!(waits.await.is_err());
        lease.renew(Lease::now() + Duration::from_hours(1));
        held.await;
    }
}
