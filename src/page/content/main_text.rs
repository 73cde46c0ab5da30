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

/// What finding all of the content is worth beside keeping nothing else, in millionths: on pages
/// that promise an F-measure of half or less, and on those that promise nine tenths or more. In
/// between it falls linearly. Chosen by cross-validation on the training pages.
const WORTH_DOUBTFUL: u64 = 1_000_000;
const WORTH_CERTAIN: u64 = 500_000;

/// What choices may promise less than the best one and are still as good, in millionths of its
/// measure: of these, the one is taken that a small change elsewhere on the page is least likely to
/// move. Chosen like the others.
const AS_GOOD: u64 = 3_000;

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
/// F-measure (Nan et al., "Optimizing F-measure: a tale of two approaches", ICML 2012). What a k is
/// worth is the sum of precision and weighted recall. The F-measure itself says less: benchmarks
/// take the means of both over their pages, and a sum of means is a mean of sums. Of the k that are
/// worth nearly as much as the best, the line is where the next block is least like the last one.
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
    // What is expected among the first k, and what is kept with them.
    let sums = order.iter().scan((0, 0), |(found, kept), block| {
        *found += expected(block);
        *kept += u64::from(block.1);
        Some((*found, certain(*kept)))
    });
    let f_measures = sums
        .clone()
        .map(|(found, kept)| 2 * found * WHOLE / (kept + total).max(1));
    let (half, most) = (WHOLE / 2, WHOLE * 9 / 10);
    let beyond_half = f_measures.max().unwrap_or(0).clamp(half, most) - half;
    let recall = WORTH_DOUBTFUL - (WORTH_DOUBTFUL - WORTH_CERTAIN) * beyond_half / (most - half);
    let worth =
        |(found, kept): (u64, u64)| found * WHOLE / kept.max(1) + found * recall / total.max(1);
    let least = sums
        .clone()
        .map(worth)
        .max()
        .unwrap_or(0)
        .saturating_sub(AS_GOOD);
    // Nothing is behind the last one, which is taken for as likely as not.
    let next = order.iter().skip(1).map(|block| block.0);
    let behind = next.chain([CERTAIN / 2]);
    let cuts = order.iter().map(|block| block.0).zip(behind);
    let as_good = cuts.zip(sums).filter(|(_, sums)| worth(*sums) >= least);
    // Of drops that are as great, the first.
    let widest =
        as_good.min_by_key(|((last, next), _)| std::cmp::Reverse(odds_ratio(*last, *next)));
    widest.map_or(CERTAIN, |((last, _), _)| last.max(1))
}

/// How many times as great the odds of one likelihood are as those of another, in thousandths.
/// Nothing is taken for more certain than one in a thousand is.
fn odds_ratio(one: u32, other: u32) -> u64 {
    let (least, most) = (CERTAIN / 1000, CERTAIN - CERTAIN / 1000);
    let [one, other] = [one, other].map(|it| it.clamp(least, most));
    let odds = |it: u32| (u64::from(it), u64::from(CERTAIN - it));
    let ((yes, no), (other_yes, other_no)) = (odds(one), odds(other));
    1000 * yes * other_no / (no * other_yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::content::blocks::Tally;

    fn line_of(blocks: &[(u32, u32)]) -> u32 {
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
        line(&blocks, &likelihoods)
    }

    #[test]
    fn the_line_is_where_keeping_more_costs_more_than_it_finds() {
        // An article: the doubtful block stays out.
        assert_eq!(
            line_of(&[(9800, 300), (9700, 200), (3000, 100), (100, 50)]),
            9700
        );
        // All is doubtful: the threshold is lowered.
        assert_eq!(line_of(&[(5000, 100), (3000, 100), (100, 100)]), 3000);
        // Nothing is likely: all is kept, so that something is found.
        assert_eq!(line_of(&[(1500, 100), (1400, 100), (200, 100)]), 200);
        assert_eq!(line_of(&[(3, 10)]), 3);
        assert_eq!(line_of(&[(0, 10)]), 1);
        assert_eq!(line_of(&[]), CERTAIN);
    }

    #[test]
    fn small_changes_elsewhere_do_not_move_the_line() {
        // A few words that may belong to it or not are worth little either way.
        for likelihood in [6000, 6500, 7000] {
            for outside in [500, 1000, 1500] {
                let doubtful = [0, 100, 200].map(|less| (likelihood - less, 2));
                let [a, b, c] = doubtful;
                assert_eq!(line_of(&[(9900, 500), a, b, c, (outside, 2)]), 9900);
            }
        }
        // So is what may be an entry of a menu.
        assert_eq!(line_of(&[(9500, 400), (6000, 1)]), 9500);
        // A paragraph that is worth it is kept.
        assert_eq!(line_of(&[(9900, 500), (7000, 40), (900, 2)]), 7000);
    }

    /// The weight of recall has no steps: a whole percent of it decides more than what is as good.
    #[test]
    fn the_line_is_that_of_the_training() {
        assert_eq!(
            line_of(&[(9987, 94), (295, 78), (9985, 13), (5741, 156)]),
            9985
        );
    }

    #[test]
    fn odds_are_compared_without_overflow() {
        assert_eq!(odds_ratio(CERTAIN, 0), 998_001_000);
        assert_eq!(odds_ratio(CERTAIN / 2, CERTAIN / 2), 1000);
        assert_eq!(odds_ratio(0, 0), 1000);
    }
}
