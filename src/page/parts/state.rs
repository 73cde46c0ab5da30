//! Data in scripts (JSON-LD, the state of an application) as lines: one for every object or list
//! with values of its own.
//!
//! The text is not parsed as JSON, because much of it is not: it is broken somewhere, or it is the
//! program that makes the object. Strings and numbers are read with the key before them, whatever
//! stands around. So the same data gives the same lines in any order of its keys, and what changes
//! at every visit (a number of the request, the time) changes only the object that it is in.
//! Values under keys that name tokens and times of the request are left out.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use super::fold::LineWriter;
use super::line::{Line, Role};

/// Maximum number of bytes that are read of one script, and of nested ones in it.
const MAX_BYTES: usize = 1 << 20;

/// Maximum number of objects within one another; deeper ones count as part of the one around.
const MAX_DEPTH: usize = 64;

/// Passes on a line for every object or list of a script that has values of its own. Returns
/// whether the script carries content of the page.
pub(super) fn each_object(
    script: &str,
    writer: &mut LineWriter<'_>,
    mut each: impl FnMut(Line),
) -> bool {
    let mut reader = Reader {
        writer,
        levels: vec![Level::default()],
        deeper: 0,
        named: 0,
    };
    // The name that the data is assigned to may be written as a string.
    let begins_with_name = script.trim_start().starts_with(char::is_alphabetic);
    let named = script.split_once('=').filter(|_| begins_with_name);
    let data = named.map_or(script, |(_, data)| data);
    reader.read(data, &mut each, true);
    while let Some(level) = reader.levels.pop() {
        reader.named += level.finish(&mut each);
    }
    reader.named >= MIN_NAMED
}

/// Number of texts and prices of a thing from which data are content: applications have a name and
/// a description of themselves in their settings.
const MIN_NAMED: u32 = 3;

/// What a text with this many words counts as.
const PROSE: (u16, u32) = (30, 3);

/// Whether values under this key are what readers come for.
fn is_content(key: &str) -> bool {
    const KEYS: [&str; 14] = [
        "name",
        "title",
        "headline",
        "description",
        "body",
        "articleBody",
        "text",
        "content",
        "summary",
        "excerpt",
        "html",
        "price",
        "rendered",
        "caption",
    ];
    KEYS.contains(&key)
}

/// Whether an object of this type of schema.org is about the site and not about the page.
fn is_of_site(kind: &str) -> bool {
    const KINDS: [&str; 16] = [
        "WebSite",
        "Organization",
        "Corporation",
        "OnlineStore",
        "OnlineBusiness",
        "NewsMediaOrganization",
        "LocalBusiness",
        "SearchAction",
        "EntryPoint",
        "ImageObject",
        "PostalAddress",
        "ContactPoint",
        "WebPage",
        "WebApplication",
        "BreadcrumbList",
        "ListItem",
    ];
    KINDS.contains(&kind)
}

/// What values under a key mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Meaning {
    #[default]
    Other,
    /// They differ from one response to the next.
    Noise,
    /// They are what readers come for.
    Content,
    /// They are the type of the object.
    Type,
}

/// An object or list that is open.
#[derive(Default)]
struct Level {
    /// Sums over its values, each with its key.
    hash: u64,
    masked: u64,
    letters: u64,
    words: u16,
    /// The hash of the current key.
    key: u64,
    /// Number of values since the last key: the place in a list.
    place: u64,
    /// What values under the current key mean.
    meaning: Meaning,
    /// Whether the whole object does.
    is_left_out: bool,
    /// What its texts under keys of content count.
    named: u32,
    /// Whether it is about the site.
    is_of_site: bool,
}

impl Level {
    fn set_key(&mut self, key: &str) {
        self.key = xxh3_64(key.as_bytes());
        self.place = 0;
        self.meaning = match key {
            "@type" => Meaning::Type,
            key if is_noise(key) => Meaning::Noise,
            key if is_content(key) => Meaning::Content,
            _ => Meaning::Other,
        };
    }

