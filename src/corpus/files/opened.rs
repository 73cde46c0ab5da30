//! The files of a corpus as they are named: files and directories, compressed or not.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::corpus::Error;

/// What is read ahead of a file, and of what is decompressed.
const AHEAD: usize = 256 << 10;

/// What the files of a corpus contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A document a line, as JSON: `.jsonl`, `.ndjson`, `.json`, and compressed `.gz` or `.zst`.
    JsonLines,
    /// WARC records: `.warc`, `.warc.gz`, `.warc.zst`.
    Warc,
}

impl FileKind {
    /// Whether a file is taken from a directory, by its name.
    pub fn takes(self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_ascii_lowercase();
        let bare = [".gz", ".zst"].iter().find_map(|it| name.strip_suffix(it));
        let bare = bare.unwrap_or(&name);
        let endings: &[&str] = match self {
            Self::JsonLines => &[".jsonl", ".ndjson", ".json"],
            Self::Warc => &[".warc"],
        };
        endings.iter().any(|ending| bare.ends_with(ending))
    }
}

/// Returns the files that paths name: in the place of a directory its files of this kind, and those
/// of the directories in it, in the order of their paths.
///
/// # Errors
///
/// [`Error::Input`] if a directory cannot be listed, or has no such file.
pub fn files_in(paths: &[PathBuf], kind: FileKind) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        list(path, kind, &mut found)?;
        if found.is_empty() {
            let endings = match kind {
                FileKind::JsonLines => ".jsonl, .ndjson or .json, or of these with .gz or .zst",
                FileKind::Warc => ".warc, .warc.gz or .warc.zst",
            };
            let path = path.display();
            return Err(Error::input(format!("no file in {path} ends in {endings}")));
        }
        found.sort();
        files.append(&mut found);
    }
    Ok(files)
}

fn list(directory: &Path, kind: FileKind, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |error: io::Error| {
        let directory = directory.display();
        Error::input(format!("cannot list {directory}: {error}"))
    };
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A link to a directory may lead back.
        if entry.file_type().map_err(failed)?.is_dir() {
            list(&entry.path(), kind, found)?;
        } else if kind.takes(&entry.path()) {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Opens a file, or standard input for `-`. What begins as gzip or zstd does is decompressed,
/// whatever its name.
///
/// # Errors
///
/// Those of the operating system, or of a decompressor that cannot begin.
pub fn open(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let file: Box<dyn Read + Send> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path)?),
    };
    decompressed(file)
}

fn decompressed(mut file: Box<dyn Read + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    let mut head = Vec::new();
    (&mut file).take(4).read_to_end(&mut head)?;
    let is = |magic: &[u8]| head.starts_with(magic);
    let (is_gzip, is_zstd) = (is(&[0x1f, 0x8b]), is(&[0x28, 0xb5, 0x2f, 0xfd]));
    let whole = io::Cursor::new(head).chain(file);
    let whole = BufReader::with_capacity(AHEAD, whole);
    // Whoever reads lines bounds them, and keeps no more than some.
    #[expect(
        clippy::disallowed_methods,
        reason = "read line by line, each within bounds"
    )]
    Ok(match (is_gzip, is_zstd) {
        (true, _) => Box::new(BufReader::with_capacity(AHEAD, MultiGzDecoder::new(whole))),
        (_, true) => {
            let decoder = zstd::Decoder::with_buffer(whole)?;
            Box::new(BufReader::with_capacity(AHEAD, decoder))
        }
        _ => Box::new(whole),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        decompressed(Box::new(io::Cursor::new(bytes)))?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn what_is_compressed_is_told_by_its_first_bytes() {
        let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
        for (bytes, expected) in [
            (Vec::new(), ""),
            (b"{}".to_vec(), "{}"),
            (b"\x1f".to_vec(), "\x1f"),
            (gzip("one\ntwo\n"), "one\ntwo\n"),
            ([gzip("one\n"), gzip("two\n")].concat(), "one\ntwo\n"),
            (zstd("one\ntwo\n"), "one\ntwo\n"),
            ([zstd("one\n"), zstd("two\n")].concat(), "one\ntwo\n"),
        ] {
            assert_eq!(read(bytes.clone()).unwrap(), expected, "{bytes:?}");
        }
        let mut torn = gzip(&"one line and more\n".repeat(100));
        torn.truncate(torn.len() - 9);
        assert!(read(torn).is_err());
    }

    #[test]
    fn a_directory_stands_for_its_files_in_order() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir(path("c")).unwrap();
        for name in [
            "b.jsonl.zst",
            "a.JSONL",
            "a.txt",
            "c/d.ndjson.gz",
            "e.warc.gz",
        ] {
            fs::write(path(name), "").unwrap();
        }
        std::os::unix::fs::symlink(place.path(), path("c/back")).unwrap();
        let named = [path("a.txt"), place.path().to_owned()];
        let lines = files_in(&named, FileKind::JsonLines).unwrap();
        let expected = ["a.txt", "a.JSONL", "b.jsonl.zst", "c/d.ndjson.gz"].map(path);
        assert_eq!(lines, expected);
        let warc = files_in(&named[1..], FileKind::Warc).unwrap();
        assert_eq!(warc, [path("e.warc.gz")]);
        let none = files_in(&[path("c")], FileKind::Warc).unwrap_err();
        assert!(format!("{none:?}").contains(".warc.zst"), "{none:?}");
    }
}
