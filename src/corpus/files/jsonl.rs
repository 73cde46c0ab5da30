//! Documents as lines of JSON, read in batches and processed on all cores.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead as _, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Content, Extraction, Input, Watch, open};
use crate::corpus::Error;
use crate::corpus::parallel::{Worked, in_order};
use crate::dedup::PageHints;

/// Bytes of lines that a worker takes at once: enough to make passing them on cheap.
const BATCH_BYTES: usize = 256 << 10;

/// Maximum length of a line in bytes.
const MAX_LINE_BYTES: usize = 64 << 20;

/// How a line names what a document is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fields<'a> {
    /// The field with the id; `None` for `id`, and for `url` where there is none, as in what
    /// `gleaner pages` prints.
    pub id: Option<&'a str>,
    /// The field with the text; `None` for `text`.
    pub text: Option<&'a str>,
}

/// The document in a line. Other fields are ignored.
pub(in crate::corpus) struct JsonDocument<'a> {
    id: &'a RawValue,
    text: Option<Cow<'a, str>>,
    html: Option<Cow<'a, str>>,
    /// The URL of the page. Corpora may have any value there, so it is parsed later.
    url: Option<&'a RawValue>,
    /// Set if the line has a text, which may be `null`: that of a page whose text is not at hand.
    has_text: bool,
}

/// What is found in a line.
#[derive(Default)]
struct Found<'a> {
    id: Option<&'a RawValue>,
    text: Option<Cow<'a, str>>,
    html: Option<Cow<'a, str>>,
    url: Option<&'a RawValue>,
    has_text: bool,
}

/// Text that is borrowed from its line unless it contains escapes.
#[derive(Deserialize)]
struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

/// Finds the fields that are named.
struct Finder<'a>(Fields<'a>);

impl<'de> Visitor<'de> for Finder<'_> {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
        let Fields { id, text } = self.0;
        let (id, text) = (id.unwrap_or("id"), text.unwrap_or("text"));
        let mut found = Found::default();
        let mut once = Once::default();
        while let Some(Borrowed(name)) = map.next_key()? {
            match &*name {
                it if it == text => {
                    once.meet(3, "the text")?;
                    found.has_text = true;
                    if it == id {
                        return Err(A::Error::custom("one field is both id and text"));
                    }
                    let text: Option<Borrowed<'de>> = map.next_value()?;
                    found.text = text.map(|it| it.0);
                }
                it if it == id => {
                    once.meet(0, "the id")?;
                    let value = map.next_value()?;
                    found.id = Some(value);
                    if it == "url" {
                        found.url = Some(value);
                    }
                }
                "url" => {
                    once.meet(1, "`url`")?;
                    found.url = Some(map.next_value()?);
                }
                "html" => {
                    once.meet(2, "`html`")?;
                    let html: Option<Borrowed<'de>> = map.next_value()?;
                    found.html = html.map(|it| it.0);
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// Refuses a field that comes twice: nobody can tell which is meant.
#[derive(Default)]
struct Once([bool; 4]);

impl Once {
    fn meet<E: serde::de::Error>(&mut self, at: usize, what: &str) -> Result<(), E> {
        match self.0.get_mut(at).map(|it| std::mem::replace(it, true)) {
            Some(true) => Err(E::custom(format!("it has {what} twice"))),
            _ => Ok(()),
        }
    }
}

impl<'a> JsonDocument<'a> {
    /// Parses a line.
    pub(in crate::corpus) fn parse(line: &'a [u8], fields: Fields<'_>) -> Result<Self, String> {
        let (name, text) = (fields.id.unwrap_or("id"), fields.text.unwrap_or("text"));
        let wrong = |error: &dyn fmt::Display| {
            format!(
                "not a document: {error}; give {{\"{name}\": …, \"{text}\": …}} or {{\"{name}\": …, \"html\": …}}"
            )
        };
        let mut parser = serde_json::Deserializer::from_slice(line);
        let found = parser
            .deserialize_map(Finder(fields))
            .and_then(|it| parser.end().map(|()| it));
        let found = found.map_err(|error| wrong(&error))?;
        let of_page = found.url.filter(|_| fields.id.is_none());
        let id = found.id.or(of_page);
        let id = id.ok_or_else(|| wrong(&format!("missing field `{name}`")))?;
        let written = id.get();
        if !written.starts_with(['"', '-']) && !written.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("the id is {written}; give text or a number"));
        }
        Ok(Self {
            id,
            text: found.text,
            html: found.html,
            url: found.url,
            has_text: found.has_text,
        })
    }

    /// The id as it is written in the line.
    pub(in crate::corpus) fn id(&self) -> &'a str {
        self.id.get()
    }

    /// The texts of the document: the given text, or the texts extracted from the given page.
    pub(in crate::corpus) fn content(
        &self,
        extraction: &Extraction,
    ) -> Result<Content<'_>, String> {
        let url = self.url.map(RawValue::get).map(serde_json::from_str);
        let url: Option<String> = url.and_then(Result::ok);
        if let Some(text) = &self.text {
            return Ok(Content {
                page: extraction.page_of_text(text, url.as_deref()),
                raw: Cow::Borrowed(text.as_bytes()),
                main: Cow::Borrowed(text),
                visible: Cow::Borrowed(text),
                hints: PageHints::default(),
            });
        }
        let Some(html) = &self.html else {
            if !self.has_text {
                return Err("it has neither \"text\" nor \"html\"".to_owned());
            }
            // A page whose text is not at hand is like no other.
            return Ok(Content {
                page: None,
                raw: Cow::default(),
                main: Cow::default(),
                visible: Cow::default(),
                hints: PageHints::default(),
            });
        };
        Ok(extraction.content(Cow::Borrowed(html.as_bytes()), html, url.as_deref()))
    }
}

