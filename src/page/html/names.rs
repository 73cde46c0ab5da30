//! The names of elements for which building a tree has rules of its own (HTML standard, section
//! 13.2.6), in the groups that these rules name. It knows nothing about pages.

use html5ever::LocalName;

use super::tag::Tag;

/// What the rules do with the tags of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    A,
    /// Laid out as a block; closes a paragraph.
    Block,
    Body,
    Br,
    Button,
    Caption,
    /// `td`, `th`.
    Cell,
    Col,
    Colgroup,
    /// `dd`, `dt`.
    Dd,
    Form,
    /// `b`, `i` and the like, which are opened anew where they were not closed.
    Format,
    Frameset,
    Head,
    Heading,
    Hr,
    Html,
    /// `image`, which stands for `img`.
    Image,
    Input,
    Li,
    /// `applet`, `marquee`, `object`: formatting ends at their edges.
    Marked,
    /// `math`.
    Math,
    /// What stands in a head and has no contents.
    Meta,
    Nobr,
    Noframes,
    Noscript,
    Optgroup,
    Option,
    /// Everything else.
    Ordinary,
    P,
    /// `param`, `source`, `track`.
    Param,
    Plaintext,
    Pre,
    /// `rb`, `rtc`.
    Rb,
    /// `rp`, `rt`.
    Rp,
    Row,
    Ruby,
    Rtc,
    Script,
    /// `tbody`, `tfoot`, `thead`.
    Section,
    Select,
    Style,
    Svg,
    Table,
    Template,
    Textarea,
    Title,
    /// `frame`, which counts in a frame set only.
    Unplaced,
    /// `iframe`, `noembed`.
    Unread,
    /// Elements without contents that stand in a text.
    Void,
    Xmp,
    /// An element that is no longer open, although others that stand in it are.
    Gone,
}

/// Sets of elements that the rules name.
pub(super) mod set {
    /// "Special".
    pub(in crate::page::html) const SPECIAL: u16 = 1;
    /// What bounds a scope.
    pub(in crate::page::html) const SCOPE: u16 = 1 << 1;
    /// What else bounds the scope of list items.
    pub(in crate::page::html) const LISTS: u16 = 1 << 2;
    /// What else bounds the scope of paragraphs.
    pub(in crate::page::html) const BUTTONS: u16 = 1 << 3;
    /// What bounds the scope of the parts of tables.
    pub(in crate::page::html) const TABLES: u16 = 1 << 4;
    /// What is closed where something around it is.
    pub(in crate::page::html) const IMPLIED: u16 = 1 << 5;
    /// Headings.
    pub(in crate::page::html) const HEADINGS: u16 = 1 << 6;
    /// Cells of tables.
    pub(in crate::page::html) const CELLS: u16 = 1 << 7;
    /// Within these, text has no place.
    pub(in crate::page::html) const WITHOUT_TEXT: u16 = 1 << 8;
    /// What a row stands in.
    pub(in crate::page::html) const AROUND_ROWS: u16 = 1 << 9;
    /// What a cell stands in.
    pub(in crate::page::html) const AROUND_CELLS: u16 = 1 << 10;
}

/// A name, as one page uses it.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) local: LocalName,
    pub(super) tag: Tag,
    pub(super) kind: Kind,
    /// The sets of [`set`] that it is in.
    pub(super) sets: u16,
}

impl Name {
    pub(super) fn of(local: LocalName) -> Self {
        let known = KNOWN.binary_search_by_key(&&*local, |(name, _, _)| name);
        let (kind, sets) = known.map_or((Kind::Ordinary, 0), |at| (KNOWN[at].1, KNOWN[at].2));
        Self {
            tag: Tag::of(&local),
            local,
            kind,
            sets,
        }
    }
}

