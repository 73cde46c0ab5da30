//! Which pages are wanted.

use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::language::Language;
use crate::engine::{LogLine, PageLine, VisitVerdict};
use crate::page::language;
use crate::url::{self, HostPattern};

/// What a page must be to be given out. The default is any page.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Originals only.
    pub unique: bool,
    /// None that is as an earlier crawl stored it (`archive.since`).
    pub changed: bool,
    /// None that asks for one of these in a robots meta tag or header.
    pub without: Vec<String>,
    /// In one of these languages; any if there is none.
    pub languages: Vec<String>,
    /// Of one of these hosts.
    pub hosts: Vec<HostPattern>,
    /// With one of these schemes.
    pub schemes: Vec<String>,
    /// With one of these statuses.
    pub statuses: Vec<StatusRange>,
    /// With this number of words at least.
    pub min_words: u32,
    /// Requested at this time or later.
    pub since: Option<Timestamp>,
    /// Requested before this time.
    pub until: Option<Timestamp>,
}

/// A status, or all of a class, as `404` and `2xx`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusRange {
    first: u16,
    last: u16,
}

impl FromStr for StatusRange {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = "give a status such as 404, or a class of them such as 2xx";
        if let Some(class) = text.strip_suffix("xx") {
            let class: u16 = class.parse().map_err(|_| refused)?;
            return match class {
                1..=5 => Ok(Self {
                    first: class * 100,
                    last: class * 100 + 99,
                }),
                _ => Err(refused),
            };
        }
        match text.parse() {
            Ok(status @ 100..=999) => Ok(Self {
                first: status,
                last: status,
            }),
            _ => Err(refused),
        }
    }
}

impl Filter {
    /// Whether a page is wanted, as far as that can be told without its text.
    pub(super) fn takes(&self, line: &LogLine, page: &PageLine) -> bool {
        (!self.unique || line.verdict == VisitVerdict::Unique)
            && (!self.changed || page.unchanged_since.is_none())
            && !page.robots.iter().any(|it| self.without.contains(it))
            && (self.statuses.is_empty()
                || (self.statuses.iter())
                    .any(|range| (range.first..=range.last).contains(&line.status)))
            && (self.min_words == 0 || page.words.is_some_and(|words| words >= self.min_words))
            && self.takes_url(&line.url)
            && self.takes_time(&line.time)
    }

    fn takes_url(&self, text: &str) -> bool {
        if self.hosts.is_empty() && self.schemes.is_empty() {
            return true;
        }
        let Ok(url) = url::parse(text) else {
            return false;
        };
        let host = || url.host_str().unwrap_or_default();
        (self.schemes.is_empty() || self.schemes.iter().any(|it| it == url.scheme()))
            && (self.hosts.is_empty()
                || (self.hosts.iter())
                    .any(|pattern| is_of(pattern, host(), url.port_or_known_default())))
    }

    fn takes_time(&self, time: &str) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        let Ok(time) = time.parse::<Timestamp>() else {
            return false;
        };
        self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time < until)
    }

    /// Whether a page in this language is wanted.
    pub(super) fn takes_language(&self, language: &Language) -> bool {
        let is_one = |name: &str| language::is_among(name, &self.languages);
        self.languages.is_empty() || language.name().is_some_and(is_one)
    }

    /// Reads a time: a date, which stands for its first moment in UTC, or a time of RFC 3339.
    pub fn time(text: &str) -> Result<Timestamp, String> {
        let of_date = |date: Date| date.to_zoned(TimeZone::UTC).map(|it| it.timestamp());
        let time = text
            .parse::<Timestamp>()
            .or_else(|_| of_date(text.parse()?));
        time.map_err(|_| "give a date such as 2026-01-31, or 2026-01-31T12:00:00Z".to_owned())
    }
}

/// Whether a host is one that a pattern means: its name, or one below it.
fn is_of(pattern: &HostPattern, host: &str, port: Option<u16>) -> bool {
    let is_below = || {
        let above = host.strip_suffix(pattern.name());
        above.is_some_and(|above| above.ends_with('.'))
    };
    let is_name = host == pattern.name() && !pattern.is_only_below();
    (is_name || is_below()) && pattern.port().is_none_or(|wanted| port == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(url: &str, status: u16, verdict: VisitVerdict) -> LogLine {
        LogLine {
            url: url.to_owned(),
            status,
            verdict,
            time: "2026-01-31T12:00:00.000Z".to_owned(),
            ..LogLine::default()
        }
    }

    #[track_caller]
    fn check(change: impl Fn(&mut Filter), expected: [bool; 3]) {
        let mut filter = Filter::default();
        change(&mut filter);
        let lines = [
            line("https://a.example/x", 200, VisitVerdict::Unique),
            line("http://b.a.example:8080/", 200, VisitVerdict::Near),
            line("http://c.example/", 404, VisitVerdict::Ineligible),
        ];
        let words = [Some(100), Some(10), None];
        let robots = [vec![], vec!["noai".to_owned()], vec![]];
        let since = [Some("2025-01-31T12:00:00Z".to_owned()), None, None];
        for (nth, line) in lines.iter().enumerate() {
            let page = PageLine {
                words: words[nth],
                robots: robots[nth].clone(),
                unchanged_since: since[nth].clone(),
                ..PageLine::default()
            };
            assert_eq!(
                filter.takes(line, &page),
                expected[nth],
                "{line:?} {filter:?}"
            );
        }
    }

    #[test]
    fn pages_are_chosen_by_what_the_log_says_of_them() {
        let host = |name: &str| vec![name.parse().unwrap()];
        check(|_| {}, [true, true, true]);
        check(|it| it.unique = true, [true, false, false]);
        check(|it| it.changed = true, [false, true, true]);
        check(
            |it| it.without = vec!["noai".to_owned()],
            [true, false, true],
        );
        check(|it| it.hosts = host("a.example"), [true, true, false]);
        check(|it| it.hosts = host("*.a.example"), [false, true, false]);
        check(|it| it.hosts = host("a.example:443"), [true, false, false]);
        check(|it| it.hosts = host("example.a"), [false, false, false]);
        check(
            |it| it.schemes = vec!["http".to_owned()],
            [false, true, true],
        );
        check(
            |it| it.statuses = vec!["2xx".parse().unwrap()],
            [true, true, false],
        );
        check(
            |it| it.statuses = vec!["404".parse().unwrap()],
            [false, false, true],
        );
        check(|it| it.min_words = 11, [true, false, false]);
        let noon = Filter::time("2026-01-31T12:00:00Z").ok();
        check(|it| it.since = noon, [true, true, true]);
        check(|it| it.until = noon, [false, false, false]);
        check(
            |it| it.since = Filter::time("2026-02-01").ok(),
            [false, false, false],
        );
        check(
            |it| it.until = Filter::time("2026-02-01").ok(),
            [true, true, true],
        );
    }

    #[test]
    fn what_is_no_status_or_time_is_refused() {
        for text in ["", "xx", "6xx", "0xx", "2x", "99", "1000", "-1xx", "all"] {
            assert!(text.parse::<StatusRange>().is_err(), "{text}");
        }
        for text in ["", "yesterday", "2026-13-01", "31.1.2026"] {
            assert!(Filter::time(text).is_err(), "{text}");
        }
    }
}
