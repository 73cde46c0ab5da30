//! Files of a bounded size, written one after the other, which have their names when they are
//! whole.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::error::Error;
use super::manifest::Written;
use super::staged::{Hashed, Staged, numbered};

/// Level of gzip and of zstd.
const LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;

/// Makes the beginning of a file of its name.
type Opening = dyn Fn(&str) -> Vec<u8>;

/// Writes pieces to files.
pub struct Output {
    path: PathBuf,
    is_compressed: bool,
    max_size: Option<u64>,
    opening: Option<Box<Opening>>,
    open: Option<Open>,
    written: Vec<Written>,
}

impl Output {
    /// Writes lines to a file, compressed if its name ends in `.gz` or `.zst`. With a maximum size,
    /// there are several, with a number in front of the ending. Nothing is overwritten.
    pub fn of_lines(path: &Path, max_size: Option<u64>) -> Self {
        Self {
            path: path.to_owned(),
            is_compressed: false,
            max_size,
            opening: None,
            open: None,
            written: Vec::new(),
        }
    }

    /// The same for pieces that are compressed already. Each file begins with what `opening` makes
    /// of its name.
    pub fn of_members(
        path: &Path,
        max_size: Option<u64>,
        opening: impl Fn(&str) -> Vec<u8> + 'static,
    ) -> Self {
        Self {
            is_compressed: true,
            opening: Some(Box::new(opening)),
            ..Self::of_lines(path, max_size)
        }
    }

    /// Writes a piece, which is not parted.
    pub fn write(&mut self, piece: &[u8]) -> Result<(), Error> {
        let is_full = |open: &Open| {
            let size = open.length() + piece.len() as u64;
            open.about.pages > 0 && self.max_size.is_some_and(|max| size > max)
        };
        if self.open.as_ref().is_some_and(is_full) {
            self.end_file()?;
        }
        let open = self.opened()?;
        let written = open.encoder.write_all(piece);
        written.map_err(Error::io("write to", open.staged.path()))?;
        open.about.pages += 1;
        Ok(())
    }

    /// Ends the last file, and returns what was written. There is one file at least.
    pub fn finish(mut self) -> Result<Vec<Written>, Error> {
        if self.written.is_empty() {
            self.opened()?;
        }
        self.end_file()?;
        Ok(std::mem::take(&mut self.written))
    }

    fn opened(&mut self) -> Result<&mut Open, Error> {
        if self.open.is_none() {
            let path = match self.max_size {
                None => self.path.clone(),
                Some(_) => numbered(&self.path, self.written.len()),
            };
            let mut open = Open::create(&path, self.is_compressed)?;
            if let Some(opening) = &self.opening {
                let written = open.encoder.write_all(&opening(&open.about.name));
                written.map_err(Error::io("write to", open.staged.path()))?;
            }
            self.open = Some(open);
        }
        self.open
            .as_mut()
            .ok_or_else(|| Error::Request(String::new()))
    }

    fn end_file(&mut self) -> Result<(), Error> {
        if let Some(open) = self.open.take() {
            self.written.push(open.finish()?);
        }
        Ok(())
    }
}

/// A file that is being written.
struct Open {
    staged: Staged,
    encoder: Encoder,
    about: Written,
}

enum Encoder {
    Plain(Hashed),
    Gzip(GzEncoder<Hashed>),
    Zstd(zstd::Encoder<'static, Hashed>),
    /// It was ended.
    None,
}

impl Open {
    fn create(path: &Path, is_compressed: bool) -> Result<Self, Error> {
        let (staged, file) = Staged::create(path)?;
        let file = Hashed::new(file);
        let ending = path.extension().and_then(|it| it.to_str());
        let encoder = match ending {
            Some("gz") if !is_compressed => {
                Encoder::Gzip(GzEncoder::new(file, Compression::new(LEVEL)))
            }
            Some("zst") if !is_compressed => {
                let encoder = zstd::Encoder::new(file, ZSTD_LEVEL);
                Encoder::Zstd(encoder.map_err(Error::io("write to", staged.path()))?)
            }
            _ => Encoder::Plain(file),
        };
        Ok(Self {
            encoder,
            about: Written {
                name: staged.name(),
                ..Written::default()
            },
            staged,
        })
    }

