//! Encodes records: one gzip member per record (WARC/1.1, annex D), so that each can be read from
//! its offset alone. The members of a large append are compressed on several threads and returned
//! in order. No file is touched here.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::ahead::{Ahead, OwnAhead};
use super::id::{DigestAlgorithm, RecordId};
use super::member::{Encoder, Name};
use super::record::Record;
use super::{Error, Result};

/// Size of the blocks, in bytes, below which one thread finishes before a second one has started:
/// starting a thread takes some tens of microseconds, compressing this much more than half a
/// millisecond.
const PARALLEL_BYTES: u64 = 128 * 1024;

/// More threads than this do not help with a group of a few dozen records.
const MAX_THREADS: usize = 8;

/// The compressors of one archive, reused because their tables (some megabyte each) are expensive
/// to allocate.
pub(super) struct Encoders {
    own: Vec<Encoder>,
    digest: DigestAlgorithm,
    ahead: OwnAhead,
}

impl Encoders {
    /// Creates compressors of `level` (0 to 9), one per core.
    pub(super) fn new(level: u32, digest: DigestAlgorithm) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self {
            digest,
            ahead: OwnAhead::new(level),
            ..Self::with_threads(level, threads.min(MAX_THREADS))
        }
    }

    /// Creates compressors for a given number of threads, at least one.
    pub(super) fn with_threads(level: u32, threads: usize) -> Self {
        Self {
            own: (0..threads.max(1)).map(|_| Encoder::new(level)).collect(),
            digest: DigestAlgorithm::default(),
            ahead: OwnAhead::with_threads(level, 0),
        }
    }

    /// Returns what takes records ahead, if there are processors for that.
    pub(super) fn ahead(&self) -> Option<Ahead> {
        self.ahead.handle()
    }

    /// Returns the gzip members of `records`, in their order.
    pub(super) fn encode(
        &mut self,
        records: &[Record],
        warcinfo: Option<RecordId>,
    ) -> Result<Vec<Vec<u8>>> {
        let name = (warcinfo, self.digest);
        let mut done = match (warcinfo, self.own.first_mut()) {
            (Some(_), Some(own)) => self.ahead.take(name, own),
            _ => Vec::new(),
        };
        let (mut members, mut rest) = (Vec::with_capacity(records.len()), Vec::new());
        for (index, record) in records.iter().enumerate() {
            match done.iter().position(|(it, _)| it.is(record)) {
                Some(at) => members.push((index, done.swap_remove(at).1)),
                None => rest.push((index, record)),
            }
        }
        members.extend(self.encode_now(&rest, name)?);
        members.sort_unstable_by_key(|(index, _)| *index);
        Ok(members.into_iter().map(|(_, member)| member).collect())
    }

    /// Encodes records, which have their numbers beside them.
    fn encode_now(
        &mut self,
        records: &[(usize, &Record)],
        name: Name,
    ) -> Result<Vec<(usize, Vec<u8>)>> {
        let bytes: u64 = records.iter().map(|(_, it)| it.block_length()).sum();
        let threads = match bytes {
            PARALLEL_BYTES.. => self.own.len().min(records.len()),
            _ => 1,
        };
        let next = &AtomicUsize::new(0);
        let mut encoders = self.own.iter_mut().take(threads);
        let own = encoders.next();
        thread::scope(|scope| {
            // A thread that cannot be started is not needed: the running threads take its records.
            let helpers: Vec<_> = encoders
                .filter_map(|encoder| {
                    let work = move || take_turns(encoder, records, next, name);
                    thread::Builder::new().spawn_scoped(scope, work).ok()
                })
                .collect();
            let mut members = match own {
                Some(encoder) => take_turns(encoder, records, next, name)?,
                None => Vec::new(),
            };
            for helper in helpers {
                match helper.join() {
                    Ok(more) => members.extend(more?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok::<_, Error>(members)
        })
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

/// Encodes the next record until none is left.
fn take_turns(
    encoder: &mut Encoder,
    records: &[(usize, &Record)],
    next: &AtomicUsize,
    name: Name,
) -> Result<Vec<(usize, Vec<u8>)>> {
    let mut members = Vec::new();
    loop {
        let turn = next.fetch_add(1, Ordering::Relaxed);
        let Some((index, record)) = records.get(turn) else {
            return Ok(members);
        };
        members.push((*index, encoder.member(record, name)?));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use bytes::Bytes;
    use flate2::read::GzDecoder;

    use super::super::member::WHOLE_BYTES;
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

    /// The result does not depend on what was begun before, in which order, or for which file.
    #[test]
    fn what_was_begun_ahead_is_what_it_would_be() {
        let records: Vec<Record> = (0..40).map(|i| page(i, i * 3_000)).collect();
        let names = [1, 2].map(|seed| Some(RecordId::new(seed)));
        let expected = names.map(|name| {
            let mut encoders = Encoders::with_threads(6, 1);
            encoders.encode(&records, name).unwrap()
        });
        let mut encoders = Encoders {
            ahead: OwnAhead::with_threads(6, 2),
            ..Encoders::with_threads(6, 1)
        };
        let ahead = encoders.ahead().unwrap();
        for round in 0..12 {
            // Begun twice, forgotten, left out, not appended, and for the file before.
            records.iter().rev().for_each(|it| ahead.begin(it));
            if round % 3 == 0 {
                ahead.forget();
            }
            let begun = records.iter().step_by(1 + round % 3);
            begun.for_each(|it| ahead.begin(it));
            ahead.begin(&page(7, 30_000));
            let (name, expected) = match round % 4 {
                0 => (names[0], &expected[0]),
                _ => (names[1], &expected[1]),
            };
            assert_eq!(&encoders.encode(&records, name).unwrap(), expected);
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
