//! A corpus that is kept between runs: the directory of `gleaner dedup --index`.
//!
//! `entries` holds the verdict on each document and what later documents are compared with, in
//! order. `index.json` says how these were made and, for each run, the number of bytes it added and
//! their checksum. A run appends to `entries`, syncs it, and then replaces `index.json` by
//! renaming. A run that is killed leaves the index as it was before or as it is after; bytes that
//! `index.json` does not list are truncated. Reading goes through all entries once, in order.
//!
//! Where documents are forgotten ([`Saved::rewrite`]), the others are written to another file,
//! whose number `index.json` then has.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::{CorpusVerdict, Options, Signed};
use crate::dedup::features::OF_CORPORA as FEATURES_VERSION;
use crate::lock::LockFile;

/// The format of both files. Increment it when either changes.
const FORMAT: u32 = 3;

/// The same of an index that was rewritten, which earlier versions do not read.
const REWRITTEN: u32 = 4;

/// Name of the file of entries before it is rewritten.
const ENTRIES: &str = "entries";

/// Maximum length of an entry in bytes. A document of 64 MiB has no more shingles.
const MAX_ENTRY: u32 = 256 << 20;

/// An entry of the index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum SavedEntry {
    /// The next document.
    Document {
        /// Its id, as it is written in the input.
        id: Box<str>,
        /// Its verdict.
        judged: CorpusVerdict,
        /// The part of it that later documents are compared with.
        kept: Option<Box<Signed>>,
    },
    /// Data of the index's user, between two documents.
    Note(Vec<u8>),
}

/// An index on disk, locked until it is dropped.
pub struct Saved {
    path: PathBuf,
    manifest: Manifest,
    /// The file that new entries are appended to.
    entries: BufWriter<File>,
    /// What this run added.
    added: SavedRun,
    hash: Xxh3,
    buffer: Vec<u8>,
    is_rewritten: bool,
    _lock: LockFile,
}

/// The contents of `index.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// The settings of fingerprints and comparison.
    settings: BTreeMap<String, String>,
    runs: Vec<SavedRun>,
    /// How often the entries were rewritten, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rewritten: Option<u32>,
}

/// What a run added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SavedRun {
    documents: u64,
    bytes: u64,
    /// The xxh3 of the bytes, as 16 hexadecimal digits.
    xxh3: String,
}

impl Saved {
    /// Returns the seed of the index in a directory, if there is one. An error that keeps it from
    /// being read is told when the index is opened.
    pub fn seed(path: &Path) -> Option<u64> {
        let bytes = fs::read(path.join("index.json")).ok()?;
        let manifest = read_manifest(path, &bytes).ok()?;
        manifest
            .settings
            .get("seed")?
            .split(' ')
            .next()?
            .parse()
            .ok()
    }

    /// Opens the index in a directory for a run with these options, or creates one.
    pub fn open(path: &Path, options: &Options) -> Result<Self, SavedError> {
        let failed = |source| SavedError::Io {
            path: path.to_owned(),
            source,
        };
        let manifest = path.join("index.json");
        fs::create_dir_all(path).map_err(failed)?;
        if !manifest.exists() && has_foreign_entries(path).map_err(failed)? {
            return Err(SavedError::Foreign(path.to_owned()));
        }
        let lock = LockFile::create(path).map_err(failed)?;
        match lock.lock(Duration::ZERO) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SavedError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let settings = settings(options);
        let mut is_new = false;
        let manifest = match fs::read(&manifest) {
            Ok(bytes) => read_manifest(path, &bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                is_new = true;
                Manifest {
                    format: FORMAT,
                    settings: settings.clone(),
                    runs: Vec::new(),
                    rewritten: None,
                }
            }
            Err(error) => return Err(failed(error)),
        };
        check_settings(path, &manifest.settings, &settings)?;
        if !is_new {
            remove_others(path, &manifest.entries()).map_err(failed)?;
        }
        let mut entries = open_file(&path.join(manifest.entries())).map_err(failed)?;
        let vouched = manifest.bytes();
        // It is written before the first entry.
        if is_new && entries.metadata().map_err(failed)?.len() > 0 {
            return Err(SavedError::damaged(
                path,
                "its index.json is missing, and there are entries",
            ));
        }
        if entries.metadata().map_err(failed)?.len() < vouched {
            return Err(SavedError::damaged(path, "its end is missing"));
        }
        // Truncates what a killed run appended.
        entries.set_len(vouched).map_err(failed)?;
        entries.seek(SeekFrom::End(0)).map_err(failed)?;
        let mut saved = Self {
            path: path.to_owned(),
            manifest,
            entries: BufWriter::with_capacity(1 << 18, entries),
            added: SavedRun::default(),
            hash: Xxh3::new(),
            buffer: Vec::new(),
            is_rewritten: false,
            _lock: lock,
        };
        if is_new {
            saved.write_manifest().map_err(failed)?;
        }
        Ok(saved)
    }

