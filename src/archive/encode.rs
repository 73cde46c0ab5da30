//! Encodes records: one gzip member per record (WARC/1.1, annex D), so that each can be read from
//! its offset alone. The members of a large append are compressed on several threads and returned
//! in order. No file is touched here.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use flate2::write::GzEncoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor};

use super::id::{DigestAlgorithm, RecordId};
use super::record::Record;
use super::{Error, Result};

/// Size of the blocks, in bytes, below which one thread finishes before a second one has started:
/// starting a thread takes some tens of microseconds, compressing this much more than half a
/// millisecond.
const PARALLEL_BYTES: u64 = 128 * 1024;

/// More threads than this do not help with a group of a few dozen records.
const MAX_THREADS: usize = 8;

/// Size of a record, in bytes, up to which it is compressed in one piece: in two thirds of the
/// time, but with room for the record and for its member at once. What is larger passes in small
/// pieces.
const WHOLE_BYTES: usize = 1 << 20;

/// The compressors of one archive, reused because their tables (some megabyte each) are expensive
/// to allocate.
pub(super) struct Encoders {
    encoders: Vec<Encoder>,
    digest: DigestAlgorithm,
}

impl Encoders {
    /// Creates compressors of `level` (0 to 9), one per core.
    pub(super) fn new(level: u32, digest: DigestAlgorithm) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self {
            digest,
            ..Self::with_threads(level, threads.min(MAX_THREADS))
        }
    }

    /// Creates compressors for a given number of threads, at least one.
    pub(super) fn with_threads(level: u32, threads: usize) -> Self {
        let encoders = (0..threads.max(1)).map(|_| Encoder::new(level)).collect();
        Self {
            encoders,
            digest: DigestAlgorithm::default(),
        }
    }

    /// Returns the gzip members of `records`, in their order.
    pub(super) fn encode(
        &mut self,
        records: &[Record],
        warcinfo: Option<RecordId>,
    ) -> Result<Vec<Vec<u8>>> {
        let bytes: u64 = records.iter().map(Record::block_length).sum();
        let threads = match bytes {
            PARALLEL_BYTES.. => self.encoders.len().min(records.len()),
            _ => 1,
        };
        let next = &AtomicUsize::new(0);
        let name = (warcinfo, self.digest);
        let mut encoders = self.encoders.iter_mut().take(threads);
        let own = encoders.next();
        let mut members = thread::scope(|scope| {
            // A thread that cannot be started is not needed: the running threads take its records.
            let helpers: Vec<_> = encoders
                .filter_map(|encoder| {
                    let work = move || encoder.take_turns(records, next, name);
                    thread::Builder::new().spawn_scoped(scope, work).ok()
                })
                .collect();
            let mut members = match own {
                Some(encoder) => encoder.take_turns(records, next, name)?,
                None => Vec::new(),
            };
            for helper in helpers {
                match helper.join() {
                    Ok(more) => members.extend(more?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok::<_, Error>(members)
        })?;
        members.sort_unstable_by_key(|(index, _)| *index);
        Ok(members.into_iter().map(|(_, member)| member).collect())
    }
}

impl Record {
    /// Returns the record as a gzip member, for a file that is no archive's.
    pub fn to_member(&self) -> Vec<u8> {
        let header = self.header(None);
        let [head, payload] = self.block();
        let mut member = GzEncoder::new(Vec::new(), Compression::default());
        for part in [header.as_bytes(), head, payload, b"\r\n\r\n"] {
            // Both ends are memory.
            let _ = member.write_all(part);
        }
        member.finish().unwrap_or_default()
    }
}

/// The compressor of one thread.
struct Encoder {
    whole: Compressor,
    /// A record that is compressed in one piece, and its member.
    record: Vec<u8>,
    member: Vec<u8>,
    in_pieces: Compress,
}

impl Encoder {
    fn new(level: u32) -> Self {
        // Both have these levels.
        let whole = i32::try_from(level).map(CompressionLvl::new);
        let whole = whole.ok().and_then(std::result::Result::ok);
        Self {
            whole: Compressor::new(whole.unwrap_or_default()),
            record: Vec::new(),
            member: Vec::new(),
            // A window of 15 bits is the maximum of the format; every reader supports it.
            in_pieces: Compress::new_gzip(Compression::new(level), 15),
        }
    }

    /// Encodes the next record until none is left.
    fn take_turns(
        &mut self,
        records: &[Record],
        next: &AtomicUsize,
        name: (Option<RecordId>, DigestAlgorithm),
    ) -> Result<Vec<(usize, Vec<u8>)>> {
        let mut members = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(record) = records.get(index) else {
                return Ok(members);
            };
            members.push((index, self.member(record, name)?));
        }
    }

    /// Encodes one record as one gzip member.
    fn member(
        &mut self,
        record: &Record,
        (warcinfo, digest): (Option<RecordId>, DigestAlgorithm),
    ) -> Result<Vec<u8>> {
        let header = record.header_by(warcinfo, digest);
        let [head, payload] = record.block();
        let parts = [header.as_bytes(), head, payload, b"\r\n\r\n"];
        let length = parts.iter().map(|part| part.len()).sum();
        if length <= WHOLE_BYTES
            && let Some(member) = self.compress_whole(&parts)
        {
            return Ok(member);
        }
        self.compress_in_pieces(&parts, length)
    }

    fn compress_whole(&mut self, parts: &[&[u8]]) -> Option<Vec<u8>> {
        self.record.clear();
        for part in parts {
            self.record.extend_from_slice(part);
        }
        let most = self.whole.gzip_compress_bound(self.record.len());
        if self.member.len() < most {
            self.member.resize(most, 0);
        }
        let compressed = self.whole.gzip_compress(&self.record, &mut self.member);
        self.member.get(..compressed.ok()?).map(<[u8]>::to_vec)
    }

    fn compress_in_pieces(&mut self, parts: &[&[u8]], length: usize) -> Result<Vec<u8>> {
        self.in_pieces.reset();
        // Web pages shrink to between a fifth and a third.
        let mut member = Vec::with_capacity(512 + length / 3);
        for part in parts {
            self.push(part, &mut member, FlushCompress::None)?;
        }
        self.push(&[], &mut member, FlushCompress::Finish)?;
        Ok(member)
    }

    fn push(&mut self, mut input: &[u8], member: &mut Vec<u8>, flush: FlushCompress) -> Result<()> {
        loop {
            if member.len() == member.capacity() {
                member.reserve((input.len() / 2).max(1024));
            }
            let before = self.in_pieces.total_in();
            let status = self.in_pieces.compress_vec(input, member, flush)?;
            let taken = (self.in_pieces.total_in() - before) as usize;
            input = input.get(taken..).unwrap_or_default();
            let finishing = matches!(flush, FlushCompress::Finish);
            if matches!(status, Status::StreamEnd) || (input.is_empty() && !finishing) {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use bytes::Bytes;
    use flate2::read::GzDecoder;

    use super::super::{Capture, Digest};
    use super::*;

    fn page(number: usize, length: usize) -> Record {
        let capture = Capture {
            target: &format!("http://h.test/{number}"),
            date: jiff::Timestamp::UNIX_EPOCH,
            ip: None,
            protocols: &[],
        };
        let payload: Vec<u8> = (0..length)
            .map(|i| (i.wrapping_mul(i) >> 3) as u8)
            .collect();
        let digest = Digest::of(&payload);
        Record::response(
            &capture,
            b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
            Bytes::from(payload),
            digest,
            None,
        )
    }

    /// The result does not depend on which thread encoded a record.
    #[test]
    fn threads_keep_order_and_bytes() {
        // Large records first: the helpers finish out of order.
        let records: Vec<Record> = (0..40).map(|i| page(i, (40 - i) * 1000)).collect();
        let one = Encoders::with_threads(6, 1).encode(&records, None).unwrap();
        let mut encoders = Encoders::with_threads(6, 4);
        for _ in 0..5 {
            assert_eq!(encoders.encode(&records, None).unwrap(), one);
        }
        for (record, member) in records.iter().zip(&one) {
            let mut bytes = Vec::new();
            GzDecoder::new(member.as_slice())
                .read_to_end(&mut bytes)
                .unwrap();
            let mut expected = record.header(None).into_bytes();
            expected.extend(record.block().concat());
            expected.extend_from_slice(b"\r\n\r\n");
            assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn every_level_and_size_comes_out_whole() {
        for level in 0..=9 {
            let mut encoders = Encoders::with_threads(level, 2);
            let records = [0, 300_000, 1, 2 * WHOLE_BYTES, 70_000];
            let records: Vec<Record> = (0..).zip(records).map(|(at, it)| page(at, it)).collect();
            for member in encoders.encode(&records, None).unwrap() {
                let mut bytes = Vec::new();
                GzDecoder::new(member.as_slice())
                    .read_to_end(&mut bytes)
                    .unwrap();
                assert!(bytes.ends_with(b"\r\n\r\n"), "level {level}");
            }
        }
    }
}
