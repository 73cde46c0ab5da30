//! Packs: bodies of duplicates in one record, with an index in front. A body is a delta against a
//! response that is stored in full, or compressed by itself.
//!
//! What is kept of a body is its *content*: the head of its response and the body with content
//! codings undone. A delta is a zstd frame whose prefix is the content of the base. docs/formats.md
//! has the form of a pack. Packs may be damaged or hostile: reading them gives an error, never a
//! panic, and never another body than the one that was packed.

use std::io;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, DParameter, get_error_name};

use super::id::{Digest, RecordId};

/// Maximum length of a content that is kept as a delta, or is the base of one, in bytes.
pub const MAX_DELTA_CONTENT: usize = 8 << 20;

/// Maximum number of bodies in a pack.
pub const MAX_PACKED: usize = 64;

/// Maximum length of a content in a pack, in bytes: the reader of records allows as much.
const MAX_CONTENT: u64 = 256 << 20;

/// The first bytes of a pack; the last of them is the version of its form.
const MAGIC: &[u8; 5] = b"GLBD\x01";

/// zstd level of a body by itself.
const LEVEL: i32 = 3;

/// zstd level of deltas. 500 deltas of documentation had 298 bytes each at level 3, in 0.14 ms;
/// 243 at level 6, in 0.16 ms; and 229 at level 9, in 0.36 ms.
const DELTA_LEVEL: i32 = 6;

/// Base and content together beyond this length, in bytes, are searched for long matches too: the
/// tables of the level hold no more positions.
const LONG: usize = 512 << 10;

/// log2 of the largest window that is decoded: base and content of a delta have at most 16 MiB
/// together, and a content alone may be larger than that.
const MAX_WINDOW_LOG: u32 = 28;

/// Flags of a body in the index.
const HAS_BASE: u8 = 1;
const HAS_RECEIVED: u8 = 2;
const IS_CODED: u8 = 4;

/// A body in a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedBody {
    /// The record of the visit: metadata with its verdict.
    pub visit: RecordId,
    /// The base; `None` if the body is compressed by itself.
    pub base: Option<PackBase>,
    /// Digest of the body, with content codings undone unless [`is_coded`](Self::is_coded).
    pub digest: Digest,
    /// Digest of the body as received, if it came with a content coding that was undone.
    pub received: Option<Digest>,
    /// Set if the body is as received because its content coding could not be undone.
    pub is_coded: bool,
    /// Length of the head of the response, in bytes.
    pub head_length: u64,
    /// Length of the body, in bytes.
    pub length: u64,
    /// The zstd frame of head and body.
    pub data: Vec<u8>,
}

/// The response that a delta refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackBase {
    /// Digest of its payload as stored.
    pub payload: Digest,
    /// Length of its content: head and body with content codings undone, in bytes.
    pub length: u64,
}

/// Why a body cannot be read from a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// The bytes are not a pack.
    #[error("the pack is damaged")]
    Form,
    /// The pack has no body of this number.
    #[error("the pack has no such body")]
    NoSuchBody,
    /// The base that was given is not the one that the delta was made with.
    #[error("the original's stored response is not the one that the delta refers to")]
    Base,
    /// The frame does not give the content that was packed.
    #[error("the packed body is damaged")]
    Content,
}

/// Returns the block of the record with these bodies.
pub fn pack(bodies: &[PackedBody]) -> Vec<u8> {
    let mut bases: Vec<PackBase> = Vec::new();
    let mut index = Vec::new();
    put(&mut index, bodies.len() as u64);
    for body in bodies {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        index.push(
            flag(body.base.is_some(), HAS_BASE)
                | flag(body.received.is_some(), HAS_RECEIVED)
                | flag(body.is_coded, IS_CODED),
        );
        if let Some(base) = body.base {
            let at = bases.iter().position(|known| *known == base);
            let at = at.unwrap_or_else(|| {
                bases.push(base);
                bases.len() - 1
            });
            put(&mut index, at as u64);
        }
        index.extend_from_slice(body.visit.as_bytes());
        index.extend_from_slice(body.digest.as_bytes());
        if let Some(received) = &body.received {
            index.extend_from_slice(received.as_bytes());
        }
        put(&mut index, body.head_length);
        put(&mut index, body.length);
        put(&mut index, body.data.len() as u64);
    }
    let data: usize = bodies.iter().map(|body| body.data.len()).sum();
    let mut block = Vec::with_capacity(MAGIC.len() + bases.len() * 36 + index.len() + data + 9);
    block.extend_from_slice(MAGIC);
    put(&mut block, bases.len() as u64);
    for base in &bases {
        block.extend_from_slice(base.payload.as_bytes());
        put(&mut block, base.length);
    }
    block.extend_from_slice(&index);
    for body in bodies {
        block.extend_from_slice(&body.data);
    }
    block
}

