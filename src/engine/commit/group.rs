//! A group of visits while it is judged: its write set on top of what is committed, and the
//! look-ups that cover both.
//!
//! Judging changes only the write set. Memory changes when the set is committed, so a group that
//! fails leaves no trace.

use std::sync::Arc;

use super::lookups::Lookups;
use super::write_set::WriteSet;
use crate::dedup::own::{Lines, OwnComparison, OwnLines};
use crate::dedup::{
    self, Document, DocumentId, Fingerprints, Found, Originals, Pending, Query, Repeat, Rules,
    Verdict, shard_of,
};
use crate::engine::Error;
use crate::engine::learned::template::SiteTemplate;
use crate::engine::library::Reading;
use crate::sites::{self, SiteName};
use crate::store::{Table, keys};
use crate::url::{self, UrlId};

/// Visits that are judged together.
pub(crate) struct Group<'a> {
    pub(crate) set: WriteSet,
    lookups: &'a mut Lookups,
}

impl<'a> Group<'a> {
    /// Creates a group without changes.
    pub(crate) fn new(set: WriteSet, lookups: &'a mut Lookups) -> Self {
        Self { set, lookups }
    }

    /// Returns `true` if a URL was admitted, by an earlier commit or by this group.
    pub(crate) fn is_seen(&mut self, id: UrlId) -> bool {
        self.set.has_seen(id) || self.lookups.is_seen(id)
    }

    /// Marks a URL as admitted. Returns `true` if it was not before.
    pub(crate) fn see(&mut self, id: UrlId) -> bool {
        let is_new = !self.is_seen(id);
        if is_new {
            self.set.note_seen(id);
        }
        is_new
    }

    /// Returns `true` if nothing is noted of a URL that was seen lately.
    pub(crate) fn is_unmarked(&self, id: UrlId) -> bool {
        self.lookups.seen.is_unmarked(id)
    }

    /// Remembers for a while whether nothing is noted of a URL.
    pub(crate) fn note_unmarked(&mut self, id: UrlId, is_unmarked: bool) {
        self.lookups.seen.note_unmarked(id, is_unmarked);
    }

    /// Returns a document by its number. One of another shard is returned only as long as it is an
    /// original there.
    pub(crate) fn document(&self, id: DocumentId) -> Result<Option<Arc<Document>>, Error> {
        if shard_of(id).is_some() {
            return match &self.set.exchanged.documents {
                Some(foreign) => Ok(foreign.library.read().document(id)?),
                None => Ok(None),
            };
        }
        match self.set.documents.get(id) {
            Some(document) => Ok(Some(Arc::clone(document))),
            None => Ok(self.lookups.index.documents().get(id)?),
        }
    }

