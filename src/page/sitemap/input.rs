//! Bytes of a sitemap to plain text, as a stream. Compression is detected by content; the encoding
//! is taken from a byte order mark or declaration and is UTF-8 otherwise; what cannot be decoded
//! becomes U+FFFD. Uses a few buffers, whatever the size of the file. Counts bytes in total and
//! since the last piece of markup began. Looks at no markup beyond the declaration.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use flate2::bufread::MultiGzDecoder;

use super::report::Problem;

/// Number of bytes read at a time.
const CHUNK: usize = 16 * 1024;

/// Number of bytes examined to detect compression and encoding.
const HEAD: u64 = 1024;

/// Maximum number of bytes of one tag, comment or text, which the parser holds at once. An entry
/// with two hundred alternates has some 30 kB in all.
const MAX_PIECE: usize = 1024 * 1024;

/// A file may be compressed, and its transfer once more.
const MAX_LAYERS: usize = 2;

/// A sitemap as UTF-8. [`stop`](Self::stop) tells what its errors mean.
pub(super) struct SitemapText<'a> {
    source: Box<dyn BufRead + 'a>,
    /// An error that occurred while the head was examined; reported when the head is consumed.
    failure: Option<io::Error>,
    decoder: Decoder,
    /// Decoded text; the part not yet consumed begins at `consumed`.
    text: Vec<u8>,
    consumed: usize,
    /// Number of bytes of the source that were decoded.
    read: u64,
    max_bytes: u64,
    /// Number of bytes consumed since the last piece began.
    piece: usize,
    has_ended: bool,
    is_too_large: bool,
}

/// Why reading ended before the end of the file.
#[derive(Debug)]
pub(super) enum EarlyEnd {
    TooLarge,
    PieceTooLarge,
    Unreadable { at: u64, reason: String },
}

impl EarlyEnd {
    pub(super) fn problem(self, max_bytes: u64) -> Problem {
        match self {
            Self::TooLarge => Problem::TooLarge(max_bytes),
            Self::PieceTooLarge => Problem::PieceTooLarge(MAX_PIECE),
            Self::Unreadable { at, reason } => Problem::Unreadable { at, reason },
        }
    }
}

impl<'a> SitemapText<'a> {
    #[expect(
        clippy::disallowed_methods,
        reason = "`max_bytes` bounds what is read of it"
    )]
    pub(super) fn new(source: impl Read + 'a, max_bytes: u64) -> Self {
        let mut source: Box<dyn BufRead + 'a> = Box::new(BufReader::with_capacity(CHUNK, source));
        let mut layers = 0;
        loop {
            let (head, failure) = head_of(&mut *source);
            let is_gzip = head.starts_with(&[0x1F, 0x8B]) && layers < MAX_LAYERS;
            let encoding = encoding(&head);
            source = Box::new(Cursor::new(head).chain(source));
            if !is_gzip {
                return Self {
                    source,
                    failure,
                    decoder: encoding.new_decoder(),
                    text: Vec::new(),
                    consumed: 0,
                    read: 0,
                    max_bytes,
                    piece: 0,
                    has_ended: false,
                    is_too_large: false,
                };
            }
            layers += 1;
            source = Box::new(BufReader::with_capacity(CHUNK, MultiGzDecoder::new(source)));
        }
    }

    /// Starts counting a new piece.
    pub(super) fn begin_piece(&mut self) {
        self.piece = 0;
    }

    /// The meaning of an error of this input.
    pub(super) fn stop(&self, error: &io::Error) -> EarlyEnd {
        if self.is_too_large {
            EarlyEnd::TooLarge
        } else if self.piece >= MAX_PIECE {
            EarlyEnd::PieceTooLarge
        } else {
            EarlyEnd::Unreadable {
                at: self.read,
                reason: error.to_string(),
            }
        }
    }

    /// Decodes the next chunk of the source.
    fn decode_chunk(&mut self) -> io::Result<()> {
        let chunk = match self.source.fill_buf() {
            Ok([]) => match self.failure.take() {
                Some(failure) => return Err(failure),
                None => &[],
            },
            chunk => chunk?,
        };
        let allowed = self.max_bytes.saturating_sub(self.read);
        if allowed == 0 && !chunk.is_empty() {
            self.is_too_large = true;
            return Err(io::Error::other("more bytes than are read"));
        }
        let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
        let chunk = &chunk[..chunk.len().min(allowed).min(CHUNK)];
        self.has_ended = chunk.is_empty();
        // Enough for whatever the chunk decodes to, so all of it is consumed.
        let longest = self.decoder.max_utf8_buffer_length(chunk.len());
        self.text.resize(longest.unwrap_or(4 * CHUNK), 0);
        let (_, taken, written, _) =
            self.decoder
                .decode_to_utf8(chunk, &mut self.text, self.has_ended);
        self.source.consume(taken);
        self.read += taken as u64;
        self.text.truncate(written);
        self.consumed = 0;
        Ok(())
    }
}

impl Read for SitemapText<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let taken = self.fill_buf()?.read(buffer)?;
        self.consume(taken);
        Ok(taken)
    }
}

impl BufRead for SitemapText<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.piece >= MAX_PIECE {
            return Err(io::Error::other("a single tag or text without end"));
        }
        while self.consumed == self.text.len() && !self.has_ended {
            self.decode_chunk()?;
        }
        Ok(&self.text[self.consumed..])
    }

    fn consume(&mut self, count: usize) {
        self.consumed = (self.consumed + count).min(self.text.len());
        self.piece += count;
    }
}

/// The first bytes of a source, and the error that ended them early, if any.
fn head_of(source: &mut dyn BufRead) -> (Vec<u8>, Option<io::Error>) {
    let mut head = Vec::new();
    let failure = source.take(HEAD).read_to_end(&mut head).err();
    (head, failure)
}

/// The encoding by the pattern of the first character, or by the declaration. A byte order mark
/// overrides both; the decoder takes care of that.
fn encoding(head: &[u8]) -> &'static Encoding {
    match head {
        [b'<', 0, ..] => return UTF_16LE,
        [0, b'<', ..] => return UTF_16BE,
        _ => {}
    }
    let declared = || {
        let declaration = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        let declaration = declaration.trim_ascii_start().strip_prefix(b"<?xml")?;
        let end = declaration.iter().position(|byte| *byte == b'>')?;
        let declaration = std::str::from_utf8(&declaration[..end]).ok()?;
        let (_, value) = declaration.split_once("encoding")?;
        let value = value.trim_start().strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let label = value[1..].split(quote).next()?;
        // A file that declares UTF-16 and could be read this far is in another encoding.
        Encoding::for_label(label.as_bytes()).filter(|it| it.is_ascii_compatible())
    };
    declared().unwrap_or(UTF_8)
}
