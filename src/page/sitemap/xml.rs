//! Markup to entries: one pass over the events of a forgiving XML reader, with a stack of the open
//! elements and one entry in progress. Elements are recognized by local name, in any case, and
//! position: a `loc` counts as a child of `url` with the same prefix, so that `image:loc` and
//! future extensions are not pages. Missing tags are implied: an entry ends where the next one or a
//! second address begins, an address without an entry is one, and so is an entry that is nothing
//! but its address. Entities declared by a file stay as they are written.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::errors::Error;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};

use super::entry::{Alternate, ChangeFrequency, EntryKind};
use super::input::{EarlyEnd, SitemapText};
use super::report::{Problem, SitemapForm};
use super::sink::{Draft, Sink};

/// Maximum number of open elements known by name; deeper ones are only counted. Sitemaps have 4.
const MAX_DEPTH: usize = 64;

/// Maximum length of a text in bytes; a longer one is not a URL.
const MAX_TEXT: usize = crate::url::MAX_LEN + 1;

/// Maximum length of a hint in bytes.
const MAX_HINT: usize = 100;

/// Reads to the end of the file, or until reading stops early.
pub(super) fn read(input: SitemapText<'_>, sink: &mut Sink<'_>) -> Option<EarlyEnd> {
    let mut reader = Reader::from_reader(input);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    config.expand_empty_elements = true;
    let mut state = State::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        reader.get_mut().begin_piece();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(tag)) => {
                if !state.start(&tag, sink) {
                    return None;
                }
            }
            Ok(Event::End(tag)) => state.end(tag.name().as_ref(), sink),
            Ok(Event::Text(text)) => state.text(&text),
            Ok(Event::CData(text)) => state.text(&text),
            Ok(Event::GeneralRef(reference)) => match reference.resolve_char_ref() {
                Ok(Some(character)) => state.text(character.encode_utf8(&mut [0; 4])),
                _ => match resolve_predefined_entity(&reference) {
                    Some(text) => state.text(text),
                    None => {
                        state.text("&");
                        state.text(&reference);
                        state.text(";");
                    }
                },
            },
            Ok(Event::Eof) => {
                state.finish(sink);
                return None;
            }
            Ok(_) => {}
            Err(Error::Io(error)) => {
                state.rescue(sink);
                return Some(reader.get_ref().stop(&error));
            }
            // The reader has skipped what it did not understand.
            Err(error @ Error::IllFormed(_)) => {
                let at = reader.error_position();
                sink.problem(Problem::Markup {
                    at,
                    reason: error.to_string(),
                });
            }
            // All of these are found at the end of the file.
            Err(error) => {
                let at = reader.error_position();
                state.rescue(sink);
                sink.problem(Problem::Markup {
                    at,
                    reason: error.to_string(),
                });
                return None;
            }
        }
    }
}

/// A field of an entry whose text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Address,
    /// An address without an entry.
    Bare(EntryKind),
    /// RSS: a URL, unless declared otherwise or another one is given.
    Guid,
    LastModified,
    ChangeFrequency,
    Priority,
}

#[derive(Debug)]
struct Open {
    name: Box<str>,
    field: Option<Field>,
}

#[derive(Debug, Default)]
struct State {
    form: Option<SitemapForm>,
    open: Vec<Open>,
    /// Number of open elements beyond [`MAX_DEPTH`].
    deeper: u64,
    /// The entry in progress, and the number of open elements including its own.
    draft: Option<(EntryKind, usize, Draft)>,
    /// The text of the innermost element, if it is a field.
    text: String,
    /// The text of the entry in progress outside all other elements.
    loose: String,
}

fn prefix(name: &str) -> &str {
    name.split_once(':').map_or("", |(prefix, _)| prefix)
}

fn local(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

/// The local name in lower case.
fn lower(name: &str) -> Cow<'_, str> {
    let local = local(name);
    match local.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => local.to_ascii_lowercase().into(),
        false => local.into(),
    }
}

fn have_one_prefix(a: &str, b: &str) -> bool {
    prefix(a).eq_ignore_ascii_case(prefix(b))
}

