//! An order to forget something, and the parts in which it is carried out.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::selected::Erasure;
use crate::archive::RecordId;
use crate::dedup::DocumentId;
use crate::engine::error::Error;
use crate::frontier::{Forgotten, MAX_RULES, Selection};
use crate::journal::Position;
use crate::rows::{BroughtBack, PageRecord};
use crate::store::{Batch, Table, keys};
use crate::url::UrlId;

/// What a person asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetOrder {
    /// What it is about. If nothing is selected, what an earlier order has left undone is done.
    pub selection: Selection,
    /// Set if it may come back, and is not to be forgotten.
    #[serde(default)]
    pub back: bool,
    /// Set if it is counted only.
    #[serde(default)]
    pub dry_run: bool,
    /// Its position in the list of a crawl of several shards, if it is from there. What is to come
    /// back by one entry comes back once, also if the shard begins with the entry again.
    #[serde(skip)]
    pub entry: Option<u64>,
}

/// Where to continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForgetCursor {
    /// Takes documents out of the index, from this one on.
    Documents(DocumentId),
    /// Searches the log, from this position on.
    Log(Position),
    /// Searches the index of this file of the archive, by its place among them.
    Index(u32),
    /// Searches the page records, from this key on.
    Pages(Vec<u8>),
    /// Searches the packs of bodies in this file of the archive of texts, by its place among them.
    Packs(u32),
    /// Searches the groups of pages that resemble one another, from this key on.
    Groups(Vec<u8>),
    /// Judges pages again that rest on what goes.
    Orphans,
    /// Searches what earlier crawls hold, from this key on.
    Earlier(Vec<u8>),
    /// Removes page records, from this key on.
    Remove(Vec<u8>),
    /// Removes what is kept of pages of other shards: of these rows, by the place of their prefix
    /// among those, from this key on.
    Others(u32, Vec<u8>),
    /// Overwrites records.
    Erase,
    /// Overwrites lines of the log, from this position on.
    Lines(Position),
    /// Ends it.
    End,
}

/// What was done, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForgetDone {
    /// Pages that were forgotten, and other URLs that have a record.
    pub pages: u64,
    /// Records and bodies that were overwritten.
    pub records: u64,
    /// Lines of the log that were overwritten, in whole or in part.
    pub lines: u64,
    /// Pages that were judged again because what they repeated is gone.
    pub rehomed: u64,
    /// Those of which nothing was kept: they are visited again.
    pub refetched: u64,
    /// Files of the archive that were changed.
    pub files: BTreeSet<String>,
    /// Files that could not be changed because they are nowhere.
    pub nowhere: BTreeSet<String>,
    /// Files that were changed here after a copy of them was handed over.
    pub handed_over: BTreeSet<String>,
    /// Workers on whose disks there are files that were to be changed.
    pub elsewhere: BTreeSet<String>,
    /// Hosts and prefixes, and URLs, that may come back.
    pub back: u64,
    /// Where to continue; `None` at the end.
    pub next: Option<ForgetCursor>,
}

impl ForgetDone {
    /// Adds the result of the next part, and continues where that ended.
    pub fn add(&mut self, part: Self) {
        self.pages += part.pages;
        self.records += part.records;
        self.lines += part.lines;
        self.rehomed += part.rehomed;
        self.refetched += part.refetched;
        self.files.extend(part.files);
        self.nowhere.extend(part.nowhere);
        self.handed_over.extend(part.handed_over);
        self.elsewhere.extend(part.elsewhere);
        self.back += part.back;
        self.next = part.next;
    }
}

/// A part of what is done, for the committer.
#[derive(Debug)]
pub struct ForgetPart {
    pub(crate) what: What,
    /// What was found so far.
    pub(crate) done: ForgetDone,
    /// Where to send the reply.
    pub(crate) reply: Option<oneshot::Sender<ForgetDone>>,
}

/// What the committer does.
#[derive(Debug)]
pub(crate) enum What {
    /// Nothing is admitted from now on that is selected.
    Begin(Selection),
    /// What is selected may come back, by this entry of a list if it is from one.
    Back(Selection, Option<BroughtBack>),
    /// Documents leave the index, from this one on.
    Documents(DocumentId),
    /// What was found is written down.
    Note(Found),
    /// Pages are judged again, by visits that come with the part, or visited again.
    Orphans(Vec<(UrlId, PageRecord)>),
    /// Rows are removed: the keys of their pages.
    Remove(Vec<Vec<u8>>),
    /// What was overwritten is no longer to be: keys of rows.
    Erased(Vec<Vec<u8>>),
    /// Nothing: what was done needs no commit.
    Nothing,
    /// It is done.
    End,
}

/// What a part of a search found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What is to be overwritten.
    pub(crate) erasures: Vec<Erasure>,
    /// Visits whose bodies are to be overwritten in packs.
    pub(crate) visits: Vec<RecordId>,
    /// Keys of pages that are to be judged again.
    pub(crate) orphans: Vec<Vec<u8>>,
    /// Keys of rows that tell of a group named by what goes.
    pub(crate) groups: Vec<Vec<u8>>,
    /// Keys of what earlier crawls hold of pages that stay, under the URL of what goes.
    pub(crate) earlier: Vec<Vec<u8>>,
}

impl Found {
    /// Writes down what is to be overwritten.
    pub(crate) fn put(&self, batch: &mut Batch) {
        for erasure in &self.erasures {
            erasure.put(batch);
        }
        for visit in &self.visits {
            let key = keys::erase_visit(visit.as_bytes());
            batch.put(Table::Meta, key, Vec::new());
        }
    }
}

impl ForgetOrder {
    /// Checks an order against what is forgotten by now.
    pub(crate) fn check(&self, forgotten: &Forgotten) -> Result<(), Error> {
        if !self.back {
            let rules = (&self.selection).into();
            if forgotten.clone().add(&rules, false).is_err() {
                return Err(Error::Forget(format!(
                    "more than {MAX_RULES} hosts and prefixes cannot be forgotten: give some of \
                     them as one, or as URLs"
                )));
            }
        }
        Ok(())
    }
}
