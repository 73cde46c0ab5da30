//! The frame of what is kept or carried elsewhere: a version before it, a checksum behind it (xxh3,
//! 8 bytes, little-endian).

use xxhash_rust::xxh3::xxh3_64;

/// Length of the checksum.
pub(super) const CHECKSUM: usize = 8;

/// Why a frame cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// There is less than a frame.
    Short,
    /// It is of this other version, which may have another form.
    Version(u8),
    /// The bytes are not those that were sealed.
    Checksum,
}

/// Closes a frame: its first byte is the version.
pub(crate) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Returns what a frame of this version holds.
pub(crate) fn unseal(version: u8, bytes: &[u8]) -> Result<&[u8], Broken> {
    // Told by itself: another version may have no checksum, or another one.
    match bytes.first() {
        None => return Err(Broken::Short),
        Some(first) if *first == version => {}
        Some(other) => return Err(Broken::Version(*other)),
    }
    let (body, checksum) = bytes.split_last_chunk().ok_or(Broken::Short)?;
    if xxh3_64(body) != u64::from_le_bytes(*checksum) {
        return Err(Broken::Checksum);
    }
    body.get(1..).ok_or(Broken::Short)
}
