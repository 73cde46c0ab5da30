//! `check`: reads everything that a crawl keeps on disk, and says what is damaged.
//!
//! Nothing in the data directory is changed. What an engine would change as it opens is opened in a
//! [copy](scratch). No more is in memory than a record, the places of one file of the archive, and
//! what the store itself needs.

mod archive;
mod earlier;
mod index;
mod log;
mod rows;
mod scratch;

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::dedup::Documents;
use crate::engine::{self, DataDirectory, DirectoryError, lost};
use crate::frontier::verify_filters;
use crate::rows::{CrawlState, DiskState};
use crate::runs::{self, Catalog};
use crate::store::{Store, journal};
use crate::{dedup, frontier};
use scratch::Scratch;

/// Maximum number of findings that are listed of one part. All are counted.
const MAX_LISTED: usize = 50;

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// Whether nothing is damaged.
    pub is_sound: bool,
    /// The parts of the data directory, in the order in which they were read.
    pub parts: Vec<PartChecked>,
}

/// What was found of one part of the data directory.
#[derive(Debug, Clone, Serialize)]
pub struct PartChecked {
    /// The part.
    pub part: &'static str,
    /// Number of things that were read: rows, documents, records, lines, files.
    pub read: u64,
    /// What they are.
    pub unit: &'static str,
    /// Number of damages.
    pub damages: u64,
    /// The first of them: where it is, and what is wrong.
    pub findings: Vec<String>,
    /// What is no damage, but worth knowing, such as files that were moved away.
    pub notes: Vec<String>,
    /// What to do, if something is damaged.
    pub advice: Option<&'static str>,
}

impl PartChecked {
    fn new(part: &'static str, unit: &'static str) -> Self {
        Self {
            part,
            read: 0,
            unit,
            damages: 0,
            findings: Vec::new(),
            notes: Vec::new(),
            advice: None,
        }
    }

    /// Adds a damage.
    fn damage(&mut self, what: impl Display) {
        self.damages += 1;
        if self.findings.len() < MAX_LISTED {
            self.findings.push(what.to_string());
        }
    }

    /// Adds what is no damage, once.
    fn note(&mut self, what: impl Display) {
        let what = what.to_string();
        if self.notes.len() < MAX_LISTED && !self.notes.contains(&what) {
            self.notes.push(what);
        }
    }

    /// Adds the damage that an error tells of; any other error is returned.
    fn damage_of<T>(
        &mut self,
        what: &dyn Display,
        result: Result<T, engine::Error>,
    ) -> Result<Option<T>, engine::Error> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_full_disk() => Err(error),
            Err(error) => {
                self.damage(format!("{what}: {error}"));
                Ok(None)
            }
        }
    }

    /// Says what to do if something is damaged.
    fn advise(mut self, advice: &'static str) -> Self {
        self.advice = (self.damages > 0).then_some(advice);
        self
    }
}

/// A crawl that is checked.
struct Subject<'a> {
    /// Its data directory.
    data: &'a Path,
    /// The copy.
    copy: &'a Path,
    store: &'a dyn Store,
    state: CrawlState,
    disk: DiskState,
}

/// What is found of a store that says nothing of a crawl: damage, unless the first start was
/// interrupted.
fn without_a_state(data: &Path, mut store: PartChecked) -> Checked {
    let is_sound = !engine::is_begun(data);
    if is_sound {
        store = PartChecked::new("store", "rows");
        store.note("no crawl was begun: the first start was interrupted, and the next begins anew");
    }
    Checked {
        is_sound,
        parts: vec![store.advise(rows::ADVICE)],
    }
}

