//! The keys in the files of a structure, for who reads a directory that a catalog writes.

use std::path::Path;

use super::Error;
use super::catalog::{open_listed, path};
use super::file::{RunFile, is_missing};
use super::manifest::Manifest;
use super::merge::Union;

/// What the files of a structure have, as its last checkpoint left it. They stay readable while
/// their catalog goes on and removes them.
#[derive(Debug)]
pub struct FiledKeys {
    files: Vec<RunFile>,
}

impl FiledKeys {
    /// Opens the files that the manifest of a directory names for a structure, and reads each once.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if the structure is not whole, and what the disk says.
    pub fn open(directory: &Path, name: &str) -> Result<Self, Error> {
        /// Times that files may be replaced while they are opened: each time, a checkpoint was
        /// made.
        const TIMES: usize = 10;
        let mut times = 0;
        loop {
            match Self::open_once(directory, name) {
                Err(error) if is_missing(&error) && times < TIMES => times += 1,
                opened => return opened,
            }
        }
    }

    fn open_once(directory: &Path, name: &str) -> Result<Self, Error> {
        let damaged = |why: &str| Error::Damaged {
            path: directory.to_owned(),
            why: why.to_owned(),
        };
        let manifest = Manifest::read(directory)?.ok_or_else(|| damaged("it has no manifest"))?;
        let listed = manifest.structures.iter().find(|it| it.name == name);
        let listed = listed.ok_or_else(|| damaged("its manifest lacks the structure"))?;
        if !listed.complete {
            return Err(damaged("the structure is being rebuilt"));
        }
        let files = listed.files.iter();
        let files = files.map(|entry| open_listed(&path(directory, name, entry.id), entry));
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the keys from one on, ascending and distinct.
    pub fn from(&self, key: u64) -> impl Iterator<Item = u64> {
        let pairs = Union::new(self.files.iter().map(move |file| file.pairs(key, u64::MAX)));
        let mut last = None;
        let keys = pairs.map(|(key, _)| key);
        keys.filter(move |key| last.replace(*key) != Some(*key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{Catalog, Options};

    #[test]
    fn keys_are_read_while_their_catalog_goes_on() {
        let place = tempfile::tempdir().unwrap();
        let structures = [("seen", Options::default()), ("other", Options::default())];
        let (mut catalog, _) = Catalog::open(place.path(), &structures).unwrap();
        for (sequence, chunk) in (1..).zip([0..100_u64, 50..150, 200..210]) {
            chunk.for_each(|key| {
                catalog[0].insert(key * 3, 0);
            });
            catalog.checkpoint(sequence).unwrap();
        }
        // It is in no file yet.
        catalog[0].insert(9_999, 0);
        let read = |keys: &FiledKeys, from| keys.from(from).collect::<Vec<_>>();
        let expected: Vec<u64> = (0..150).chain(200..210).map(|key| key * 3).collect();
        let keys = FiledKeys::open(place.path(), "seen").unwrap();
        assert_eq!(read(&keys, 0), expected);
        assert_eq!(
            read(&keys, 443),
            [444, 447, 600, 603, 606, 609, 612, 615, 618, 621, 624, 627]
        );
        // Its files are gone, and it has what they had.
        catalog[0].clear();
        catalog.checkpoint(4).unwrap();
        assert_eq!(read(&keys, 0), expected);
        let error = FiledKeys::open(place.path(), "seen").unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        catalog[0].rebuilt();
        catalog.checkpoint(5).unwrap();
        let keys = FiledKeys::open(place.path(), "seen").unwrap();
        assert_eq!(read(&keys, 0), [0; 0]);
        assert!(FiledKeys::open(place.path(), "none").is_err());
    }
}
