//! The training data of the model: blocks with their features and the class words around them.
//!
//! Used by the training script in `benches/` only, never by a crawl.

use super::text::Writer;
use super::{blocks, features, headline};
use crate::page::facts::{Base, metadata};
use crate::page::html::{Outline, Sight, each_word_of, parse};
use crate::page::options::PageOptions;
use crate::url;

/// One block of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudiedBlock {
    /// Its text with white space collapsed.
    pub text: String,
    /// Its features in the order of [`feature_names`].
    pub features: Vec<i16>,
    /// The words in class, id, role and item property of all elements around it.
    pub class_words: Vec<String>,
    /// Whether it is of the headline, as that is told when nothing is chosen yet: what one model
    /// chose has no part in what the next one learns from.
    pub is_headline: bool,
}

/// The names of the features.
pub fn feature_names() -> &'static [&'static str] {
    &features::NAMES
}

/// The blocks of a page in document order.
pub fn study(html: &str, options: &PageOptions) -> Vec<StudiedBlock> {
    let (tree, _) = parse(html, options);
    let outline = Outline::of(&tree);
    let (blocks, sums) = blocks::of(&outline);
    let table = features::of(&outline, &blocks, &sums);
    let features = |at: usize| {
        let features = 0..features::NAMES.len();
        let value = |feature| table.value(at, feature);
        features.map(value).collect()
    };
    // Where the page is has no part in what its headline is.
    let Ok(url) = url::parse("https://example.org/") else {
        return Vec::new();
    };
    let base = Base::at(url, encoding_rs::UTF_8);
    let title = metadata::title(&outline, options.max_title_bytes);
    let declared = headline::Declared {
        title: title.as_deref(),
        metadata: &metadata::metadata(&outline, &base, options.max_url_bytes),
    };
    let headline = headline::of(&outline, &blocks, &declared);
    let study = |(at, block): (usize, &blocks::TextBlock)| {
        let mut writer = Writer::new(options.max_text_bytes);
        for text in &outline.texts[block.texts.0..block.texts.1] {
            writer.separate(text.before);
            if text.sight < Sight::Never {
                writer.push(text.characters, text.preformatted);
            }
        }
        let mut class_words = Vec::new();
        let mut up = block.inner;
        loop {
            let item = &outline.elements[up];
            each_word_of(item.element, |word| class_words.push(word.to_owned()));
            if item.parent == up {
                break;
            }
            up = item.parent;
        }
        StudiedBlock {
            text: writer.text,
            features: features(at),
            class_words,
            is_headline: (headline.as_ref()).is_some_and(|it| it.contains(&outline, block)),
        }
    };
    blocks.iter().enumerate().map(study).collect()
}
