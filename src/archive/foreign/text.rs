//! The text of a file: its bytes, with the compression undone member by member, and where each
//! record begins and ends in the file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;

use flate2::bufread::GzDecoder;

/// Bytes of text that are decoded at once.
const PIECE: usize = 64 << 10;

/// The first bytes of a gzip member: magic number, and deflate, the only method there is.
const GZIP: &[u8] = b"\x1F\x8B\x08";
/// The first bytes of a zstd frame.
const ZSTD: &[u8] = b"\x28\xB5\x2F\xFD";
/// The first bytes of the skippable frame that has the dictionary of a file (the WARC zstd
/// specification of the IIPC).
const DICTIONARY: &[u8] = b"\x5D\x2A\x4D\x18";
/// Maximum length of a dictionary, in bytes.
const MAX_DICTIONARY: u64 = 16 << 20;

/// Maximum number of bytes skipped in a member before the file is searched for another.
const MAX_SKIPPED: u64 = 1 << 30;

/// Where a text is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Offset of the member, or in a plain file of the text.
    pub(super) member: u64,
    /// Bytes of the member's text before it.
    within: u64,
}

impl Place {
    /// Returns the offset in the file.
    pub(super) fn offset(self) -> u64 {
        self.member
    }

    /// Returns the length of what ends at another place, in bytes of the file; 0 if the two are not
    /// the beginnings of members.
    pub(super) fn length_to(self, end: Self) -> u64 {
        match (self.within, end.within) {
            (0, 0) => end.member - self.member,
            _ => 0,
        }
    }
}

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    Gzip,
    Zstd,
}

impl Coding {
    fn magic(self) -> &'static [u8] {
        match self {
            Self::Plain => b"",
            Self::Gzip => GZIP,
            Self::Zstd => ZSTD,
        }
    }
}

/// What decodes the current member.
enum Decoder {
    Plain(Counted),
    Gzip(Box<GzDecoder<Counted>>),
    Zstd(Box<zstd::Decoder<'static, Counted>>),
    /// No member is begun.
    Between(Counted),
    /// While one becomes another.
    None,
}

/// The text of a file.
pub(super) struct Text {
    decoder: Decoder,
    coding: Coding,
    dictionary: Vec<u8>,
    /// Its first `end` bytes are decoded bytes of the current member, and the first `at` of these
    /// are read.
    piece: Box<[u8]>,
    end: usize,
    at: usize,
    /// Where the piece begins.
    place: Place,
    /// Where the record that is being read begins.
    begun: Option<Place>,
}

impl Text {
    /// Opens a file, and reads from an offset.
    pub(super) fn open(path: &Path, offset: u64) -> io::Result<Self> {
        let mut counted = Counted {
            file: BufReader::with_capacity(PIECE, super::super::elsewhere::open_to_read(path)?),
            position: 0,
        };
        let first = counted.fill_buf()?;
        let coding = match first {
            _ if first.starts_with(GZIP) => Coding::Gzip,
            _ if first.starts_with(ZSTD) || first.starts_with(DICTIONARY) => Coding::Zstd,
            _ => Coding::Plain,
        };
        let mut dictionary = Vec::new();
        if first.starts_with(DICTIONARY) {
            // Without it, each record is an error that says so.
            dictionary = match read_dictionary(&mut counted).map_err(of_content) {
                Err(error) if error.raw_os_error().is_some() => return Err(error),
                read => read.unwrap_or_default(),
            };
        }
        if offset > 0 {
            counted.seek(offset)?;
        }
        let place = match coding {
            Coding::Plain => Place {
                member: 0,
                within: offset,
            },
            _ => Place {
                member: counted.position,
                within: 0,
            },
        };
        Ok(Self {
            decoder: match coding {
                Coding::Plain => Decoder::Plain(counted),
                _ => Decoder::Between(counted),
            },
            coding,
            dictionary,
            piece: vec![0; PIECE].into(),
            end: 0,
            at: 0,
            place,
            begun: None,
        })
    }

    /// Returns how many bytes of the file were read.
    pub(super) fn position(&self) -> u64 {
        match &self.decoder {
            Decoder::Plain(counted) | Decoder::Between(counted) => counted.position,
            Decoder::Gzip(decoder) => decoder.get_ref().position,
            Decoder::Zstd(decoder) => decoder.get_ref().position,
            Decoder::None => self.place.member,
        }
    }

    /// Returns `true` if the file is compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.coding != Coding::Plain
    }

    /// Returns the offset of the current member.
    pub(super) fn member(&self) -> u64 {
        self.place.member
    }

    /// Returns where the record that is being read begins.
    pub(super) fn begun(&self) -> Option<Place> {
        self.begun
    }