impl State {
    /// Returns whether to continue reading.
    fn start(&mut self, tag: &BytesStart<'_>, sink: &mut Sink<'_>) -> bool {
        let name = tag.name();
        let name: &str = name.as_ref();
        if self.deeper > 0 || self.open.len() == MAX_DEPTH {
            self.deeper += 1;
            return true;
        }
        if self.form.is_none() && !self.recognize(name, sink) {
            return false;
        }
        // A text element followed by another tag was not closed.
        if self.open.last().is_some_and(|open| open.field.is_some()) {
            self.close(self.open.len() - 1, sink);
        }
        if let Some(kind) = self.begins_entry(name) {
            if self.draft.is_some() {
                self.end_entry(sink);
            }
            if !sink.wants_more() {
                return false;
            }
            self.draft = Some((kind, self.open.len() + 1, Draft::default()));
            self.loose.clear();
        } else if self.is_second_address(name) {
            if !sink.wants_more() {
                return false;
            }
            self.begin_again(sink);
        }
        let field = self.field(name, tag, sink);
        if field.is_some() {
            self.text.clear();
        }
        let name = name.get(..MAX_HINT).unwrap_or(name);
        self.open.push(Open {
            name: name.into(),
            field,
        });
        true
    }

    /// Takes the form from the first element that reveals it.
    fn recognize(&mut self, name: &str, sink: &mut Sink<'_>) -> bool {
        self.form = match &*lower(name) {
            "urlset" | "url" => Some(SitemapForm::UrlSet),
            "sitemapindex" | "sitemap" => Some(SitemapForm::Index),
            "rss" => Some(SitemapForm::Rss),
            "rdf" => Some(SitemapForm::Rdf),
            "feed" => Some(SitemapForm::Atom),
            _ => None,
        };
        sink.report.form = self.form;
        if self.form.is_none() {
            let name: String = name.chars().take(MAX_HINT).collect();
            sink.problem(Problem::NoSitemap(format!("it begins with <{name}>")));
        }
        self.form.is_some()
    }

    /// Whether this element is an entry: it has the right name and is not an extension within
    /// another entry.
    fn begins_entry(&self, name: &str) -> Option<EntryKind> {
        let kind = match (self.form?, &*lower(name)) {
            (SitemapForm::UrlSet | SitemapForm::Index, "url")
            | (SitemapForm::Rss | SitemapForm::Rdf, "item")
            | (SitemapForm::Atom, "entry") => EntryKind::Page,
            (SitemapForm::UrlSet | SitemapForm::Index, "sitemap") => EntryKind::Sitemap,
            _ => return None,
        };
        let is_ours = match self.form? {
            // The items of RDF have no prefix, unlike its root.
            SitemapForm::Rdf => true,
            _ => self.has_prefix_of_root(name),
        };
        is_ours.then_some(kind)
    }

    fn has_prefix_of_root(&self, name: &str) -> bool {
        let root = self.open.first().map_or(name, |open| &open.name);
        have_one_prefix(root, name)
    }

    /// Whether this element is another address of the entry in progress: its end tag, and the begin
    /// tag of the next one, are missing.
    fn is_second_address(&self, name: &str) -> bool {
        let is_list = matches!(self.form, Some(SitemapForm::UrlSet | SitemapForm::Index));
        let Some((_, depth, draft)) = &self.draft else {
            return false;
        };
        is_list
            && draft.address.is_some()
            && self.open.len() == *depth
            && lower(name) == "loc"
            && self.has_prefix_of_root(name)
    }

    /// Passes on the entry in progress, and begins another one in the same element.
    fn begin_again(&mut self, sink: &mut Sink<'_>) {
        if let Some((kind, depth, _)) = self.draft {
            self.entry(sink);
            self.draft = Some((kind, depth, Draft::default()));
        }
    }

