//! The portion of a shard: of what a worker may use, and of what the whole crawl may.

use std::num::NonZeroU32;

use crate::engine::Options;
use crate::units::Size;

/// Memory of a shard at least, in bytes: what a crawl needs with the limits of the defaults.
const LEAST_MEMORY: u64 = 64 << 20;

/// Parts what a worker may use, and what the whole crawl may, among shards: each has an equal part.
pub(super) fn part(crawl: &mut Options, shards: u16, max_shards: Option<u16>) {
    let own = max_shards.map_or(shards, |most| most.clamp(1, shards));
    crawl.max_memory = (crawl.max_memory / u64::from(own)).max(LEAST_MEMORY);
    let all = u64::from(shards);
    crawl.seen.expected_urls = crawl.seen.expected_urls.div_ceil(all);
    crawl.concurrency = crawl.concurrency.div_ceil(usize::from(shards)).max(1);
    let rate = |rate: NonZeroU32| NonZeroU32::new(rate.get() / u32::from(shards));
    crawl.max_rate = crawl.max_rate.map(|it| rate(it).unwrap_or(NonZeroU32::MIN));
    let rate = &mut crawl.fetch.limit_rate;
    *rate = rate.map(|it| Size((it.0 / all).max(1)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_portions_together_are_what_was_to_be_parted() {
        let mut options = Options {
            max_memory: 4 << 30,
            concurrency: 64,
            max_rate: NonZeroU32::new(40),
            ..Options::default()
        };
        options.fetch.limit_rate = Some(Size(16_000));
        options.seen.expected_urls = 1_600;
        let mut whole = options.clone();
        part(&mut whole, 16, None);
        assert_eq!((whole.max_memory, whole.concurrency), (256 << 20, 4));
        assert_eq!(
            (whole.max_rate, whole.seen.expected_urls),
            (NonZeroU32::new(2), 100)
        );
        assert_eq!(whole.fetch.limit_rate, Some(Size(1_000)));
        // Memory is parted among the shards that the worker may own, the rest among all.
        let mut few = options.clone();
        part(&mut few, 16, Some(4));
        assert_eq!((few.max_memory, few.concurrency), (1 << 30, 4));
        // With little of it, a shard has what it needs.
        options.max_memory = 64 << 20;
        options.concurrency = 2;
        part(&mut options, 16, None);
        assert_eq!((options.max_memory, options.concurrency), (LEAST_MEMORY, 1));
    }

    #[test]
    fn a_shard_with_the_least_memory_can_be_crawled_by_the_defaults() {
        let mut options = Options {
            max_memory: 0,
            ..Options::default()
        };
        part(&mut options, 16, None);
        let plan = crate::engine::MemoryPlan::of(&options);
        assert!(plan.fits(), "{plan}");
    }
}
