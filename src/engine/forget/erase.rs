//! Overwrites what was noted, file by file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::part::ForgetDone;
use super::selected::Erasure;
use crate::archive::{self, Eraser, WarcOptions, take_out_of_index};
use crate::engine::error::Error;
use crate::handover;
use crate::rows::{Keeper, OtherFiles};
use crate::store::{Store, Table, keys};

/// Number of rows of a part.
const ROWS: usize = 1_000;

/// Overwrites some of what was noted, all of it in one file, and returns the keys of the rows.
/// Every copy of the file that is within reach is changed.
pub(super) fn erase(
    store: &dyn Store,
    data: &Path,
    done: &mut ForgetDone,
) -> Result<Vec<Vec<u8>>, Error> {
    let prefix = keys::meta::ERASE;
    let rows = store.range(Table::Meta, prefix, prefix, ROWS)?;
    let mut keys = Vec::new();
    let mut all: Vec<Erasure> = Vec::new();
    for (key, row) in rows {
        if let Some(erasure) = Erasure::parse(&key, &row) {
            if all.first().is_some_and(|it| it.file != erasure.file) {
                break;
            }
            all.push(erasure);
        }
        keys.push(key);
    }
    let Some(first) = all.first() else {
        return Ok(keys);
    };
    let name = first.file.clone();
    let path = WarcOptions::path_of(data, &name);
    let Some(path) = archive::present(&path) else {
        match keeper_of(store, &name)? {
            Some(keeper) => done.elsewhere.insert(keeper),
            None => done.nowhere.insert(name),
        };
        return Ok(keys);
    };
    let eraser = Eraser::open(&path)?;
    let whole: BTreeSet<u64> = all
        .iter()
        .filter(|it| it.body.is_none())
        .map(|it| it.offset)
        .collect();
    let mut packs: BTreeMap<(u64, u64), Vec<u8>> = BTreeMap::new();
    for erasure in &all {
        let span = (erasure.offset, erasure.length);
        match erasure.body {
            None => done.records += u64::from(eraser.bury(span)?),
            Some(number) if !whole.contains(&erasure.offset) => {
                packs.entry(span).or_default().push(number);
                done.records += 1;
            }
            Some(_) => {}
        }
    }
    for (span, numbers) in packs {
        eraser.unpack_out(span, &numbers)?;
    }
    eraser.finish()?;
    take_out_of_index(&path, &whole)?;
    let handed = handover::handed_over(data).map_err(Error::Handover)?;
    let most = match is_of_texts(&name) {
        true => handed.texts,
        false => handed.pages,
    };
    if archive::number_of(&name).is_some_and(|number| number < most) {
        done.handed_over.insert(name.clone());
    }
    done.files.insert(name);
    Ok(keys)
}

fn is_of_texts(name: &str) -> bool {
    name.starts_with("texts-")
}

/// Returns the worker on whose disk a file is, if it is known not to be on this one.
fn keeper_of(store: &dyn Store, name: &str) -> Result<Option<String>, Error> {
    let Some(number) = archive::number_of(name) else {
        return Ok(None);
    };
    let others = OtherFiles::read(store)?;
    let ranges = match is_of_texts(name) {
        true => others.texts,
        false => others.pages,
    };
    if !ranges
        .iter()
        .any(|(from, to)| (*from..*to).contains(&number))
    {
        return Ok(None);
    }
    let keeper = OtherFiles::keeper_of(number);
    let mut keepers = Keeper::read_all(store)?.into_iter();
    let known = keepers.find(|(number, _)| *number == keeper);
    Ok(known.map(|(_, it)| it.worker))
}
