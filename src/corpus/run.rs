//! Whole runs over a corpus: what `gleaner dedup` and `gleaner fingerprint` do with their files.
//!
//! All cores read and sign documents; the calling thread judges them in their order.

use std::io::{self, Write};

use super::files::{
    self, Content, Extraction, Input, Item, JsonDocument, StoredBodies, Wanted, WarcOutput, Watch,
    each_line,
};
use super::parallel::in_order;
use super::sign::ReadDocument;
use super::verdicts::{Keeping, OutputLines, Verdicts};
use super::waiting::{Document, OwnPart, Waiting};
use super::{DfCounts, Error, Figures, Options, Signer};
use crate::dedup::Text;

/// Deduplicates lines of JSON and writes a verdict per line.
///
/// From the first line with a URL on, documents wait until all are read, because only then it is
/// known what is template of their sites. An index knows no sites, so with one nothing waits.
pub fn dedup_jsonl(
    input: Input<'_>,
    options: &Options,
    keeping: Keeping<'_>,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let extraction = Extraction::new(options.masks)?;
    let signer = Signer::new(options);
    let mut verdicts = Verdicts::new(options, keeping, None, out)?;
    let mut kept = keeping.output.map(OutputLines::create).transpose()?;
    let keeps = kept.is_some();
    let knows_sites = keeping.index.is_none();
    let mut judge = |document: Document, own: Option<&mut OwnPart<'_>>| {
        let Document { id, read, line, .. } = document;
        let is_kept = verdicts.document(&id, read, own)?;
        match (&mut kept, line) {
            (Some(kept), Some(line)) if is_kept => kept.write(&line),
            _ => Ok(()),
        }
    };
    let (mut judged, mut waiting) = (0, None);
    let ended = each_line(
        input,
        |line| {
            let parsed = JsonDocument::parse(line, input.fields)?;
            let content = parsed.content(&extraction)?;
            if !content.is_in(input.languages) {
                return Ok(None);
            }
            Ok(Some(Document {
                id: parsed.id().into(),
                read: read(&signer, &content),
                line: keeps.then(|| line.into()),
                page: content.page.filter(|_| knows_sites),
            }))
        },
        |document| {
            let Some(document) = document else {
                return Ok(());
            };
            if waiting.is_none() && document.page.is_some() {
                waiting = Some(Waiting::new(keeping.temporary, judged)?);
            }
            if let Some(waiting) = &mut waiting {
                return waiting.push(&document);
            }
            judged += 1;
            judge(document, None)
        },
    );
    if let Some(waiting) = &mut waiting {
        waiting.settle()?;
        waiting.each(|document, own| judge(document, Some(own)))?;
    }
    ended?;
    verdicts.flush()?;
    kept.map_or(Ok(()), OutputLines::finish)?;
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
    let extraction = Extraction::new(options.masks)?;
    let signer = Signer::new(options);
    let Keeping { output, index, .. } = keeping;
    let wanted = match (output, index) {
        (Some(_), _) => Wanted::Everything,
        (None, Some(_)) => Wanted::Captures,
        (None, None) => Wanted::Pages,
    };
    let kept = (wanted != Wanted::Pages)
        .then(|| WarcOutput::new(output, stored, index.is_some(), options, input.files))
        .transpose()?;
    let mut verdicts = Verdicts::new(options, keeping, kept, out)?;
    in_order(
        input.threads,
        |hand_over| files::read(input.files, wanted, hand_over),
        |job| {
            if let Some(Watch(tell)) = input.watch {
                tell();
            }
            files::work(&job, &extraction, |content| {
                let is_wanted = content.is_in(input.languages);
                is_wanted.then(|| read(&signer, content))
            })
        },
        |Item { page, capture }| {
            // A page in another language is a record like any other.
            let page = page.and_then(|(id, url, read)| Some((id, url, read?)));
            verdicts.item(Item { page, capture })
        },
    )?;
    verdicts.flush()?;
    verdicts.commit()
}

fn read(signer: &Signer, content: &Content<'_>) -> ReadDocument {
    let text = signer.text(&content.main, &content.visible);
    let text = text.with_hints(&content.hints);
    let signed = signer.sign(&content.raw, &text);
    let judged = signed.is_comparable() && signer.options().compares_texts();
    ReadDocument {
        signed,
        text: judged.then(|| text.judged_of(&content.main, &content.visible).into()),
    }
}

/// Passes the id (as JSON) and the figures of each document to `format`, on the signing threads,
/// and its results to `take`, in the order of the lines.
pub fn figures<T: Send>(
    input: Input<'_>,
    signer: &Signer,
    format: impl Fn(&str, &Figures) -> T + Sync,
    mut take: impl FnMut(T) -> io::Result<()>,
) -> Result<(), Error> {
    each_text(
        input,
        signer,
        |id, raw, text| format(id, &Figures::of(raw, text, signer)),
        |value| take(value).map_err(Error::Output),
    )
}

/// Counts the documents that contain each shingle.
pub fn count_shingles(input: Input<'_>, signer: &Signer) -> Result<DfCounts, Error> {
    let mut counts = DfCounts::default();
    each_text(
        input,
        signer,
        |_, _, text| signer.distinct_features(text),
        |features| {
            if let Some(features) = features {
                counts.add(&features);
            }
            Ok(())
        },
    )?;
    Ok(counts)
}

/// Passes the id (as JSON), the bytes and the text of each document to `work`, on all threads, and
/// its results to `take`, in the order of the lines.
fn each_text<T: Send>(
    input: Input<'_>,
    signer: &Signer,
    work: impl Fn(&str, &[u8], &Text) -> T + Sync,
    take: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    let extraction = Extraction::new(signer.options().masks)?;
    each_line(
        input,
        |line| {
            let document = JsonDocument::parse(line, input.fields)?;
            let content = document.content(&extraction)?;
            let text = signer.text(&content.main, &content.visible);
            Ok(work(document.id(), &content.raw, &text))
        },
        take,
    )
}

#[cfg(test)]
mod tests;