    /// Begins a record, behind line ends that may precede it; `None` at the end of the file.
    pub(super) fn begin(&mut self) -> io::Result<Option<Place>> {
        self.begun = None;
        while matches!(self.fill_buf()?.first(), Some(b'\r' | b'\n')) {
            self.consume(1);
        }
        if self.fill_buf()?.is_empty() {
            return Ok(None);
        }
        self.begun = Some(self.here());
        Ok(self.begun)
    }

    /// Ends a record, and returns where the next begins. The end of a member that ends here is
    /// read, with its checksum; what follows it is not touched.
    pub(super) fn end(&mut self) -> io::Result<Place> {
        if !self.fill_here()?.is_empty() {
            return Ok(self.here());
        }
        Ok(Place {
            member: self.position(),
            within: 0,
        })
    }

    /// Where the next byte is. In a plain file every byte is the beginning of what it begins.
    fn here(&self) -> Place {
        let within = self.place.within + self.at as u64;
        match self.coding {
            Coding::Plain => Place {
                member: within,
                within: 0,
            },
            _ => Place {
                member: self.place.member,
                within,
            },
        }
    }

    /// Reads at most `length` bytes. Memory grows with what is there.
    pub(super) fn take_bytes(&mut self, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.by_ref().take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Skips line ends of the current member, and returns how many there were.
    pub(super) fn skip_line_ends(&mut self) -> io::Result<u64> {
        let mut ends = 0;
        loop {
            match self.fill_here()?.first() {
                Some(b'\n') => ends += 1,
                Some(b'\r') => {}
                _ => return Ok(ends),
            }
            self.consume(1);
        }
    }

    /// Returns `true` if the current member, or a plain file, has no more text.
    pub(super) fn is_over(&mut self) -> io::Result<bool> {
        Ok(self.fill_here()?.is_empty())
    }

    /// Returns `true` if these bytes follow, or as much of them as is decoded.
    pub(super) fn is_at(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let rest = self.fill_buf()?;
        Ok(!rest.is_empty() && rest.iter().zip(bytes).all(|(a, b)| a == b))
    }

    /// Goes to the next record, whose text begins with `version`, behind one that cannot be read:
    /// first to the next member that begins with one, then within the member. Returns `false` if
    /// there is none.
    pub(super) fn recover(
        &mut self,
        begun: Option<Place>,
        member: u64,
        version: &[u8],
    ) -> io::Result<bool> {
        let Some(counted) = self.take_file() else {
            return Ok(false);
        };
        let mut counted = counted;
        if self.coding == Coding::Plain {
            let from = begun.map_or(member, Place::offset) + 1;
            counted.seek(from)?;
            self.restart(Decoder::Plain(counted), from);
            return self.scan(version);
        }
        let magic = self.coding.magic();
        counted.seek(member + 1)?;
        while let Some(at) = counted.find(magic)? {
            counted.seek(at)?;
            self.restart(Decoder::Between(counted), at);
            if self.is_record(version) {
                return Ok(true);
            }
            let Some(file) = self.take_file() else {
                return Ok(false);
            };
            counted = file;
            counted.seek(at + 1)?;
        }
        // The last member, or the only one: what is behind the record in it.
        let Some(begun) = begun else {
            return Ok(false);
        };
        counted.seek(begun.member)?;
        self.restart(Decoder::Between(counted), begun.member);
        self.skip(begun.within + 1)?;
        self.scan(version)
    }

    /// Tells whether a member that may begin here begins with a record.
    fn is_record(&mut self, version: &[u8]) -> bool {
        self.fill_buf().is_ok_and(|text| text.starts_with(version))
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        if bytes > MAX_SKIPPED {
            return Err(io::ErrorKind::InvalidData.into());
        }
        io::copy(&mut self.by_ref().take(bytes), &mut io::sink()).map(drop)
    }

    /// Goes to the next line that begins with `version`.
    fn scan(&mut self, version: &[u8]) -> io::Result<bool> {
        let mut line = Vec::new();
        loop {
            // What is no text may have no line ends.
            if self.is_at(version)? {
                return Ok(true);
            }
            line.clear();
            let read = self
                .by_ref()
                .take(PIECE as u64)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(false);
            }
        }
    }

    fn restart(&mut self, decoder: Decoder, member: u64) {
        self.decoder = decoder;
        (self.at, self.end) = (0, 0);
        self.begun = None;
        self.place = match self.coding {
            Coding::Plain => Place {
                member: 0,
                within: member,
            },
            _ => Place { member, within: 0 },
        };
    }

