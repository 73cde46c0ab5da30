//! Notes which records of the archives are to be overwritten.

use std::io;
use std::path::{Path, PathBuf};

use super::part::Found;
use super::selected::{Erasure, Selected};
use crate::archive::{
    self, RecordKind, Span, WarcOptions, files_of, for_each_capture, for_each_packed,
    for_each_target, records_beside, refers_to, verdicts_behind, visit_at,
};
use crate::engine::error::Error;
use crate::journal::RecordPlace;
use crate::store::{Store, Table, keys};

/// Returns the files of an archive, by the name of its directory.
pub(super) fn files(data: &Path, archive: &str) -> Result<Vec<PathBuf>, Error> {
    let directory = data.join(archive);
    match files_of(&directory) {
        Ok(files) => Ok(files.paths),
        // None of that kind was ever written.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(Error::Archive(archive::Error::Io {
            action: "list",
            path: directory,
            source,
        })),
    }
}

/// Notes the captures of a file, and what stands beside them.
pub(super) fn note_captures(
    path: &Path,
    selected: &Selected,
    found: &mut Found,
) -> Result<(), Error> {
    let mut spans: Vec<Span> = Vec::new();
    let mut visit = |url: &str, span| {
        if selected.has(url) {
            spans.push(span);
        }
    };
    if !for_each_capture(path, &mut visit)? {
        for_each_target(path, &mut visit)?;
    }
    for span in spans {
        found.erasures.push(Erasure::at(path, span));
        note_beside(path, span, selected, found)?;
    }
    Ok(())
}

/// Notes the bodies in the packs of a file whose visits are noted.
pub(super) fn note_packed(path: &Path, store: &dyn Store, found: &mut Found) -> Result<(), Error> {
    for_each_packed(path, &mut |visit, span, number| {
        let key = keys::erase_visit(visit.as_bytes());
        if store.get(Table::Meta, &key)?.is_some() {
            found.erasures.push(Erasure {
                body: Some(number),
                ..Erasure::at(path, span)
            });
        }
        Ok(())
    })
}

/// Notes that a record is to be overwritten, and what stands beside it of the same visit.
pub(super) fn note(
    data: &Path,
    place: &RecordPlace,
    selected: &Selected,
    found: &mut Found,
) -> Result<(), Error> {
    let path = WarcOptions::path_of(data, &place.file);
    found.erasures.push(Erasure::record(place));
    if place.kind == RecordKind::Conversion {
        return Ok(());
    }
    let Some(path) = archive::present(&path) else {
        return Ok(());
    };
    if place.kind == RecordKind::Metadata {
        found.visits.extend(visit_at(&path, place.offset)?);
    }
    note_beside(&path, (place.offset, place.length), selected, found)
}

/// Notes what a visit added that names what it repeated; its own text and bytes stay.
pub(super) fn note_repeat(
    data: &Path,
    place: &RecordPlace,
    selected: &Selected,
    found: &mut Found,
) -> Result<(), Error> {
    let path = archive::present(&WarcOptions::path_of(data, &place.file));
    let names_it = match (place.kind, &path) {
        (RecordKind::Metadata, _) | (RecordKind::Revisit, None) => true,
        // Its bytes may be those of another page.
        (RecordKind::Revisit, Some(path)) => refers_to(path, place.offset, &|it| selected.has(it))?,
        _ => false,
    };
    found
        .erasures
        .extend(names_it.then(|| Erasure::record(place)));
    let has_verdict = matches!(place.kind, RecordKind::Revisit | RecordKind::Response);
    if let Some(path) = path.filter(|_| has_verdict) {
        let span = (place.offset, place.length);
        let spans = verdicts_behind(&path, span, &|original| selected.has(original))?;
        let each = spans.into_iter().map(|span| Erasure::at(&path, span));
        found.erasures.extend(each);
    }
    Ok(())
}

/// Notes what stands in a file beside the record at a span, of the same visit.
fn note_beside(
    path: &Path,
    span: Span,
    selected: &Selected,
    found: &mut Found,
) -> Result<(), Error> {
    let beside = records_beside(path, span, &|url| selected.has(url))?;
    let spans = beside.iter().map(|it| Erasure::at(path, it.span));
    found.erasures.extend(spans);
    found.visits.extend(beside.iter().filter_map(|it| it.visit));
    Ok(())
}
