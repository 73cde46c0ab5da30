//! What the list of the crawl has for a shard: seeds to admit, and orders to put back what failed.

use super::Trouble;
use crate::broker::Broker;
use crate::cluster::list::{self, Entry};
use crate::cluster::retries;
use crate::engine::exchange::Post;
use crate::engine::{Control, Error, Retried, RetryFilter};

/// How far a shard has done what the list says.
pub(in crate::cluster) struct Listed {
    /// The crawl of the shard.
    control: Control,
    /// Position behind which the list of this crawl begins.
    from: u64,
    /// Position of the last entry that is done; `None` until it is read.
    through: Option<u64>,
    /// The order that is being carried out, a part in each turn.
    retrying: Option<Retrying>,
}

/// An order to put back what failed.
struct Retrying {
    /// Its position in the list.
    at: u64,
    filter: RetryFilter,
    done: Retried,
    /// Whether all of the shard was looked through.
    is_through: bool,
}

impl Listed {
    /// Of a shard that runs, and whose list begins behind this position.
    pub(in crate::cluster) fn new(control: Control, from: u64) -> Self {
        Self {
            control,
            from,
            through: None,
            retrying: None,
        }
    }

    /// Returns the position of the last entry that is done; 0 until it is read.
    pub(super) fn through(&self) -> u64 {
        self.through.unwrap_or(0)
    }

    /// Does a part of what was added since the last turn. Returns whether there was anything.
    pub(super) async fn turn(
        &mut self,
        broker: &dyn Broker,
        post: &Post,
        end: u64,
    ) -> Result<bool, Trouble> {
        if self.retrying.is_some() {
            return self.retry(broker, post).await;
        }
        let through = match self.through {
            Some(through) => through,
            None => {
                let through = post.seeds_through().map_err(|_| Trouble::Over)?;
                *self.through.insert(through.max(self.from))
            }
        };
        if through >= end {
            return Ok(false);
        }
        match list::after(broker, through)? {
            None => return Ok(false),
            Some((at, Entry::Seeds(seeds))) => {
                if !seeds.is_empty() {
                    let added = post.add_seeds(seeds, at).await;
                    added.map_err(|_| Trouble::Over)?;
                }
                self.through = Some(at);
            }
            Some((at, Entry::Retry(filter))) => {
                self.retrying = Some(Retrying {
                    at,
                    filter,
                    done: Retried::default(),
                    is_through: false,
                });
            }
        }
        Ok(true)
    }

    /// Puts back a part of what an order names. Whoever is interrupted begins with the order again,
    /// and finds what is left.
    async fn retry(&mut self, broker: &dyn Broker, post: &Post) -> Result<bool, Trouble> {
        let Some(order) = &mut self.retrying else {
            return Ok(false);
        };
        if !order.is_through {
            let from = order.done.next.clone();
            match self.control.retry(order.filter.clone(), from).await {
                Ok(part) => {
                    order.done.add(part);
                    order.is_through = order.done.next.is_none();
                    return Ok(true);
                }
                Err(Error::Over(_)) => return Err(Trouble::Over),
                // What cannot be read now cannot be read at the next start either. It is passed by,
                // and the shard does not say that it is done.
                Err(error) => {
                    let shard = post.shards().own();
                    tracing::error!(shard, %error, "what failed cannot be put back");
                    let at = order.at;
                    return self.pass(at, post).await;
                }
            }
        }
        // First: whoever finds that the order is done finds what came of it.
        let (shard, at) = (post.shards().own(), order.at);
        retries::tell(broker, shard, at, &order.done)?;
        let urls: u64 = order.done.urls.values().sum();
        let hosts = order.done.hosts;
        tracing::info!(shard, urls, hosts, "what failed is put back");
        self.pass(at, post).await
    }

    /// Goes on behind an order.
    async fn pass(&mut self, at: u64, post: &Post) -> Result<bool, Trouble> {
        let passed = post.add_seeds(Vec::new(), at).await;
        passed.map_err(|_| Trouble::Over)?;
        (self.through, self.retrying) = (Some(at), None);
        Ok(true)
    }
}
