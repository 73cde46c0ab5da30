//! Packages of web archives, WACZ 1.1.1: the files of archives as they are, an index of them, and
//! lists of pages, in one ZIP file that a player reads piece by piece.
//!
//! Only files that are closed are packed, because they never change. A page is listed if the file
//! that has its record is packed; so packages that are made one after the other, each of what was
//! closed since, hold every page once.
//!
//! `members.rs` says which files are packed and under which names, `zip_file.rs` writes entries and
//! the description of the package, `index.rs` the index, `pages.rs` the lists of pages.
//! `referred.rs` finds which other packages one needs; `lines.rs` reads indexes for both.

mod index;
mod lines;
mod members;
mod pages;
mod referred;
mod spool;
mod zip_file;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::Error;
use super::manifest::{CrawlRead, Manifest, PackedFile, Written};
use super::staged::{Staged, numbered, refuse_existing};
use super::walk::Source;
use crate::engine::Position;
use members::{Found, Member};
use zip_file::Package;

/// What players know packages by.
const ENDING: &str = "wacz";

/// What is wanted of a package.
#[derive(Debug)]
pub struct Packing<'a> {
    /// The file to write; with a maximum size, the form of its name.
    pub path: &'a Path,
    /// Size at which another package is begun.
    pub max_size: Option<u64>,
    /// What it is called.
    pub title: Option<&'a str>,
    /// Whether the lists of pages have their texts.
    pub text: bool,
    /// An earlier export to packages, whose files are left out.
    pub after: Option<&'a Manifest>,
}

/// What was packed.
#[derive(Debug, Default)]
pub struct Packed {
    /// How far the crawls were read.
    pub crawls: Vec<CrawlRead>,
    /// The packages, and the file that lists them if there may be several.
    pub files: Vec<Written>,
    /// Number of files that were left out because they are being written.
    pub open: usize,
    /// Number of files that are nowhere.
    pub missing: usize,
    /// Number of revisits that refer to records of other packages.
    pub revisits: u64,
    /// The crawls, and packages of this export, that have those records.
    pub requires: BTreeSet<String>,
    /// Number of revisits that refer to records which no archive has that is known.
    pub dangling: u64,
}

/// Packs the closed files of some crawls. `count` is told of each page.
pub fn pack(
    sources: &[Source],
    packing: &Packing<'_>,
    mut count: impl FnMut(),
) -> Result<Packed, Error> {
    if packing.path.extension().is_none_or(|it| it != ENDING) {
        return Err(Error::Request(format!(
            "{} does not end in .wacz, by which players know such files: give another path with -o",
            packing.path.display()
        )));
    }
    let list = packing
        .max_size
        .map(|_| packing.path.with_extension("json"));
    if let Some(list) = &list {
        refuse_existing(list)?;
    }
    let Found {
        members,
        open,
        missing,
    } = members::find(sources, packing.after)?;
    if members.is_empty() {
        return Err(nothing(open));
    }
    let mut packed = Packed {
        open,
        missing,
        ..Packed::default()
    };
    let mut positions = vec![Position::default(); sources.len()];
    let mut done: Vec<(String, Vec<Member>)> = Vec::new();
    for (number, group) in members::grouped(members, packing.max_size)
        .into_iter()
        .enumerate()
    {
        let path = match packing.max_size {
            None => packing.path.to_owned(),
            Some(_) => numbered(packing.path, number),
        };
        let asked = group.len();
        let mut package = Package::create(&path)?;
        let group = package.add_archive(group)?;
        packed.missing += asked - group.len();
        let payloads = index::add(&mut package, &group)?;
        let directory = package.directory();
        let needed = referred::find(payloads, sources, &group, &done, &directory)?;
        let listed = pages::add(&mut package, sources, &group, packing.text, &mut count)?;
        positions = listed.positions;
        let first = listed.first.as_ref();
        let written = package.finish(packing.title, first, &needed.names)?;
        packed.revisits += needed.revisits;
        packed.requires.extend(needed.names);
        packed.dangling += needed.nowhere;
        done.push((written.name.clone(), group));
        packed.files.push(Written {
            pages: listed.pages,
            ..written
        });
    }
    if let Some(list) = list {
        let written = write_list(&list, packing.title, &packed.files)?;
        packed.files.push(written);
    }
    let done: Vec<Member> = done.into_iter().flat_map(|(_, group)| group).collect();
    let crawls = sources.iter().zip(positions).enumerate();
    let crawls = crawls.map(|(number, (source, position))| CrawlRead {
        data_dir: source.data.display().to_string(),
        after: source.after.to_string(),
        position: position.to_string(),
        archive_files: archive_files(packing.after, number, source, &done),
    });
    packed.crawls = crawls.collect();
    Ok(packed)
}

/// The files of a crawl that are packed now or were before.
fn archive_files(
    after: Option<&Manifest>,
    number: usize,
    source: &Source,
    done: &[Member],
) -> Vec<PackedFile> {
    let before = after.map_or(&[][..], |it| it.packed_of(&source.data));
    let now = done.iter().filter(|it| it.source == number);
    let now: Vec<PackedFile> = now
        .map(|it| PackedFile {
            name: it.name.clone(),
            bytes: it.bytes,
        })
        .collect();
    // What is packed again is longer than it was.
    let is_kept = |it: &&PackedFile| !now.iter().any(|new| new.name == it.name);
    let mut files: Vec<PackedFile> = before.iter().filter(is_kept).cloned().collect();
    files.extend(now);
    files
}

fn nothing(open: usize) -> Error {
    Error::Request(match open {
        0 => "there is nothing to pack: the crawls have no files, or an earlier export has all of them".to_owned(),
        _ => "there is nothing to pack yet: no file of the archive is closed. The end of a crawl closes the last one; archive.max_file and archive.max_age say when others are".to_owned(),
    })
}

/// A file that lists packages, which players open as one.
#[derive(Serialize)]
struct List<'a> {
    profile: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    resources: Vec<Listed<'a>>,
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    path: &'a str,
    hash: String,
    bytes: u64,
}

fn write_list(path: &PathBuf, title: Option<&str>, files: &[Written]) -> Result<Written, Error> {
    let list = List {
        profile: "multi-wacz-package",
        title,
        resources: files
            .iter()
            .map(|file| Listed {
                name: &file.name,
                path: &file.name,
                hash: format!("sha256:{}", file.sha256),
                bytes: file.bytes,
            })
            .collect(),
    };
    let (staged, mut file) = Staged::create(path)?;
    let text = serde_json::to_string_pretty(&list);
    let text = text.map_err(|error| Error::io("write", path)(error.into()))? + "\n";
    let written = std::io::Write::write_all(&mut file, text.as_bytes());
    written.map_err(Error::io("write to", staged.path()))?;
    let written = Written {
        name: staged.name(),
        bytes: text.len() as u64,
        sha256: zip_file::hex_digest(text.as_bytes()),
        pages: 0,
    };
    staged.finish(&file)?;
    Ok(written)
}
