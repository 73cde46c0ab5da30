//! The catalog: all structures of a directory, and the checkpoint that makes them durable together.
//!
//! Files are written and synced first, in the background, then one rename of the manifest makes all of
//! them count, and only then are the replaced ones unlinked and the frozen tables dropped. So a kill at
//! any moment leaves the state of the last checkpoint or of this one, and an error leaves every lookup
//! as it was.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::Error;
use super::file::{RunFile, discard, is_missing};
use super::manifest::{self, Entry, Manifest, Structure};
use super::merge::{Background, Merged, Plan, choose};
use super::retired::Retired;
use super::table::{ToWrite, Writing};
use super::{Options, Runs};

/// All structures of one directory, indexed in the order in which they were given to
/// [`open`](Self::open): callers name the indices with constants, and borrow several structures at
/// once with `get_disjoint_mut`. The directory belongs to one catalog at a time; the lock of the
/// data directory sees to that.
#[derive(Debug)]
pub struct Catalog {
    directory: PathBuf,
    runs: Vec<Runs>,
    sequence: u64,
    next_id: u64,
    /// Files that the manifest on disk names.
    named: HashSet<PathBuf>,
    /// Files that nothing needs once another manifest is in place.
    strays: Vec<PathBuf>,
    /// The checkpoint that was begun.
    writing: Option<Writing>,
    merging: Background,
    /// Waiting for a checkpoint.
    merged: Vec<Merged>,
    /// The values that structures from `retired_from` on leave out when they are merged.
    retired: Arc<Retired>,
    retired_from: usize,
    /// Structures that are to be merged whole, so that what was retired gives its space back.
    purging: HashSet<usize>,
}

