//! The verdicts of `gleaner dedup`: judges documents in their order, writes a line for each, and
//! keeps what `--index` and `-o` need.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::files::{Item, JudgedPage, Note, SourceRecord, WarcOutput};
use super::judge::{EarlierMatch, Evidence};
use super::sign::{Clusters, ReadDocument};
use super::texts::Texts;
use super::waiting::OwnPart;
use super::{Corpus, CorpusVerdict, Error, Options, Saved, SavedEntry, Signed, expiry};
use crate::dedup::Tier;
use crate::dedup::own::OwnComparison;

/// The output of a run besides its verdicts.
#[derive(Debug, Clone, Copy)]
pub struct Keeping<'a> {
    /// The path for everything that is no duplicate: a file of lines, or a new directory of WARC
    /// files.
    pub output: Option<&'a Path>,
    /// The index of earlier runs. The documents of this run are added to it.
    pub index: Option<&'a Path>,
    /// Number of the newest runs that the index keeps, this one included; all if none is given.
    /// What they repeat is kept too.
    pub index_runs: Option<NonZeroUsize>,
    /// A file for all pairs of documents that are the same or near.
    pub pairs: Option<&'a Path>,
    /// A directory for temporary files.
    pub temporary: &'a Path,
}

/// Takes documents and writes verdicts.
pub(super) struct Verdicts<'a> {
    corpus: Corpus,
    ids: Ids,
    saved: Option<Saved>,
    kept: Option<WarcOutput>,
    texts: Option<Texts>,
    /// Whether texts of duplicates are compared with later ones too.
    keeps_duplicates: bool,
    pairs: Option<OutputLines>,
    line: String,
    out: &'a mut dyn Write,
}

/// What is known of the document that is judged and an earlier one.
struct Known<'a, 'w> {
    own: Option<&'a mut OwnPart<'w>>,
    texts: Option<(&'a mut Texts, &'a str)>,
    failed: Option<Error>,
}

impl Evidence for Known<'_, '_> {
    fn compare_own(&mut self, of: u32, similarity: f64) -> OwnComparison {
        let own = self.own.as_mut();
        own.map_or(OwnComparison::Unknown, |own| own.compare(of, similarity))
    }

    fn similarity(&mut self, of: u32) -> Option<f64> {
        let (texts, text) = self.texts.as_mut()?;
        texts.similarity(text, of).unwrap_or_else(|error| {
            self.failed.get_or_insert(error);
            None
        })
    }
}

impl<'a> Verdicts<'a> {
    /// Starts with the documents of the index, if there is one. `kept` takes the records of WARC
    /// files.
    pub(super) fn new(
        options: &Options,
        keeping: Keeping<'_>,
        kept: Option<WarcOutput>,
        out: &'a mut dyn Write,
    ) -> Result<Self, Error> {
        let saved = keeping.index.map(|path| Saved::open(path, options));
        let mut saved = saved.transpose()?;
        if let (Some(saved), Some(runs)) = (&mut saved, keeping.index_runs) {
            let documents = expiry::forget(saved, runs.get() - 1)?;
            tracing::info!(documents, "documents of old runs are forgotten");
        }
        let mut verdicts = Self {
            corpus: Corpus::new(options.clone()),
            ids: Ids::default(),
            saved,
            kept,
            texts: None,
            keeps_duplicates: options.clusters == Clusters::Components,
            pairs: keeping.pairs.map(OutputLines::create).transpose()?,
            line: String::new(),
            out,
        };
        verdicts.recall()?;
        verdicts.texts = Texts::new(keeping.temporary, options, verdicts.corpus.len())?;
        Ok(verdicts)
    }

    /// Takes the documents of earlier runs.
    fn recall(&mut self) -> Result<(), Error> {
        let Some(saved) = &self.saved else {
            return Ok(());
        };
        saved.read(|entry| {
            match entry {
                SavedEntry::Document { id, judged, kept } => {
                    self.ids.push(&id);
                    self.corpus.take(&judged, kept.map(|kept| *kept));
                    if let Some(kept) = &mut self.kept {
                        kept.skip_document();
                    }
                }
                SavedEntry::Note(note) => {
                    let note = Note::decode(&note, saved)?;
                    if let Some(kept) = &mut self.kept {
                        kept.apply(note);
                    }
                }
            }
            Ok::<_, Error>(())
        })
    }

    /// Judges a document, by its own part too. `id` is JSON. Returns whether the document is no
    /// duplicate.
    pub(super) fn document(
        &mut self,
        id: &str,
        read: ReadDocument,
        own: Option<&mut OwnPart<'_>>,
    ) -> Result<bool, Error> {
        let judged = self.judge(id, &read, own)?;
        self.take((id, None), read.signed, &judged)?;
        Ok(judged.duplicate.is_none())
    }

