//! The step between archive and batch: once the records of a group are appended, their places are
//! filled in at its documents, page records and log lines.

use std::collections::HashMap;
use std::sync::Arc;

use super::effects::{ConvertedNow, Places, TextPlace, VisitEffects};
use super::write_set::WriteSet;
use crate::archive::{Location, Record, RecordKind};
use crate::dedup::Stored;
use crate::engine::Error;
use crate::journal::{LogLine, PageLine, RecordPlace};
use crate::rows::{ArchiveNames, Converted, PAGES};
use crate::store::{Table, keys};

/// The places of a group's records.
pub(super) struct Placing {
    names: Arc<ArchiveNames>,
    /// The places of each visit's records, in order.
    visits: Vec<Vec<Location>>,
    /// The places of responses, by record id.
    responses: HashMap<[u8; 16], Location>,
    /// The places of main texts in their own archive, in order.
    texts: Vec<Location>,
}

impl Placing {
    /// Combines what a group appended with where the archive put it.
    pub(super) fn of(
        names: &Arc<ArchiveNames>,
        visits: &[VisitEffects],
        records: &[Record],
        locations: &[Location],
    ) -> Self {
        let mut rest = locations.iter().copied();
        let of_visits = visits
            .iter()
            .map(|it| rest.by_ref().take(it.records).collect());
        let responses = records
            .iter()
            .zip(locations)
            .filter(|(record, _)| record.kind() == RecordKind::Response)
            .map(|(record, location)| (*record.id().as_bytes(), *location));
        Self {
            names: Arc::clone(names),
            visits: of_visits.collect(),
            responses: responses.collect(),
            texts: Vec::new(),
        }
    }

    /// Adds the places of main texts.
    pub(super) fn with_texts(self, texts: Vec<Location>) -> Self {
        Self { texts, ..self }
    }

    /// Returns kind and place of a visit's record.
    fn main(&self, visit: usize, places: &Places) -> Option<(RecordKind, Location)> {
        let (kind, at) = places.main?;
        Some((kind, *self.visits.get(visit)?.get(at)?))
    }

    /// Returns where a response is stored, also if it was stored by this group.
    pub(super) fn stored(&self, stored: &Stored) -> Stored {
        match self.responses.get(&stored.record) {
            Some(location) => Stored {
                segment: location.segment,
                offset: location.offset,
                length: location.length,
                ..*stored
            },
            None => *stored,
        }
    }

    /// Fills in the places of a page's records at its line.
    fn complete(&self, visit: usize, places: &Places, page: &mut PageLine) {
        let names = &*self.names;
        let own = |at: usize| self.visits.get(visit)?.get(at);
        page.record = self
            .main(visit, places)
            .map(|(kind, location)| RecordPlace::of(names, kind, &location));
        page.text = match places.text {
            Some(TextPlace::Own(kind, at)) => own(at).map(|it| RecordPlace::of(names, kind, it)),
            Some(TextPlace::Apart(at)) => {
                let text = self.texts.get(at);
                text.map(|it| RecordPlace::of_text(names, it))
            }
            // An earlier crawl has it, if anybody does.
            Some(TextPlace::Stored(stored)) if stored.is_elsewhere() => page.text.take(),
            Some(TextPlace::Stored(stored)) => RecordPlace::of_stored(names, &self.stored(&stored)),
            None => None,
        };
    }
}

impl WriteSet {
    /// Fills in the places of records at documents and page records.
    pub(super) fn place(&mut self, placing: &Placing) -> Result<(), Error> {
        for at in 0..self.visits.len() {
            let visit = &self.visits[at];
            let main = placing.main(at, &visit.places);
            // A visit that learned nothing left the row as it was.
            if let Some(id) = visit.page
                && main.is_some()
                && let Some(page) = self.page(id)?
                && page.record.is_none()
            {
                page.record = main;
            }
        }
        for visit in &self.visits {
            let Some(id) = visit.page else { continue };
            let row = match (&visit.converted, visit.places.text) {
                (ConvertedNow::Text, Some(TextPlace::Apart(at))) => {
                    placing.texts.get(at).copied().map(Converted::Text)
                }
                (ConvertedNow::Failed(reason), _) => Some(Converted::Failed(reason.clone())),
                (ConvertedNow::Gone, _) => {
                    let key = keys::converted(id.as_bytes());
                    self.batch.delete(Table::Meta, key);
                    None
                }
                _ => None,
            };
            if let Some(row) = row {
                row.put(id, &mut self.batch);
            }
        }
        for document in self.documents.documents_mut() {
            document.stored = placing.stored(&document.stored);
        }
        Ok(())
    }

    /// Takes the lines of the log, with the pages on which their URLs were found.
    pub(super) fn take_lines(&mut self, placing: &Placing) -> Result<Vec<LogLine>, Error> {
        let found_on: Vec<&[u8]> = self
            .visits
            .iter()
            .filter(|visit| visit.line.is_some())
            .filter_map(|visit| visit.via.as_ref())
            .map(|via| &via.as_bytes()[..])
            .collect();
        let mut pages = self.store.get_many(Table::Pages, &found_on)?.into_iter();
        let mut lines = Vec::with_capacity(self.visits.len());
        for (at, visit) in self.visits.iter_mut().enumerate() {
            let Some(mut line) = visit.line.take() else {
                continue;
            };
            if let Some(via) = visit.via {
                line.via = match pages.next().flatten() {
                    Some(row) => Some(PAGES.decode(&row)?.url),
                    None => self.exchanged.page(via, &*self.store)?,
                };
            }
            line.page = visit.page_line.take().map(|mut page| {
                placing.complete(at, &visit.places, &mut page);
                Box::new(page)
            });
            lines.push(line);
        }
        Ok(lines)
    }
}
