//! The frame of what is kept or carried elsewhere: a version before it, a checksum behind it (xxh3,
//! 8 bytes, little-endian). What is large is packed besides (zstd), behind its length.

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

use super::{Table, decode, encode};

/// Length of the checksum.
pub(super) const CHECKSUM: usize = 8;

/// Compression level of what is packed: higher ones take longer than they save of a local network.
const LEVEL: i32 = 1;

/// Bytes of what is packed: what is announced beyond this is damage.
const MAX_BYTES: usize = 1 << 28;

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

/// Packs a value into a frame of this version.
pub(crate) fn pack(version: u8, value: &impl Serialize) -> Vec<u8> {
    let plain = encode(value);
    let mut bytes = vec![version];
    bytes.extend((plain.len() as u64).to_le_bytes());
    // Only a level that does not exist, or too small a buffer, would be an error.
    bytes.extend(zstd::bulk::compress(&plain, LEVEL).unwrap_or_default());
    seal(bytes)
}

/// Returns the value that was packed into a frame of this version.
///
/// # Errors
///
/// Says what is wrong with what is damaged, or of another version.
pub(crate) fn unpack<T: DeserializeOwned>(version: u8, bytes: &[u8]) -> Result<T, String> {
    let body = unseal(version, bytes).map_err(|broken| match broken {
        Broken::Version(other) => {
            format!("it has the form {other}, and this version of gleaner reads form {version}")
        }
        Broken::Short => "it is cut off".to_owned(),
        Broken::Checksum => "its checksum does not match".to_owned(),
    })?;
    let (length, packed) = body.split_first_chunk().ok_or("it is cut off")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok();
    let length = length.filter(|it| *it <= MAX_BYTES);
    let length = length.ok_or("it is too long")?;
    let plain = zstd::bulk::decompress(packed, length).map_err(|error| error.to_string())?;
    decode(Table::Meta, &plain).map_err(|error| error.to_string())
}
