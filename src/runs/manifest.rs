//! The manifest: a small text file that names the valid run files and the last delta they cover. It
//! is replaced by a rename, so a kill leaves the old list or the new one, never half of one.
//!
//! Files that the manifest does not name are not data. This module never reads run files.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use super::error::Error;

const VERSION: u32 = 2;
const TITLE: &str = "gleaner runs manifest";
/// Maximum size in bytes, enough for about 30,000 files. A larger manifest was not written by this
/// room.
const MAX_BYTES: u64 = 1 << 20;

/// All structures of a directory at one checkpoint.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Manifest {
    /// Sequence of the last delta whose pairs are in the files.
    pub(super) sequence: u64,
    pub(super) structures: Vec<Structure>,
}

/// One structure and its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Structure {
    pub(super) name: String,
    /// False while the structure is being rebuilt and its files do not yet hold all of it.
    pub(super) complete: bool,
    pub(super) files: Vec<FileEntry>,
}

/// One file, with enough detail to tell it from any other file of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileEntry {
    pub(super) id: u64,
    pub(super) count: u64,
    pub(super) crc: u32,
    /// Sequence of the last delta with pairs in the file.
    pub(super) newest: u64,
}

impl Manifest {
    /// Reads the manifest of `directory`, or returns `None` if there is none.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, Error> {
        let path = path(directory);
        let mut text = Vec::new();
        match File::open(&path) {
            Ok(file) => file
                .take(MAX_BYTES)
                .read_to_end(&mut text)
                .map_err(Error::io("read", &path))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("open", &path)(error)),
        };
        let damaged = |why: &str| Error::Damaged {
            path: path.clone(),
            why: why.to_owned(),
        };
        let text = String::from_utf8(text).map_err(|_| damaged("it is not text"))?;
        let body = checked(&text).ok_or_else(|| damaged("its checksum does not match"))?;
        let version = body
            .lines()
            .next()
            .and_then(|line| line.strip_prefix(TITLE)?.trim().parse().ok());
        match version {
            Some(VERSION) => {}
            Some(found) => return Err(Error::Version { path, found }),
            None => return Err(damaged("it does not begin like a manifest")),
        }
        Self::parse(body)
            .map(Some)
            .ok_or_else(|| damaged("it has a line that means nothing"))
    }

    /// First half of replacing the manifest of `directory`: everything that may fail for lack of
    /// space. Also syncs the directory, so that no manifest can outlive the entries of the files it
    /// names.
    pub(super) fn stage(&self, directory: &Path) -> Result<(), Error> {
        let staged = staged(directory);
        let mut file = File::create(&staged).map_err(Error::io("create", &staged))?;
        file.write_all(self.text().as_bytes())
            .map_err(Error::io("write", &staged))?;
        file.sync_all().map_err(Error::io("sync", &staged))?;
        sync(directory)
    }

    /// Second half: the rename. After an error, either manifest may be the valid one.
    pub(super) fn install(directory: &Path) -> Result<(), Error> {
        let path = path(directory);
        fs::rename(staged(directory), &path).map_err(Error::io("replace", &path))?;
        sync(directory)
    }

    fn text(&self) -> String {
        let mut text = format!("{TITLE} {VERSION}\nsequence {}\n", self.sequence);
        let mut line = |arguments: std::fmt::Arguments| {
            writeln!(text, "{arguments}").expect("writing to a String cannot fail");
        };
        for Structure {
            name,
            complete,
            files,
        } in &self.structures
        {
            line(format_args!(
                "{} {name}",
                if *complete { "structure" } else { "incomplete" }
            ));
            for FileEntry {
                id,
                count,
                crc,
                newest,
            } in files
            {
                line(format_args!("file {id} {count} {crc:08x} {newest}"));
            }
        }
        let crc = crc32fast::hash(text.as_bytes());
        text + &format!("crc32 {crc:08x}\n")
    }

    fn parse(body: &str) -> Option<Self> {
        let mut lines = body.lines().skip(1);
        let sequence = lines.next()?.strip_prefix("sequence ")?.parse().ok()?;
        let mut structures: Vec<Structure> = Vec::new();
        for line in lines {
            let mut words = line.split(' ');
            let (kind, word) = (words.next()?, words.next()?);
            if kind == "file" {
                let id = word.parse().ok()?;
                let count = words.next()?.parse().ok()?;
                let crc = u32::from_str_radix(words.next()?, 16).ok()?;
                let newest = words.next()?.parse().ok()?;
                structures.last_mut()?.files.push(FileEntry {
                    id,
                    count,
                    crc,
                    newest,
                });
            } else {
                let complete = match kind {
                    "structure" => true,
                    "incomplete" => false,
                    _ => return None,
                };
                structures.push(Structure {
                    name: word.to_owned(),
                    complete,
                    files: Vec::new(),
                });
            }
        }
        Some(Self {
            sequence,
            structures,
        })
    }
}

/// Returns the path of the manifest of `directory`.
pub(super) fn path(directory: &Path) -> PathBuf {
    directory.join("manifest")
}

/// Returns the text without its last line if that line is the checksum of the rest.
fn checked(text: &str) -> Option<&str> {
    let start = text.strip_suffix('\n')?.rfind('\n')? + 1;
    let (body, last) = text.split_at(start);
    let crc = u32::from_str_radix(last.trim_end().strip_prefix("crc32 ")?, 16).ok()?;
    (crc == crc32fast::hash(body.as_bytes())).then_some(body)
}

fn staged(directory: &Path) -> PathBuf {
    directory.join("manifest.tmp")
}

/// Makes new directory entries survive a power cut.
fn sync(directory: &Path) -> Result<(), Error> {
    File::open(directory)
        .and_then(|opened| opened.sync_all())
        .map_err(Error::io("sync", directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        let files = vec![
            FileEntry {
                id: 1,
                count: 2,
                crc: 0xa,
                newest: 3,
            },
            FileEntry {
                id: 7,
                count: u64::MAX,
                crc: u32::MAX,
                newest: u64::MAX,
            },
        ];
        let structure = |name: &str, complete| Structure {
            name: name.to_owned(),
            complete,
            files: files.clone(),
        };
        Manifest {
            sequence: 42,
            structures: vec![structure("url-seen", true), structure("digest", false)],
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(directory.path()).unwrap(), None);
        example().stage(directory.path()).unwrap();
        assert_eq!(
            Manifest::read(directory.path()).unwrap(),
            None,
            "a staged manifest does not count"
        );
        Manifest::install(directory.path()).unwrap();
        assert_eq!(Manifest::read(directory.path()).unwrap(), Some(example()));
    }

    #[test]
    fn any_changed_or_missing_byte_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let text = example().text().into_bytes();
        let check = |bytes: &[u8]| {
            fs::write(path(directory.path()), bytes).unwrap();
            let read = Manifest::read(directory.path());
            assert!(
                matches!(read, Err(Error::Damaged { .. })),
                "{read:?} from {bytes:?}"
            );
        };
        for position in 0..text.len() {
            check(&text[..position]);
            let mut flipped = text.clone();
            flipped[position] ^= 1;
            check(&flipped);
        }
    }

    #[test]
    fn a_later_version_is_refused_not_rebuilt() {
        let directory = tempfile::tempdir().unwrap();
        let body = format!("{TITLE} 3\nanything\n");
        let text = format!("{body}crc32 {:08x}\n", crc32fast::hash(body.as_bytes()));
        fs::write(path(directory.path()), text).unwrap();
        let read = Manifest::read(directory.path());
        assert!(
            matches!(read, Err(Error::Version { found: 3, .. })),
            "{read:?}"
        );
    }
}
