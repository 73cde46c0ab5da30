//! The committer without a crawl: made-up pages are judged, committed, checkpointed and recovered
//! as a crawl's are, and only the network, the parser and the archive are missing.
//!
//! For `benches/documents.rs` and its test alone; a crawl never comes here.

use std::path::Path;
use std::time::{Duration, Instant};

use super::DataDirectory;
use super::clock::Clock;
use super::commit::{Committer, SEEN_RUNS};
use super::{Error, Options, open};
use crate::dedup::{
    Document, DocumentId, Features, Fingerprints, Pending, Query, Repeat, Stored, Verdict, postings,
};
use crate::rows::Rank;
use crate::rows::{Duplicate, Fate, Judgement, PAGES, PageRecord};
use crate::store::{Table, decode};
use crate::url::UrlId;

/// A data directory that is open for made-up pages.
pub struct Study {
    committer: Committer,
    features: Features,
    _directory: DataDirectory,
}

/// A page that nobody fetched.
pub struct MadeUp {
    /// Its identity: a spread of bytes.
    pub id: UrlId,
    /// Its URL.
    pub url: String,
    /// SHA-256 of what would have been stored.
    pub payload: [u8; 32],
    /// Its signatures.
    pub fingerprints: Fingerprints,
}

/// A group of pages that was committed.
#[derive(Debug, Clone, Copy)]
pub struct Committed {
    /// Number of pages that repeat others.
    pub duplicates: usize,
    /// How long it took from the verdicts until the group was durable and the next could come.
    pub writing: Duration,
}

impl Study {
    /// Opens a data directory, or begins one; what a kill left behind is made whole, as by a crawl.
    pub fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let directory = DataDirectory::take(path)?;
        let committer = open::open(&directory, options)?;
        Ok(Self {
            features: committer.lookups.index.features().clone(),
            committer,
            _directory: directory,
        })
    }

    /// Commits pages as one group; those seen before are left out. Then makes a checkpoint if it is
    /// due.
    pub fn commit(&mut self, pages: Vec<MadeUp>) -> Result<Committed, Error> {
        let committer = &mut self.committer;
        let now = Clock::start().now();
        let mut duplicates = 0;
        let set = committer.collect(now, |judge, group| {
            for page in pages {
                if !group.see(page.id) {
                    continue;
                }
                let (id, url) = (page.id, page.url.as_str());
                let found = group.judge((id, url), &page.fingerprints, None, judge.rules)?;
                let verdict = found.verdict;
                let (judgement, document) = match verdict {
                    Verdict::Duplicate(repeat) => {
                        duplicates += 1;
                        (Judgement::Duplicate(made_up(&repeat, now.micros())), None)
                    }
                    _ => {
                        let id = committed(group.set.state.last_document + 1, &page, now.micros());
                        (Judgement::Unique, Some(group.add_document(id)))
                    }
                };
                let id = page.id;
                group
                    .set
                    .put_page(id, record(page, judgement, now.micros()), document);
            }
            Ok(())
        })?;
        let begun = Instant::now();
        committer.write(set)?;
        committer.checkpoint_if_due()?;
        Ok(Committed {
            duplicates,
            writing: begun.elapsed(),
        })
    }

    /// Judges a page and changes nothing: the document that it repeats.
    pub fn original_of(
        &self,
        id: UrlId,
        fingerprints: &Fingerprints,
    ) -> Result<Option<DocumentId>, Error> {
        let lookups = &self.committer.lookups;
        let asked = Query {
            page: id,
            url: "",
            fingerprints,
            runs: lookups.dedup_runs(),
            pending: &Pending::default(),
            rules: &self.committer.rules,
            others: None,
        };
        let is_committed = |original: &Document| {
            let page = PAGES.get(&*self.committer.store, original.url_id.as_bytes())?;
            let own = page.and_then(|page| page.document);
            Ok::<_, Error>(own.is_some_and(|own| own.id == original.id))
        };
        let found = lookups.index.judge(&asked, is_committed)?;
        Ok(found.verdict.repeats().map(|repeat| repeat.original.id))
    }

    /// What is not there of a page: its record, its key among the URLs seen, its document or what
    /// leads to that.
    pub fn lacks(&self, id: UrlId) -> Result<Option<&'static str>, Error> {
        let committer = &self.committer;
        let Some(row) = committer.store.get(Table::Pages, id.as_bytes())? else {
            return Ok(Some("its record"));
        };
        if !committer.lookups.catalog[SEEN_RUNS].contains(id.key()) {
            return Ok(Some("its key among the URLs seen"));
        }
        let page: PageRecord = decode(Table::Pages, &row)?;
        let Some(document) = page.document else {
            return Ok(None);
        };
        let found = committer.lookups.index.documents().get(document.id)?;
        if found.as_deref() != Some(&document) {
            return Ok(Some("its document"));
        }
        let runs = committer.lookups.dedup_runs();
        let is_posted = postings(&document, &self.features).iter().all(|posting| {
            let mut pairs = runs[usize::from(posting.structure)].pairs(posting.key, posting.key);
            pairs.any(|(_, document)| document == posting.document)
        });
        Ok((!is_posted).then_some("a posting of its document"))
    }

    /// Documents committed.
    pub fn documents(&self) -> u64 {
        self.committer.state.last_document
    }

    /// Makes everything durable, as a clean stop does.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        self.committer.checkpoint()
    }

    /// Waits until files are merged, so that the next checkpoint takes them in.
    pub fn settle(&mut self) -> Result<(), Error> {
        Ok(self.committer.lookups.catalog.finish_merges()?)
    }

    /// Name, files, bytes mapped and bytes of memory of each structure of `runs`.
    pub fn runs(&self) -> impl Iterator<Item = (&'static str, usize, u64, usize)> {
        self.committer.lookups.catalog.iter().map(|runs| {
            (
                runs.name(),
                runs.file_count(),
                runs.mapped_bytes(),
                runs.memory_bytes(),
            )
        })
    }
}

/// What is kept of a made-up page that repeats another.
fn made_up(repeat: &Repeat, now: i64) -> Duplicate {
    Duplicate {
        of: repeat.original.id,
        page: repeat.original.url_id,
        tier: repeat.tier,
        distance: repeat.distance,
        similarity: repeat.similarity,
        first_seen: now,
        last_checked: now,
        rank: Rank::unsettled(false),
    }
}

/// The record of a made-up page.
fn record(page: MadeUp, judgement: Judgement, now: i64) -> PageRecord {
    PageRecord {
        url: page.url,
        via: None,
        depth: 1,
        time: now,
        last_seen: now,
        attempts: 1,
        fate: Fate::Answered {
            status: 200,
            mime: Some("text/html".to_owned()),
            size: 20_000,
            title: Some("A page that nobody has written".to_owned()),
            language: Some("en".to_owned()),
            canonical: None,
            judgement,
        },
        revisit: None,
        validators: None,
        document: None,
        record: None,
        stored_members: 0,
    }
}

/// The document of a unique page, as if about 10,000 records were in each file of the archive.
fn committed(id: DocumentId, page: &MadeUp, now: i64) -> Document {
    let mut record = [0; 16];
    record.copy_from_slice(&page.payload[..16]);
    Document {
        id,
        url_id: page.id,
        url: page.url.clone(),
        fetched: now,
        stored: Stored {
            record,
            segment: (id / 10_000) as u32,
            offset: id % 10_000 * 7_000,
            length: 7_000,
        },
        stored_for: None,
        payload: page.payload,
        fingerprints: page.fingerprints.clone(),
    }
}
