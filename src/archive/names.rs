//! Names of the files of an archive. A file's name is a function of its number, so that whoever
//! knows the number of a record's file finds the file without a table.
//!
//! `<prefix>-<start of the crawl>-<crawl>-<number>.warc.gz`: the files of two crawls never have one
//! name, so they can be put into one directory, or one package. A file has `.open` behind its name
//! while it is written, so that what has a whole name is whole. Crawls of earlier versions, and
//! what `gleaner dedup` writes, have plain names: `<prefix>-<number>.warc.gz`.

use std::path::{Path, PathBuf};

/// What every file of an archive ends with.
const ENDING: &str = ".warc.gz";

/// What is behind the name of a file that is being written.
const OPEN: &str = ".open";

/// The names of the files of one archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNames {
    /// The prefix of plain names, which the first files have.
    plain: String,
    /// The names that follow, each from a number on, in ascending order.
    stems: Vec<(u32, String)>,
}

impl FileNames {
    /// Returns plain names: `<prefix>-00000000.warc.gz`.
    pub fn plain(prefix: impl Into<String>) -> Self {
        Self {
            plain: prefix.into(),
            stems: Vec::new(),
        }
    }

    /// Lets the files from number `from` on have names that begin with `stem`.
    #[must_use]
    pub fn followed_by(mut self, from: u32, stem: impl Into<String>) -> Self {
        self.stems.push((from, stem.into()));
        self
    }

    /// Returns the name of file `number`.
    pub fn name(&self, number: u32) -> String {
        match self.stem(number) {
            Some(stem) => format!("{stem}-{number:05}{ENDING}"),
            None => format!("{}-{number:08}{ENDING}", self.plain),
        }
    }

    /// Returns the number of a file, and whether its name says that it is being written; `None` for
    /// other files.
    pub(super) fn number(&self, name: &str) -> Option<(u32, bool)> {
        let (name, is_open) = match name.strip_suffix(OPEN) {
            Some(name) => (name, true),
            None => (name, false),
        };
        let number = name
            .strip_suffix(ENDING)?
            .rsplit_once('-')?
            .1
            .parse()
            .ok()?;
        let is_ours = self.name(number) == name && (!is_open || self.is_marked(number));
        is_ours.then_some((number, is_open))
    }

    /// Returns `true` if the name of file `number` has a mark while the file is written.
    pub(super) fn is_marked(&self, number: u32) -> bool {
        self.stem(number).is_some()
    }

    /// Returns `true` if a file is none of these, and some other crawl's.
    pub(super) fn is_strange(&self, name: &str) -> bool {
        let is_plain = || Self::plain(&*self.plain).number(name).is_some();
        self.number(name).is_none() && (is_of_some_crawl(name) || is_plain())
    }

    fn stem(&self, number: u32) -> Option<&str> {
        let stems = self.stems.iter().rev();
        let mut stems = stems.filter(|(from, _)| *from <= number);
        stems.next().map(|(_, stem)| stem.as_str())
    }

    /// Returns the part of the last names that no other crawl's have; `None` if all are plain.
    pub(super) fn crawl(&self) -> Option<&str> {
        let (_, stem) = self.stems.last()?;
        let (rest, _) = stem.rsplit_once('-')?;
        let start = rest.rfind('-')? + 1;
        stem.get(start..)
    }

    /// Returns the parts of names, which are checked before files are written.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        let stems = self.stems.iter().map(|(_, stem)| stem.as_str());
        [self.plain.as_str()].into_iter().chain(stems)
    }
}

/// Returns `true` if a name is one that some crawl with such names gave to a file.
fn is_of_some_crawl(name: &str) -> bool {
    crawl_and_number(Path::new(name)).is_some()
}

/// Returns what tells the files of a crawl from those of others, and the number of this one;
/// `None` for plain names and other files.
pub(super) fn crawl_and_number(path: &Path) -> Option<(String, u32)> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(OPEN).unwrap_or(name);
    let mut parts = name.strip_suffix(ENDING)?.rsplit('-');
    let mut next = |least: usize, most: usize, digit: fn(&u8) -> bool| {
        let part = parts.next()?;
        let is_one = (least..=most).contains(&part.len()) && part.as_bytes().iter().all(digit);
        is_one.then_some(part)
    };
    let number = next(5, 10, u8::is_ascii_digit)?;
    let crawl = next(8, 8, u8::is_ascii_hexdigit)?;
    let start = next(14, 14, u8::is_ascii_digit)?;
    Some((format!("{start}-{crawl}"), number.parse().ok()?))
}

