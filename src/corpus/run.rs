//! Whole runs over a corpus: what `gleaner dedup` and `gleaner fingerprint` do with their files.
//!
//! All cores read and sign documents; the caller's thread judges them in their order.

use std::io::Write;
use std::path::Path;

use super::files::{
    self, Content, Document, Extraction, Input, Kept, StoredBodies, Wanted, each_line,
};
use super::parallel::in_order;
use super::verdicts::{KeptLines, Verdicts};
use super::{DfCounts, Error, Figures, Options, Signed, Signer};

/// What a deduplication writes besides its verdicts.
#[derive(Debug, Clone, Copy)]
pub struct Keeping<'a> {
    /// Where everything that is no duplicate is written: a file of lines, or a new directory of
    /// WARC files.
    pub output: Option<&'a Path>,
    /// The index of earlier runs, which learns the documents of this one.
    pub index: Option<&'a Path>,
}

/// Deduplicates lines of JSON and writes a verdict per line.
pub fn dedup_jsonl(
    input: Input<'_>,
    options: &Options,
    keeping: Keeping<'_>,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let extraction = Extraction::new()?;
    let signer = Signer::new(options);
    let mut verdicts = Verdicts::new(options.clone(), keeping.index, None, out)?;
    let mut kept = keeping.output.map(KeptLines::create).transpose()?;
    let keeps = kept.is_some();
    each_line(
        input,
        |line| {
            let document = Document::parse(line)?;
            let signed = sign(&signer, &document.content(&extraction)?);
            let line = keeps.then(|| Box::<[u8]>::from(line));
            Ok((Box::<str>::from(document.id()), signed, line))
        },
        |(id, signed, line)| {
            let is_kept = verdicts.document(&id, signed)?;
            match (&mut kept, line) {
                (Some(kept), Some(line)) if is_kept => kept.write(&line),
                _ => Ok(()),
            }
        },
    )?;
    verdicts.flush()?;
    kept.map_or(Ok(()), KeptLines::finish)?;
    verdicts.commit()
}

/// Deduplicates the pages of WARC files and writes a verdict per page.
pub fn dedup_warc(
    input: Input<'_>,
    options: &Options,
    keeping: Keeping<'_>,
    stored: StoredBodies,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let extraction = Extraction::new()?;
    let signer = Signer::new(options);
    let Keeping { output, index } = keeping;
    let wanted = match (output, index) {
        (Some(_), _) => Wanted::Everything,
        (None, Some(_)) => Wanted::Captures,
        (None, None) => Wanted::Pages,
    };
    let kept = (wanted != Wanted::Pages)
        .then(|| Kept::new(output, stored, index.is_some(), options, input.files))
        .transpose()?;
    let mut verdicts = Verdicts::new(options.clone(), index, kept, out)?;
    in_order(
        input.threads,
        |hand_over| files::read(input.files, wanted, hand_over),
        |job| files::work(&job, &extraction, |content| sign(&signer, content)),
        |item| verdicts.item(item),
    )?;
    verdicts.flush()?;
    verdicts.commit()
}

fn sign(signer: &Signer, content: &Content<'_>) -> Signed {
    let text = signer.text(&content.main, &content.visible);
    let text = text.with_hints(&content.hints);
    signer.sign(&content.raw, &text)
}

/// Gives `take` the id (as JSON) and the figures of each document, in the order of the lines.
/// `format` runs on the threads that sign.
pub fn figures<T: Send>(
    input: Input<'_>,
    signer: &Signer,
    format: impl Fn(&str, &Figures) -> T + Sync,
    mut take: impl FnMut(T) -> std::io::Result<()>,
) -> Result<(), Error> {
    let extraction = Extraction::new()?;
    each_line(
        input,
        |line| {
            let document = Document::parse(line)?;
            let content = document.content(&extraction)?;
            let text = signer.text(&content.main, &content.visible);
            let figures = Figures::of(&content.raw, &text, signer);
            Ok(format(document.id(), &figures))
        },
        |value| take(value).map_err(Error::Output),
    )
}

/// Counts in how many documents each shingle occurs.
pub fn count_shingles(input: Input<'_>, signer: &Signer) -> Result<DfCounts, Error> {
    let extraction = Extraction::new()?;
    let mut counts = DfCounts::default();
    each_line(
        input,
        |line| {
            let document = Document::parse(line)?;
            let content = document.content(&extraction)?;
            Ok(signer.distinct_features(&signer.text(&content.main, &content.visible)))
        },
        |features| {
            if let Some(features) = features {
                counts.add(&features);
            }
            Ok(())
        },
    )?;
    Ok(counts)
}
