//! Numbers written bit by bit, the lowest first: what is nearly evenly spread takes hardly more
//! than it says.

/// Maximum number of bits that are written or read at once.
const AT_ONCE: u32 = 32;

/// Writes numbers into bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that fill no byte yet, and their number.
    held: u64,
    count: u32,
}

impl BitWriter {
    /// Writes the lowest bits of a number, 40 at most.
    pub(super) fn bits(&mut self, value: u64, count: u32) {
        self.held |= (value & mask(count)) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// Writes a number that is mostly small.
    pub(super) fn small(&mut self, value: u32) {
        let value = u64::from(value) + 1;
        let length = value.ilog2();
        self.ones(u64::from(length));
        self.bits(value, length);
    }

    /// Writes numbers of `width` bits in ascending order; the reader must know how many (Rice,
    /// "Some practical universal noiseless coding techniques", 1979).
    pub(super) fn ascending(&mut self, values: impl ExactSizeIterator<Item = u64>, width: u32) {
        let low = low_bits(values.len(), width);
        let mut before = 0;
        for value in values {
            let gap = value.saturating_sub(before);
            before = value;
            self.ones(gap >> low);
            self.bits(gap, low);
        }
    }

    /// Writes so many ones, and a zero.
    fn ones(&mut self, mut count: u64) {
        while count >= u64::from(AT_ONCE) {
            self.bits(u64::MAX, AT_ONCE);
            count -= u64::from(AT_ONCE);
        }
        let count = count as u32;
        self.bits(mask(count), count + 1);
    }

    /// Adds what was written to some bytes.
    pub(super) fn add_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.bytes);
        if self.count > 0 {
            bytes.push(self.held as u8);
        }
    }
}

/// Reads what a [`BitWriter`] wrote. Everything is `None` behind the end.
#[derive(Debug)]
pub(super) struct BitReader<'a> {
    rest: &'a [u8],
    held: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            held: 0,
            count: 0,
        }
    }

    pub(super) fn bits(&mut self, count: u32) -> Option<u64> {
        self.fill();
        if count > self.count {
            return None;
        }
        let value = self.held & mask(count);
        self.leave(count);
        Some(value)
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        let length = u32::try_from(self.ones()?).ok()?;
        if length > u32::BITS {
            return None;
        }
        let value = 1 << length | self.bits(length)?;
        u32::try_from(value - 1).ok()
    }

    /// Reads so many numbers of `width` bits.
    pub(super) fn ascending(&mut self, count: usize, width: u32) -> Option<Vec<u64>> {
        // Each takes a bit at least.
        let bits = self.rest.len().saturating_mul(8) + self.count as usize;
        if count > bits {
            return None;
        }
        let low = low_bits(count, width);
        let mut before = 0_u64;
        let values = (0..count).map(|_| {
            let high = self.ones()?;
            let gap = high << low | self.bits(low)?;
            before = before.checked_add(gap).filter(|it| it >> width == 0)?;
            Some(before)
        });
        values.collect()
    }

    /// Reads ones up to a zero; returns how many.
    fn ones(&mut self) -> Option<u64> {
        let mut all = 0;
        loop {
            self.fill();
            let ones = self.held.trailing_ones().min(self.count);
            all += u64::from(ones);
            if ones < self.count {
                self.leave(ones + 1);
                return Some(all);
            }
            if self.count == 0 {
                return None;
            }
            self.leave(ones);
        }
    }

    /// Whether there is nothing more but what fills the last byte.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty() && self.count < 8 && self.held == 0
    }

    fn fill(&mut self) {
        while self.count <= u64::BITS - 8
            && let Some((byte, rest)) = self.rest.split_first()
        {
            self.held |= u64::from(*byte) << self.count;
            self.count += 8;
            self.rest = rest;
        }
    }

    fn leave(&mut self, count: u32) {
        self.held = self.held.checked_shr(count).unwrap_or(0);
        self.count -= count;
    }
}

fn mask(count: u32) -> u64 {
    u64::MAX
        .checked_shr(u64::BITS - count)
        .filter(|_| count > 0)
        .unwrap_or(0)
}

/// Returns how many bits of a gap are written as they are: with these, so many numbers take the
/// fewest if they are spread evenly.
fn low_bits(count: usize, width: u32) -> u32 {
    (width - 1).saturating_sub(count.checked_ilog2().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What was written is read again, and nothing else is.
        #[test]
        fn numbers_are_read_again(
            small in prop::collection::vec(any::<u32>(), 0..20),
            mut values in prop::collection::vec(0..1_u64 << 33, 0..200),
            bits in prop::collection::vec((any::<u64>(), 0..=40_u32), 0..20),
        ) {
            values.sort_unstable();
            let mut writer = BitWriter::default();
            for it in &small {
                writer.small(*it);
            }
            writer.ascending(values.iter().copied(), 33);
            for (value, count) in &bits {
                writer.bits(*value, *count);
            }
            let mut bytes = Vec::new();
            writer.add_to(&mut bytes);
            let read = |bytes: &[u8]| {
                let mut reader = BitReader::new(bytes);
                for it in &small {
                    if reader.small()? != *it {
                        return None;
                    }
                }
                let all = reader.ascending(values.len(), 33)?;
                for (value, count) in &bits {
                    if reader.bits(*count)? != value & mask(*count) {
                        return None;
                    }
                }
                reader.is_at_end().then_some(all)
            };
            prop_assert_eq!(read(&bytes), Some(values.clone()));
            prop_assert_eq!(read(&[&bytes[..], &[0]].concat()), None);
            if let Some((_, cut)) = bytes.split_last() {
                prop_assert_eq!(read(cut), None);
            }
        }

        /// Bytes of anyone end, in whatever.
        #[test]
        fn any_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..40), count in 0..400_usize) {
            let mut reader = BitReader::new(&bytes);
            reader.small();
            if let Some(values) = reader.ascending(count, 33) {
                prop_assert!(values.iter().all(|it| it >> 33 == 0) && values.is_sorted());
            }
        }
    }

    #[test]
    fn what_is_spread_evenly_takes_little() {
        let mut writer = BitWriter::default();
        let values: Vec<u64> = (0..1_000)
            .map(|at| at * (1 << 22) + (at * at) % 4_000_000)
            .collect();
        writer.ascending(values.into_iter(), 32);
        let mut bytes = Vec::new();
        writer.add_to(&mut bytes);
        // 22 bits for the distance from one to the next, and one or two more.
        assert!(bytes.len() <= 1_000 * 24 / 8, "{}", bytes.len());
    }
}
