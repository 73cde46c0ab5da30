//! Hosts that a person holds or lets go on, while a crawl runs.

use std::sync::Arc;

use super::Committer;
use crate::engine::error::Error;
use crate::engine::hold::{HoldOrder, TooManyHeld};
use crate::engine::visit::Receipt;
use crate::frontier::{MAX_HELD_HOSTS, Moment};

impl Committer {
    /// Holds hosts or lets them go on, and replies with those for which that is new. The schedule
    /// is told how each of them is now, because it may have gone ahead.
    pub(super) fn hold(&mut self, order: HoldOrder, now: Moment) -> Result<Vec<Receipt>, Error> {
        let mut set = self.write_set(now);
        let mut changed = Vec::new();
        for host in &order.hosts {
            let is_full = order.is_held && set.held.len() >= MAX_HELD_HOSTS;
            if is_full && !set.held.has(host) {
                let _ = order.reply.send(Err(TooManyHeld));
                return self.hold_as_before(order.hosts, now);
            }
            if set.hold(host, order.is_held)? {
                changed.push(host.clone());
            }
        }
        let receipts = match changed.is_empty() {
            true => self.hold_as_before(order.hosts, now)?,
            false => {
                let held = Arc::clone(&set.held);
                let receipts = self.write(set)?;
                self.held.send_replace(held);
                receipts
            }
        };
        // Whoever asked may be gone.
        let _ = order.reply.send(Ok(changed));
        Ok(receipts)
    }

    /// Returns receipts that say of hosts what holds for them already.
    fn hold_as_before(
        &self,
        hosts: Vec<crate::url::HostKey>,
        now: Moment,
    ) -> Result<Vec<Receipt>, Error> {
        let mut set = self.write_set(now);
        for host in hosts {
            let is_held = set.held.has(&host);
            set.tell_hold(&host, is_held)?;
        }
        Ok(set.receipts)
    }
}
