//! The ZIP file: entries whose bytes are counted and hashed as they are written, and at its end the
//! description of the package, which has their digests.
//!
//! What a player reads piece by piece, the files of archives and the index, is stored as it is. A
//! file of an archive is read once; the head of its entry is completed afterwards.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read as _, Seek as _, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::super::error::Error;
use super::super::manifest::Written;
use super::super::staged::Staged;
use super::members::Member;
use crate::archive;

/// Length from which on an entry that may be as long has the wide fields of ZIP64. What is made of
/// archives of this size, as lists of pages with their texts, may be several times as long.
const WIDE: u64 = 256 << 20;

/// Bytes that are copied at once.
const PIECE: usize = 256 << 10;

/// A package that is being written. Dropped before its end, it is removed.
pub(super) struct Package {
    staged: Staged,
    zip: ZipWriter<BufWriter<File>>,
    resources: Vec<Resource>,
    /// Bytes of archives in it.
    archived: u64,
}

/// The page that a player shows first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MainPage {
    pub(super) url: String,
    pub(super) time: String,
}

/// An entry, as the description has it.
#[derive(Serialize)]
struct Resource {
    name: String,
    path: String,
    hash: String,
    bytes: u64,
}

/// `datapackage.json`.
#[derive(Serialize)]
struct Description<'a> {
    profile: &'static str,
    wacz_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    software: &'static str,
    created: String,
    #[serde(rename = "mainPageUrl", skip_serializing_if = "Option::is_none")]
    main_page_url: Option<&'a str>,
    #[serde(rename = "mainPageDate", skip_serializing_if = "Option::is_none")]
    main_page_date: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relation: Option<Relation<'a>>,
    resources: Vec<Resource>,
}

/// What a package has to do with others, in the form of Browsertrix.
#[derive(Serialize)]
struct Relation<'a> {
    /// Those whose records it refers to.
    requires: &'a BTreeSet<String>,
}

/// `datapackage-digest.json`.
#[derive(Serialize)]
struct DescriptionDigest {
    path: &'static str,
    hash: String,
}

const DESCRIPTION: &str = "datapackage.json";

