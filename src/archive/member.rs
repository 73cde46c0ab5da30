//! One record as one gzip member (WARC/1.1, annex D).

use flate2::{Compress, Compression, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor};

use super::Result;
use super::id::{DigestAlgorithm, RecordId};
use super::record::Record;

/// Size of a record, in bytes, up to which it is compressed in one piece: in two thirds of the
/// time, but with room for the record and for its member at once. What is larger passes in small
/// pieces.
pub(super) const WHOLE_BYTES: usize = 1 << 20;

/// What headers name: the warcinfo record of their file, and the digests that they have.
pub(super) type Name = (Option<RecordId>, DigestAlgorithm);

/// The compressor of one thread.
pub(super) struct Encoder {
    whole: Compressor,
    /// A record that is compressed in one piece, and its member.
    record: Vec<u8>,
    member: Vec<u8>,
    in_pieces: Compress,
}

impl Encoder {
    pub(super) fn new(level: u32) -> Self {
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

    /// Encodes one record as one gzip member.
    pub(super) fn member(&mut self, record: &Record, (warcinfo, digest): Name) -> Result<Vec<u8>> {
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
