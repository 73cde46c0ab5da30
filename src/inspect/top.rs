//! The greatest items of a list, in bounded memory.

/// Keeps the greatest of the items offered, up to a maximum number. Of equal items the earlier is
/// kept.
pub(super) struct Top<P, T> {
    room: usize,
    items: Vec<(P, T)>,
}

impl<P: Ord, T> Top<P, T> {
    /// Keeps at most `room` items.
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            items: Vec::new(),
        }
    }

    /// Keeps an item if it is among the greatest so far.
    pub(super) fn offer(&mut self, place: P, item: T) {
        self.offer_with(place, || item);
    }

    /// Like [`offer`](Self::offer), but creates the item only if it is kept.
    pub(super) fn offer_with(&mut self, place: P, item: impl FnOnce() -> T) {
        let is_full = self.items.len() >= self.room;
        if is_full && self.items.last().is_none_or(|(last, _)| *last >= place) {
            return;
        }
        let at = self.items.partition_point(|(other, _)| *other >= place);
        self.items.insert(at, (place, item()));
        self.items.truncate(self.room);
    }

    /// The items, greatest first.
    pub(super) fn into_sorted(self) -> Vec<T> {
        self.items.into_iter().map(|(_, item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_are_kept_in_order() {
        let mut top = Top::new(3);
        for (place, name) in [(1, "a"), (5, "b"), (3, "c"), (5, "d"), (2, "e"), (3, "f")] {
            top.offer(place, name);
        }
        top.offer_with(3, || panic!("there is no room for it"));
        assert_eq!(top.into_sorted(), ["b", "d", "c"]);
        let mut none = Top::new(0);
        none.offer(1, "a");
        assert!(none.into_sorted().is_empty());
    }
}
