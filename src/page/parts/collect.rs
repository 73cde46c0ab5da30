//! Collects the parts of a page in one walk over its blocks and elements.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::address::Addresses;
use super::domain_label::DomainLabel;
use super::echo::Echo;
use super::fold::{LineWriter, without_digits};
use super::layout::layout;
use super::line::{Line, MAX_LINES, Parts, Role};
use super::media::{Said, said};
use super::state;
use crate::page::LineMask;
use crate::page::content::TextBlock;
use crate::page::html::{Break, Outline, Sight, Tag};
use crate::url::Url;

/// What stands between the parts of a title.
const APART: [&str; 10] = ["|", "-", "–", "—", "·", "•", "::", "»", "«", "/"];

/// The parts of an HTML page. `sight` is what counts as visible; `base` is what references are
/// relative to. Returns too whether scripts carry content of the page as data.
pub(crate) fn of_page(
    outline: &Outline<'_>,
    blocks: &[TextBlock],
    sight: Sight,
    (url, base): (&Url, &Url),
    mask: &LineMask,
) -> (Parts, bool) {
    let echo = Echo::of(url);
    let mut collector = Collector {
        outline,
        sight,
        writer: LineWriter::new(&echo, mask),
        addresses: Addresses::new(url, base),
        label: DomainLabel::of(url),
        room: Vec::new(),
        parts: Parts {
            layout: layout(outline),
            ..Parts::default()
        },
    };
    collector.title();
    let mut elements = outline.elements.iter().enumerate().peekable();
    for block in blocks {
        while let Some((index, item)) = elements.next_if(|(_, it)| it.texts.0 <= block.texts.0) {
            if item.tag == Tag::H1 {
                collector.headline(index);
            }
            collector.element(index);
        }
        collector.block(block);
        if collector.parts.is_cut {
            break;
        }
    }
    for (index, item) in elements {
        if item.tag == Tag::H1 {
            collector.headline(index);
        }
        collector.element(index);
    }
    let mut has_content = false;
    for data in outline.data.iter().chain(&outline.states) {
        has_content |= state::each_object(data, &mut collector.writer, |line| {
            push(&mut collector.parts, Some(line));
        });
    }
    (collector.parts, has_content)
}

/// The parts of a plain text: its rows.
pub(crate) fn of_text(text: &str, url: Option<&Url>, mask: &LineMask) -> Parts {
    let echo = url.map(Echo::of).unwrap_or_default();
    let mut writer = LineWriter::new(&echo, mask);
    let mut parts = Parts::default();
    for row in text.lines() {
        writer.push(row);
        push(&mut parts, writer.finish(Role::Main));
    }
    parts
}

struct Collector<'a, 'p> {
    outline: &'a Outline<'p>,
    sight: Sight,
    writer: LineWriter<'a>,
    addresses: Addresses<'a>,
    label: DomainLabel,
    room: Vec<u8>,
    parts: Parts,
}