    fn add(&mut self, value: Line) {
        if self.meaning == Meaning::Noise || self.is_left_out {
            return;
        }
        self.place += 1;
        if self.meaning == Meaning::Content {
            self.named += if value.words >= PROSE.0 { PROSE.1 } else { 1 };
        }
        let place = self.key.wrapping_add(self.place);
        let mixed = |hash: u64| (hash ^ place.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = |hash: u64| mixed(hash) ^ (mixed(hash) >> 29);
        self.hash = self.hash.wrapping_add(mixed(value.hash));
        self.masked = self.masked.wrapping_add(mixed(value.masked));
        self.letters = self.letters.wrapping_add(mixed(value.letters));
        self.words = self.words.saturating_add(value.words.max(1));
    }

    /// Passes on the line of an object that ends. Returns what it counts as content.
    fn finish(self, each: &mut impl FnMut(Line)) -> u32 {
        if self.words > 0 {
            each(Line {
                hash: self.hash,
                masked: self.masked,
                letters: self.letters,
                sum: 0,
                words: self.words,
                role: Role::Data,
                is_link: false,
            });
        }
        if self.is_of_site { 0 } else { self.named }
    }
}

struct Reader<'w, 'e> {
    writer: &'w mut LineWriter<'e>,
    levels: Vec<Level>,
    /// Number of open objects beyond [`MAX_DEPTH`].
    deeper: usize,
    /// What the objects that ended count as content.
    named: u32,
}

impl Reader<'_, '_> {
    /// Reads a script. `is_outer` is not set for a script that is a string of another.
    fn read(&mut self, script: &str, each: &mut impl FnMut(Line), is_outer: bool) {
        let bytes = script.as_bytes();
        let bytes = bytes.get(..MAX_BYTES.min(bytes.len())).unwrap_or_default();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' | b'\'' | b'`' => {
                    let end = string_end(bytes, at + 1, byte);
                    let text = unescaped(bytes.get(at + 1..end).unwrap_or_default());
                    at = end + 1;
                    if is_before_colon(bytes, at) {
                        self.level().set_key(&text);
                    } else if is_outer && is_nested(&text) {
                        self.open();
                        self.read(&text, each, false);
                        self.close(each);
                    } else {
                        self.value(&text);
                    }
                }
                b'{' | b'[' | b'(' => {
                    self.open();
                    at += 1;
                }
                b'}' | b']' | b')' => {
                    self.close(each);
                    at += 1;
                }
                b'/' if matches!(bytes.get(at + 1), Some(b'/')) => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                b'/' if matches!(bytes.get(at + 1), Some(b'*')) => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let length = memchr::memmem::find(rest, b"*/");
                    at += length.map_or(rest.len(), |length| length + 2);
                }
                byte if is_word(byte)
                    || (byte == b'-' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)) =>
                {
                    let rest = bytes.get(at + 1..).unwrap_or_default();
                    let is_number = byte.is_ascii_digit() || byte == b'-';
                    let length = rest
                        .iter()
                        .take_while(|it| is_word(**it) || (is_number && **it == b'.'))
                        .count();
                    let word = bytes.get(at..=at + length).unwrap_or_default();
                    let word = String::from_utf8_lossy(word);
                    at += length + 1;
                    if is_before_colon(bytes, at) {
                        self.level().set_key(&word);
                    } else if is_number || matches!(&*word, "true" | "false") {
                        self.value(&word);
                    }
                }
                _ => at += 1,
            }
        }
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn value(&mut self, text: &str) {
        let level = self.level();
        level.is_of_site |= level.meaning == Meaning::Type && is_of_site(text);
        self.writer.push(text);
        if let Some(value) = self.writer.finish(Role::Data) {
            self.level().add(value);
        }
    }

    fn open(&mut self) {
        if self.levels.len() >= MAX_DEPTH {
            self.deeper += 1;
            return;
        }
        let level = self.level();
        let is_left_out = level.meaning == Meaning::Noise || level.is_left_out;
        self.levels.push(Level {
            is_left_out,
            ..Level::default()
        });
    }

    fn close(&mut self, each: &mut impl FnMut(Line)) {
        if self.deeper > 0 {
            self.deeper -= 1;
        } else if self.levels.len() > 1
            && let Some(level) = self.levels.pop()
        {
            self.named += level.finish(each);
        }
    }
}