/// Adjacent lines of a file, on their way to a worker.
struct Batch {
    name: Arc<str>,
    first_line: u64,
    bytes: Vec<u8>,
    /// The end of each line, after its line break.
    ends: Vec<usize>,
}

/// Applies `work` to every line of the files on all threads, and passes the results to `take` in
/// the order of the lines. Blank lines are skipped. The first line that fails ends the run, after
/// the results of all earlier lines were taken, unless such lines are skipped.
pub(in crate::corpus) fn each_line<T: Send>(
    input: Input<'_>,
    work: impl Fn(&[u8]) -> Result<T, String> + Sync,
    take: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    in_order(
        input.threads,
        |hand_over| read(input.files, hand_over),
        |batch: Batch| {
            let work = |line: &[u8]| {
                if let Some(Watch(tell)) = input.watch {
                    tell();
                }
                work(line)
            };
            work_on(&batch, input.skipped, &work)
        },
        take,
    )
}

/// Reads batches until the files end or `hand_over` returns false.
fn read(files: &[PathBuf], hand_over: &mut dyn FnMut(Batch) -> bool) -> Result<(), Error> {
    let standard = [PathBuf::from("-")];
    let files = if files.is_empty() { &standard } else { files };
    for file in files {
        let name: Arc<str> = if file.as_os_str() == "-" {
            "standard input".into()
        } else {
            file.display().to_string().into()
        };
        if !read_file(file, &name, hand_over)? {
            break;
        }
    }
    Ok(())
}

/// Reads the batches of one file. Returns false if no more are wanted.
fn read_file(
    file: &Path,
    name: &Arc<str>,
    hand_over: &mut dyn FnMut(Batch) -> bool,
) -> Result<bool, Error> {
    let mut source = open(file).map_err(|error| {
        Error::input(format!(
            "cannot open {name}: {error}; give existing files, or - for standard input"
        ))
    })?;
    let mut line = 1;
    loop {
        let mut bytes = Vec::with_capacity(BATCH_BYTES + BATCH_BYTES / 4);
        let mut ends = Vec::new();
        let first_line = line;
        let mut ended = false;
        while bytes.len() < BATCH_BYTES {
            let most = MAX_LINE_BYTES as u64 + 1;
            let length = (&mut source)
                .take(most)
                .read_until(b'\n', &mut bytes)
                .map_err(Error::io(format!("cannot read {name}, line {line}")))?;
            if length > MAX_LINE_BYTES {
                return Err(Error::input(format!(
                    "{name}, line {line}: longer than {MAX_LINE_BYTES} bytes; one document a line"
                )));
            }
            ended = length == 0;
            if ended {
                break;
            }
            ends.push(bytes.len());
            line += 1;
        }
        if !bytes.is_empty() {
            let batch = Batch {
                name: Arc::clone(name),
                first_line,
                bytes,
                ends,
            };
            if !hand_over(batch) {
                return Ok(false);
            }
        }
        if ended {
            return Ok(true);
        }
    }
}

/// Number of skipped lines that are named.
const TOLD: u64 = 10;

