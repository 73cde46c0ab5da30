//! The files of earlier crawls, which hold the bodies of pages that are unchanged since then
//! (`archive.since`). They are read by whoever checks those crawls; here it counts that they are
//! there.

use super::{PartChecked, Subject};
use crate::archive;
use crate::engine;
use crate::rows::EarlierFile;
use crate::store::{Table, decode, for_each, keys};

/// Looks for the files; `None` if the crawl refers to no earlier one.
pub(super) fn check(subject: &Subject<'_>) -> Result<Option<PartChecked>, engine::Error> {
    let mut part = PartChecked::new("earlier crawls", "files");
    let prefix = keys::meta::EARLIER_FILE;
    for_each(subject.store, Table::Meta, prefix, &mut |_, row| {
        let file: EarlierFile = decode(Table::Meta, row)?;
        part.read += 1;
        let path = file.path();
        if archive::present(&path).is_none() {
            part.note(format!(
                "{} is not there; what is unchanged since then has neither body nor text until \
                 `gleaner crawl --since DIR` says where it is",
                path.display()
            ));
        }
        Ok(())
    })?;
    Ok((part.read > 0).then_some(part))
}