    /// Judges a document, and keeps its text if later ones may be compared with it.
    fn judge(
        &mut self,
        id: &str,
        read: &ReadDocument,
        own: Option<&mut OwnPart<'_>>,
    ) -> Result<CorpusVerdict, Error> {
        self.check_room()?;
        let text = read.text.as_deref();
        let mut known = Known {
            own,
            texts: self.texts.as_mut().zip(text),
            failed: None,
        };
        let all = self.pairs.is_some();
        let pairs = self.corpus.pairs(&read.signed, &mut known, all);
        if let Some(error) = known.failed {
            return Err(error);
        }
        if let Some(out) = &mut self.pairs {
            for pair in &pairs {
                self.line.clear();
                write_pair(&mut self.line, id, pair, self.ids.get(pair.of));
                out.write(self.line.as_bytes())?;
            }
        }
        let judged = self.corpus.verdict(&pairs);
        if let Some(texts) = &mut self.texts {
            let is_kept = judged
                .duplicate
                .is_none_or(|duplicate| duplicate.tier == Tier::Near && self.keeps_duplicates);
            texts.push(text.filter(|_| is_kept))?;
        }
        Ok(judged)
    }

    /// Judges a page, or only takes a record that is no page.
    pub(super) fn item(&mut self, item: Item<ReadDocument>) -> Result<(), Error> {
        let Item { page, capture } = item;
        let Some((id, url, read)) = page else {
            return match capture {
                Some(capture) => self.capture(&capture, None),
                None => Ok(()),
            };
        };
        let judged = self.judge(&id, &read, None)?;
        if let Some(capture) = capture {
            self.capture(&capture, Some(&judged))?;
        }
        self.take((&id, Some(&url)), read.signed, &judged)
    }

    fn capture(
        &mut self,
        capture: &SourceRecord,
        judged: Option<&CorpusVerdict>,
    ) -> Result<(), Error> {
        let Some(kept) = &mut self.kept else {
            return Ok(());
        };
        let ids = &self.ids;
        let page = judged.map(|judged| JudgedPage {
            judged,
            of: judged.duplicate.map(|duplicate| ids.get(duplicate.of)),
        });
        kept.take(capture, page.as_ref())?;
        if let Some(saved) = &mut self.saved {
            for note in kept.notes() {
                saved.append(&SavedEntry::Note(note.encode()))?;
            }
        }
        Ok(())
    }

    fn check_room(&self) -> Result<(), Error> {
        match self.corpus.len() < u32::MAX - 1 {
            true => Ok(()),
            false => Err(Error::input("more than 4,294,967,294 documents; part them")),
        }
    }

    /// Writes the verdict on a document, and keeps what later documents are compared with.
    fn take(
        &mut self,
        (id, url): (&str, Option<&str>),
        signed: Signed,
        judged: &CorpusVerdict,
    ) -> Result<(), Error> {
        let kept = self.corpus.worth_keeping(signed, judged);
        let mut run = None;
        if let Some(saved) = &mut self.saved {
            run = judged.duplicate.map(|duplicate| saved.run_of(duplicate.of));
            let entry = SavedEntry::Document {
                id: id.into(),
                judged: judged.clone(),
                kept: kept.clone().map(Box::new),
            };
            saved.append(&entry)?;
        }
        self.corpus.take(judged, kept);
        self.ids.push(id);
        self.line.clear();
        write_verdict(&mut self.line, (id, url), judged, &self.ids, run);
        let written = self.out.write_all(self.line.as_bytes());
        written.map_err(Error::Output)
    }

    /// Flushes the verdicts.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(Error::Output)
    }

    /// Commits the run to the index, when all its output is written.
    pub(super) fn commit(self) -> Result<(), Error> {
        if let Some(mut kept) = self.kept {
            kept.finish()?;
        }
        self.pairs.map_or(Ok(()), OutputLines::finish)?;
        Ok(self.saved.map_or(Ok(()), Saved::commit)?)
    }
}

/// A file of lines. It gets its name when it is complete.
pub(super) struct OutputLines {
    path: PathBuf,
    file: BufWriter<Lines>,
}

/// Where lines go: a file, compressed if its name ends so.
enum Lines {
    Plain(File),
    Gzip(Box<GzEncoder<File>>),
    Zstd(Box<zstd::Encoder<'static, File>>),
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

impl Lines {
    fn of(path: &Path, file: File) -> io::Result<Self> {
        Ok(match path.extension() {
            Some(ending) if ending.eq_ignore_ascii_case("zst") => Self::Zstd(Box::new(
                zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?,
            )),
            Some(ending) if ending.eq_ignore_ascii_case("gz") => {
                Self::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
            }
            _ => Self::Plain(file),
        })
    }

    /// Writes what is left and returns the file.
    fn finish(self) -> io::Result<File> {
        match self {
            Self::Plain(file) => Ok(file),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl OutputLines {
    /// Creates the file under a temporary name.
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let created = File::create(beside(path)).and_then(|file| Lines::of(path, file));
        let lines = created.map_err(|error| {
            let path = path.display();
            Error::input(format!(
                "cannot write {path}: {error}; give a file that can be written"
            ))
        })?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(1 << 18, lines),
        })
    }

    pub(super) fn write(&mut self, line: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all(line);
        let written = written.and_then(|()| self.file.write_all(b"\n"));
        written.map_err(Error::io(format!("cannot write {}", self.path.display())))
    }

    /// Syncs the file and renames it.
    pub(super) fn finish(self) -> Result<(), Error> {
        let file = self.file.into_inner().map_err(io::Error::from);
        let finished = file
            .and_then(Lines::finish)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(beside(&self.path), &self.path));
        finished.map_err(Error::io(format!("cannot write {}", self.path.display())))
    }
}

/// The temporary name of a file.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// The ids of all documents, as they are written in the input.
#[derive(Debug, Default)]
struct Ids {
    text: String,
    ends: Vec<u64>,
}

impl Ids {
    fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len() as u64);
    }

    fn get(&self, document: u32) -> &str {
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let start = (document as usize).checked_sub(1).map_or(0, end);
        self.text
            .get(start..end(document as usize))
            .unwrap_or("null")
    }
}