    /// Number of earlier runs.
    pub(super) fn runs(&self) -> usize {
        self.manifest.runs.len()
    }

    /// Visits the entries of earlier runs, in order.
    pub fn read<E: From<SavedError>>(
        &self,
        mut visit: impl FnMut(SavedEntry) -> Result<(), E>,
    ) -> Result<(), E> {
        self.read_runs(|_, entry| visit(entry))
    }

    /// Visits the entries of earlier runs, in order, each with its run, counted from 0.
    pub(super) fn read_runs<E: From<SavedError>>(
        &self,
        mut visit: impl FnMut(usize, SavedEntry) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = self.path.join(self.manifest.entries());
        let file = File::open(&path).map_err(|source| self.io(source))?;
        let mut file = BufReader::with_capacity(1 << 18, file);
        let mut bytes = Vec::new();
        for (at, run) in self.manifest.runs.iter().enumerate() {
            let damaged = |what: &str| {
                let what = format!("what run {} added {what}", at + 1);
                SavedError::damaged(&self.path, &what)
            };
            let mut hash = Xxh3::new();
            let mut left = run.bytes;
            while left > 0 {
                let mut length = [0; 4];
                file.read_exact(&mut length).map_err(|it| self.io(it))?;
                hash.update(&length);
                let length = u32::from_le_bytes(length);
                left = left
                    .checked_sub(4 + u64::from(length))
                    .filter(|_| length <= MAX_ENTRY)
                    .ok_or_else(|| damaged("has another length"))?;
                bytes.resize(length as usize, 0);
                file.read_exact(&mut bytes).map_err(|it| self.io(it))?;
                hash.update(&bytes);
                let entry = postcard::from_bytes(&bytes);
                visit(at, entry.map_err(|_| damaged("cannot be read"))?)?;
            }
            if format!("{:016x}", hash.digest()) != run.xxh3 {
                return Err(damaged("has another checksum").into());
            }
        }
        Ok(())
    }

    /// The number of the run that added a document, counted from 1. A new document belongs to the
    /// next run.
    pub fn run_of(&self, document: u32) -> u32 {
        let mut left = u64::from(document);
        for (at, run) in self.manifest.runs.iter().enumerate() {
            if left < run.documents {
                return at as u32 + 1;
            }
            left -= run.documents;
        }
        self.manifest.runs.len() as u32 + 1
    }

    /// Replaces the entries of earlier runs by what `change` makes of them, which is given the run
    /// of each, counted from 0; `None` leaves one out. It takes effect when the run is
    /// [committed](Self::commit), and nothing may be appended before.
    pub(super) fn rewrite<E: From<SavedError>>(
        &mut self,
        mut change: impl FnMut(&Self, usize, SavedEntry) -> Result<Option<SavedEntry>, E>,
    ) -> Result<(), E> {
        let mut manifest = self.manifest.clone();
        manifest.format = REWRITTEN;
        manifest.rewritten = Some(manifest.rewritten.unwrap_or(0) + 1);
        let file = File::create(self.path.join(manifest.entries()));
        let mut file = BufWriter::with_capacity(1 << 18, file.map_err(|it| self.io(it))?);
        let mut runs = vec![(SavedRun::default(), Xxh3::new()); manifest.runs.len()];
        let mut buffer = Vec::new();
        self.read_runs(|at, entry| {
            if let (Some((run, hash)), Some(entry)) = (runs.get_mut(at), change(self, at, entry)?) {
                buffer = encode(&entry, std::mem::take(&mut buffer));
                hash.update(&buffer);
                run.count(&entry, &buffer);
                file.write_all(&buffer).map_err(|it| self.io(it))?;
            }
            Ok::<_, E>(())
        })?;
        // It is read before the run adds anything.
        file.flush().map_err(|it| self.io(it))?;
        let sums = runs.into_iter().map(|(run, hash)| SavedRun {
            xxh3: format!("{:016x}", hash.digest()),
            ..run
        });
        manifest.runs = sums.collect();
        self.manifest = manifest;
        self.entries = file;
        self.is_rewritten = true;
        Ok(())
    }