    fn take_file(&mut self) -> Option<Counted> {
        match std::mem::replace(&mut self.decoder, Decoder::None) {
            Decoder::Plain(counted) | Decoder::Between(counted) => Some(counted),
            Decoder::Gzip(decoder) => Some(decoder.into_inner()),
            Decoder::Zstd(decoder) => Some(decoder.finish()),
            Decoder::None => None,
        }
    }

    /// Returns what is decoded of the current member; empty at its end.
    fn fill_here(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.end {
            self.place.within += self.end as u64;
            (self.at, self.end) = (0, 0);
            let read = match &mut self.decoder {
                Decoder::Plain(counted) => counted.read(&mut self.piece),
                Decoder::Gzip(decoder) => decoder.read(&mut self.piece).map_err(of_content),
                Decoder::Zstd(decoder) => decoder.read(&mut self.piece).map_err(of_content),
                Decoder::Between(_) | Decoder::None => Ok(0),
            };
            self.end = read?;
            let is_over = self.end == 0;
            if is_over && !matches!(self.decoder, Decoder::Plain(_)) {
                self.decoder = match self.take_file() {
                    Some(counted) => Decoder::Between(counted),
                    None => Decoder::None,
                };
            }
        }
        Ok(self.piece.get(self.at..self.end).unwrap_or_default())
    }

    /// Begins the next member. Returns `false` if there is none.
    #[expect(
        clippy::disallowed_methods,
        reason = "what is decoded is read within `Limits`"
    )]
    fn begin_member(&mut self) -> io::Result<bool> {
        if !matches!(self.decoder, Decoder::Between(_)) {
            return Ok(false);
        }
        let Some(mut counted) = self.take_file() else {
            return Ok(false);
        };
        if counted.fill_buf()?.is_empty() {
            self.decoder = Decoder::Between(counted);
            return Ok(false);
        }
        self.place = Place {
            member: counted.position,
            within: 0,
        };
        self.decoder = match self.coding {
            Coding::Zstd => {
                let decoder = zstd::Decoder::with_dictionary(counted, &self.dictionary)?;
                Decoder::Zstd(Box::new(decoder.single_frame()))
            }
            _ => Decoder::Gzip(Box::new(GzDecoder::new(counted))),
        };
        Ok(true)
    }
}

/// Tells an error of what was read from one of the disk: decoders give them kinds of all sorts.
fn of_content(error: io::Error) -> io::Error {
    match error.kind() {
        _ if error.raw_os_error().is_some() => error,
        io::ErrorKind::UnexpectedEof => error,
        _ => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}

impl Read for Text {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.fill_buf()?;
        let length = piece.len().min(buffer.len());
        buffer[..length].copy_from_slice(&piece[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Text {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.fill_here()?.is_empty() && self.begin_member()? {}
        Ok(self.piece.get(self.at..self.end).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
    }
}

/// Reads the dictionary in front of a file, which may be compressed itself.
#[expect(
    clippy::disallowed_methods,
    reason = "what is decoded is read up to `MAX_DICTIONARY`"
)]
fn read_dictionary(counted: &mut Counted) -> io::Result<Vec<u8>> {
    let mut head = [0; 8];
    counted.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    let mut bytes = Vec::new();
    let length = u64::from(length).min(MAX_DICTIONARY);
    counted.by_ref().take(length).read_to_end(&mut bytes)?;
    if !bytes.starts_with(ZSTD) {
        return Ok(bytes);
    }
    let mut dictionary = Vec::new();
    let decoder = zstd::Decoder::with_buffer(&bytes[..])?;
    decoder.take(MAX_DICTIONARY).read_to_end(&mut dictionary)?;
    Ok(dictionary)
}

/// A file that counts how far it was read.
struct Counted {
    file: BufReader<File>,
    position: u64,
}

impl Counted {
    fn seek(&mut self, position: u64) -> io::Result<()> {
        self.position = self.file.seek(SeekFrom::Start(position))?;
        Ok(())
    }

    /// Returns where the next bytes like these are, and reads up to there at least.
    fn find(&mut self, wanted: &[u8]) -> io::Result<Option<u64>> {
        // The end of what was read, in which they may begin.
        let mut kept: Vec<u8> = Vec::new();
        loop {
            let piece = self.file.fill_buf()?;
            if piece.is_empty() {
                return Ok(None);
            }
            let before = kept.len();
            kept.extend_from_slice(piece);
            let read = piece.len();
            let found = kept.windows(wanted.len()).position(|it| it == wanted);
            let from = self.position - before as u64;
            self.consume(read);
            if let Some(at) = found {
                return Ok(Some(from + at as u64));
            }
            kept.drain(..kept.len().saturating_sub(wanted.len() - 1));
        }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.file.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.file.consume(amount);
        self.position += amount as u64;
    }
}