    /// The kind of entry that this element is if it is an address without an entry.
    fn bare_address(&self, name: &str) -> Option<EntryKind> {
        let kind = match self.form? {
            SitemapForm::UrlSet => EntryKind::Page,
            SitemapForm::Index => EntryKind::Sitemap,
            _ => return None,
        };
        let is_child_of_root = self.open.len() == 1;
        let is_bare = is_child_of_root && lower(name) == "loc" && self.has_prefix_of_root(name);
        is_bare.then_some(kind)
    }

    /// The field of the entry that this element is. Fields that consist of attributes are read
    /// here.
    fn field(&mut self, name: &str, tag: &BytesStart<'_>, sink: &mut Sink<'_>) -> Option<Field> {
        if self.draft.is_none() {
            return self.bare_address(name).map(Field::Bare);
        }
        let (_, depth, draft) = self.draft.as_mut()?;
        if self.open.len() != *depth {
            return None;
        }
        let is_ours = self
            .open
            .last()
            .is_some_and(|entry| have_one_prefix(&entry.name, name));
        let form = self.form?;
        match (form, &*lower(name)) {
            (SitemapForm::UrlSet | SitemapForm::Index, local) => match local {
                "loc" if is_ours => Some(Field::Address),
                "lastmod" if is_ours => Some(Field::LastModified),
                "changefreq" if is_ours => Some(Field::ChangeFrequency),
                "priority" if is_ours => Some(Field::Priority),
                "link" if draft.alternates.len() < sink.options.max_alternates => {
                    draft.alternates.extend(alternate(tag, sink));
                    None
                }
                _ => None,
            },
            (SitemapForm::Rss | SitemapForm::Rdf, local) => match local {
                "link" if is_ours => Some(Field::Address),
                "guid" if is_ours => {
                    let is_address = attribute(tag, "isPermaLink").as_deref() != Some("false");
                    is_address.then_some(Field::Guid)
                }
                "pubdate" if is_ours => Some(Field::LastModified),
                "date" if draft.last_modified.is_none() => Some(Field::LastModified),
                _ => None,
            },
            (SitemapForm::Atom, "link") if is_ours => {
                let is_page = attribute(tag, "rel").is_none_or(|rel| rel == "alternate");
                if is_page && draft.address.is_none() {
                    draft.address = attribute(tag, "href").map(|it| it.trim().to_owned());
                }
                None
            }
            (SitemapForm::Atom, "updated") if is_ours => Some(Field::LastModified),
            (SitemapForm::Atom, "published") if is_ours && draft.last_modified.is_none() => {
                Some(Field::LastModified)
            }
            _ => None,
        }
    }

    fn text(&mut self, text: &str) {
        let is_field = self.open.last().is_some_and(|open| open.field.is_some());
        let is_entry = |(_, depth, draft): &(EntryKind, usize, Draft)| {
            *depth == self.open.len() && draft.address.is_none()
        };
        let whole = match &self.draft {
            _ if self.deeper > 0 => return,
            _ if is_field => &mut self.text,
            Some(draft) if is_entry(draft) => &mut self.loose,
            _ => return,
        };
        let room = MAX_TEXT.saturating_sub(whole.len());
        let end = text.floor_char_boundary(room.min(text.len()));
        whole.push_str(&text[..end]);
    }

    fn end(&mut self, name: &str, sink: &mut Sink<'_>) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let name = name.get(..MAX_HINT).unwrap_or(name);
        let mut open = self.open.iter();
        if let Some(at) = open.rposition(|open| open.name.eq_ignore_ascii_case(name)) {
            self.close(at, sink);
        }
    }

    /// Closes the element at this position of the stack and those within it.
    fn close(&mut self, at: usize, sink: &mut Sink<'_>) {
        while self.open.len() > at {
            let Some(Open {
                field: Some(field), ..
            }) = self.open.pop()
            else {
                let is_entry = |depth: usize| self.open.len() + 1 == depth;
                if self
                    .draft
                    .as_ref()
                    .is_some_and(|(_, depth, _)| is_entry(*depth))
                {
                    self.entry(sink);
                }
                continue;
            };
            match field {
                Field::Bare(kind) => self.bare_entry(kind, sink),
                field => self.set(field),
            }
        }
    }