/// Name, kind and sets; sorted by name.
#[rustfmt::skip]
static KNOWN: [(&str, Kind, u16); KNOWN_NAMES] = {
    use Kind as K;
    use set::{
        AROUND_CELLS, AROUND_ROWS, BUTTONS, CELLS, HEADINGS, IMPLIED, LISTS, SCOPE, SPECIAL, TABLES,
        WITHOUT_TEXT,
    };
    [
    ("a", K::A, 0), ("address", K::Block, SPECIAL), ("applet", K::Marked, SPECIAL | SCOPE), ("area", K::Void, SPECIAL),
    ("article", K::Block, SPECIAL), ("aside", K::Block, SPECIAL), ("b", K::Format, 0), ("base", K::Meta, SPECIAL),
    ("basefont", K::Meta, SPECIAL), ("bgsound", K::Meta, SPECIAL), ("big", K::Format, 0),
    ("blockquote", K::Block, SPECIAL), ("body", K::Body, SPECIAL), ("br", K::Br, SPECIAL),
    ("button", K::Button, SPECIAL | BUTTONS), ("caption", K::Caption, SPECIAL | SCOPE), ("center", K::Block, SPECIAL),
    ("code", K::Format, 0), ("col", K::Col, SPECIAL), ("colgroup", K::Colgroup, SPECIAL),
    ("dd", K::Dd, SPECIAL | IMPLIED), ("details", K::Block, SPECIAL), ("dialog", K::Block, 0), ("dir", K::Block, SPECIAL),
    ("div", K::Block, SPECIAL), ("dl", K::Block, SPECIAL), ("dt", K::Dd, SPECIAL | IMPLIED), ("em", K::Format, 0),
    ("embed", K::Void, SPECIAL), ("fieldset", K::Block, SPECIAL), ("figcaption", K::Block, SPECIAL),
    ("figure", K::Block, SPECIAL), ("font", K::Format, 0), ("footer", K::Block, SPECIAL), ("form", K::Form, SPECIAL),
    ("frame", K::Unplaced, SPECIAL), ("frameset", K::Frameset, SPECIAL), ("h1", K::Heading, SPECIAL | HEADINGS),
    ("h2", K::Heading, SPECIAL | HEADINGS), ("h3", K::Heading, SPECIAL | HEADINGS),
    ("h4", K::Heading, SPECIAL | HEADINGS), ("h5", K::Heading, SPECIAL | HEADINGS),
    ("h6", K::Heading, SPECIAL | HEADINGS), ("head", K::Head, SPECIAL), ("header", K::Block, SPECIAL),
    ("hgroup", K::Block, SPECIAL), ("hr", K::Hr, SPECIAL),
    ("html", K::Html, SPECIAL | SCOPE | TABLES | AROUND_ROWS | AROUND_CELLS), ("i", K::Format, 0),
    ("iframe", K::Unread, SPECIAL), ("image", K::Image, 0), ("img", K::Void, SPECIAL), ("input", K::Input, SPECIAL),
    ("isindex", K::Ordinary, SPECIAL), ("keygen", K::Void, 0), ("li", K::Li, SPECIAL | IMPLIED), ("link", K::Meta, SPECIAL),
    ("listing", K::Pre, SPECIAL), ("main", K::Block, SPECIAL), ("marquee", K::Marked, SPECIAL | SCOPE),
    ("math", K::Math, 0), ("menu", K::Block, SPECIAL), ("meta", K::Meta, SPECIAL), ("nav", K::Block, SPECIAL),
    ("nobr", K::Nobr, 0), ("noembed", K::Unread, SPECIAL), ("noframes", K::Noframes, SPECIAL),
    ("noscript", K::Noscript, SPECIAL), ("object", K::Marked, SPECIAL | SCOPE), ("ol", K::Block, SPECIAL | LISTS),
    ("optgroup", K::Optgroup, IMPLIED), ("option", K::Option, IMPLIED), ("p", K::P, SPECIAL | IMPLIED),
    ("param", K::Param, SPECIAL), ("plaintext", K::Plaintext, SPECIAL), ("pre", K::Pre, SPECIAL), ("rb", K::Rb, IMPLIED),
    ("rp", K::Rp, IMPLIED), ("rt", K::Rp, IMPLIED), ("rtc", K::Rtc, IMPLIED), ("ruby", K::Ruby, 0), ("s", K::Format, 0),
    ("script", K::Script, SPECIAL), ("search", K::Block, 0), ("section", K::Block, SPECIAL),
    ("select", K::Select, SPECIAL | SCOPE), ("small", K::Format, 0), ("source", K::Param, SPECIAL),
    ("strike", K::Format, 0), ("strong", K::Format, 0), ("style", K::Style, SPECIAL), ("summary", K::Block, SPECIAL),
    ("svg", K::Svg, 0), ("table", K::Table, SPECIAL | SCOPE | TABLES | WITHOUT_TEXT),
    ("tbody", K::Section, SPECIAL | WITHOUT_TEXT | AROUND_ROWS), ("td", K::Cell, SPECIAL | SCOPE | CELLS),
    ("template", K::Template, SPECIAL | SCOPE | TABLES | AROUND_ROWS | AROUND_CELLS), ("textarea", K::Textarea, SPECIAL),
    ("tfoot", K::Section, SPECIAL | WITHOUT_TEXT | AROUND_ROWS), ("th", K::Cell, SPECIAL | SCOPE | CELLS),
    ("thead", K::Section, SPECIAL | WITHOUT_TEXT | AROUND_ROWS), ("title", K::Title, SPECIAL),
    ("tr", K::Row, SPECIAL | WITHOUT_TEXT | AROUND_CELLS), ("track", K::Param, SPECIAL), ("tt", K::Format, 0),
    ("u", K::Format, 0), ("ul", K::Block, SPECIAL | LISTS), ("wbr", K::Void, SPECIAL), ("xmp", K::Xmp, SPECIAL),
    ]
};

/// Number of names that the rules know.
const KNOWN_NAMES: usize = 109;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_sorted() {
        assert!(KNOWN.is_sorted_by(|one, other| one.0 < other.0));
    }
}
