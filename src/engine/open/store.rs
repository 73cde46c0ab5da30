//! The store of a data directory: opening it, beginning a crawl in it, and what it says about the
//! crawl as a whole.
//!
//! Every format since the oldest that can be migrated is brought up to date here, so that nobody
//! reads rows of another form.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::directory::{DataDirectory, FORMAT};
use super::lost;
use super::memory::MemoryPlan;
use super::migrate::migrate;
use crate::dedup::Features;
use crate::engine::Options;
use crate::engine::error::Error;
use crate::engine::failpoint::Failpoint;
use crate::engine::library::seed_of;
use crate::frontier::Shards;
use crate::rows::{CrawlState, DiskState};
use crate::store::{
    Batch, Durability, Embedded, ReadOnly, Replicated, Store, Table, decode, encode, journal, keys,
    refuse_logged,
};
use crate::url::Secret;

/// Opens the store of a data directory for reading.
pub(crate) fn open_store(directory: &DataDirectory) -> Result<Arc<dyn Store>, Error> {
    // Opening would create an empty one.
    if let Some(found) = trace_of_a_crawl(directory.path())
        && !directory.path().join("store").exists()
    {
        return Err(Error::StoreMissing {
            path: directory.path().to_owned(),
            found,
        });
    }
    lost::check_files(directory.path(), false)?;
    let store = open_as_it_is(directory, 4 << 20, 8 << 20)?;
    migrate(directory, &*store, &mut None)?;
    Ok(ReadOnly::unless_free(store)?)
}

/// Opens the store in a copy of a data directory, to read it.
pub(crate) fn open_copy(directory: &DataDirectory) -> Result<Arc<Embedded>, Error> {
    let path = directory.path().join("store");
    let failed = |source: std::io::Error| crate::store::Error::Open {
        path: path.clone(),
        reason: source.to_string(),
        source: Some(source),
    };
    let audit = journal::audit(&path).map_err(failed)?;
    lost::cut_torn_ends(&audit).map_err(failed)?;
    let options = crate::store::Options {
        cache_bytes: 16 << 20,
        memtable_bytes: 8 << 20,
    };
    let store = Embedded::open_copy(&path, &options)?;
    let format = store.get(Table::Meta, keys::meta::FORMAT)?;
    if format.is_some_and(|format| format == encode(&FORMAT)) {
        return Ok(Arc::new(store));
    }
    drop(store);
    let store = Embedded::open(&path, &options)?;
    migrate(directory, &store, &mut None)?;
    Ok(Arc::new(store))
}

fn open_as_it_is(
    directory: &DataDirectory,
    cache_bytes: u64,
    memtable_bytes: u64,
) -> Result<Arc<dyn Store>, Error> {
    let options = crate::store::Options {
        cache_bytes,
        memtable_bytes,
    };
    Ok(Arc::new(Embedded::open(
        &directory.path().join("store"),
        &options,
    )?))
}

/// Opens the store, or begins a crawl in it. Returns the crawl's state and that of this disk.
pub(super) fn open_or_begin(
    directory: &DataDirectory,
    options: &Options,
    failpoint: &mut Option<Failpoint>,
) -> Result<(Arc<dyn Store>, CrawlState, DiskState), Error> {
    lost::check_files(directory.path(), options.repair)?;
    let store = open_or_create(directory, &MemoryPlan::of(options))?;
    let store = match &options.log {
        Some(log) => Arc::new(Replicated::open(store, Arc::clone(log))?),
        None => {
            refuse_logged(&*store)?;
            store
        }
    };
    migrate(directory, &*store, failpoint)?;
    let (state, disk) = match CrawlState::read(&*store)? {
        Some(state) => (state, DiskState::read(&*store)?.unwrap_or_default()),
        None => begin(&*store, directory.path(), options)?,
    };
    check_url_form(&*store, options)?;
    check_shard(&*store, directory.path(), options)?;
    Ok((store, state, disk))
}

/// Opens the store, or creates it again if its creation was interrupted (the disk was full): as
/// long as nothing else exists, nothing was ever committed.
pub(super) fn open_or_create(
    directory: &DataDirectory,
    plan: &MemoryPlan,
) -> Result<Arc<dyn Store>, Error> {
    let open = || open_as_it_is(directory, plan.store_cache, plan.store_buffers);
    let error = match open() {
        Ok(store) => return Ok(store),
        Err(error) => error,
    };
    if trace_of_a_crawl(directory.path()).is_some() {
        return Err(error);
    }
    tracing::warn!(%error, "the store was never used; it is created again");
    match fs::remove_dir_all(directory.path().join("store")) {
        Ok(()) => open(),
        Err(_) => Err(error),
    }
}

/// Returns what only a crawl that was begun leaves behind; it appears after the first commit.
fn trace_of_a_crawl(path: &Path) -> Option<&'static str> {
    ["warc", "documents", "runs"]
        .into_iter()
        .find(|found| path.join(found).exists())
}

/// Whether a crawl was begun in a data directory. If not, whatever there is of a store is created
/// again.
pub(crate) fn is_begun(path: &Path) -> bool {
    trace_of_a_crawl(path).is_some()
}

