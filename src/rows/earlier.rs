//! `Earlier`: what earlier crawls of the same sites hold (`archive.since`), so that a page is asked
//! for by what was got then, and is not stored again if it is the same.
//!
//! A row is about one URL as it is written: the answer to another form of it, such as a redirect,
//! has validators of its own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::dedup::Document;
use crate::frontier::Validators;
use crate::store::{Batch, Result, Store, Table, Typed, decode, encode, keys};
use crate::url::{self, Canonicalizer, Identity, Secret};

/// What earlier crawls hold, by the id of the URL as it is written.
pub const EARLIER: Typed<EarlierPage> = Typed::of(Table::Earlier);

/// The response that an earlier crawl has of a URL: the row in `Earlier`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierPage {
    /// Number of the file that has the body.
    pub file: u32,
    /// Offset of the record in it.
    pub offset: u64,
    /// Length of the record's gzip member, in bytes.
    pub length: u64,
    /// UUID of the record; zeros if it has another kind of id.
    pub record: [u8; 16],
    /// The URL that the record is about, if the earlier crawl stored the bytes for another.
    pub url: Option<String>,
    /// Time of the record, in microseconds since 1970.
    pub date: i64,
    /// SHA-256 of the payload.
    pub payload: [u8; 32],
    /// What players of archives take from the head beside the body, as a hash.
    pub form: u64,
    /// What the page is asked for by.
    pub validators: Option<Validators>,
    /// When the earlier crawl found the page like this last, in microseconds since 1970.
    pub seen: i64,
    /// When this crawl found it unchanged, in microseconds since 1970: its record refers to the
    /// earlier one.
    pub confirmed: Option<i64>,
}

impl EarlierPage {
    /// Returns what earlier crawls hold of a URL, as it is written.
    pub fn of(store: &dyn Store, url: &str) -> Result<Option<Self>> {
        let Ok(url) = url::parse(url) else {
            return Ok(None);
        };
        let secret = store.get(Table::Meta, keys::meta::SECRET)?;
        let Some(secret) = secret.and_then(|bytes| bytes.try_into().ok()) else {
            return Ok(None);
        };
        // What a URL is as it is written does not depend on canonical forms.
        let identity = Identity::new(Canonicalizer::default(), Secret::from_bytes(secret));
        EARLIER.get(store, identity.as_written(&url).as_bytes())
    }

    /// Returns where an earlier crawl has the response of a document, if it is there and known.
    pub fn of_document(store: &dyn Store, document: &Document) -> Result<Option<Self>> {
        if !document.stored.is_elsewhere() {
            return Ok(None);
        }
        let page = Self::of(store, &document.url)?;
        Ok(page.filter(|it| it.record == document.stored.record && it.payload == document.payload))
    }
}

/// A WARC file of an earlier crawl: a row of `Meta`, under its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierFile {
    /// The number by which pages name it.
    pub number: u32,
    /// Where it was seen last, as bytes.
    path: Vec<u8>,
    /// Number of bytes that were read of it.
    pub through: u64,
}

impl EarlierFile {
    /// A file that was not read yet.
    pub fn new(number: u32, path: &Path) -> Self {
        Self {
            number,
            path: path.as_os_str().as_bytes().to_vec(),
            through: 0,
        }
    }

    /// Reads the row of a file.
    pub fn read(store: &dyn Store, name: &str) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, &keys::earlier_file(name))?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }

    /// Returns the name of the file of this number.
    pub fn name(store: &dyn Store, number: u32) -> Result<Option<String>> {
        let name = store.get(Table::Meta, &keys::earlier_name(number))?;
        Ok(name.and_then(|name| String::from_utf8(name).ok()))
    }

    /// Returns where the file of this number was seen last.
    pub fn path_of(store: &dyn Store, number: u32) -> Result<Option<PathBuf>> {
        let Some(name) = Self::name(store, number)? else {
            return Ok(None);
        };
        Ok(Self::read(store, &name)?.map(|file| file.path()))
    }

    /// Returns where the file was seen last.
    pub fn path(&self) -> PathBuf {
        OsStr::from_bytes(&self.path).into()
    }

    /// Adds both rows of the file to a batch.
    pub fn put(&self, name: &str, batch: &mut Batch) {
        batch.put(Table::Meta, keys::earlier_file(name), encode(self));
        batch.put(Table::Meta, keys::earlier_name(self.number), name);
    }
}