    /// Appends an entry. It takes effect when the run is [committed](Self::commit).
    pub fn append(&mut self, entry: &SavedEntry) -> Result<(), SavedError> {
        self.buffer = encode(entry, std::mem::take(&mut self.buffer));
        self.hash.update(&self.buffer);
        self.added.count(entry, &self.buffer);
        let written = self.entries.write_all(&self.buffer);
        written.map_err(|source| self.io(source))
    }

    /// Makes the appended entries a durable part of the index.
    pub fn commit(mut self) -> Result<(), SavedError> {
        let is_begun = self.path.join("index.json").exists();
        if self.added.bytes == 0 && is_begun && !self.is_rewritten {
            return Ok(());
        }
        self.added.xxh3 = format!("{:016x}", self.hash.digest());
        if self.added.bytes > 0 {
            self.manifest.runs.push(std::mem::take(&mut self.added));
        }
        let written = self.write_manifest();
        let written = written.and_then(|()| remove_others(&self.path, &self.manifest.entries()));
        written.map_err(|source| self.io(source))
    }

    fn write_manifest(&mut self) -> io::Result<()> {
        self.entries.flush()?;
        self.entries.get_ref().sync_all()?;
        let temporary = self.path.join("index.json.new");
        let text = serde_json::to_vec_pretty(&self.manifest).expect("names and numbers");
        let mut file = File::create(&temporary)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&temporary, self.path.join("index.json"))?;
        File::open(&self.path)?.sync_all()
    }

    /// The error for an entry that the index's user cannot read.
    pub(super) fn damaged(&self, what: &str) -> SavedError {
        SavedError::damaged(&self.path, what)
    }

    fn io(&self, source: io::Error) -> SavedError {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => SavedError::damaged(&self.path, "its end is missing"),
            _ => SavedError::Io {
                path: self.path.clone(),
                source,
            },
        }
    }
}

impl SavedRun {
    /// Counts an entry with its bytes.
    fn count(&mut self, entry: &SavedEntry, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.documents += u64::from(matches!(entry, SavedEntry::Document { .. }));
    }
}

impl Manifest {
    /// The name of the file of entries.
    fn entries(&self) -> String {
        match self.rewritten {
            None => ENTRIES.to_owned(),
            Some(often) => format!("{ENTRIES}-{often}"),
        }
    }

    fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes).sum()
    }
}

