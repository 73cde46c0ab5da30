//! The catalog: all structures of a directory, and the checkpoint that makes them durable together.
//!
//! A checkpoint writes and syncs new files in the background, then makes all of them valid by one
//! rename of the manifest, and only then unlinks the files that were replaced and drops the frozen
//! tables. A kill at any moment therefore leaves the state of the previous checkpoint or of this
//! one, and an error leaves every look-up as it was.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{Error, is_bad_disk};
use super::file::{RunFile, discard, is_missing};
use super::manifest::{self, FileEntry, Manifest, Structure};
use super::merge::{Background, Merged, Plan, choose};
use super::retired::Retired;
use super::table::{ToWrite, Writing};
use super::{Options, Runs};

/// All structures of one directory, indexed in the order in which they were passed to
/// [`open`](Self::open). Callers name the indices with constants, and borrow several structures at
/// once with `get_disjoint_mut`. The directory belongs to one catalog at a time; the lock of the
/// data directory ensures that.
#[derive(Debug)]
pub struct Catalog {
    directory: PathBuf,
    runs: Vec<Runs>,
    sequence: u64,
    next_id: u64,
    /// Files that the manifest on disk names.
    named: HashSet<PathBuf>,
    /// Files that can be removed once the next manifest is installed.
    strays: Vec<PathBuf>,
    /// The checkpoint in progress.
    writing: Option<Writing>,
    merging: Background,
    /// Merges that the next checkpoint will install.
    merged: Vec<Merged>,
    /// Values that structures from `retired_from` on omit when they are merged.
    retired: Arc<Retired>,
    retired_from: usize,
    /// Structures to be merged into one file, which frees the space of retired pairs.
    purging: HashSet<usize>,
}

/// A structure that starts empty because its files cannot be trusted. The caller rebuilds it from
/// the store and the archive and then calls [`Runs::rebuilt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Index of the structure.
    pub structure: usize,
    /// Name of the structure.
    pub name: &'static str,
    /// The damaged file. A run file was renamed to `*.damaged`, so that it can be examined.
    pub path: PathBuf,
    /// What is wrong with the file.
    pub why: String,
}

/// Why a structure starts empty of which a rebuild did not end.
const UNFINISHED: &str = "a rebuild was interrupted";

impl Damage {
    /// Whether nothing is wrong with the structure but that it was not complete yet.
    pub fn is_unfinished(&self) -> bool {
        self.why == UNFINISHED
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            name, path, why, ..
        } = self;
        write!(
            f,
            "{name} starts empty and is rebuilt, because of {}: {why}",
            path.display()
        )
    }
}