/// Returns the bodies of a pack, in order.
pub fn unpack(block: &[u8]) -> Result<Vec<PackedBody>, PackError> {
    let mut rest = Rest(block.strip_prefix(MAGIC).ok_or(PackError::Form)?);
    // Memory grows with what is there, not with the numbers in front.
    let mut bases = Vec::new();
    for _ in 0..rest.number()? {
        bases.push(PackBase {
            payload: Digest::from_bytes(rest.array()?),
            length: rest.number()?,
        });
    }
    let mut bodies = Vec::new();
    let mut lengths = Vec::new();
    for _ in 0..rest.number()? {
        let [flags] = rest.array()?;
        if flags & !(HAS_BASE | HAS_RECEIVED | IS_CODED) != 0 {
            return Err(PackError::Form);
        }
        let base = match flags & HAS_BASE {
            0 => None,
            _ => {
                let at = usize::try_from(rest.number()?).map_err(|_| PackError::Form)?;
                Some(*bases.get(at).ok_or(PackError::Form)?)
            }
        };
        bodies.push(PackedBody {
            visit: RecordId::from_bytes(rest.array()?),
            base,
            digest: Digest::from_bytes(rest.array()?),
            received: match flags & HAS_RECEIVED {
                0 => None,
                _ => Some(Digest::from_bytes(rest.array()?)),
            },
            is_coded: flags & IS_CODED != 0,
            head_length: rest.number()?,
            length: rest.number()?,
            data: Vec::new(),
        });
        lengths.push(rest.number()?);
    }
    for (body, length) in bodies.iter_mut().zip(lengths) {
        body.data = rest.take(length)?.to_vec();
    }
    match rest.0 {
        [] => Ok(bodies),
        _ => Err(PackError::Form),
    }
}

impl PackedBody {
    /// Returns head and body. `base` is the content of the response that the delta refers to, and
    /// is not needed for a body that is compressed by itself.
    pub fn content(&self, base: Option<&[u8]>) -> Result<(Vec<u8>, Vec<u8>), PackError> {
        let prefix = match (&self.base, base) {
            (None, _) => None,
            (Some(named), Some(base)) if named.length == base.len() as u64 => Some(base),
            (Some(_), _) => return Err(PackError::Base),
        };
        let length = self.head_length.saturating_add(self.length);
        if length > MAX_CONTENT {
            return Err(PackError::Content);
        }
        let content = expand(prefix, &self.data, length as usize);
        let mut head = content.map_err(|_| PackError::Content)?;
        if head.len() as u64 != length {
            return Err(PackError::Content);
        }
        let body = head.split_off(self.head_length as usize);
        match Digest::of(&body) == self.digest {
            true => Ok((head, body)),
            false => Err(PackError::Content),
        }
    }
}

/// Compresses `content`, as a delta if there is a `prefix`.
pub fn compress(prefix: Option<&[u8]>, content: &[u8]) -> io::Result<Vec<u8>> {
    let mut context = CCtx::create();
    let together = prefix.map_or(0, <[u8]>::len) + content.len();
    let set = |context: &mut CCtx<'_>, parameter| context.set_parameter(parameter).map_err(failed);
    let level = prefix.map_or(LEVEL, |_| DELTA_LEVEL);
    set(&mut context, CParameter::CompressionLevel(level))?;
    // It also covers the head, which no digest does.
    set(&mut context, CParameter::ChecksumFlag(true))?;
    if let Some(prefix) = prefix {
        // In a smaller window the beginning of the prefix is out of reach, and nothing says so.
        let log = (together.max(1 << 10) - 1).ilog2() + 1;
        set(&mut context, CParameter::WindowLog(log))?;
        if together > LONG {
            set(&mut context, CParameter::EnableLongDistanceMatching(true))?;
        }
        context.ref_prefix(prefix).map_err(failed)?;
    }
    let mut data = Vec::with_capacity(zstd::zstd_safe::compress_bound(content.len()));
    context.compress2(&mut data, content).map_err(failed)?;
    data.shrink_to_fit();
    Ok(data)
}

/// Undoes [`compress`], into at most `length` bytes.
fn expand(prefix: Option<&[u8]>, data: &[u8], length: usize) -> io::Result<Vec<u8>> {
    let mut context = DCtx::create();
    let window = DParameter::WindowLogMax(MAX_WINDOW_LOG);
    context.set_parameter(window).map_err(failed)?;
    if let Some(prefix) = prefix {
        context.ref_prefix(prefix).map_err(failed)?;
    }
    // A damaged number must not reserve memory: a frame says how long its content is.
    match zstd::zstd_safe::get_frame_content_size(data) {
        Ok(Some(said)) if said == length as u64 => {}
        _ => return Err(io::ErrorKind::InvalidData.into()),
    }
    let mut content = Vec::with_capacity(length);
    context.decompress(&mut content, data).map_err(failed)?;
    Ok(content)
}