/// Makes the first commit: the secret and an empty state. Refused if an earlier crawl left
/// something: an empty state would acknowledge none of it, and its archive would be cut to nothing.
fn begin(
    store: &dyn Store,
    path: &Path,
    options: &Options,
) -> Result<(CrawlState, DiskState), Error> {
    if let Some(found) = trace_of_a_crawl(path) {
        return Err(Error::StoreMissing {
            path: path.to_owned(),
            found,
        });
    }
    let mut secret = [0; Secret::LEN];
    match &options.shard {
        Some(shard) => secret = *shard.secret.as_bytes(),
        None => getrandom::fill(&mut secret)
            .map_err(|error| Error::Internal(format!("no random bytes: {error}")))?,
    }
    let (state, disk) = (CrawlState::default(), DiskState::default());
    let mut features = options.features.clone();
    if options.draws_seed {
        features.seed = match &options.shard {
            // That of all shards, so that their fingerprints can be compared.
            Some(shard) if !shard.shards.is_one() => seed_of(&shard.secret),
            _ => {
                let mut seed = [0; 8];
                getrandom::fill(&mut seed)
                    .map_err(|error| Error::Internal(format!("no random bytes: {error}")))?;
                u64::from_le_bytes(seed)
            }
        };
    }
    let mut batch = Batch::new();
    batch.put(Table::Meta, keys::meta::SEED, encode(&features.seed));
    batch.put(Table::Meta, keys::meta::SECRET, secret);
    batch.put(Table::Meta, keys::meta::FORMAT, encode(&FORMAT));
    if let Some(shard) = options.shard.as_ref().filter(|it| !it.shards.is_one()) {
        batch.put(Table::Meta, keys::meta::SHARDS, shard.shards.row());
    }
    batch.put(Table::Meta, keys::meta::STATE, encode(&state));
    batch.put(Table::Meta, keys::meta::DISK, encode(&disk));
    batch.put(Table::Meta, keys::meta::FEATURES, features.line());
    let form = options.canonicalizer.description();
    batch.put(Table::Meta, keys::meta::URL_FORM, form);
    store.commit(batch, Durability::Disk)?;
    Ok((state, disk))
}

/// Returns what the fingerprints of a crawl are made of by these options: with the seed that it
/// draws or, if it began before seeds were drawn, the one that it had.
pub(crate) fn features(store: &dyn Store, options: &Options) -> Result<Features, Error> {
    let mut features = options.features.clone();
    if options.draws_seed {
        features.seed = match store.get(Table::Meta, keys::meta::SEED)? {
            Some(row) => decode(Table::Meta, &row)?,
            None => {
                let line = store.get(Table::Meta, keys::meta::FEATURES)?;
                let line = String::from_utf8_lossy(&line.unwrap_or_default()).into_owned();
                Features::seed_of(&line).unwrap_or(features.seed)
            }
        };
    }
    Ok(features)
}

/// Checks the rules of the canonical form: under other rules a URL would have another id, and what
/// is known would be taken for new.
fn check_url_form(store: &dyn Store, options: &Options) -> Result<(), Error> {
    let then = store.get(Table::Meta, keys::meta::URL_FORM)?;
    let then = String::from_utf8_lossy(&then.unwrap_or_default()).into_owned();
    let now = options.canonicalizer.description();
    if then == now {
        return Ok(());
    }
    let lacking = |these: &str, those: &str| {
        let lines = these
            .lines()
            .filter(|it| !those.lines().any(|other| other == *it));
        match lines.collect::<Vec<_>>().join("; ") {
            lines if lines.is_empty() => "nothing more".to_owned(),
            lines => lines,
        }
    };
    Err(Error::UrlForm {
        then: lacking(&then, now),
        now: lacking(now, &then),
    })
}

/// Checks that the directory is of the shard that is meant: another shard's URLs would be sent to
/// it, and nobody would send away what it is given by somebody who takes it for a whole crawl.
fn check_shard(store: &dyn Store, path: &Path, options: &Options) -> Result<(), Error> {
    let is = Shards::read(store)?;
    let meant = options.shard.as_ref();
    let refused = |meant: String| {
        Err(Error::Shard {
            path: path.to_owned(),
            is,
            meant,
        })
    };
    match meant {
        None if is.is_one() => Ok(()),
        None => refused("it cannot be run, or changed, by itself".to_owned()),
        Some(meant) if meant.shards != is => refused(format!(
            "shard {} of {} is meant",
            meant.shards.own(),
            meant.shards.count()
        )),
        Some(meant) if meant.secret.as_bytes() != read_secret(store)?.as_bytes() => {
            refused("a shard of another crawl is meant".to_owned())
        }
        Some(_) => Ok(()),
    }
}

/// Returns the secret from which URL ids of this crawl are made.
pub(crate) fn read_secret(store: &dyn Store) -> Result<Secret, Error> {
    store
        .get(Table::Meta, keys::meta::SECRET)?
        .and_then(|bytes| Some(Secret::from_bytes(bytes.try_into().ok()?)))
        .ok_or_else(|| Error::Internal("the store has a state but no secret".to_owned()))
}

/// Returns a number that distinguishes a crawl from others.
pub(super) fn crawl_number(secret: &Secret) -> u64 {
    let first = secret.as_bytes().first_chunk();
    u64::from_le_bytes(*first.unwrap_or(&[0; 8]))
}
