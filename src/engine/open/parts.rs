//! A batch processed on all cores, a part on each.

use std::thread;

/// Splits `items` into one part per core, applies `work` to each part on a thread of its own, and
/// returns the results in the order of the parts. Fails if `work` panics.
pub(super) fn in_parts<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&[T]) -> R + Sync,
) -> thread::Result<Vec<R>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(cores).max(1);
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = items
            .chunks(share)
            .map(|part| scope.spawn(move || work(part)))
            .collect();
        // All are joined before the first failure is returned: a panic that nobody joins is
        // passed on.
        let ends = threads.into_iter().map(thread::ScopedJoinHandle::join);
        let ends: Vec<thread::Result<R>> = ends.collect();
        ends.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..1_000).collect();
        let parts = in_parts(&items, <[u32]>::to_vec).unwrap();
        assert_eq!(parts.concat(), items);
        assert!(in_parts(&[0_u32; 0], <[u32]>::to_vec).unwrap().is_empty());
    }

    #[test]
    fn a_panic_is_an_error() {
        let items: Vec<u32> = (0..1_000).collect();
        let parts = in_parts(&items, |_| panic!("as expected"));
        assert!(parts.map(|parts: Vec<()>| parts.len()).is_err());
    }
}