impl Catalog {
    /// Opens a directory, creating it if needed, and verifies every file that its manifest names,
    /// in one sequential read of all of them. Files that the manifest does not name were left by a
    /// kill and are removed. Damage is returned, at most one [`Damage`] per structure, and returned
    /// again at each opening until the structure has been rebuilt and a checkpoint written.
    ///
    /// # Panics
    ///
    /// Panics if a name is given twice, or contains characters other than lower-case letters,
    /// digits and hyphens.
    pub fn open(
        directory: &Path,
        structures: &[(&'static str, Options)],
    ) -> Result<(Self, Vec<Damage>), Error> {
        for (index, (name, _)) in structures.iter().enumerate() {
            let allowed = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
            assert!(
                !name.is_empty() && name.bytes().all(allowed),
                "structure name {name:?}"
            );
            assert!(
                structures[..index].iter().all(|(other, _)| other != name),
                "two structures {name}"
            );
        }
        fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
        let (present, next_id) = scan(directory)?;
        let mut catalog = Self {
            directory: directory.to_owned(),
            runs: structures
                .iter()
                .map(|&(name, options)| Runs::new(name, options))
                .collect(),
            sequence: 0,
            next_id,
            named: HashSet::new(),
            strays: Vec::new(),
            writing: None,
            merging: Background::default(),
            merged: Vec::new(),
            retired: Arc::default(),
            retired_from: structures.len(),
            purging: HashSet::new(),
        };
        let manifest = match Manifest::read(directory) {
            Ok(Some(manifest)) => manifest,
            // The first opening writes a manifest, so a directory with files but no manifest has
            // lost it.
            Ok(None) if present.is_empty() => {
                let complete = vec![true; structures.len()];
                let manifest = catalog.manifest(0, &complete, &catalog.lists());
                manifest.stage(directory)?;
                Manifest::install(directory)?;
                return Ok((catalog, Vec::new()));
            }
            // Nothing is changed before a checkpoint writes a manifest again: after a kill in
            // between, the next start must find the same state.
            Ok(None) => {
                catalog.strays = present;
                let damage = catalog.distrust_all("it is missing");
                return Ok((catalog, damage));
            }
            Err(Error::Damaged { why, .. }) => {
                catalog.strays = present;
                let damage = catalog.distrust_all(&why);
                return Ok((catalog, damage));
            }
            Err(error) => return Err(error),
        };
        catalog.sequence = manifest.sequence;
        catalog.named = names(directory, &manifest);
        for path in present.iter().filter(|path| !catalog.named.contains(*path)) {
            fs::remove_file(path).map_err(Error::io("remove", path))?;
        }
        let mut damage = Vec::new();
        for structure in 0..catalog.runs.len() {
            damage.extend(catalog.load(structure, &manifest)?);
        }
        Ok((catalog, damage))
    }

    /// Returns the sequence of the last delta that the manifest covers; later deltas must be
    /// inserted again. It is 0 for a new directory and for one whose manifest is lost.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Makes everything that was inserted durable, as the state after the delta `sequence`, and
    /// installs finished merges.
    ///
    /// # Errors
    ///
    /// After an error every look-up answers as before, nothing is lost, and the checkpoint can be
    /// tried again. An error of the merging thread is returned here, once, before anything is
    /// installed.
    pub fn checkpoint(&mut self, sequence: u64) -> Result<(), Error> {
        if self.writing.is_some() {
            self.finish()?;
        }
        self.begin(sequence)?;
        self.finish()
    }

    /// Begins a checkpoint: freezes the tables in memory, as the state after the delta `sequence`,
    /// and starts to write them in the background. Pairs inserted from now on belong to the next
    /// checkpoint.
    ///
    /// # Panics
    ///
    /// Panics if a checkpoint was begun and not finished.
    pub fn begin(&mut self, sequence: u64) -> Result<(), Error> {
        assert!(self.writing.is_none(), "one checkpoint at a time");
        let mut tables = Vec::new();
        for structure in 0..self.runs.len() {
            let runs = &mut self.runs[structure];
            runs.cleared = false;
            if runs.active.len() == 0 {
                continue;
            }
            let table = Arc::new(std::mem::take(&mut runs.active));
            runs.frozen = Some(Arc::clone(&table));
            let (name, id) = (runs.name, self.next_id);
            self.next_id += 1;
            tables.push(ToWrite {
                structure,
                table,
                id,
                path: self.path(name, id),
            });
        }
        let complete = self.runs.iter().map(|runs| runs.complete).collect();
        match Writing::start(sequence, complete, tables) {
            Ok(writing) => self.writing = Some(writing),
            Err(source) => {
                self.thaw();
                return Err(Error::io("write", &self.directory)(source));
            }
        }
        Ok(())
    }

    /// Returns `true` if a checkpoint was begun and not finished.
    pub fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Returns `true` if a checkpoint was begun and its files are written, in which case
    /// [`finish`](Self::finish) waits only for the manifest.
    pub fn is_written(&self) -> bool {
        self.writing.as_ref().is_some_and(Writing::is_finished)
    }

    /// Waits for the checkpoint that was begun and installs it; does nothing if there is none.
    /// Errors are those of [`checkpoint`](Self::checkpoint).
    pub fn finish(&mut self) -> Result<(), Error> {
        let Some(mut writing) = self.writing.take() else {
            return Ok(());
        };
        let installed = self.install(&mut writing);
        if installed.is_err() {
            self.thaw();
        }
        installed
    }

    fn install(&mut self, writing: &mut Writing) -> Result<(), Error> {
        let written = writing.collect()?;
        let discard_written = |written: &[PathBuf]| written.iter().for_each(|path| discard(path));
        let mut paths: Vec<PathBuf> = written.iter().map(|it| it.1.path().to_owned()).collect();
        if self.merging.is_finished()
            && let Err(error) = self.finish_merges()
        {
            discard_written(&paths);
            return Err(error);
        }
        let mut lists = self.lists();
        self.take_in_merges(&mut lists);
        for (structure, file) in written {
            if self.runs[structure].cleared {
                discard(file.path());
            } else {
                lists[structure].push(Arc::new(file));
            }
        }
        for list in &mut lists {
            list.sort_by_key(|file| std::cmp::Reverse(file.count()));
        }
        // A structure that was cleared after the checkpoint began is complete only at the next one.
        let complete = self.runs.iter().zip(&writing.complete);
        let complete: Vec<bool> = complete.map(|(it, then)| *then && !it.cleared).collect();
        let manifest = self.manifest(writing.sequence, &complete, &lists);
        if let Err(error) = manifest.stage(&self.directory) {
            discard_written(&paths);
            return Err(error);
        }
        if let Err(error) = Manifest::install(&self.directory) {
            // Either manifest may be the valid one now, so the files of both have to stay.
            self.strays.append(&mut paths);
            return Err(error);
        }

        // From here on, a start would find the new state.
        self.sequence = writing.sequence;
        for (runs, list) in self.runs.iter_mut().zip(lists) {
            runs.files = list;
            runs.frozen = None;
        }
        self.merged.clear();
        let named = names(&self.directory, &manifest);
        let replaced = std::mem::replace(&mut self.named, named);
        let replaced = replaced.difference(&self.named).chain(&self.strays);
        for path in replaced {
            discard(path);
        }
        self.strays.clear();
        self.start_merges();
        Ok(())
    }

    /// Abandons a checkpoint: merges the frozen tables back into the active ones.
    fn thaw(&mut self) {
        for runs in &mut self.runs {
            if let Some(frozen) = runs.frozen.take() {
                match Arc::try_unwrap(frozen) {
                    // The larger table absorbs the smaller.
                    Ok(older) => {
                        let newer = std::mem::replace(&mut runs.active, older);
                        runs.active.append(newer);
                    }
                    Err(shared) => shared.range(0, u64::MAX).for_each(|(key, value)| {
                        runs.active.insert(*key, *value);
                    }),
                }
            }
        }
    }

    /// Retires `values` in the structures from index `from` on: merges omit pairs with these
    /// values, which may still be found until then. Retiring is permanent; a value must not be used
    /// again.
    pub fn retire(&mut self, from: usize, values: impl IntoIterator<Item = u64>) {
        self.retired_from = from;
        let retired = Arc::make_mut(&mut self.retired);
        for value in values {
            retired.insert(value);
        }
    }

    /// Returns the retired values.
    pub fn retired(&self) -> &Retired {
        &self.retired
    }

    /// Sets the values that were retired before this catalog was opened.
    pub fn restore_retired(&mut self, from: usize, retired: Retired) {
        self.retired_from = from;
        self.retired = Arc::new(retired);
    }

    /// Schedules every structure with retired values to be merged into one file, in the background,
    /// from the next checkpoint on.
    pub fn purge(&mut self) {
        self.purging = (self.retired_from..self.runs.len()).collect();
    }

    /// Returns `true` if nothing is left to merge and all merges are installed.
    pub fn is_settled(&self) -> bool {
        let is_idle = self.writing.is_none() && self.merging.is_idle();
        is_idle && self.purging.is_empty() && self.merged.is_empty()
    }

    /// Waits for the merging thread, so that the next checkpoint can install its files. Meant for a
    /// clean stop and for tests; other checkpoints take what is ready.
    pub fn finish_merges(&mut self) -> Result<(), Error> {
        let (mut merged, result) = self.merging.collect();
        self.merged.append(&mut merged);
        result
    }

    /// Fills a structure from the manifest, or reports its damage.
    fn load(&mut self, structure: usize, manifest: &Manifest) -> Result<Option<Damage>, Error> {
        let name = self.runs[structure].name;
        let whole = manifest::path(&self.directory);
        let Some(listed) = manifest
            .structures
            .iter()
            .find(|listed| listed.name == name)
        else {
            return Ok(Some(self.distrust(
                structure,
                whole,
                "it is older than this structure",
            )));
        };
        if !listed.complete {
            return Ok(Some(self.distrust(structure, whole, UNFINISHED)));
        }
        let mut files = Vec::new();
        for entry in &listed.files {
            let path = self.path(name, entry.id);
            match open_listed(&path, entry) {
                Ok(file) => files.push(Arc::new(file)),
                Err(error) => {
                    let Some(why) = damage(&error) else {
                        return Err(error);
                    };
                    if !is_missing(&error) {
                        let aside = with_suffix(&path, ".damaged");
                        fs::rename(&path, &aside).map_err(Error::io("rename", &path))?;
                    }
                    return Ok(Some(self.distrust(structure, path, &why)));
                }
            }
        }
        self.runs[structure].files = files;
        Ok(None)
    }

    fn distrust(&mut self, structure: usize, path: PathBuf, why: &str) -> Damage {
        self.runs[structure].clear();
        Damage {
            structure,
            name: self.runs[structure].name,
            path,
            why: why.to_owned(),
        }
    }

    fn distrust_all(&mut self, why: &str) -> Vec<Damage> {
        let path = manifest::path(&self.directory);
        (0..self.runs.len())
            .map(|structure| self.distrust(structure, path.clone(), why))
            .collect()
    }

    /// Returns the files of each structure.
    fn lists(&self) -> Vec<Vec<Arc<RunFile>>> {
        self.runs.iter().map(|runs| runs.files.clone()).collect()
    }

    /// Replaces merged files in the lists by their outputs. The merges are remembered until the
    /// checkpoint has succeeded.
    fn take_in_merges(&mut self, lists: &mut [Vec<Arc<RunFile>>]) {
        self.merged.retain(
            |Merged {
                 structure,
                 replaced,
                 output,
             }| {
                let list = &mut lists[*structure];
                let is_replaced = |file: &Arc<RunFile>| replaced.contains(&file.id());
                if list.iter().filter(|file| is_replaced(file)).count() < replaced.len() {
                    // The structure was cleared while the thread worked.
                    discard(output.path());
                    return false;
                }
                list.retain(|file| !is_replaced(file));
                list.push(Arc::clone(output));
                true
            },
        );
    }

    fn manifest(&self, sequence: u64, complete: &[bool], lists: &[Vec<Arc<RunFile>>]) -> Manifest {
        let entry = |file: &Arc<RunFile>| FileEntry {
            id: file.id(),
            count: file.count(),
            crc: file.crc(),
            newest: file.newest(),
        };
        let all = self.runs.iter().zip(complete).zip(lists);
        let structures = all.map(|((runs, complete), list)| Structure {
            name: runs.name.to_owned(),
            complete: *complete,
            files: list.iter().map(entry).collect(),
        });
        Manifest {
            sequence,
            structures: structures.collect(),
        }
    }

    fn start_merges(&mut self) {
        if !self.merging.is_idle() {
            return;
        }
        let mut plans = Vec::new();
        for (structure, runs) in self.runs.iter().enumerate() {
            let inputs = if self.purging.remove(&structure) {
                runs.files.clone()
            } else {
                choose(&runs.files, runs.options.merge_at)
            };
            if !inputs.is_empty() {
                let id = self.next_id;
                plans.push(Plan {
                    structure,
                    inputs,
                    id,
                    path: self.path(runs.name, id),
                    retired: (structure >= self.retired_from).then(|| Arc::clone(&self.retired)),
                });
                self.next_id += 1;
            }
        }
        // A thread that cannot be started is no reason to fail: the checkpoint is done, and the
        // next one tries again.
        let _ = self.merging.start(plans);
    }

    fn path(&self, name: &str, id: u64) -> PathBuf {
        path(&self.directory, name, id)
    }
}

impl Deref for Catalog {
    type Target = [Runs];

    fn deref(&self) -> &[Runs] {
        &self.runs
    }
}

impl DerefMut for Catalog {
    fn deref_mut(&mut self) -> &mut [Runs] {
        &mut self.runs
    }
}

pub(super) fn path(directory: &Path, name: &str, id: u64) -> PathBuf {
    directory.join(format!("{name}-{id}.run"))
}

fn names(directory: &Path, manifest: &Manifest) -> HashSet<PathBuf> {
    let files = |structure: &Structure| -> Vec<PathBuf> {
        structure
            .files
            .iter()
            .map(|file| path(directory, &structure.name, file.id))
            .collect()
    };
    manifest.structures.iter().flat_map(files).collect()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = OsString::from(path);
    path.push(suffix);
    path.into()
}

/// Returns the run files in the directory, and a number that none of them has, damaged ones
/// included.
fn scan(directory: &Path) -> Result<(Vec<PathBuf>, u64), Error> {
    let failed = || Error::io("list", directory);
    let (mut present, mut next_id) = (Vec::new(), 1);
    for item in fs::read_dir(directory).map_err(failed())? {
        let path = item.map_err(failed())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let intact = name.strip_suffix(".run");
        let stem = intact.or_else(|| name.strip_suffix(".run.damaged"));
        let Some(id) = stem.and_then(|stem| stem.rsplit_once('-')?.1.parse::<u64>().ok()) else {
            continue;
        };
        next_id = next_id.max(id.saturating_add(1));
        if intact.is_some() {
            present.push(path);
        }
    }
    Ok((present, next_id))
}

/// Opens a file of the manifest and checks that it is the one that was meant.
pub(super) fn open_listed(path: &Path, entry: &FileEntry) -> Result<RunFile, Error> {
    let file = RunFile::open(path, entry.id)?;
    if (file.count(), file.crc()) == (entry.count, entry.crc) {
        return Ok(file.with_newest(entry.newest));
    }
    Err(Error::Damaged {
        path: path.to_owned(),
        why: "it is not the file that the manifest names".to_owned(),
    })
}

/// Returns why a file is lost, or `None` if trying again later may help.
fn damage(error: &Error) -> Option<String> {
    match error {
        Error::Damaged { why, .. } => Some(why.clone()),
        Error::Io { .. } if is_missing(error) => Some("it is missing".to_owned()),
        Error::Io { source, .. } if is_bad_disk(source) => {
            Some("the disk cannot read it".to_owned())
        }
        _ => None,
    }
}