impl<'a> Collector<'a, '_> {
    fn push(&mut self, line: Option<Line>) {
        push(&mut self.parts, line);
    }

    /// The first `<title>`, which is not among the visible blocks, without the part that names the
    /// site, if that is known by the name of the host.
    fn title(&mut self) {
        let title = self.outline.declared(Tag::Title).next();
        let Some((index, _)) = title else { return };
        let words = self.words(index);
        for part in words.split(|word| APART.contains(word)) {
            if self.label.is_name(part) {
                continue;
            }
            for word in part {
                self.writer.separate();
                self.writer.push(word);
            }
            let part = self.writer.finish(Role::Title);
            self.push(part);
        }
    }

    /// Takes the first `<h1>` with text as headline, unless it names the site.
    fn headline(&mut self, index: usize) {
        if self.parts.headline.is_none() && !self.label.is_name(&self.words(index)) {
            self.texts(index);
            let line = self.writer.finish(Role::Headline);
            self.parts.headline = line.map(|line| line.hash);
        }
    }

    /// The words of an element.
    fn words(&self, index: usize) -> Vec<&'a str> {
        let texts = self.outline.texts_of(index).iter();
        let words = texts.flat_map(|text| text.characters.split_whitespace());
        words.collect()
    }

    /// Writes all texts of an element.
    fn texts(&mut self, index: usize) {
        let outline = self.outline;
        for text in outline.texts_of(index) {
            if text.before > Break::None {
                self.writer.separate();
            }
            self.writer.push(text.characters);
        }
    }

    fn block(&mut self, block: &TextBlock) {
        let outline = self.outline;
        let Some(least) = block.sight else { return };
        if least > self.sight && !block.is_main {
            return;
        }
        let sight = least.max(self.sight);
        let owner = outline.elements.get(block.owner);
        let role = match owner.map(|item| item.tag) {
            Some(Tag::H1) if !self.label.is_name(&self.words(block.owner)) => Role::Headline,
            _ if block.is_main && block.is_link() => Role::Link,
            _ if block.is_main => Role::Main,
            _ => Role::Frame,
        };
        let is_link = block.is_mostly_links();
        let texts = outline.texts.get(block.texts.0..block.texts.1);
        for text in texts.unwrap_or_default() {
            if text.before > Break::None {
                self.writer.separate();
            }
            if text.sight > sight {
                continue;
            }
            if !text.preformatted {
                self.writer.push(text.characters);
                continue;
            }
            for (at, row) in text.characters.split('\n').enumerate() {
                if at > 0 {
                    let line = self.writer.finish(role);
                    self.push(line.map(|line| Line { is_link, ..line }));
                }
                self.writer.push(row);
            }
        }
        let line = self.writer.finish(role);
        self.push(line.map(|line| Line { is_link, ..line }));
    }

    /// What an element without text says.
    fn element(&mut self, index: usize) {
        let outline = self.outline;
        let Some(item) = outline.elements.get(index) else {
            return;
        };
        let Some(said) = said(outline, item) else {
            return;
        };
        // Films and lists of options have no visible text of their own.
        let parent = outline.elements.get(item.parent);
        let around = parent.map_or(Sight::Shown, |it| it.sight);
        let is_seen = around <= self.sight
            || matches!(
                parent.map(|it| it.tag),
                Some(Tag::Video | Tag::Audio | Tag::Select | Tag::Optgroup)
            );
        if !is_seen || item.traits.is_hidden() && self.sight < Sight::Hidden {
            return;
        }
        match said {
            Said::Image(address, alternative) => self.image(address, alternative),
            Said::Value(value) => {
                self.writer.push(value);
                self.value();
            }
            Said::Texts => {
                self.texts(index);
                self.value();
            }
        }
    }

    fn value(&mut self) {
        let line = self.writer.finish(Role::Form);
        self.push(line.map(|line| Line {
            words: line.words.max(1),
            ..line
        }));
    }

    fn image(&mut self, address: &str, alternative: &str) {
        // Of a logo, the name of the site says nothing.
        let words = alternative.split_whitespace().collect::<Vec<_>>();
        if !self.label.is_name(&words) {
            self.writer.push(alternative);
        }
        let text = self.writer.finish(Role::Image);
        let Some((key, written)) = self.addresses.key(address) else {
            return;
        };
        let [seed, masked_seed, letters_seed] =
            text.map_or([0; 3], |line| [line.hash, line.masked, line.letters]);
        let hash = xxh3_64_with_seed(key.as_bytes(), seed);
        let masked = match written {
            Some(written) => xxh3_64_with_seed(written.as_bytes(), masked_seed),
            None => xxh3_64_with_seed(key.as_bytes(), masked_seed),
        };
        let letters = without_digits(key.as_bytes(), letters_seed, &mut self.room);
        self.push(Some(Line {
            hash,
            masked,
            letters,
            sum: 0,
            words: text.map_or(1, |line| line.words.max(1)),
            role: Role::Image,
            is_link: false,
        }));
    }
}

/// Adds a line, if there is room.
fn push(parts: &mut Parts, line: Option<Line>) {
    let Some(line) = line else { return };
    if parts.lines.len() < MAX_LINES {
        parts.lines.push(line);
    } else {
        parts.is_cut = true;
    }
}
