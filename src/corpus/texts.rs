//! The texts of a run's documents, in a temporary file, to compare what looks alike by its
//! fingerprints. Whoever knows the seed of these can make other texts that have them, and the
//! default seed is known to all.
//!
//! Texts are compared by their own sets of shingles, whose hashes have a seed that is drawn for the
//! run. What the two have in common does not depend on it.

use std::path::{Path, PathBuf};

use super::sign::{NearMethod, Options};
use super::spool::{Place, Spool};
use super::{Error, Signer};
use crate::dedup::Text;
use crate::dedup::shingle::Shingle;
use crate::dedup::short::{self, SHORT_WORDS, Set};

/// The texts of documents, by their numbers.
pub(super) struct Texts {
    directory: PathBuf,
    signer: Signer,
    /// The shingles that long texts are compared by, and short ones.
    shingles: (Shingle, Shingle),
    /// Created when the first text comes.
    spool: Option<Spool>,
    /// Number of documents before the first.
    before: u32,
    places: Vec<Option<Place>>,
    /// The text that was compared last.
    last: Option<Compared>,
}

/// The set of a document's text, by its long shingles or its short ones.
struct Compared {
    document: u32,
    long: bool,
    set: Set,
}

impl Texts {
    /// Texts in a directory; `before` is the number of documents that are known already, whose
    /// texts are not. `None` if nobody can know the seed, or fingerprints alone are to decide.
    pub(super) fn new(
        directory: &Path,
        options: &Options,
        before: u32,
    ) -> Result<Option<Self>, Error> {
        if !options.compares_texts() {
            return Ok(None);
        }
        let mut seed = [0; 8];
        getrandom::fill(&mut seed)
            .map_err(|error| Error::io("no random bytes")(std::io::Error::other(error)))?;
        let long = match options.near {
            NearMethod::MinHash { .. } => options.shingle,
            // Those of the sketch.
            NearMethod::Witness | NearMethod::Hamming(_) => Shingle::words(5),
        };
        Ok(Some(Self {
            directory: directory.to_owned(),
            signer: Signer::new(&Options {
                seed: u64::from_le_bytes(seed),
                shingle: long,
                ..options.clone()
            }),
            shingles: (long, options.short_shingle),
            spool: None,
            before,
            places: Vec::new(),
            last: None,
        }))
    }

    /// Adds the text of the next document, if later ones may be compared with it.
    pub(super) fn push(&mut self, text: Option<&str>) -> Result<(), Error> {
        let place = match (text, &mut self.spool) {
            (Some(text), Some(spool)) => Some(spool.push(text.as_bytes())?),
            (Some(text), none) => {
                let spool = none.insert(Spool::create(&self.directory)?);
                Some(spool.push(text.as_bytes())?)
            }
            (None, _) => None,
        };
        self.places.push(place);
        Ok(())
    }

    /// Returns the Jaccard similarity of the text of the document that comes next with that of an
    /// earlier one; `None` if that is not at hand.
    pub(super) fn similarity(&mut self, text: &str, of: u32) -> Result<Option<f64>, Error> {
        let at = of.checked_sub(self.before);
        let place = at.and_then(|at| self.places.get(at as usize).copied().flatten());
        let Some((place, spool)) = place.zip(self.spool.as_mut()) else {
            return Ok(None);
        };
        let other = String::from_utf8(spool.read_any(place)?)
            .map_err(|_| Error::input("a temporary file was changed while it was used"))?;
        let other = self.signer.words(&other);
        let long = other.word_count() >= SHORT_WORDS;
        let next = self.before + self.places.len() as u32;
        let known = self.last.take();
        let known = known.filter(|it| (it.document, it.long) == (next, long));
        let own = known.unwrap_or_else(|| Compared {
            document: next,
            long,
            set: self.set(&self.signer.words(text), long),
        });
        let similarity = short::jaccard(&own.set, &self.set(&other, long));
        self.last = Some(own);
        Ok(Some(similarity))
    }

    fn set(&self, text: &Text, long: bool) -> Set {
        let (of_long, of_short) = self.shingles;
        let shingle = if long { of_long } else { of_short };
        short::set(&self.signer.shingles(text, shingle))
    }
}