    /// Returns the template of a site, and what the group changes of it.
    pub(crate) fn template(&self, site: &SiteName) -> Result<SiteTemplate<'_>, Error> {
        Ok(SiteTemplate {
            base: self.lookups.templates.get(site, &*self.set.store)?,
            change: self.set.templates.get(site),
        })
    }

    /// Returns what of a document is its own, by the template of its site as it is now; `None` if
    /// its lines are not stored.
    pub(crate) fn own_lines(&self, document: &Document) -> Result<Option<OwnLines>, Error> {
        if shard_of(document.id).is_some() {
            return match &self.set.exchanged.documents {
                Some(foreign) => Ok(foreign.library.read().own_lines(document.id)?),
                None => Ok(None),
            };
        }
        let (Some(lines), Ok(url)) = (self.lines(document.id)?, url::parse(&document.url)) else {
            return Ok(None);
        };
        let site = SiteName::of(&url);
        let template = self.template(&site)?;
        let known = sites::known(&lines, template.seen());
        Ok(Some(sites::own_lines(&lines, &site, &known, true)))
    }

    /// Returns the lines of a document, as far as they are of account; `None` if they are not
    /// stored.
    pub(crate) fn lines(&self, document: DocumentId) -> Result<Option<Lines>, Error> {
        if let Some(lines) = self.set.parts.get(&document) {
            return Ok(Some(lines.clone()));
        }
        let row = self.set.store.get(Table::Parts, &keys::parts(document))?;
        Ok(row.and_then(|row| Lines::decode(&row)))
    }

    /// Returns what the index finds about a page, by its rule. Only live originals count.
    pub(crate) fn judge(
        &self,
        (page, url): (UrlId, &str),
        fingerprints: &Fingerprints,
        own: Option<&OwnLines>,
        rules: &Rules,
    ) -> Result<Found, Error> {
        let foreign = self.set.exchanged.documents.as_ref();
        let reading = foreign.map(|it| (it.library.read(), it.own));
        let others = reading
            .as_ref()
            .map(|(reading, own)| reading.others(*own, DocumentId::MAX));
        let asked = Query {
            page,
            url,
            fingerprints,
            runs: self.lookups.dedup_runs(),
            pending: &self.set.documents,
            rules,
            others,
        };
        let originals = Committed {
            group: self,
            reading: reading.as_ref().map(|(reading, _)| reading),
            url,
            own,
        };
        self.lookups.index.judge(&asked, originals)
    }

    /// Returns what a document of this shard, which is told to all others, repeats of what they had
    /// told before it.
    pub(crate) fn judge_returned(
        &self,
        document: &Document,
        rules: &Rules,
    ) -> Result<Option<Repeat>, Error> {
        let Some(foreign) = &self.set.exchanged.documents else {
            return Ok(None);
        };
        let own = self.own_lines(document)?;
        let reading = foreign.library.read();
        // One that is not there is none that others could repeat.
        let Some(number) = reading.number(dedup::foreign(foreign.own, document.id))? else {
            return Ok(None);
        };
        let asked = Query {
            page: document.url_id,
            url: &document.url,
            fingerprints: &document.fingerprints,
            runs: &[],
            pending: &Pending::default(),
            rules,
            others: None,
        };
        let originals = Committed {
            group: self,
            reading: Some(&reading),
            url: &document.url,
            own: own.as_ref(),
        };
        let others = reading.others(foreign.own, number);
        let found = others.judge(&asked, originals)?;
        Ok(found.verdict.repeats().cloned())
    }

    /// Returns the original of another shard that a page repeats byte for byte, if a revisit record
    /// for a response with this payload and head may refer to its response.
    pub(crate) fn foreign_same(
        &self,
        verdict: &Verdict,
        payload: &[u8; 32],
        form: u64,
    ) -> Result<Option<Arc<Document>>, Error> {
        let (Verdict::Duplicate(repeat), Some(foreign)) = (verdict, &self.set.exchanged.documents)
        else {
            return Ok(None);
        };
        let original = &repeat.original;
        let has_payload = shard_of(original.id).is_some() && original.payload == *payload;
        let is_same = has_payload && foreign.library.read().form(original.id)? == Some(form);
        Ok(is_same.then(|| Arc::clone(original)))
    }

    /// Returns the documents whose stored payload has this digest, at most `most` of them.
    pub(crate) fn find_payload(
        &self,
        payload: &[u8; 32],
        most: usize,
    ) -> Result<Vec<Arc<Document>>, Error> {
        let runs = self.lookups.dedup_runs();
        let mut found = self.lookups.index.find_payload(payload, most, runs)?;
        let pending = self.set.documents.find_payload(payload).cloned();
        found.extend(pending.take(most.saturating_sub(found.len())));
        Ok(found)
    }

    /// Returns `true` if a document is a live original: its page is committed as that document, or
    /// will be with this group.
    pub(crate) fn is_live_original(&self, document: &Document) -> Result<bool, Error> {
        if self.set.documents.get(document.id).is_some() {
            return Ok(true);
        }
        // It was found where those of other shards are that are committed there. One that is
        // forgotten here may not be by its own shard yet.
        if shard_of(document.id).is_some() {
            return Ok(!self.set.exchanged.forgets(document, &*self.set.store)?);
        }
        if self.set.withdrawn.iter().any(|it| it.id == document.id) {
            return Ok(false);
        }
        let page = self.set.committed_page(document.url_id)?;
        let own = page.and_then(|page| page.document);
        Ok(own.is_some_and(|own| own.id == document.id))
    }

    /// Returns `true` if the response of a document is in the archive, or will be with this group.
    pub(crate) fn is_archived(&self, document: &Document) -> bool {
        let (stored, tail) = (&document.stored, &self.set.disk.archive);
        self.set.documents.get(document.id).is_some()
            || stored.is_elsewhere()
            || (stored.segment, stored.offset + stored.length) <= (tail.segment, tail.offset)
    }

    /// Adds the next document of the crawl and returns its number.
    pub(crate) fn add_document(&mut self, mut document: Document) -> DocumentId {
        self.set.state.last_document += 1;
        document.id = self.set.state.last_document;
        let features = self.lookups.index.features();
        self.set.documents.add(document, features);
        self.set.state.last_document
    }

    /// Removes the fingerprints of a document, so that nothing repeats it any more, and returns it
    /// as changed.
    pub(crate) fn withdraw(&mut self, document: &Document) -> Document {
        let withdrawn = Document {
            fingerprints: Fingerprints::default(),
            ..document.clone()
        };
        if !self.set.documents.withdraw(document.id) {
            self.set.withdrawn.push(withdrawn.clone());
        }
        withdrawn
    }
}

/// The originals of a crawl, for one page that is compared with them.
pub(crate) struct Committed<'a, 'g> {
    pub(crate) group: &'a Group<'g>,
    /// The documents of other shards, if they are being read.
    pub(crate) reading: Option<&'a Reading<'a>>,
    /// The page's URL.
    pub(crate) url: &'a str,
    /// What of the page may be its own, if it is known.
    pub(crate) own: Option<&'a OwnLines>,
}

impl Originals<Error> for Committed<'_, '_> {
    fn is_live(&mut self, document: &Document) -> Result<bool, Error> {
        self.group.is_live_original(document)
    }

    fn compare_own(
        &mut self,
        document: &Document,
        similarity: f64,
    ) -> Result<OwnComparison, Error> {
        let Some(own) = self.own else {
            return Ok(OwnComparison::Unknown);
        };
        let other = match self.reading.filter(|_| shard_of(document.id).is_some()) {
            Some(reading) => reading.own_lines(document.id)?,
            None => self.group.own_lines(document)?,
        };
        let Some(other) = other else {
            return Ok(OwnComparison::Unknown);
        };
        Ok(sites::compare_own(
            (self.url, own),
            (&document.url, &other),
            similarity,
        ))
    }
}
