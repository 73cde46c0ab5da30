//! Finds, some rows at a time and outside the committer, what of a crawl is about what goes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::erase::erase;
use super::lines::{Line, without};
use super::orphans::Orphanage;
use super::others::OtherRows;
use super::part::{ForgetCursor, ForgetDone, ForgetOrder, ForgetPart, Found, What};
use super::records::{files, note, note_captures, note_packed, note_repeat};
use super::selected::{Erasure, Forgetting, Selected};
use crate::archive::{self, RecordKind, WarcOptions};
use crate::engine::Options;
use crate::engine::error::Error;
use crate::engine::open::read_secret;
use crate::engine::visit::Analysed;
use crate::frontier::{Forgotten, ids_of};
use crate::journal::{Acknowledged, LogError, LogReader, Position, RecordPlace};
use crate::rows::cluster::Head;
use crate::rows::{
    ArchiveNames, BroughtBack, DiskState, EARLIER, Fate, Judgement, KEPT, Likeness, LogTail, PAGES,
    PageRecord,
};
use crate::store::{Store, Table, decode, keys};
use crate::url::{self, Identity};

/// Number of rows, or lines, of a part.
const ROWS: usize = 2_000;

/// Receives each row of a part: its key, and itself.
type VisitRow<'a> = dyn FnMut(&[u8], &[u8]) -> Result<(), Error> + 'a;

/// Takes a line of the log, as it stands in its file.
type VisitLine<'a> = dyn FnMut(&mut LogReader, &[u8]) -> Result<(), Error> + 'a;

/// Finds what is to be done next.
pub(crate) struct Finder {
    store: Arc<dyn Store>,
    data: PathBuf,
    options: Options,
    identity: Identity,
    names: ArchiveNames,
    begun: Option<Forgetting>,
    /// The end of the log, where it is not what is committed.
    log_end: Option<LogTail>,
}