/// The settings that must be equal for documents to be compared.
fn settings(options: &Options) -> BTreeMap<String, String> {
    let mut settings = options.settings();
    settings.push(("features", FEATURES_VERSION.to_owned()));
    let pairs = settings.into_iter();
    pairs
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn read_manifest(path: &Path, bytes: &[u8]) -> Result<Manifest, SavedError> {
    let manifest: Manifest = serde_json::from_slice(bytes)
        .map_err(|error| SavedError::damaged(path, &format!("its index.json is none: {error}")))?;
    match manifest.format {
        FORMAT | REWRITTEN => Ok(manifest),
        found => Err(SavedError::Format {
            path: path.to_owned(),
            found,
        }),
    }
}

fn check_settings(
    path: &Path,
    then: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Result<(), SavedError> {
    let names = then.keys().chain(now.keys());
    for name in names {
        let value = |of: &BTreeMap<String, String>| of.get(name).cloned().unwrap_or_default();
        let (then, now) = (value(then), value(now));
        if then != now {
            return Err(SavedError::Settings {
                path: path.to_owned(),
                name: name.clone(),
                then,
                now,
            });
        }
    }
    Ok(())
}

/// Encodes an entry with its length before it. `room` is overwritten.
fn encode(entry: &SavedEntry, mut room: Vec<u8>) -> Vec<u8> {
    room.clear();
    room.extend([0; 4]);
    let mut bytes = postcard::to_extend(entry, room).expect("entries are plain data");
    let length = (bytes.len() - 4) as u32;
    if let Some(head) = bytes.first_chunk_mut() {
        *head = length.to_le_bytes();
    }
    bytes
}

/// Removes files of entries that another one took the place of, or that a killed run has left.
fn remove_others(path: &Path, entries: &str) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_other = name.to_str().is_some_and(|name| {
            let number = name
                .strip_prefix(ENTRIES)
                .map(|rest| rest.trim_start_matches('-'));
            let is_ours = number.is_some_and(|it| it.is_empty() || it.parse::<u32>().is_ok());
            is_ours && name != entries
        });
        if is_other {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    options.open(path)
}

/// Whether the directory has an entry that no index creates.
fn has_foreign_entries(path: &Path) -> io::Result<bool> {
    const OWN: [&str; 4] = [LockFile::NAME, "entries", "index.json.new", "lost+found"];
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if !OWN.iter().any(|own| name == *own) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The reason why an index cannot be used. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// The file system reported an error.
    #[error("cannot use the index {}: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The file system's error.
        source: io::Error,
    },
    /// Another process uses the index.
    #[error("the index {} is in use by another gleaner; wait for it, or give another --index", .0.display())]
    InUse(PathBuf),
    /// The directory holds something else.
    #[error("{} is not empty and does not contain an index; give a new or empty directory with --index", .0.display())]
    Foreign(PathBuf),
    /// Another version wrote the index.
    #[error(
        "the index {} has format {found}, and this gleaner reads format {FORMAT}; use the gleaner that wrote it, or begin another with --index",
        path.display()
    )]
    Format {
        /// The directory.
        path: PathBuf,
        /// The format of the index.
        found: u32,
    },
    /// The index was made with other settings, so its documents could never match new ones.
    #[error(
        "the index {} was made with {name} {then:?}, and this run has {now:?}; give the same flags as then, or begin another with --index",
        path.display()
    )]
    Settings {
        /// The directory.
        path: PathBuf,
        /// The name of the setting.
        name: String,
        /// Its value in the index.
        then: String,
        /// Its value in this run.
        now: String,
    },
    /// The index does not have the bytes that were written.
    #[error(
        "the index {} is damaged: {what}; put it back from a backup, or remove the directory and give all documents again",
        path.display()
    )]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// The damage.
        what: String,
    },
}

