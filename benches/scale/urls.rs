//! Made-up URLs by number, at hosts of which few have most.

/// `SplitMix64` of a number: no two numbers have the same.
pub(crate) fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// A number from 0 to 1, the same for the same seed.
fn unit(seed: u64) -> f64 {
    (mix(seed) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A rank from 1 to `most`, after Zipf with exponent 1: log-uniform.
pub(crate) fn zipf(seed: u64, most: u64) -> u64 {
    let rank = (most as f64).powf(unit(seed)) as u64;
    rank.clamp(1, most)
}

/// URL `number`. Twenty in a row are of one host, as the links of a page are.
pub(crate) fn url(number: u64, hosts: u64) -> String {
    let host = zipf(number / 20, hosts);
    let section = mix(number) % 30;
    format!(
        "https://www.host{host}.example/section-{section}/{number:010}-a-title-of-some-words.html"
    )
}

/// A number below `count`, the later the likelier: Zipf over recency.
pub(crate) fn recent(seed: u64, count: u64) -> u64 {
    count - zipf(seed, count)
}