impl Finder {
    /// Looks in the data directory at `data`.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        data: &Path,
        options: &Options,
    ) -> Result<Self, Error> {
        let secret = read_secret(&*store)?;
        Ok(Self {
            data: data.to_owned(),
            options: options.clone(),
            identity: Identity::new(options.canonicalizer.clone(), secret),
            names: ArchiveNames::read(&*store)?,
            begun: Forgetting::read(&*store)?,
            log_end: None,
            store,
        })
    }

    /// Reads the log up to this end, whatever is committed.
    pub(super) fn up_to(mut self, log_end: LogTail) -> Self {
        self.log_end = Some(log_end);
        self
    }

    /// Finds the part at `from`, or the first one, with the visits that it needs; `None` if there
    /// is nothing to do.
    pub(crate) fn part(
        &self,
        order: &ForgetOrder,
        from: Option<ForgetCursor>,
    ) -> Result<Option<(ForgetPart, Vec<Analysed>)>, Error> {
        let mut done = ForgetDone::default();
        let mut visits = Vec::new();
        let what = match from {
            None if order.selection.is_empty() && self.begun.is_none() => return Ok(None),
            None => {
                order.check(&Forgotten::read(&*self.store)?)?;
                self.first(order, &mut done)?
            }
            Some(cursor) => self.at(cursor, order, &mut visits, &mut done)?,
        };
        let part = ForgetPart {
            what: match order.dry_run {
                true => What::Nothing,
                false => what,
            },
            done,
            reply: None,
        };
        Ok(Some((part, visits)))
    }

    fn first(&self, order: &ForgetOrder, done: &mut ForgetDone) -> Result<What, Error> {
        let selection = &order.selection;
        if order.back {
            return self.back(order, done);
        }
        done.next = Some(match order.dry_run {
            true => ForgetCursor::Log(Position::default()),
            false => ForgetCursor::Documents(0),
        });
        Ok(What::Begin(selection.clone()))
    }

    /// What may come back must have been forgotten.
    fn back(&self, order: &ForgetOrder, done: &mut ForgetDone) -> Result<What, Error> {
        if let Some(before) = BroughtBack::read(&*self.store)?
            && order.entry == Some(before.entry)
        {
            done.back = before.back;
            return Ok(What::Nothing);
        }
        let selection = &order.selection;
        let forgotten = Forgotten::read(&*self.store)?;
        if self.begun.is_some() {
            return Err(Error::Forget(
                "something is being forgotten, or was when a process was killed: let `gleaner \
                 forget` end first, without naming anything"
                    .to_owned(),
            ));
        }
        for text in &selection.urls {
            let Ok(url) = url::parse(text) else { continue };
            if forgotten.rules().has(&url) {
                return Err(Error::Forget(format!(
                    "{text} is forgotten with its host or a prefix: bring that back"
                )));
            }
            let mut since = false;
            for id in ids_of(&url, &self.identity) {
                since |= Forgotten::since(id, &*self.store)?.is_some();
            }
            if !since {
                return Err(Error::Forget(format!("{text} was not forgotten")));
            }
        }
        let rules = selection.into();
        let known = forgotten.clone().take_back(&rules);
        if known < rules.hosts.len() + rules.prefixes.len() {
            let hosts = forgotten.rules().hosts.iter().map(ToString::to_string);
            let prefixes = forgotten.rules().prefixes.iter().cloned();
            let names: Vec<String> = hosts.chain(prefixes).take(20).collect();
            return Err(Error::Forget(format!(
                "this was not forgotten as a host or a prefix; what was: {}",
                match names.is_empty() {
                    true => "nothing".to_owned(),
                    false => names.join(", "),
                }
            )));
        }
        let back = (selection.urls.len() + known) as u64;
        done.back = back;
        let entry = order.entry.map(|entry| BroughtBack { entry, back });
        Ok(What::Back(selection.clone(), entry))
    }

    fn at(
        &self,
        cursor: ForgetCursor,
        order: &ForgetOrder,
        visits: &mut Vec<Analysed>,
        done: &mut ForgetDone,
    ) -> Result<What, Error> {
        let begun = match &self.begun {
            Some(begun) => begun.clone(),
            None => Forgetting::of(&order.selection, &self.identity),
        };
        let selected = &Selected::new(begun, self.identity.clone());
        match cursor {
            ForgetCursor::Documents(from) => Ok(What::Documents(from)),
            ForgetCursor::Log(from) => self.log(from, order.dry_run, selected, done),
            ForgetCursor::Index(from) => self.index(from, selected, done),
            ForgetCursor::Pages(from) => self.pages(&from, order.dry_run, selected, done),
            ForgetCursor::Packs(from) => self.packs(from, done),
            ForgetCursor::Groups(from) => self.groups(&from, selected, done),
            ForgetCursor::Orphans => {
                let orphanage =
                    Orphanage::new(&*self.store, &self.data, &self.identity, &self.options);
                let orphans = orphanage.some(visits)?;
                done.next = Some(match orphans.is_empty() {
                    true => ForgetCursor::Earlier(Vec::new()),
                    false => ForgetCursor::Orphans,
                });
                Ok(What::Orphans(orphans))
            }
            ForgetCursor::Earlier(from) => self.earlier(&from, selected, done),
            ForgetCursor::Remove(from) => {
                let mut removed = Vec::new();
                let next = self.rows(Table::Pages, &[], &from, &mut |key, row| {
                    let page = PAGES.decode(row)?;
                    if selected.has_page(key, &page.url) {
                        removed.push(key.to_vec());
                    }
                    Ok(())
                })?;
                done.next = Some(match next {
                    Some(next) => ForgetCursor::Remove(next),
                    None => ForgetCursor::Others(0, Vec::new()),
                });
                Ok(What::Remove(removed))
            }
            ForgetCursor::Others(number, from) => self.others(number, &from, selected, done),
            ForgetCursor::Erase => {
                let erased = erase(&*self.store, &self.data, done)?;
                done.next = Some(match erased.is_empty() {
                    true => ForgetCursor::Lines(Position::default()),
                    false => ForgetCursor::Erase,
                });
                Ok(What::Erased(erased))
            }
            ForgetCursor::Lines(from) => {
                self.lines(from, selected, done)?;
                Ok(What::Nothing)
            }
            ForgetCursor::End => Ok(What::End),
        }
    }

    /// Reads some rows, and returns where to go on; `None` at the end.
    fn rows(
        &self,
        table: Table,
        prefix: &[u8],
        from: &[u8],
        visit: &mut VisitRow<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let rows = self.store.range(table, prefix, from, ROWS)?;
        for (key, row) in &rows {
            visit(key, row)?;
        }
        Ok(match rows.last() {
            Some((last, _)) if rows.len() == ROWS => Some([&last[..], &[0]].concat()),
            _ => None,
        })
    }

    /// Opens the log at a position, up to what is committed.
    fn open_log(&self, from: Position) -> Result<LogReader, Error> {
        let log = self.data.join("log");
        if let Some(end) = self.log_end {
            return Ok(LogReader::new(&log, from, end));
        }
        let known = DiskState::read(&*self.store)?.unwrap_or_default().log;
        let told = Acknowledged::read(&log).map_err(|source| LogError {
            path: log.clone(),
            source,
        })?;
        let end = told.map_or(known, |told| told.tail.min(known));
        Ok(LogReader::new(&log, from, end))
    }

    /// Reads some lines of the log, and returns where to go on; `None` at the end.
    fn some_lines(
        &self,
        log: &mut LogReader,
        visit: &mut VisitLine<'_>,
    ) -> Result<Option<Position>, Error> {
        for _ in 0..ROWS {
            match log.next_line().map_err(|error| self.failed(error))? {
                Some(line) => visit(log, &line)?,
                None => return Ok(None),
            }
        }
        Ok(Some(log.position))
    }

    fn failed(&self, source: std::io::Error) -> Error {
        let path = self.data.join("log");
        LogError { path, source }.into()
    }

    /// Searches lines of the log for records of visits.
    fn log(
        &self,
        from: Position,
        is_dry_run: bool,
        selected: &Selected,
        done: &mut ForgetDone,
    ) -> Result<What, Error> {
        let mut found = Found::default();
        let next = self.some_lines(&mut self.open_log(from)?, &mut |_, text| {
            // What is overwritten is counted then.
            done.lines += u64::from(is_dry_run && without(text, selected).is_some());
            let Some(line) = Line::parse(text) else {
                return Ok(());
            };
            for place in line.places() {
                if line.is_about(selected) {
                    note(&self.data, &place, selected, &mut found)?;
                } else if line.repeats(selected) {
                    note_repeat(&self.data, &place, selected, &mut found)?;
                }
            }
            Ok(())
        })?;
        done.next = Some(next.map_or(ForgetCursor::Index(0), ForgetCursor::Log));
        Ok(What::Note(found))
    }

    /// Searches the captures of a file.
    fn index(
        &self,
        number: u32,
        selected: &Selected,
        done: &mut ForgetDone,
    ) -> Result<What, Error> {
        let mut found = Found::default();
        let files = files(&self.data, "warc")?;
        let Some(path) = files.get(number as usize) else {
            done.next = Some(ForgetCursor::Pages(Vec::new()));
            return Ok(What::Note(found));
        };
        done.next = Some(ForgetCursor::Index(number + 1));
        note_captures(path, selected, &mut found)?;
        Ok(What::Note(found))
    }

    /// Searches the packs of a file for bodies of visits that go: of earlier visits no row says
    /// where their bodies are.
    fn packs(&self, number: u32, done: &mut ForgetDone) -> Result<What, Error> {
        let mut found = Found::default();
        let prefix = keys::meta::ERASE_VISIT;
        let visits = self.store.range(Table::Meta, prefix, prefix, ROWS)?;
        let files = match visits.is_empty() {
            true => Vec::new(),
            false => files(&self.data, "texts")?,
        };
        let Some(path) = files.get(number as usize) else {
            // They have led to what is to be overwritten.
            done.next = Some(match visits.is_empty() {
                true => ForgetCursor::Groups(Vec::new()),
                false => ForgetCursor::Packs(number),
            });
            let visits = visits.into_iter().map(|(key, _)| key).collect();
            return Ok(What::Erased(visits));
        };
        done.next = Some(ForgetCursor::Packs(number + 1));
        note_packed(path, &*self.store, &mut found)?;
        Ok(What::Note(found))
    }

    /// Searches page records for what goes, and for what rests on it.
    fn pages(
        &self,
        from: &[u8],
        is_dry_run: bool,
        selected: &Selected,
        done: &mut ForgetDone,
    ) -> Result<What, Error> {
        let mut found = Found::default();
        let mut pages = 0;
        let next = self.rows(Table::Pages, &[], from, &mut |key, row| {
            let page = PAGES.decode(row)?;
            if selected.has_page(key, &page.url) {
                pages += 1;
                self.note_page(&page, selected, &mut found)
            } else {
                if self.is_orphan(key, &page, selected)? {
                    found.orphans.push(key.to_vec());
                }
                Ok(())
            }
        })?;
        if is_dry_run {
            // What a body is a difference from is not noted in a dry run.
            done.pages = pages;
            done.rehomed = found.orphans.len() as u64;
        }
        done.next = match next {
            Some(next) => Some(ForgetCursor::Pages(next)),
            None if is_dry_run => None,
            None => Some(ForgetCursor::Packs(0)),
        };
        Ok(What::Note(found))
    }

    fn note_page(
        &self,
        page: &PageRecord,
        selected: &Selected,
        found: &mut Found,
    ) -> Result<(), Error> {
        if let Some((kind, location)) = &page.record {
            let place = RecordPlace::of(&self.names, *kind, location);
            note(&self.data, &place, selected, found)?;
        }
        let own = page.document.as_ref().filter(|it| it.stored_for.is_none());
        if let Some(place) = own.and_then(|it| RecordPlace::of_stored(&self.names, &it.stored)) {
            note(&self.data, &place, selected, found)?;
        }
        Ok(())
    }

    /// Returns `true` if a page that stays rests on what goes: it repeats a page, its bytes are
    /// stored with another response, or its body is kept as a difference from one.
    fn is_orphan(&self, key: &[u8], page: &PageRecord, selected: &Selected) -> Result<bool, Error> {
        let duplicate = page.duplicate();
        if let Some(duplicate) = duplicate
            && let Some(head) = Head::read(&*self.store, duplicate.of, duplicate.page)?
            && selected.has_page(duplicate.page.as_bytes(), &head.page.url)
        {
            return Ok(true);
        }
        let document = page.document.as_ref();
        if let Some(of) = document.and_then(|it| it.stored_for.as_deref())
            && selected.has(&of.url)
        {
            return Ok(true);
        }
        if let Some(base) = KEPT.get(&*self.store, key)?.and_then(|it| it.base) {
            let place = RecordPlace::of(&self.names, RecordKind::Response, &base);
            let noted = Erasure::record(&place).key();
            return Ok(self.store.get(Table::Meta, &noted)?.is_some());
        }
        // What cannot be an original may still have the bytes of another response.
        let is_unjudged = match &page.fate {
            Fate::Answered { judgement, .. } => matches!(judgement, Judgement::Ineligible(_)),
            Fate::Requisite { .. } => true,
            _ => false,
        };
        match &page.record {
            Some((RecordKind::Revisit, location)) if is_unjudged || duplicate.is_some() => {
                let warc = WarcOptions::pages_of(&self.data, self.names.pages.clone());
                // A record that cannot be read says nothing.
                let record = warc.read(location, archive::Limits::default()).ok();
                let of = record
                    .as_ref()
                    .and_then(|it| it.header("WARC-Refers-To-Target-URI"));
                Ok(of.is_some_and(|of| of != page.url && selected.has(of)))
            }
            _ => Ok(false),
        }
    }

    /// Searches the groups of pages that stay for those that are named by what goes.
    fn groups(
        &self,
        from: &[u8],
        selected: &Selected,
        done: &mut ForgetDone,
    ) -> Result<What, Error> {
        let mut found = Found::default();
        let next = self.rows(Table::Groups, keys::GROUPS, from, &mut |key, row| {
            let likeness: Likeness = decode(Table::Groups, row)?;
            if selected.has(&likeness.url) {
                found.groups.push(key.to_vec());
            }
            Ok(())
        })?;
        done.next = Some(match next {
            Some(next) => ForgetCursor::Groups(next),
            None => ForgetCursor::Orphans,
        });
        Ok(What::Note(found))
    }

    /// Searches what earlier crawls hold of pages that stay: of one that has the bytes of a page
    /// that goes, the row names that page. Orphans are read by their rows, so these go behind them.
    fn earlier(
        &self,
        from: &[u8],
        selected: &Selected,
        done: &mut ForgetDone,
    ) -> Result<What, Error> {
        let mut found = Found::default();
        let next = self.rows(Table::Earlier, &[], from, &mut |key, row| {
            let page = EARLIER.decode(row)?;
            if page.url.is_some_and(|url| selected.has(&url)) {
                found.earlier.push(key.to_vec());
            }
            Ok(())
        })?;
        done.next = Some(match next {
            Some(next) => ForgetCursor::Earlier(next),
            None => ForgetCursor::Remove(Vec::new()),
        });
        Ok(What::Note(found))
    }

    /// Searches what is kept of pages of other shards: their URLs where they led to a page here, or
    /// are the same as one.
    fn others(
        &self,
        number: u32,
        from: &[u8],
        selected: &Selected,
        done: &mut ForgetDone,
    ) -> Result<What, Error> {
        let Some(rows) = OtherRows::ALL.get(number as usize) else {
            done.next = Some(ForgetCursor::Erase);
            return Ok(What::Nothing);
        };
        let mut removed = Vec::new();
        let next = self.rows(Table::Meta, rows.prefix(), from, &mut |key, row| {
            if selected.has(&rows.url(row)?) {
                removed.push(key.to_vec());
            }
            Ok(())
        })?;
        done.next = Some(match next {
            Some(next) => ForgetCursor::Others(number, next),
            None => ForgetCursor::Others(number + 1, Vec::new()),
        });
        Ok(What::Erased(removed))
    }

    /// Overwrites lines of the log, or what they say of what goes.
    fn lines(
        &self,
        from: Position,
        selected: &Selected,
        done: &mut ForgetDone,
    ) -> Result<(), Error> {
        let mut log = self.open_log(from)?;
        let next = self.some_lines(&mut log, &mut |log, line| {
            if let Some(instead) = without(line, selected) {
                log.overwrite(&instead, line.len())
                    .map_err(|error| self.failed(error))?;
                done.lines += 1;
            }
            Ok(())
        })?;
        done.next = Some(next.map_or(ForgetCursor::End, ForgetCursor::Lines));
        log.sync().map_err(|error| self.failed(error))
    }
}