/// A structure that starts empty because its files cannot be trusted; the caller rebuilds it from
/// the store and the archive, and then calls [`Runs::rebuilt`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Index of the structure.
    pub structure: usize,
    /// Its name.
    pub name: &'static str,
    /// The file at fault. A run file was renamed to `*.damaged`, for whoever wants to look at it.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
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
    /// Opens the directory, made if need be, and verifies every file that its manifest names, one
    /// sequential read of all of them. Files that the manifest does not name are what a kill left
    /// behind and are removed. Damage is returned, at most one for each structure, and returned
    /// again at each opening until the structure is rebuilt and checkpointed.
    ///
    /// # Panics
    ///
    /// If a name is given twice or has characters other than lower-case letters, digits and hyphens.
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
            // The first opening writes a manifest, so files without one have lost theirs.
            Ok(None) if present.is_empty() => {
                let complete = vec![true; structures.len()];
                let manifest = catalog.manifest(0, &complete, &catalog.lists());
                manifest.stage(directory)?;
                Manifest::install(directory)?;
                return Ok((catalog, Vec::new()));
            }
            // Nothing is touched before a checkpoint writes a manifest again: a kill in between
            // must find what was found now.
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

    /// The delta that the manifest covers: later ones are to be inserted again. 0 for a new
    /// directory, and for one whose manifest is lost.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Makes all that was inserted durable, as the state after the delta `sequence`, and takes
    /// in what was merged meanwhile. After an error every lookup answers as before, nothing is
    /// lost, and a checkpoint may be tried again; an error of the merging thread is returned here,
    /// once, before anything is installed.
    pub fn checkpoint(&mut self, sequence: u64) -> Result<(), Error> {
        if self.writing.is_some() {
            self.finish()?;
        }
        self.begin(sequence)?;
        self.finish()
    }

    /// Begins a checkpoint: freezes what is in memory, as the state after the delta `sequence`, and has
    /// it written in the background. What is inserted from now on belongs to the next checkpoint.
    ///
    /// # Panics
    ///
    /// If one was begun and not finished.
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

    /// Whether a checkpoint was begun and not finished.
    pub fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Whether a checkpoint was begun whose files are written: then [`finish`](Self::finish) waits for
    /// nothing but the manifest.
    pub fn is_written(&self) -> bool {
        self.writing.as_ref().is_some_and(Writing::is_finished)
    }

    /// Waits for the checkpoint that was begun and installs it. Errors as in
    /// [`checkpoint`](Self::checkpoint). Without one nothing is done.
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
            match self.runs[structure].cleared {
                false => lists[structure].push(Arc::new(file)),
                true => discard(file.path()),
            }
        }
        for list in &mut lists {
            list.sort_by_key(|file| std::cmp::Reverse(file.count()));
        }
        // A structure that was cleared since the beginning is whole only at the next checkpoint.
        let complete = self.runs.iter().zip(&writing.complete);
        let complete: Vec<bool> = complete.map(|(it, then)| *then && !it.cleared).collect();
        let manifest = self.manifest(writing.sequence, &complete, &lists);
        if let Err(error) = manifest.stage(&self.directory) {
            discard_written(&paths);
            return Err(error);
        }
        if let Err(error) = Manifest::install(&self.directory) {
            // Either manifest may be the one that counts, so the files of both have to stay.
            self.strays.append(&mut paths);
            return Err(error);
        }

        // From here on the new state is the one that a start would find.
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

    /// Gives up a checkpoint: what was frozen is in the table again.
    fn thaw(&mut self) {
        for runs in &mut self.runs {
            if let Some(frozen) = runs.frozen.take() {
                match Arc::try_unwrap(frozen) {
                    // The larger one takes over the smaller.
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

    /// Lets merges of the structures from `from` on leave out pairs with these values. They may be found
    /// until then. For good: a value must not be used again.
    pub fn retire(&mut self, from: usize, values: impl IntoIterator<Item = u64>) {
        self.retired_from = from;
        let retired = Arc::make_mut(&mut self.retired);
        for value in values {
            retired.insert(value);
        }
    }

    /// The values that were retired.
    pub fn retired(&self) -> &Retired {
        &self.retired
    }

    /// Says what was retired before this catalog was opened.
    pub fn restore_retired(&mut self, from: usize, retired: Retired) {
        self.retired_from = from;
        self.retired = Arc::new(retired);
    }

    /// Has each structure whose values are retired merged into one file, from the next checkpoint on, in
    /// the background.
    pub fn purge(&mut self) {
        self.purging = (self.retired_from..self.runs.len()).collect();
    }

    /// Whether nothing is left to merge, and all that was merged is installed.
    pub fn is_settled(&self) -> bool {
        let is_idle = self.writing.is_none() && self.merging.is_idle();
        is_idle && self.purging.is_empty() && self.merged.is_empty()
    }

    /// Waits for the merging thread, so that the next checkpoint has its files: for a clean stop,
    /// and for tests. Otherwise checkpoints take what is ready.
    pub fn finish_merges(&mut self) -> Result<(), Error> {
        let (mut merged, result) = self.merging.collect();
        self.merged.append(&mut merged);
        result
    }

    /// Fills the structure from the manifest, or says why not.
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
            return Ok(Some(self.distrust(
                structure,
                whole,
                "a rebuild was interrupted",
            )));
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

    /// The files of each structure.
    fn lists(&self) -> Vec<Vec<Arc<RunFile>>> {
        self.runs.iter().map(|runs| runs.files.clone()).collect()
    }

    /// Replaces in the lists what was merged by its output. The merges stay known until the
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
        let entry = |file: &Arc<RunFile>| Entry {
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
            let inputs = match self.purging.remove(&structure) {
                true => runs.files.clone(),
                false => choose(&runs.files, runs.options.merge_at),
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
        // A thread that cannot be started is no reason to fail: the checkpoint is done, and the next
        // one tries again.
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

fn path(directory: &Path, name: &str, id: u64) -> PathBuf {
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

/// The run files in the directory, and a number that none of them has, not even a damaged one.
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

/// Opens a file of the manifest, and makes sure that it is the one that was meant.
fn open_listed(path: &Path, entry: &Entry) -> Result<RunFile, Error> {
    let file = RunFile::open(path, entry.id)?;
    if (file.count(), file.crc()) == (entry.count, entry.crc) {
        return Ok(file.with_newest(entry.newest));
    }
    Err(Error::Damaged {
        path: path.to_owned(),
        why: "it is not the file that the manifest names".to_owned(),
    })
}

/// Why the file at fault is lost; `None` if trying again later may help.
fn damage(error: &Error) -> Option<String> {
    /// A bad sector.
    const EIO: i32 = rustix::io::Errno::IO.raw_os_error();
    match error {
        Error::Damaged { why, .. } => Some(why.clone()),
        Error::Io { .. } if is_missing(error) => Some("it is missing".to_owned()),
        Error::Io { source, .. } if source.raw_os_error() == Some(EIO) => {
            Some("the disk cannot read it".to_owned())
        }
        _ => None,
    }
}
