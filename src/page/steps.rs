//! The steps of reading a page, each by itself, for the bench that says what each costs. A crawl
//! takes them all at once, in [`Page::parse_html`](super::Page::parse_html), and never comes here.

use std::hint::black_box;

use super::charset::Text;
use super::content::{chosen_blocks, headline, main_blocks, main_text, text};
use super::facts::{Base, links, metadata, wishes};
use super::html::{Outline, parse};
use super::options::PageOptions;
use super::{language, parts, refusal, shell};
use crate::url::{Identity, Url};

/// A step of reading a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// From text to a tree, which is dropped again.
    Tree,
    /// From the tree to a flat outline.
    Outline,
    /// The links: resolved, made canonical, and each target once.
    Links,
    /// All visible text.
    VisibleText,
    /// Blocks of text, and which of them are the content.
    Blocks,
    /// What of the page can be its own, line by line.
    Parts,
    /// The headline, and the main text from the chosen blocks.
    MainText,
    /// The language of the main text.
    Language,
    /// Title, metadata, wishes of robots, and whether it is a refusal or a shell of scripts.
    Facts,
}

impl Step {
    /// All steps, in the order in which they are taken.
    pub const ALL: [Self; 9] = [
        Self::Tree,
        Self::Outline,
        Self::Links,
        Self::VisibleText,
        Self::Blocks,
        Self::Parts,
        Self::MainText,
        Self::Language,
        Self::Facts,
    ];

    /// Takes the steps before this one, and passes its own work to `repeat`, which may do it any
    /// number of times.
    pub fn of_page(
        self,
        html: Text<'_>,
        url: &Url,
        identity: &Identity,
        options: &PageOptions,
        repeat: &mut dyn FnMut(&mut dyn FnMut()),
    ) {
        let Text {
            text: html,
            encoding,
        } = html;
        let html = &*html;
        if self == Self::Tree {
            return repeat(&mut || drop(black_box(parse(html, options))));
        }
        let (tree, mut notes) = parse(html, options);
        if self == Self::Outline {
            return repeat(&mut || drop(black_box(Outline::of(&tree))));
        }
        let outline = Outline::of(&tree);
        let base = Base::of(&outline, url, encoding);
        let links = links::collect(&outline, &base, identity, options, &mut notes);
        let sight = text::sight(&outline);
        let full = text::full(&outline, sight, options.max_text_bytes, &mut notes);
        let blocks = chosen_blocks(&outline);
        let title = metadata::title(&outline, options.max_title_bytes);
        let facts = metadata::metadata(&outline, &base, options.max_url_bytes);
        let main = || {
            let declared = headline::Declared {
                title: title.as_deref(),
                metadata: &facts,
            };
            let headline = headline::of(&outline, &blocks, &declared);
            let headline = headline.as_ref();
            let chosen = main_blocks(&outline, &blocks, headline);
            let max_bytes = options.max_text_bytes;
            main_text(&outline, &chosen, headline, full.len(), max_bytes)
        };
        match self {
            Self::Tree | Self::Outline => {}
            Self::Links => repeat(&mut || {
                let mut notes = Vec::new();
                let base = Base::of(&outline, url, encoding);
                let links = links::collect(&outline, &base, identity, options, &mut notes);
                drop(black_box(links));
            }),
            Self::VisibleText => repeat(&mut || {
                let mut notes = Vec::new();
                let sight = text::sight(&outline);
                let full = text::full(&outline, sight, options.max_text_bytes, &mut notes);
                drop(black_box(full));
            }),
            Self::Blocks => repeat(&mut || drop(black_box(chosen_blocks(&outline)))),
            Self::Parts => repeat(&mut || {
                let urls = (url, base.url());
                let mask = &options.line_mask;
                drop(black_box(parts::of_page(
                    &outline, &blocks, sight, urls, mask,
                )));
            }),
            Self::MainText => repeat(&mut || drop(black_box(main()))),
            Self::Language => {
                let main = main();
                repeat(&mut || {
                    black_box(language::detect(&main));
                });
            }
            Self::Facts => repeat(&mut || {
                black_box(metadata::language(&outline));
                let title = metadata::title(&outline, options.max_title_bytes);
                let facts = metadata::metadata(&outline, &base, options.max_url_bytes);
                black_box(refusal::refusal(&refusal::Asked {
                    html,
                    outline: &outline,
                    headlines: [title.as_deref(), facts.h1.as_deref()],
                    visible: &full,
                    links: &links,
                    url,
                }));
                black_box(shell::is_shell(&outline));
                black_box(metadata::canonical(&outline, &base, options.max_url_bytes));
                black_box(wishes::of_page(&outline, &options.product_token));
                black_box(metadata::neighbours(&outline, &base, options.max_url_bytes));
                drop(black_box((title, facts)));
            }),
        }
    }
}