/// Checks the crawl in a data directory that no process uses. `scratch` is a folder for temporary
/// files; it needs room for a copy of `documents/` and of the store's journals.
///
/// # Errors
///
/// [`DirectoryError`] if there is no crawl, or a process has it; errors of the folder for temporary
/// files. Damage is no error.
pub fn check(data: &Path, scratch: &Path) -> Result<Checked, engine::Error> {
    let failed = |source| DirectoryError::Io {
        path: data.to_owned(),
        source,
    };
    DataDirectory::check_version(data)?;
    let _held = DataDirectory::share(data)?;
    let copy = Scratch::new(scratch).map_err(|source| DirectoryError::Io {
        path: scratch.to_owned(),
        source,
    })?;
    let mut store = PartChecked::new("store", "rows");
    let audit = journal::audit(&data.join("store")).map_err(failed);
    if let Some(audit) = store.damage_of(&"store/", audit.map_err(Into::into))? {
        audit
            .journals
            .iter()
            .for_each(|damage| store.damage(damage));
        for (path, offset) in &audit.torn {
            store.note(lost::torn_end(path, *offset));
        }
        for table in &audit.tables {
            store.damage(lost::without_current(table));
        }
    }
    for lost in copy.fill(data).map_err(failed)? {
        store.damage(format!("{}: {}", lost.path.display(), lost.source));
    }
    let opened = DataDirectory::take_existing(copy.path()).map_err(engine::Error::from);
    let opened = opened.and_then(|directory| Ok((engine::open_copy(&directory)?, directory)));
    let opened = store.damage_of(&"the store cannot be opened", opened)?;
    let Some((engine, _directory)) = opened else {
        return Ok(without_a_state(data, store));
    };
    engine.audit_files(&mut |path, why| {
        let path = path.strip_prefix(copy.path()).unwrap_or(path);
        store.damage(format!("{}: {why}", path.display()));
    });
    let engine: Arc<dyn Store> = engine;
    let state = CrawlState::read(&*engine);
    let state = state.and_then(|state| Ok((state, DiskState::read(&*engine)?)));
    let state = store.damage_of(&"the state of the crawl", state.map_err(Into::into))?;
    let (Some(state), Some(disk)) = state.unwrap_or_default() else {
        store.damage("the store has no state of a crawl");
        return Ok(without_a_state(data, store));
    };
    let subject = Subject {
        data,
        copy: copy.path(),
        store: &*engine,
        state,
        disk,
    };
    let states = (&subject.state, &subject.disk);
    let evidence = lost::evidence(data, subject.store, states);
    if let Some(Some(evidence)) = store.damage_of(&"log/acknowledged", evidence)? {
        store.damage(format!("the store has lost commits: {evidence}"));
    }
    let (mut runs, catalog) = check_runs(&subject)?;
    let (mut documents, index) = check_documents(&subject)?;
    let covered = catalog.as_ref().map_or(0, Catalog::sequence);
    let through = index.as_ref().map_or(0, Documents::through);
    let agree = lost::check_lookups(data, &subject.state, (covered, through));
    store.damage_of(&"runs/ and documents/", agree)?;
    let mut parts = Vec::new();
    let mut places = archive::Places::new(copy.path());
    let lookups = (catalog, index);
    rows::check(
        &subject,
        &mut store,
        (&mut runs, &mut documents),
        lookups,
        &mut places,
    )?;
    parts.push(store.advise(rows::ADVICE));
    parts.push(runs.advise("the next start builds the damaged files anew from the store"));
    parts.push(documents.advise("the next start builds them anew from the store"));
    let bodies = archive::check_bodies(&subject);
    parts.extend(archive::check(&subject, places)?);
    parts.extend(earlier::check(&subject)?);
    parts.push(bodies);
    parts.push(log::check(&subject));
    Ok(Checked {
        is_sound: parts.iter().all(|part| part.damages == 0),
        parts,
    })
}

/// Checks the run files, and the copy of the filters.
fn check_runs(subject: &Subject<'_>) -> Result<(PartChecked, Option<Catalog>), engine::Error> {
    let mut part = PartChecked::new("runs", "keys");
    let names = [frontier::SEEN].into_iter().chain(dedup::structures());
    let structures: Vec<_> = names.map(|name| (name, runs::Options::default())).collect();
    let opened = Catalog::open(&subject.copy.join("runs"), &structures);
    let opened = part.damage_of(&"runs/", opened.map_err(Into::into))?;
    let catalog = opened.map(|(catalog, damages)| {
        for damage in damages {
            let path = damage.path.strip_prefix(subject.copy);
            let path = path.unwrap_or(&damage.path).display();
            part.damage(format!("{path}: {}", damage.why));
        }
        catalog
    });
    if let Some(catalog) = &catalog
        && catalog.sequence() < subject.disk.runs_checkpointed
    {
        part.damage("runs/ is older than the store");
    }
    let filters = subject.data.join("runs").join("seen.filter");
    match verify_filters(&filters) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            part.damage(format!("runs/seen.filter: {error}"));
        }
        _ => {}
    }
    Ok((part, catalog))
}

/// Opens the copy of the documents.
fn check_documents(
    subject: &Subject<'_>,
) -> Result<(PartChecked, Option<Documents>), engine::Error> {
    /// Bytes of sled's cache.
    const CACHE: u64 = 16 << 20;
    let mut part = PartChecked::new("documents", "documents");
    let expected = subject.disk.documents_checkpointed;
    let opened = Documents::open(&subject.copy.join("documents"), CACHE, expected);
    let opened = part.damage_of(&"documents/", opened.map_err(Into::into))?;
    let Some((documents, damage)) = opened else {
        return Ok((part, None));
    };
    match damage {
        Some(dedup::DocumentsDamage::All(why)) => part.damage(format!("documents/: {why}")),
        Some(dedup::DocumentsDamage::Witnesses) => {
            part.damage("documents.witness: a row is missing, or its checksum does not match");
        }
        None => return Ok((part, Some(documents))),
    }
    Ok((part, None))
}

/// Where a file of the data directory is, for a finding.
fn within(data: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(data).unwrap_or(path).to_owned()
}