impl SavedError {
    fn damaged(path: &Path, what: &str) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            what: what.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Corpus, Signer};

    fn text(seed: u64) -> String {
        let words: Vec<_> = (0..120).map(|at| format!("w{}", at * seed % 977)).collect();
        words.join(" ")
    }

    /// Judges texts with an index; returns the ids of the documents that they repeat.
    fn run(path: &Path, options: &Options, texts: &[String], is_committed: bool) -> Vec<String> {
        let mut saved = Saved::open(path, options).unwrap();
        let mut corpus = Corpus::new(options.clone());
        let mut ids = Vec::new();
        saved
            .read(|entry| {
                if let SavedEntry::Document { id, judged, kept } = entry {
                    ids.push(id);
                    corpus.take(&judged, kept.map(|kept| *kept));
                }
                Ok::<_, SavedError>(())
            })
            .unwrap();
        let signer = Signer::new(options);
        let mut found = Vec::new();
        for text in texts {
            let signed = signer.sign(text.as_bytes(), &signer.text(text, text));
            let judged = corpus.compare(&signed);
            let kept = corpus.worth_keeping(signed, &judged);
            corpus.take(&judged, kept.clone());
            let of = judged.duplicate.map(|it| ids[it.of as usize].to_string());
            let id: Box<str> = format!("{}", ids.len()).into();
            ids.push(id.clone());
            found.push(format!("{id}:{}{:?}", of.unwrap_or_default(), judged.joins));
            let kept = kept.map(Box::new);
            saved
                .append(&SavedEntry::Document { id, judged, kept })
                .unwrap();
        }
        if is_committed {
            saved.commit().unwrap();
        }
        found
    }

    fn texts() -> Vec<String> {
        let edited = |seed, edit: &str| format!("{} {edit}", text(seed));
        vec![
            text(3),
            text(5),
            edited(3, "once"),
            "a notice of eight words and no more".to_owned(),
            text(5).to_uppercase(),
            edited(5, "at last"),
            "a notice of eight words and no more indeed".to_owned(),
            edited(3, "once more"),
        ]
    }

    #[test]
    fn many_runs_find_what_one_finds() {
        let mut minhash = Options::minhash(0.8);
        minhash.clusters = crate::corpus::Clusters::FirstFit;
        for options in [Options::witness(), Options::hamming(3), minhash] {
            let directory = tempfile::tempdir().unwrap();
            let whole = run(&directory.path().join("whole"), &options, &texts(), true);
            let parts = directory.path().join("parts");
            let mut found = Vec::new();
            for part in texts().chunks(3) {
                found.extend(run(&parts, &options, part, true));
            }
            assert_eq!(found, whole);
            assert!(run(&parts, &options, &[], true).is_empty());
            let saved = Saved::open(&parts, &options).unwrap();
            assert_eq!([0, 2, 3, 7, 8].map(|at| saved.run_of(at)), [1, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn a_run_that_did_not_end_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (path, options) = (directory.path(), Options::witness());
        run(path, &options, &texts()[..2], true);
        let before = (
            fs::read(path.join("entries")).unwrap(),
            fs::read(path.join("index.json")).unwrap(),
        );
        run(path, &options, &texts()[2..], false);
        assert!(fs::read(path.join("entries")).unwrap().len() > before.0.len());
        fs::write(path.join("index.json.new"), "{\"format\":").unwrap();
        assert!(run(path, &options, &[], true).is_empty());
        assert_eq!(fs::read(path.join("entries")).unwrap(), before.0);
        assert_eq!(fs::read(path.join("index.json")).unwrap(), before.1);
    }

    #[test]
    fn an_index_of_another_kind_or_in_other_hands_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (path, options) = (directory.path(), Options::witness());
        run(path, &options, &texts(), true);
        let says = |options: &Options| Saved::open(path, options).err().unwrap().to_string();
        assert!(says(&Options::minhash(0.84)).contains("\"simhash"));
        let stricter = Options {
            threshold: 0.9,
            ..options.clone()
        };
        assert!(says(&stricter).contains("threshold \"0.84\", and this run has \"0.9\""));
        let held = Saved::open(path, &options).unwrap();
        assert!(says(&options).contains("in use"));
        drop(held);
        fs::write(directory.path().join("thesis.txt"), "").unwrap();
        assert!(Saved::open(path, &options).is_ok(), "there is an index");
        fs::remove_file(path.join("index.json")).unwrap();
        assert!(says(&options).contains("does not contain an index"));
        // Without it nobody knows how many of the entries are whole: they are left alone.
        fs::remove_file(directory.path().join("thesis.txt")).unwrap();
        let before = fs::read(path.join("entries")).unwrap();
        assert!(says(&options).contains("its index.json is missing"));
        assert_eq!(fs::read(path.join("entries")).unwrap(), before);
    }

    #[test]
    fn an_index_has_a_seed_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(Saved::seed(path), None);
        let options = Options {
            seed: 77,
            ..Options::witness()
        };
        run(path, &options, &texts(), true);
        assert_eq!(Saved::seed(path), Some(77));
        assert!(Saved::open(path, &Options::witness()).is_err());
    }

    #[test]
    fn damage_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let (path, options) = (directory.path(), Options::witness());
        run(path, &options, &texts(), true);
        let entries = fs::read(path.join("entries")).unwrap();
        let read = || {
            let saved = Saved::open(path, &options)?;
            saved.read(|_| Ok::<_, SavedError>(()))
        };
        assert!(read().is_ok());
        for at in (0..entries.len()).step_by(97) {
            let mut damaged = entries.clone();
            damaged[at] ^= 0x20;
            fs::write(path.join("entries"), &damaged).unwrap();
            assert!(matches!(read(), Err(SavedError::Damaged { .. })), "{at}");
        }
        fs::write(path.join("entries"), &entries[..entries.len() - 1]).unwrap();
        assert!(matches!(read(), Err(SavedError::Damaged { .. })));
    }
}
