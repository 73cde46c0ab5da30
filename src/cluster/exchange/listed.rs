//! What the list of the crawl has for a shard: seeds to admit, and orders to put back what failed
//! and to forget something.

use super::Trouble;
use crate::broker::Broker;
use crate::cluster::list::{self, Entry};
use crate::cluster::orders::retries;
use crate::cluster::orders::searches::Crawled;
use crate::cluster::orders::takedown::{self, TakenDown};
use crate::engine::exchange::Post;
use crate::engine::{
    Control, Error, ForgetCursor, ForgetDone, ForgetOrder, Retried, RetryCursor, RetryFilter,
};

/// How far a shard has done what the list says.
pub(in crate::cluster) struct Listed {
    /// The crawl of the shard.
    control: Control,
    /// Position behind which the list of this crawl begins.
    from: u64,
    /// Position of the last entry that is done; `None` until it is read.
    through: Option<u64>,
    /// The order that is being carried out, a part in each turn.
    order: Option<Order>,
    /// What searches the files of the worker leaves those of the shard alone.
    crawled: Crawled,
}

/// An order that is being carried out.
struct Order {
    /// Its position in the list.
    at: u64,
    what: What,
    /// Whether all of the shard was looked through.
    is_through: bool,
}

/// What an order says, what came of it so far, and where it goes on.
enum What {
    Retry(RetryFilter, Retried, Option<RetryCursor>),
    Forget(Box<(ForgetOrder, ForgetDone)>, Option<ForgetCursor>),
}

impl What {
    /// Carries out the next part. Returns whether there is another one.
    async fn part(&mut self, control: &Control) -> Result<bool, Error> {
        match self {
            Self::Retry(filter, done, next) => {
                done.add(control.retry(filter.clone(), next.take()).await?);
                *next = done.next.take();
                Ok(next.is_some())
            }
            Self::Forget(order, next) => {
                let (order, done) = &mut **order;
                done.add(control.forget(order.clone(), next.take()).await?);
                *next = done.next.take();
                Ok(next.is_some())
            }
        }
    }
}

impl Listed {
    /// Of a shard that runs, and whose list begins behind this position.
    pub(in crate::cluster) fn new(control: Control, from: u64, crawled: Crawled) -> Self {
        Self {
            control,
            from,
            through: None,
            order: None,
            crawled,
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
        if self.order.is_some() {
            return self.carry_out(broker, post).await;
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
                self.begin(at, What::Retry(filter, Retried::default(), None));
            }
            Some((at, Entry::Forget(order))) => {
                let entry = Some(at);
                let order = Box::new((ForgetOrder { entry, ..order }, ForgetDone::default()));
                self.begin(at, What::Forget(order, None));
            }
        }
        Ok(true)
    }

    fn begin(&mut self, at: u64, what: What) {
        self.order = Some(Order {
            at,
            what,
            is_through: false,
        });
    }

    /// Carries out a part of an order. Whoever is interrupted begins with the order again, and
    /// finds what is left.
    async fn carry_out(&mut self, broker: &dyn Broker, post: &Post) -> Result<bool, Trouble> {
        let Some(order) = &mut self.order else {
            return Ok(false);
        };
        let (shard, at) = (post.shards().own(), order.at);
        if !order.is_through {
            match order.what.part(&self.control).await {
                Ok(goes_on) => {
                    order.is_through = !goes_on;
                    return Ok(true);
                }
                Err(Error::Over(_)) => return Err(Trouble::Over),
                // It is passed by, and the shard does not say that it is done: what cannot be done
                // now would keep it from all that comes behind.
                Err(error) => {
                    tracing::error!(shard, %error, "an order of the crawl is not carried out");
                    if let What::Forget(order, _) = &order.what {
                        let told = TakenDown {
                            trouble: Some(error.to_string()),
                            ..TakenDown::default()
                        };
                        if !matches!(error, Error::Forget(_)) {
                            // What it had begun goes on at the next start.
                            self.crawled.fails(&error);
                        } else if !order.0.dry_run {
                            takedown::refuse(broker, shard, at)?;
                            self.crawled.passes(at)?;
                        }
                        takedown::tell(broker, shard, (at, order.0.dry_run), &told)?;
                    }
                    return self.pass(at, post).await;
                }
            }
        }
        // First: whoever finds that the order is done finds what came of it.
        match &order.what {
            What::Retry(_, done, _) => {
                retries::tell(broker, shard, at, done)?;
                let urls: u64 = done.urls.values().sum();
                let hosts = done.hosts;
                tracing::info!(shard, urls, hosts, "what failed is put back");
            }
            What::Forget(order, _) => {
                let (order, done) = &**order;
                if !order.dry_run {
                    self.crawled.passes(at)?;
                }
                takedown::tell(broker, shard, (at, order.dry_run), &done.clone().into())?;
                let (pages, records) = (done.pages, done.records);
                tracing::info!(shard, pages, records, "what was to be forgotten is");
            }
        }
        self.pass(at, post).await
    }

    /// Goes on behind an order.
    async fn pass(&mut self, at: u64, post: &Post) -> Result<bool, Trouble> {
        let passed = post.add_seeds(Vec::new(), at).await;
        passed.map_err(|_| Trouble::Over)?;
        (self.through, self.order) = (Some(at), None);
        Ok(true)
    }
}