    /// Passes on the address that is an entry by itself.
    fn bare_entry(&mut self, kind: EntryKind, sink: &mut Sink<'_>) {
        let address = Some(self.text.trim().to_owned()).filter(|it| !it.is_empty());
        if address.is_some() && sink.wants_more() {
            let draft = Draft {
                address,
                ..Draft::default()
            };
            sink.entry(kind, draft);
        }
    }

    /// An entry that is not closed ends where the next one begins.
    fn end_entry(&mut self, sink: &mut Sink<'_>) {
        if let Some((_, depth, _)) = &self.draft {
            self.close(depth - 1, sink);
        }
    }

    /// Stores the text of a field in the entry.
    fn set(&mut self, field: Field) {
        let Some((_, _, draft)) = &mut self.draft else {
            return;
        };
        let text = self.text.trim();
        let hint = || {
            let text = &text[..text.floor_char_boundary(MAX_HINT.min(text.len()))];
            (!text.is_empty()).then(|| text.to_owned())
        };
        match field {
            Field::Bare(_) => {}
            Field::Address if text.is_empty() => {}
            // The first address counts, and a link is preferred to a mere identifier.
            Field::Address => {
                draft.address.get_or_insert_with(|| text.to_owned());
            }
            Field::Guid => {
                draft.identifier = Some(text.to_owned()).filter(|it| it.contains("://"));
            }
            Field::LastModified => draft.last_modified = hint(),
            Field::ChangeFrequency => draft.change_frequency = ChangeFrequency::parse(text),
            Field::Priority => {
                let number = text.parse().ok();
                draft.priority = number.filter(|it| (0.0..=1.0).contains(it));
            }
        }
    }

    /// Passes on the entry in progress, if there is one.
    fn entry(&mut self, sink: &mut Sink<'_>) {
        if let Some((kind, _, mut draft)) = self.draft.take() {
            let is_list = matches!(self.form, Some(SitemapForm::UrlSet | SitemapForm::Index));
            let loose = self.loose.trim();
            let loose = (is_list && loose.contains("://")).then(|| loose.to_owned());
            draft.address = draft.address.or(draft.identifier.take()).or(loose);
            self.loose.clear();
            sink.entry(kind, draft);
        }
    }

    /// Passes on the entry in progress if its address was read. A text that was not closed may be
    /// incomplete and is dropped.
    fn rescue(&mut self, sink: &mut Sink<'_>) {
        let has_address = |draft: &Draft| draft.address.is_some() || draft.identifier.is_some();
        if self
            .draft
            .as_ref()
            .is_some_and(|(_, _, draft)| has_address(draft))
        {
            self.entry(sink);
        }
    }

    /// Handles the end of the file.
    fn finish(&mut self, sink: &mut Sink<'_>) {
        let inside = self.open.last().map(|open| format!("<{}>", open.name));
        self.rescue(sink);
        if let Some(inside) = inside {
            sink.problem(Problem::Truncated(inside));
        } else if self.form.is_none() {
            sink.problem(Problem::NoSitemap("it has no element".to_owned()));
        }
    }
}

/// The alternate declared by an `xhtml:link`, if it is one.
fn alternate(tag: &BytesStart<'_>, sink: &mut Sink<'_>) -> Option<Alternate> {
    let language = attribute(tag, "hreflang").filter(|it| it.len() <= MAX_HINT)?;
    let rel = attribute(tag, "rel")?;
    if !rel
        .split_ascii_whitespace()
        .any(|it| it.eq_ignore_ascii_case("alternate"))
    {
        return None;
    }
    let url = sink.url(attribute(tag, "href")?.trim())?;
    Some(Alternate { language, url })
}

/// The value of an attribute, whatever its prefix. Unknown entities stay as they are written.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = tag.html_attributes();
    let attributes = attributes.with_checks(false);
    let found = attributes
        .flatten()
        .find(|attribute| local(attribute.key.as_ref()).eq_ignore_ascii_case(name))?;
    let value = unescape(&found.value);
    Some(value.map_or_else(|_| found.value.to_string(), Cow::into_owned))
}