/// Returns by what the files of a crawl are told from those of others: its start and its id, the
/// prefix of plain names, and for a file of anyone else its name without endings.
pub fn crawl_of(name: &str) -> String {
    if let Some((crawl, _)) = crawl_and_number(Path::new(name)) {
        return crawl;
    }
    let stem = name.split('.').next().unwrap_or(name);
    let is_number = |end: &str| end.len() >= 8 && end.bytes().all(|it| it.is_ascii_digit());
    match stem.rsplit_once('-') {
        Some((prefix, end)) if is_number(end) => prefix.to_owned(),
        _ => stem.to_owned(),
    }
}

/// Returns the number in the name of a file of some crawl; `None` for plain names and other files.
pub fn number_of(name: &str) -> Option<u32> {
    crawl_and_number(Path::new(name)).map(|(_, number)| number)
}

/// Returns `true` if a file is a WARC file by its name, whole or being written.
pub fn is_archive_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(OPEN).unwrap_or(&name);
    [ENDING, ".warc", ".warc.zst"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// Returns the path that a file has once it is whole, by the one that it has now.
pub fn whole_name(path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|name| name.to_str());
    match name.and_then(|name| name.strip_suffix(OPEN)) {
        Some(name) => path.with_file_name(name),
        None => path.to_owned(),
    }
}

/// Returns the path of a file while it is written.
pub(super) fn marked(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(OPEN);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_round_trip() {
        let names = FileNames::plain("gleaner");
        let check = |name: &str, expected: Option<u32>| {
            let expected = expected.map(|number| (number, false));
            assert_eq!(names.number(name), expected, "{name}");
        };
        check("gleaner-00000000.warc.gz", Some(0));
        check("gleaner-00000012.warc.gz", Some(12));
        check("gleaner-123456789.warc.gz", Some(123_456_789));
        check("gleaner-0000012.warc.gz", None);
        check("gleaner-000000012.warc.gz", None);
        check("gleaner-+0000012.warc.gz", None);
        check("gleaner-99999999999.warc.gz", None);
        check("gleaner-00000012.warc.gz.unacknowledged", None);
        check("gleaner-00000012.warc.gz.open", None);
        check("gleaner-x-00000012.warc.gz", None);
        check("other-00000012.warc.gz", None);
    }

    #[test]
    fn files_tell_their_crawl() {
        for (name, crawl) in [
            (
                "news-2-20260102030405-0123abcd-00002.warc.gz",
                "20260102030405-0123abcd",
            ),
            ("gleaner-00000000.warc.gz", "gleaner"),
            ("rec-20260102-a1.warc.gz", "rec-20260102-a1"),
            ("x", "x"),
        ] {
            assert_eq!(crawl_of(name), crawl);
        }
    }

    #[test]
    fn names_of_a_crawl_follow_plain_ones() {
        let names = FileNames::plain("gleaner")
            .followed_by(3, "gleaner-20260102030405-0123abcd")
            .followed_by(7, "news-20260102030405-0123abcd");
        for (number, name) in [
            (0, "gleaner-00000000.warc.gz"),
            (2, "gleaner-00000002.warc.gz"),
            (3, "gleaner-20260102030405-0123abcd-00003.warc.gz"),
            (6, "gleaner-20260102030405-0123abcd-00006.warc.gz"),
            (7, "news-20260102030405-0123abcd-00007.warc.gz"),
            (1_234_567, "news-20260102030405-0123abcd-1234567.warc.gz"),
        ] {
            assert_eq!(names.name(number), name);
            assert_eq!(names.number(name), Some((number, false)));
            let open = number >= 3;
            let marked = names.number(&format!("{name}.open"));
            assert_eq!(marked, open.then_some((number, true)), "{name}");
            assert_eq!(is_of_some_crawl(name), open, "{name}");
        }
        assert_eq!(
            names.number("gleaner-20260102030405-0123abcd-00007.warc.gz"),
            None
        );
        assert_eq!(names.number("gleaner-00000003.warc.gz"), None);
    }
}
