//! Pages that may kill the process. A page that needs more memory than there is ends the process
//! without a word, and would be asked for again by every start.
//!
//! A file has one place for each analyst, with the URL that it reads. What stands there when a run
//! begins was being read when the last one died: each of these pages is read alone from then on, so
//! that the others are not blamed again, and the page that is read when the process has died often
//! enough is given up. Writing to the file costs a call and no sync: it is about processes that
//! die, not about power.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use crate::engine::Error;
use crate::store::{Batch, Durability, Store, Table, decode, encode, for_each, keys};
use crate::url::UrlId;

/// Number of times that the process may die while a page is read. An operator who kills it again
/// and again meets the page that is first in a queue more than once.
const MAX_DEATHS: u8 = 10;

/// Length of an id in the file.
const ID: usize = 16;

/// Name of the file in the data directory.
const FILE: &str = "reading";

/// What is being read, and what was when a process died.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// `None` if it cannot be written.
    file: Option<File>,
    /// How often a process died while these were read.
    deaths: HashMap<UrlId, u8>,
    /// Held by those who read; alone by who reads a suspect.
    turn: RwLock<()>,
}

impl Suspects {
    /// Reads what the last process was reading when it died, and counts that.
    pub(crate) fn open(data_directory: &Path, store: &dyn Store) -> Result<Self, Error> {
        let mut deaths = HashMap::<UrlId, u8>::new();
        for_each(store, Table::Meta, keys::meta::DEATHS, &mut |key, row| {
            let id = key.get(keys::meta::DEATHS.len()..).unwrap_or_default();
            if let Ok(id) = id.try_into() {
                deaths.insert(UrlId::from_bytes(id), decode(Table::Meta, row)?);
            }
            Ok(())
        })?;
        let opened = open_file(&data_directory.join(FILE));
        let (file, found) = match opened {
            Ok((file, found)) => (Some(file), found),
            Err(error) => {
                tracing::warn!(%error, "pages that kill the process cannot be told");
                (None, Vec::new())
            }
        };
        let mut batch = Batch::new();
        for id in found {
            let count = deaths.entry(id).or_default();
            *count = count.saturating_add(1);
            batch.put(Table::Meta, keys::deaths(id.as_bytes()), encode(count));
        }
        if !batch.is_empty() {
            store.commit(batch, Durability::Disk)?;
        }
        if let Some(file) = &file {
            // They are counted: not once more if this run is killed before it reads anything.
            let _ = file.set_len(0);
        }
        Ok(Self {
            file,
            deaths,
            turn: RwLock::default(),
        })
    }

    /// Returns `true` if a process died while this page was read.
    pub(crate) fn contains(&self, id: UrlId) -> bool {
        self.deaths.contains_key(&id)
    }

    /// Returns how often a process died while this page was read, if that is too often to read it
    /// once more.
    pub(crate) fn died_too_often(&self, id: UrlId) -> Option<u8> {
        let deaths = self.deaths.get(&id).copied();
        deaths.filter(|deaths| *deaths >= MAX_DEATHS)
    }

    /// Lets the analyst of this number read a page, a suspect alone.
    pub(crate) fn during<T>(&self, analyst: usize, id: UrlId, read: impl FnOnce() -> T) -> T {
        let (_alone, _beside);
        if self.contains(id) {
            _alone = self.turn.write().unwrap_or_else(PoisonError::into_inner);
        } else {
            _beside = self.turn.read().unwrap_or_else(PoisonError::into_inner);
        }
        self.note(analyst, id.as_bytes());
        let result = read();
        self.note(analyst, &[0; ID]);
        result
    }

    fn note(&self, analyst: usize, id: &[u8; ID]) {
        if let Some(file) = &self.file
            && let Err(error) = file.write_all_at(id, (analyst * ID) as u64)
        {
            // A disk that cannot be written ends the run elsewhere.
            tracing::debug!(%error, "cannot note which page is read");
        }
    }
}

/// Opens the file, and returns the ids in it.
fn open_file(path: &Path) -> io::Result<(File, Vec<UrlId>)> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let (places, _) = bytes.as_chunks::<ID>();
    let ids = places.iter().filter(|id| **id != [0; ID]);
    Ok((file, ids.map(|id| UrlId::from_bytes(*id)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;

    /// A process dies while it reads these.
    fn die(suspects: &Suspects, reading: &[UrlId]) {
        for (analyst, id) in reading.iter().enumerate() {
            suspects.note(analyst, id.as_bytes());
        }
    }

    #[test]
    fn a_page_that_kills_the_process_is_given_up() {
        let (guilty, beside) = (UrlId::from_bytes([1; ID]), UrlId::from_bytes([2; ID]));
        let (place, store) = (tempfile::tempdir().unwrap(), Memory::default());
        let start = || Suspects::open(place.path(), &store).unwrap();
        let first = start();
        assert_eq!(first.during(0, guilty, || 7), 7);
        drop(first);
        // What was read to its end is no suspect.
        assert!(!start().contains(guilty));
        die(&start(), &[guilty, beside]);
        // A run that reads nothing adds nothing.
        for _ in 0..5 {
            assert!(start().contains(guilty));
        }
        let second = start();
        assert_eq!(second.during(1, beside, || 7), 7);
        assert_eq!(second.died_too_often(guilty), None);
        die(&second, &[guilty]);
        for deaths in 2..MAX_DEATHS {
            let next = start();
            assert_eq!(next.died_too_often(guilty), None, "{deaths}");
            die(&next, &[guilty]);
        }
        let last = start();
        assert_eq!(last.died_too_often(guilty), Some(MAX_DEATHS));
        assert_eq!(last.died_too_often(beside), None);
    }
}