    /// Bytes in the file so far, but for those that the compressor has not given yet.
    fn length(&self) -> u64 {
        match &self.encoder {
            Encoder::Plain(file) => file.length(),
            Encoder::Gzip(encoder) => encoder.get_ref().length(),
            Encoder::Zstd(encoder) => encoder.get_ref().length(),
            Encoder::None => 0,
        }
    }

    fn finish(mut self) -> Result<Written, Error> {
        let ended = match std::mem::replace(&mut self.encoder, Encoder::None) {
            Encoder::Plain(file) => Ok(Some(file)),
            Encoder::Gzip(encoder) => encoder.finish().map(Some),
            Encoder::Zstd(encoder) => encoder.finish().map(Some),
            Encoder::None => Ok(None),
        };
        let wrong = || Error::io("write to", self.staged.path());
        if let Some(file) = ended.map_err(wrong())? {
            (self.about.bytes, self.about.sha256) = self.staged.finish_hashed(file)?;
        }
        Ok(self.about)
    }
}

impl Write for Encoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
            Self::None => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;

    use sha2::{Digest as _, Sha256};

    use super::*;

    fn pieces(count: usize) -> Vec<String> {
        (0..count)
            .map(|number| format!("{number} {}\n", number * 7919 % 10_007))
            .collect()
    }

    /// Writes pieces; returns the names of the files and what is in them.
    fn written(name: &str, max_size: Option<u64>, count: usize) -> (Vec<Written>, String) {
        let directory = tempfile::tempdir().unwrap();
        let mut output = Output::of_lines(&directory.path().join(name), max_size);
        for piece in pieces(count) {
            output.write(piece.as_bytes()).unwrap();
        }
        let files = output.finish().unwrap();
        let mut text = String::new();
        for file in &files {
            let bytes = fs::read(directory.path().join(&file.name)).unwrap();
            assert_eq!(file.bytes, bytes.len() as u64);
            assert_eq!(file.sha256, hex::encode(Sha256::digest(&bytes)));
            let ending = Path::new(&file.name).extension().and_then(|it| it.to_str());
            match ending {
                Some("gz") => {
                    #[expect(clippy::disallowed_methods, reason = "written a moment ago")]
                    let mut decoder = flate2::bufread::GzDecoder::new(&bytes[..]);
                    decoder.read_to_string(&mut text).unwrap();
                }
                Some("zst") => {
                    let mut decoder = zstd::Decoder::new(&bytes[..]).unwrap();
                    decoder.read_to_string(&mut text).unwrap();
                }
                _ => text.push_str(str::from_utf8(&bytes).unwrap()),
            }
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), files.len());
        (files, text)
    }

    #[test]
    fn pieces_are_written_in_order_whatever_the_size_of_files() {
        for name in ["a.jsonl", "a.jsonl.gz", "a.b.zst", "plain"] {
            for (max_size, count) in [(None, 9_000), (Some(1), 9), (Some(40_000), 90_000)] {
                let (files, text) = written(name, max_size, count);
                assert_eq!(text, pieces(count).concat(), "{name} {max_size:?}");
                let pages: u64 = files.iter().map(|file| file.pages).sum();
                assert_eq!(pages, count as u64, "{name} {max_size:?}");
                assert_eq!(files.len() > 1, max_size.is_some(), "{name} {max_size:?}");
            }
            let (files, text) = written(name, None, 0);
            assert_eq!((files.len(), files[0].name.as_str(), &*text), (1, name, ""));
        }
        let (files, _) = written("a.jsonl.gz", Some(40_000), 90_000);
        assert_eq!(files[0].name, "a-00000.jsonl.gz");
        let largest = files.iter().map(|file| file.bytes).max();
        assert!(largest.is_some_and(|bytes| bytes < 120_000), "{largest:?}");
    }

    #[test]
    fn nothing_is_overwritten_and_nothing_half_remains() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        fs::write(&path, "mine").unwrap();
        let refused = Output::of_lines(&path, None).write(b"x").unwrap_err();
        assert!(
            refused.to_string().contains("is there already"),
            "{refused}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        let mut output = Output::of_lines(&directory.path().join("b.jsonl"), None);
        output.write(b"x").unwrap();
        drop(output);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