/// Writes a pair of documents that are the same or near. Both ids are JSON.
fn write_pair(line: &mut String, id: &str, pair: &EarlierMatch, of: &str) {
    // Writing to a String cannot fail.
    let _ = write!(line, "{{\"id\":{id},\"of\":{of},");
    write_match(line, pair);
    line.push('}');
}

/// Appends how two documents match.
fn write_match(line: &mut String, found: &EarlierMatch) {
    let _ = write!(line, "\"kind\":\"{}\"", found.kind());
    match found.distance {
        Some(distance) => _ = write!(line, ",\"distance\":{distance}"),
        None => line.push_str(",\"distance\":null"),
    }
    match found.similarity {
        Some(similarity) => {
            let _ = write!(line, ",\"similarity\":{}", (similarity * 1e4).round() / 1e4);
        }
        None => line.push_str(",\"similarity\":null"),
    }
}

/// Appends a verdict. `id` and `url` are JSON; `run` is the run that added the original.
fn write_verdict(
    line: &mut String,
    (id, url): (&str, Option<&str>),
    judged: &CorpusVerdict,
    ids: &Ids,
    run: Option<u32>,
) {
    // Writing to a String cannot fail.
    let _ = write!(line, "{{\"id\":{id},");
    if let Some(url) = url {
        let _ = write!(line, "\"url\":{url},");
    }
    line.push_str("\"duplicate_of\":");
    let Some(duplicate) = &judged.duplicate else {
        line.push_str("null,\"kind\":null,\"distance\":null,\"similarity\":null}\n");
        return;
    };
    line.push_str(ids.get(duplicate.of));
    if let Some(run) = run {
        let _ = write!(line, ",\"run\":{run}");
    }
    line.push(',');
    write_match(line, duplicate);
    if !judged.joins.is_empty() {
        let joins: Vec<_> = judged.joins.iter().map(|of| ids.get(*of)).collect();
        let _ = write!(line, ",\"joins\":[{}]", joins.join(","));
    }
    line.push_str("}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compressed_if_the_name_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let written = |name: &str| {
            let path = directory.path().join(name);
            let mut kept = OutputLines::create(&path).unwrap();
            kept.write(b"{}").unwrap();
            kept.finish().unwrap();
            fs::read(path).unwrap()
        };
        assert_eq!(written("kept.jsonl"), b"{}\n");
        let compressed = written("kept.jsonl.gz");
        assert!(compressed.starts_with(&[0x1f, 0x8b]), "{compressed:?}");
        let mut text = String::new();
        #[expect(clippy::disallowed_methods, reason = "a line of our own")]
        let mut decoder = flate2::bufread::GzDecoder::new(&*compressed);
        io::Read::read_to_string(&mut decoder, &mut text).unwrap();
        assert_eq!(text, "{}\n");
        let compressed = written("kept.jsonl.zst");
        assert_eq!(zstd::decode_all(&*compressed).unwrap(), b"{}\n");
    }

    #[test]
    fn a_verdict_line_names_ids_as_they_were_given() {
        let mut ids = Ids::default();
        ids.push("\"a\\u00e4\"");
        ids.push("7");
        let check = |judged: &CorpusVerdict, expected: &str| {
            let mut line = String::new();
            write_verdict(&mut line, ("7", None), judged, &ids, None);
            assert_eq!(line, expected);
        };
        check(
            &CorpusVerdict::default(),
            "{\"id\":7,\"duplicate_of\":null,\"kind\":null,\"distance\":null,\"similarity\":null}\n",
        );
        let duplicate = EarlierMatch {
            of: 0,
            tier: Tier::Near,
            distance: Some(4),
            similarity: Some(0.912_345),
        };
        check(
            &CorpusVerdict {
                duplicate: Some(duplicate),
                joins: vec![1],
            },
            "{\"id\":7,\"duplicate_of\":\"a\\u00e4\",\"kind\":\"near\",\"distance\":4,\"similarity\":0.9123,\"joins\":[7]}\n",
        );
    }
}
