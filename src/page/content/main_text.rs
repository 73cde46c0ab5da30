//! The main text: what a page is about, without what the site puts around it.
//!
//! Steps: (1) the page as blocks, with sums for every element (`blocks.rs`); (2) features of each
//! block (`features.rs`); (3) the likelihood that each is content (`model.rs`); (4) the choice: the
//! most likely blocks, as many as promise the best balance between what is kept and what is missed.
//! Of a script shell, what it says about itself as data is taken.
//!
//! The choice adapts to the page. Where the model is certain, as in an article, the threshold lies
//! where the likelihood drops; where everything is doubtful, as in a list of links, the threshold
//! is lower, so that a page with text never comes out empty.

use super::blocks::{self, TextBlock};
use super::features;
use super::headline::Headline;
use super::model::{self, CERTAIN};
use super::text::{self, Writer};
use crate::page::facts::metadata::body_as_data;
use crate::page::html::{Break, Outline, Sight};

/// What finding all of the content is worth beside keeping nothing else, in percent: on pages that
/// promise an F-measure of half or less, and on those that promise nine tenths or more. In between
/// it falls linearly. Chosen by cross-validation on the training pages.
const DOUBTFUL_PERCENT: u64 = 100;
const CERTAIN_PERCENT: u64 = 50;

/// Likelihoods around the threshold are compared in steps of this size, so that a small change
/// elsewhere on the page does not move it.
const STEP: u32 = CERTAIN / 16;

/// The blocks in document order, those of the main text marked.
pub(crate) fn chosen_blocks(outline: &Outline<'_>) -> Vec<TextBlock> {
    let (mut blocks, sums) = blocks::of(outline);
    let table = features::of(outline, &blocks, &sums);
    let likelihoods = model::likelihoods(&table);
    let line = line(&blocks, &likelihoods);
    for (block, likelihood) in blocks.iter_mut().zip(likelihoods) {
        block.is_main = likelihood >= line;
    }
    blocks
}

/// The blocks of the main text: those of the headline, then those that were chosen.
pub(crate) fn main_blocks(
    outline: &Outline<'_>,
    blocks: &[TextBlock],
    headline: Option<&Headline>,
) -> Vec<TextBlock> {
    let is_headline =
        |block: &&TextBlock| headline.is_some_and(|headline| headline.contains(outline, block));
    let first = blocks.iter().filter(|block| is_headline(block));
    let others = blocks
        .iter()
        .filter(|block| block.is_main && !is_headline(block));
    first.chain(others).copied().collect()
}

/// The text of the main blocks. `visible_bytes` is the length of all visible text: if the page
/// says more than that about itself as data, it is a script shell, and the data is taken.
pub(crate) fn main_text(
    outline: &Outline<'_>,
    blocks: &[TextBlock],
    headline: Option<&Headline>,
    visible_bytes: usize,
    max_bytes: usize,
) -> String {
    let said = body_as_data(outline).filter(|said| said.len() > visible_bytes);
    let texts = blocks.iter().filter_map(|block| {
        let (start, end) = block.texts;
        outline.texts.get(start..end)
    });
    let mut writer = Writer::with_room(texts.flatten(), max_bytes);
    if let Some(headline) = headline {
        writer.push(&headline.text, false);
        writer.separate(Break::Line);
    }
    if let Some(said) = said {
        writer.push(&said, true);
        return writer.text;
    }
    let own = blocks
        .iter()
        .filter(|block| headline.is_none_or(|headline| !headline.contains(outline, block)));
    let mut end = 0;
    for block in own {
        writer.separate(Break::Line);
        text::write_gap(&mut writer, outline, (end, block.texts.0));
        end = block.texts.1;
        let sight = block.sight.unwrap_or(Sight::Shown);
        text::write(&mut writer, outline, block.texts, sight);
    }
    writer.text
}

/// The likelihood from which blocks are kept.
///
/// With the blocks in order of likelihood, keeping the first k promises a precision of the content
/// expected among them over what is kept, a recall of the same over all content expected, and so an
/// F-measure (Nan et al., "Optimizing F-measure: a tale of two approaches", ICML 2012). The k with
/// the best sum of precision and weighted recall gives the threshold. The F-measure itself says
/// less: benchmarks take the means of both over their pages, and a sum of means is a mean of sums.
fn line(blocks: &[TextBlock], likelihoods: &[u32]) -> u32 {
    const WHOLE: u64 = 1_000_000;
    let mut order: Vec<(u32, u32)> = blocks
        .iter()
        .zip(likelihoods)
        .map(|(block, likelihood)| (*likelihood, block.tally.words.max(1)))
        .collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    let certain = |words: u64| words * u64::from(CERTAIN);
    let expected = |(likelihood, words): &(u32, u32)| u64::from(*likelihood) * u64::from(*words);
    let total: u64 = order.iter().map(expected).sum();
    // What the best k promises by a measure of what is found and kept, and the likelihood there.
    let best = |measure: &dyn Fn(u64, u64) -> u64| {
        let (mut found, mut kept) = (0_u64, 0_u64);
        let mut best = (0, CERTAIN);
        for block in &order {
            found += expected(block);
            kept += u64::from(block.1);
            let promise = measure(found, certain(kept));
            if promise > best.0 {
                best = (promise, block.0);
            }
        }
        best
    };
    let (promise, _) = best(&|found, kept| 2 * found * WHOLE / (kept + total).max(1));
    let sureness = (promise / 1000).clamp(500, 900) - 500;
    let worth_percent = DOUBTFUL_PERCENT - (DOUBTFUL_PERCENT - CERTAIN_PERCENT) * sureness / 400;
    let (_, line) = best(&|found, kept| {
        found * WHOLE / kept.max(1) + found * (WHOLE / 100 * worth_percent) / total.max(1)
    });
    (line - line % STEP).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::content::blocks::Tally;

    fn check(blocks: &[(u32, u32)], expected: u32) {
        let (likelihoods, blocks): (Vec<_>, Vec<_>) = blocks
            .iter()
            .map(|&(likelihood, words)| {
                let tally = Tally {
                    words,
                    ..Tally::default()
                };
                let block = TextBlock {
                    tally,
                    ..TextBlock::default()
                };
                (likelihood, block)
            })
            .unzip();
        assert_eq!(line(&blocks, &likelihoods), expected, "{likelihoods:?}");
    }

    #[test]
    fn the_line_is_where_keeping_more_costs_more_than_it_finds() {
        // An article: the doubtful block stays out.
        check(&[(9800, 300), (9700, 200), (3000, 100), (100, 50)], 9375);
        // All is doubtful: the threshold is lowered.
        check(&[(5000, 100), (3000, 100), (100, 100)], 2500);
        // Nothing is likely: all is kept, so that something is found.
        check(&[(1500, 100), (1400, 100), (200, 100)], 1);
        check(&[(3, 10)], 1);
        check(&[], CERTAIN);
    }
}