fn failed(code: usize) -> io::Error {
    io::Error::other(get_error_name(code))
}

/// Appends a number: seven bits a byte, lowest first, the highest bit set in all but the last.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// What was not read yet of a block.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: u64) -> Result<&'a [u8], PackError> {
        let length = usize::try_from(length).map_err(|_| PackError::Form)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(PackError::Form)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PackError> {
        let taken = self.take(N as u64)?;
        taken.try_into().map_err(|_| PackError::Form)
    }

    fn number(&mut self) -> Result<u64, PackError> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(PackError::Form)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(base: Option<&[u8]>, head: &[u8], body: &[u8]) -> PackedBody {
        let content = [head, body].concat();
        PackedBody {
            visit: RecordId::new(7),
            base: base.map(|base| PackBase {
                payload: Digest::of(base),
                length: base.len() as u64,
            }),
            digest: Digest::of(body),
            received: None,
            is_coded: false,
            head_length: head.len() as u64,
            length: body.len() as u64,
            data: compress(base, &content).unwrap(),
        }
    }

    /// Bytes that do not repeat.
    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    /// The whole base is in reach, its first byte too, at every size around the steps of the
    /// window.
    #[test]
    fn the_start_of_the_base_is_in_reach() {
        for length in [1 << 10, 65_535, 65_537, 200_000, 1 << 20, 3 << 20] {
            let base = noise(1, length);
            let own = [
                &base[..length / 2],
                &b"something else"[..],
                &base[length / 2..],
            ]
            .concat();
            let body = packed(Some(&base), b"", &own);
            assert!(body.data.len() < 10_000, "{length}: {}", body.data.len());
            assert_eq!(body.content(Some(&base)).unwrap().1, own);
        }
    }

    #[test]
    fn a_wrong_base_or_a_damaged_pack_is_an_error_and_never_another_body() {
        let base = noise(3, 900);
        let own = [&base[..], b"<p>More.</p>"].concat();
        let body = packed(Some(&base), b"HTTP/1.1 200 OK\r\n\r\n", &own);
        assert_eq!(body.content(None), Err(PackError::Base));
        let mut other = base.clone();
        other[3] ^= 1;
        assert_eq!(body.content(Some(&other)), Err(PackError::Content));
        assert_eq!(body.content(Some(&own)), Err(PackError::Base));
        let block = pack(&[packed(None, b"h", b"first"), body.clone()]);
        let mut survivors = 0;
        for at in 0..block.len() {
            for bit in 0..8 {
                let mut damaged = block.clone();
                damaged[at] ^= 1 << bit;
                let Ok(bodies) = unpack(&damaged) else {
                    continue;
                };
                let Some(found) = bodies.get(1) else { continue };
                if let Ok((head, found)) = found.content(Some(&base)) {
                    assert_eq!(found, own, "byte {at}, bit {bit}");
                    assert_eq!(head, b"HTTP/1.1 200 OK\r\n\r\n");
                    survivors += 1;
                }
            }
            assert!(unpack(&block[..at]).is_err());
        }
        // Names of records and of received bytes may differ, and so may the other body.
        assert!(survivors < 8 * block.len());
    }

    proptest! {
        #[test]
        fn any_two_bodies_round_trip(
            base in prop::collection::vec(any::<u8>(), 0..5_000),
            own in prop::collection::vec(any::<u8>(), 0..5_000),
            shared in 0_usize..5_000,
            head in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            let shared = &base[..shared.min(base.len())];
            let body = [&own, shared].concat();
            let mut first = packed(Some(&base), &head, &body);
            first.received = Some(Digest::of(b"coded"));
            let second = packed(None, &head, &own);
            let bodies = vec![first, second];
            let block = pack(&bodies);
            let read = unpack(&block).unwrap();
            prop_assert_eq!(&read, &bodies);
            prop_assert_eq!(read[0].content(Some(&base)).unwrap(), (head.clone(), body));
            prop_assert_eq!(read[1].content(None).unwrap(), (head, own));
        }

        #[test]
        fn any_bytes_are_read_or_refused(block in prop::collection::vec(any::<u8>(), 0..300)) {
            let marked = [&MAGIC[..], &block].concat();
            for block in [block, marked] {
                if let Ok(bodies) = unpack(&block) {
                    for body in bodies {
                        let _ = body.content(None);
                    }
                }
            }
        }
    }
}
