//! What holds for all workers of a crawl: fixed when it is created.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::kept;
use super::list;
use super::rows::{change, drawn, put, read};
use super::wanted::{Limits, set_staying};
use crate::broker::{Broker, Error, Result};
use crate::frontier::Seed;
use crate::url::Secret;

/// The row.
const CRAWL: &str = "crawl";

/// Name of the file in the directory of a worker that has the same: what an engine that has lost
/// its data is told again.
const FILE: &str = "crawl.json";

/// Version of the form of the rows.
const FORMAT: u32 = 2;

/// The most shards that a crawl can have. Each is a log of the engine, which is to hold no more
/// than some 2,000 of them and their copies.
pub const MAX_SHARDS: u16 = 256;

/// The row of what is fixed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Creation {
    format: u32,
    pub(super) shards: u16,
    copies: u16,
    pub(super) secret: Vec<u8>,
    settings: BTreeMap<String, String>,
    /// Where its seeds begin in their list: what stands before is of a creation that was not
    /// finished.
    seeds_from: u64,
}

/// What holds for all workers of a crawl.
#[derive(Debug, Clone)]
pub struct Terms {
    /// How many shards it has.
    pub shards: u16,
    /// Copies of each shard, that of its owner included.
    pub copies: u16,
    /// The secret from which the ids of URLs are made.
    pub secret: Secret,
    /// Its settings, as `config::shared` gives them: none that is of one machine only, and no
    /// credentials.
    pub settings: BTreeMap<String, String>,
    /// Position in the list of seeds behind which its own begin.
    pub(super) seeds_from: u64,
}

/// What a crawl is to be.
#[derive(Debug, Clone, Default)]
pub struct NewCrawl {
    /// How many shards it is to have: 2 to [`MAX_SHARDS`].
    pub shards: u16,
    /// Copies of each shard, that of its owner included: 1 at least.
    pub copies: u16,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
    /// How much of it is enough.
    pub limits: Limits,
    /// Whether it stays when nothing is left to fetch: its pages are visited again, and it waits
    /// for seeds.
    pub stays: bool,
}

/// Creates a crawl with these seeds. A creation that is interrupted can be made again.
///
/// # Errors
///
/// [`Error::Refused`] if there is one of the name, or it cannot be as asked for.
pub fn create(
    broker: &dyn Broker,
    new: &NewCrawl,
    seeds: impl IntoIterator<Item = Seed>,
) -> Result<Terms> {
    if !(2..=MAX_SHARDS).contains(&new.shards) {
        return Err(Error::Refused(format!(
            "a crawl has 2 to {MAX_SHARDS} shards, not {}",
            new.shards
        )));
    }
    if new.copies == 0 {
        return Err(Error::Refused(
            "each shard has one copy at least, its owner's".to_owned(),
        ));
    }
    let is_there = |known: &Terms| {
        Error::Refused(format!(
            "there is a crawl of this name already, of {} shards; `gleaner cluster status` shows \
             it, and `gleaner cluster seeds add` adds seeds to it",
            known.shards
        ))
    };
    if let Some(known) = terms(broker)? {
        return Err(is_there(&known));
    }
    // Rows are made together with the first log.
    list::create(broker)?;
    let seeds_from = list::end(broker)?;
    list::add(broker, seeds)?;
    // Before the crawl is known, so that no worker begins without them.
    new.limits.set(broker)?;
    set_staying(broker, new.stays)?;
    let secret: [u8; Secret::LEN] = drawn()?;
    let creation = Creation {
        format: FORMAT,
        shards: new.shards,
        copies: new.copies,
        secret: secret.to_vec(),
        settings: new.settings.clone(),
        seeds_from,
    };
    let made = change(broker, CRAWL, |row: &mut Creation| {
        let is_new = row.format == 0;
        if is_new {
            *row = creation.clone();
        }
        is_new
    })?;
    let is_ours = made == creation;
    let made = made.terms()?;
    match is_ours {
        true => Ok(made),
        false => Err(is_there(&made)),
    }
}