impl Package {
    /// Begins a package. Nothing is overwritten.
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let (staged, file) = Staged::create(path)?;
        Ok(Self {
            staged,
            zip: ZipWriter::new(BufWriter::with_capacity(PIECE, file)),
            resources: Vec::new(),
            archived: 0,
        })
    }

    /// Returns the name that the package has while it is written.
    pub(super) fn staged(&self) -> &Path {
        self.staged.path()
    }

    /// Returns the directory that the package is in.
    pub(super) fn directory(&self) -> PathBuf {
        let directory = self.staged().parent().unwrap_or(Path::new(""));
        match directory.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => directory.to_owned(),
        }
    }

    /// Adds files of archives, and returns those that are still there.
    pub(super) fn add_archive(&mut self, members: Vec<Member>) -> Result<Vec<Member>, Error> {
        let mut added = Vec::with_capacity(members.len());
        for mut member in members {
            let Some(path) = archive::present(&member.path) else {
                tracing::warn!(file = %member.path.display(), "this file has just left and is not packed");
                continue;
            };
            let file = match File::open(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    tracing::warn!(file = %path.display(), "this file has just left and is not packed");
                    continue;
                }
                file => file.map_err(Error::io("open", &path))?,
            };
            self.archived += member.bytes;
            let staged = self.staged().to_owned();
            let name = format!("archive/{}", member.packed);
            let is_wide = member.bytes >= WIDE;
            self.add_entry(&name, CompressionMethod::Stored, is_wide, |out| {
                // What is closed does not grow; a file of an earlier version might.
                copy(&file, member.bytes, &path, out, &staged)
            })?;
            member.path = path;
            added.push(member);
        }
        Ok(added)
    }

    /// Adds what `write` writes, as it is or compressed.
    pub(super) fn add(
        &mut self,
        path: &str,
        is_compressed: bool,
        write: impl FnOnce(&mut Entry<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let method = match is_compressed {
            true => CompressionMethod::Deflated,
            false => CompressionMethod::Stored,
        };
        self.add_entry(path, method, self.archived >= WIDE, write)
    }

    fn add_entry(
        &mut self,
        path: &str,
        method: CompressionMethod,
        is_wide: bool,
        write: impl FnOnce(&mut Entry<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .large_file(is_wide)
            .unix_permissions(0o644);
        let started = self.zip.start_file(path, options);
        started.map_err(|error| Error::io("write to", self.staged.path())(error.into()))?;
        let mut entry = Entry {
            zip: &mut self.zip,
            hash: Sha256::new(),
            bytes: 0,
        };
        write(&mut entry)?;
        let (hash, bytes) = (entry.hash.finalize(), entry.bytes);
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        self.resources.push(Resource {
            name,
            path: path.to_owned(),
            hash: format!("sha256:{}", hex::encode(hash)),
            bytes,
        });
        Ok(())
    }

    /// Describes the package, and gives it its name.
    pub(super) fn finish(
        mut self,
        title: Option<&str>,
        first: Option<&MainPage>,
        requires: &BTreeSet<String>,
    ) -> Result<Written, Error> {
        let relation = (!requires.is_empty()).then_some(Relation { requires });
        let description = Description {
            profile: "data-package",
            wacz_version: "1.1.1",
            title,
            software: concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")),
            created: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            main_page_url: first.map(|page| page.url.as_str()),
            main_page_date: first.map(|page| page.time.as_str()),
            relation,
            resources: std::mem::take(&mut self.resources),
        };
        let description = self.json(&description)?;
        let digest = self.json(&DescriptionDigest {
            path: DESCRIPTION,
            hash: format!("sha256:{}", hex_digest(&description)),
        })?;
        let staged = self.staged().to_owned();
        let wrong = || Error::io("write to", &staged);
        let stored = CompressionMethod::Stored;
        for (path, text) in [
            (DESCRIPTION, description),
            ("datapackage-digest.json", digest),
        ] {
            self.add_entry(path, stored, false, |out| {
                out.write_all(&text).map_err(wrong())
            })?;
        }
        let file = self.zip.finish().map_err(|error| wrong()(error.into()))?;
        let mut file = file
            .into_inner()
            .map_err(|error| wrong()(error.into_error()))?;
        let (sha256, bytes) = digest_of(&mut file).map_err(Error::io("read", &staged))?;
        let written = Written {
            name: self.staged.name(),
            bytes,
            sha256,
            pages: 0,
        };
        self.staged.finish(&file)?;
        Ok(written)
    }

    fn json(&self, value: &impl Serialize) -> Result<Vec<u8>, Error> {
        let text = serde_json::to_vec_pretty(value);
        text.map_err(|error| Error::io("write to", self.staged.path())(error.into()))
    }
}

/// Copies a file of an archive, which must have the length that it had.
fn copy(
    mut file: &File,
    bytes: u64,
    path: &PathBuf,
    out: &mut impl Write,
    staged: &PathBuf,
) -> Result<(), Error> {
    let mut piece = vec![0; PIECE];
    let mut left = bytes;
    while left > 0 {
        let wanted = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let piece = piece.get_mut(..wanted).unwrap_or_default();
        file.read_exact(piece).map_err(Error::io("read", path))?;
        out.write_all(piece)
            .map_err(Error::io("write to", staged))?;
        left -= piece.len() as u64;
    }
    Ok(())
}

/// The SHA-256 of a file, and its length. The heads of entries are completed after their bytes, so
/// it cannot be had as the file is written.
fn digest_of(file: &mut File) -> io::Result<(String, u64)> {
    file.rewind()?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok((hex::encode(hash.finalize()), bytes));
        }
        hash.update(piece.get(..read).unwrap_or_default());
        bytes += read as u64;
    }
}

/// The SHA-256 of some bytes, in hexadecimal.
pub(super) fn hex_digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// An entry that is being written.
pub(super) struct Entry<'a> {
    zip: &'a mut ZipWriter<BufWriter<File>>,
    hash: Sha256,
    bytes: u64,
}

impl Write for Entry<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.zip.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.zip.flush()
    }
}