/// Whether values under a key differ from one response to the next: tokens, numbers of the request,
/// its time.
fn is_noise(key: &str) -> bool {
    const IDS: [&[u8]; 8] = [
        b"requestid",
        b"traceid",
        b"spanid",
        b"sessionid",
        b"correlationid",
        b"transactionid",
        b"visitorid",
        b"buildid",
    ];
    const TIMES: [&[u8]; 8] = [
        b"timestamp",
        b"servertime",
        b"currenttime",
        b"rendertime",
        b"renderedat",
        b"generatedat",
        b"applicationtime",
        b"queuetime",
    ];
    const TOKENS: [&[u8]; 4] = [b"csrf", b"xsrf", b"nonce", b"token"];
    let mut room = [0; 40];
    if key.len() > room.len() {
        return false;
    }
    let mut length = 0;
    for (place, byte) in room
        .iter_mut()
        .zip(key.bytes().filter(u8::is_ascii_alphabetic))
    {
        *place = byte.to_ascii_lowercase();
        length += 1;
    }
    let letters = room.get(..length).unwrap_or_default();
    let ends = |words: &[&[u8]]| words.iter().any(|word| letters.ends_with(word));
    match letters.last() {
        Some(b'd') if ends(&IDS) => true,
        Some(b'e' | b'p' | b't') if ends(&TIMES) => true,
        _ => TOKENS
            .iter()
            .any(|word| letters.windows(word.len()).any(|it| it == *word)),
    }
}

/// Whether a string holds data itself: JSON in JSON, or a numbered piece of it.
fn is_nested(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c.is_whitespace());
    let text = text.strip_prefix(':').unwrap_or(text);
    (text.starts_with('{') && text.contains(':'))
        || text.starts_with("[\"")
        || text.starts_with("[{")
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

fn is_before_colon(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
    next == Some(&b':')
}

/// The place of the quote that ends a string.
fn string_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(length) = memchr::memchr2(quote, b'\\', bytes.get(at..).unwrap_or_default()) {
        at += length;
        if bytes.get(at) == Some(&quote) {
            return at;
        }
        at += 2;
    }
    bytes.len()
}

/// A string without escapes.
fn unescaped(written: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', written).is_none() {
        return String::from_utf8_lossy(written);
    }
    let mut units: Vec<u16> = Vec::new();
    let mut text = String::with_capacity(written.len());
    let flush = |units: &mut Vec<u16>, text: &mut String| {
        if !units.is_empty() {
            text.push_str(&String::from_utf16_lossy(units));
            units.clear();
        }
    };
    let mut at = 0;
    while at < written.len() {
        let rest = &written[at..];
        if rest[0] != b'\\' {
            flush(&mut units, &mut text);
            let length = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
            text.push_str(&String::from_utf8_lossy(&rest[..length]));
            at += length;
            continue;
        }
        let code = |digits: Option<&[u8]>| {
            let digits = std::str::from_utf8(digits?).ok()?;
            u16::from_str_radix(digits, 16).ok()
        };
        let (unit, length) = match rest.get(1) {
            Some(b'u') => (code(rest.get(2..6)), 6),
            Some(b'x') => (code(rest.get(2..4)), 4),
            Some(b'n' | b'r' | b't' | b'b' | b'f' | b'v') => (Some(u16::from(b' ')), 2),
            Some(byte) if byte.is_ascii() => (Some(u16::from(*byte)), 2),
            _ => (None, 1),
        };
        match unit {
            Some(unit) => units.push(unit),
            None => flush(&mut units, &mut text),
        }
        at += if unit.is_some() { length } else { 1 };
    }
    flush(&mut units, &mut text);
    Cow::Owned(text)
}