/// Returns what holds for all workers of the crawl; `None` if it was not created.
///
/// # Errors
///
/// [`Error::Refused`] if another version of gleaner created it in another form.
pub fn terms(broker: &dyn Broker) -> Result<Option<Terms>> {
    match read::<Format>(broker, CRAWL) {
        Err(Error::Missing(_)) | Ok((0, _)) => return Ok(None),
        Ok((_, Format(FORMAT))) => {}
        Ok((_, Format(other))) => return Err(other_format(other)),
        Err(error) => return Err(error),
    }
    read::<Creation>(broker, CRAWL)?.1.terms().map(Some)
}

/// Makes a crawl known again that was created before. Its row is what tells that it is known, so
/// this comes last.
pub(super) fn restore(broker: &dyn Broker, creation: &Creation) -> Result<()> {
    put(broker, CRAWL, creation)
}

/// Returns what the directory of a worker keeps of the terms of its crawl; `None` if there is no
/// such file.
pub(super) fn kept(directory: &Path) -> io::Result<Option<Creation>> {
    kept::read(&directory.join(FILE))
}

/// The beginning of the row, which every version writes and reads.
#[derive(Default, Deserialize)]
struct Format(u32);

fn other_format(other: u32) -> Error {
    Error::Refused(format!(
        "the crawl has form {other}, and this version of gleaner has form {FORMAT}: all workers \
         of a crawl need versions of one form"
    ))
}

impl Terms {
    /// Writes the terms into the directory of a worker.
    pub(super) fn keep(&self, directory: &Path) -> io::Result<()> {
        let creation = Creation {
            format: FORMAT,
            shards: self.shards,
            copies: self.copies,
            secret: self.secret.as_bytes().to_vec(),
            settings: self.settings.clone(),
            seeds_from: self.seeds_from,
        };
        kept::write(&directory.join(FILE), &creation)
    }
}

impl Creation {
    fn terms(self) -> Result<Terms> {
        let damaged = |_| Error::Refused("the secret of the crawl cannot be read".to_owned());
        Ok(Terms {
            shards: self.shards,
            copies: self.copies,
            secret: Secret::from_bytes(self.secret.try_into().map_err(damaged)?),
            settings: self.settings,
            seeds_from: self.seeds_from,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Memory;
    use crate::url::parse;

    fn new(shards: u16) -> NewCrawl {
        NewCrawl {
            shards,
            copies: 2,
            settings: BTreeMap::from([("crawl.scope".to_owned(), "domain".to_owned())]),
            ..NewCrawl::default()
        }
    }

    fn seeds() -> Vec<Seed> {
        vec![parse("http://a.example/").unwrap().into()]
    }

    #[test]
    fn a_crawl_is_created_once_and_known_by_all() {
        let engine = Memory::start(1_000);
        assert!(terms(&engine).unwrap().is_none());
        let made = create(&engine, &new(4), seeds()).unwrap();
        let known = terms(&engine.connect()).unwrap().unwrap();
        assert_eq!(made.secret.as_bytes(), known.secret.as_bytes());
        assert_eq!((known.shards, known.copies), (4, 2));
        assert_eq!(known.settings, new(4).settings);
        for shards in [4, 8] {
            let again = create(&engine, &new(shards), seeds()).unwrap_err();
            assert!(
                again.to_string().contains("already, of 4 shards"),
                "{again}"
            );
        }
    }

    #[test]
    fn a_creation_that_was_interrupted_leaves_no_seeds() {
        let engine = Memory::start(1_000);
        list::create(&engine).unwrap();
        list::add(&engine, [parse("http://mistaken.example/").unwrap().into()]).unwrap();
        let made = create(&engine, &new(2), seeds()).unwrap();
        let (_, found) = list::after(&engine, made.seeds_from).unwrap().unwrap();
        assert_eq!(found, list::Entry::Seeds(seeds()));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let check = |new: NewCrawl, part: &str| {
            let refused = create(&Memory::start(1_000), &new, seeds()).unwrap_err();
            assert!(refused.to_string().contains(part), "{refused}");
        };
        check(new(1), "2 to 256 shards");
        check(new(257), "2 to 256 shards");
        check(
            NewCrawl {
                copies: 0,
                ..new(2)
            },
            "one copy at least",
        );
    }

    #[test]
    fn another_form_is_refused() {
        let engine = Memory::start(1_000);
        engine.create("00").unwrap();
        engine.put_row(CRAWL, 0, &[9, 1, 2]).unwrap();
        let refused = terms(&engine).unwrap_err();
        assert!(refused.to_string().contains("form 9"), "{refused}");
    }
}