/// Applies `work` to the lines of a batch.
fn work_on<T>(
    batch: &Batch,
    skipped: Option<&AtomicU64>,
    work: &impl Fn(&[u8]) -> Result<T, String>,
) -> Worked<T, Error> {
    let mut worked = Worked {
        values: Vec::new(),
        failure: None,
    };
    let starts = [0].iter().chain(&batch.ends);
    for (at, (start, end)) in starts.zip(&batch.ends).enumerate() {
        let line = batch.bytes.get(*start..*end).unwrap_or_default();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let value = catch_unwind(AssertUnwindSafe(|| work(line)))
            .unwrap_or_else(|_| Err("reading it failed; please report it".to_owned()));
        match value {
            Ok(value) => worked.values.push(value),
            Err(why) => {
                let line = batch.first_line + at as u64;
                let message = format!("{}, line {line}: {why}", batch.name);
                if let Some(skipped) = skipped {
                    if skipped.fetch_add(1, Ordering::Relaxed) < TOLD {
                        tracing::warn!("skipped: {message}");
                    }
                    continue;
                }
                worked.failure = Some(Error::input(message));
                break;
            }
        }
    }
    worked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::Masks;
    use std::io::Write as _;
    use std::num::NonZeroUsize;

    fn numbers(text: &str, threads: usize) -> (Vec<u64>, Option<String>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut taken = Vec::new();
        let result = each_line(
            Input {
                files: &[file.path().to_owned()],
                threads: NonZeroUsize::new(threads),
                skipped: None,
                watch: None,
                languages: &[],
                fields: Fields::default(),
            },
            |line| {
                let text = str::from_utf8(line).map_err(|error| error.to_string())?;
                text.trim()
                    .parse::<u64>()
                    .map_err(|error| error.to_string())
            },
            |number| {
                taken.push(number);
                Ok(())
            },
        );
        let message = result.err().map(|failure| match failure {
            Error::Input(message) => message,
            other => format!("{other:?}"),
        });
        (taken, message)
    }

    #[test]
    fn values_come_in_the_order_of_the_lines_whatever_the_threads() {
        // Enough for several batches.
        let text: String = (0..150_000)
            .map(|number: u64| number.to_string() + "\n")
            .collect();
        let expected: Vec<u64> = (0..150_000).collect();
        for threads in [1, 2, 7] {
            assert_eq!(numbers(&text, threads), (expected.clone(), None));
        }
    }

    #[test]
    fn a_line_that_fails_is_named_after_those_before_it_were_taken() {
        let (taken, message) = numbers("1\n\n2\nthree\n4\n", 2);
        assert_eq!(taken, [1, 2]);
        assert!(message.is_some_and(|message| message.contains(", line 4: invalid digit")));
    }

    #[test]
    fn lines_that_fail_are_skipped_and_counted_if_that_is_asked_for() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let lines = "{\"id\":1,\"html\":\"a\"}\n{\"id\":2,\"html\":\"\\ud800\"}\nnothing\n{\"id\":3,\"text\":\"b\"}\n";
        file.write_all(lines.as_bytes()).unwrap();
        let skipped = AtomicU64::new(0);
        let mut taken = Vec::new();
        let input = Input {
            files: &[file.path().to_owned()],
            threads: None,
            skipped: Some(&skipped),
            watch: None,
            languages: &[],
            fields: Fields::default(),
        };
        let id = |line: &[u8]| {
            JsonDocument::parse(line, Fields::default()).map(|document| document.id().to_owned())
        };
        let read = each_line(input, id, |id| {
            taken.push(id);
            Ok(())
        });
        read.unwrap();
        assert_eq!(taken, ["1", "3"]);
        assert_eq!(skipped.into_inner(), 2);
    }

    #[test]
    fn a_document_needs_an_id_and_a_text() {
        let check = |line: &str, expected: Result<&str, &str>| {
            let extraction = Extraction::new(Masks::default()).unwrap();
            let document = JsonDocument::parse(line.as_bytes(), Fields::default());
            let main = document
                .as_ref()
                .map_err(String::clone)
                .and_then(|document| Ok(document.content(&extraction)?.main.into_owned()));
            match (main, expected) {
                (Ok(main), Ok(expected)) => assert_eq!(main, expected),
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
                (main, _) => panic!("{line}: {main:?}"),
            }
        };
        check(r#"{"id":1,"text":"a\nb","url":["x"]}"#, Ok("a\nb"));
        check(r#"{"id":"x","html":"<p>Hello"}"#, Ok("Hello"));
        check(
            r#"{"id":"x","html":"<p>Hello","text":"given"}"#,
            Ok("given"),
        );
        check(r#"{"id":"x"}"#, Err("neither"));
        check(r#"{"text":"x"}"#, Err("missing field `id`"));
        check(r#"{"id":null,"text":"x"}"#, Err("the id is null"));
        check("1", Err("not a document"));
        check(r#"{"id":1,"text":"a"} x"#, Err("trailing"));
        check(r#"{"id":1,"text":"a","text":"b"}"#, Err("twice"));
        // What `gleaner pages` prints.
        check(
            r#"{"url":"http://a.example/","text":"a","title":null}"#,
            Ok("a"),
        );
        check(r#"{"url":"http://a.example/","text":null}"#, Ok(""));
    }

    #[test]
    fn fields_have_the_names_that_are_given() {
        let fields = Fields {
            id: Some("doc"),
            text: Some("content"),
        };
        let line =
            br#"{"id":1,"doc":"x","text":"no","content":"a\u0062","url":"http://a.example/"}"#;
        let document = JsonDocument::parse(line, fields).unwrap();
        assert_eq!(document.id(), "\"x\"");
        assert_eq!(document.text.as_deref(), Some("ab"));
        assert!(document.url.is_some());
        let refused = JsonDocument::parse(br#"{"id":1,"url":"u","content":"a"}"#, fields);
        assert!(refused.err().is_some_and(|why| why.contains("`doc`")));
        let fields = Fields {
            id: Some("url"),
            text: None,
        };
        let line = br#"{"id":1,"url":"http://a.example/","text":"a"}"#;
        let document = JsonDocument::parse(line, fields).unwrap();
        assert_eq!(
            (document.id(), document.url.is_some()),
            ("\"http://a.example/\"", true)
        );
    }
}
