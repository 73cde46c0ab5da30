//! Patterns of whole URLs, which decide which links are followed. A URL is matched against all
//! patterns of a list at once, in time linear in its length, whatever the patterns are.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use regex::bytes::{RegexSet, RegexSetBuilder};
use serde::{Deserialize, Serialize};

/// Prefix that marks a regular expression.
const EXPRESSION: &str = "re:";

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN: usize = 2_000;

/// Maximum size of the compiled patterns of one list, in bytes.
const MAX_COMPILED: usize = 16 << 20;

/// A pattern of URLs: either a whole URL in which `*` stands for anything (`*/calendar/*`,
/// `https://example.org/*.pdf`), or, after `re:`, a regular expression that matches anywhere in the
/// URL. Patterns are case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UrlPattern(String);

/// The error returned for a text that is not a URL pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a URL pattern: {reason}")]
pub struct UrlPatternError {
    text: String,
    reason: String,
}

impl UrlPattern {
    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the pattern as a regular expression.
    fn expression(&self) -> String {
        if let Some(expression) = self.0.strip_prefix(EXPRESSION) {
            return expression.to_owned();
        }
        let mut expression = String::from("^");
        for (at, piece) in self.0.split('*').enumerate() {
            if at > 0 {
                expression.push_str(".*");
            }
            expression.push_str(&regex::escape(piece));
        }
        expression + "$"
    }
}

impl FromStr for UrlPattern {
    type Err = UrlPatternError;

    fn from_str(text: &str) -> Result<Self, UrlPatternError> {
        let refuse = |reason: String| UrlPatternError {
            text: text.chars().take(100).collect(),
            reason,
        };
        let pattern = Self(text.to_owned());
        if text.len() > MAX_PATTERN {
            return Err(refuse(format!("it has more than {MAX_PATTERN} bytes")));
        }
        if !(text.starts_with(EXPRESSION) || text.starts_with('*') || text.starts_with("http")) {
            let reason = "patterns match whole URLs, so begin it with `*`, http:// or https://, or write re: and a regular expression";
            return Err(refuse(reason.to_owned()));
        }
        match compile(std::slice::from_ref(&pattern)) {
            Ok(_) => Ok(pattern),
            Err(error) => Err(refuse(in_words(&error))),
        }
    }
}

impl TryFrom<String> for UrlPattern {
    type Error = UrlPatternError;

    fn try_from(text: String) -> Result<Self, UrlPatternError> {
        text.parse()
    }
}

impl From<UrlPattern> for String {
    fn from(pattern: UrlPattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for UrlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A list of patterns that compiles to more than 16 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give fewer or simpler patterns: together they take too much memory")]
pub struct TooManyPatterns;

/// A list of patterns, compiled; in a configuration, a list of texts. A clone shares the list.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<UrlPattern>", into = "Vec<UrlPattern>")]
pub struct UrlPatterns(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    patterns: Vec<UrlPattern>,
    set: RegexSet,
}

impl UrlPatterns {
    /// Compiles a list. Although each of its patterns compiles, all together may take too much
    /// memory.
    pub fn new(patterns: &[UrlPattern]) -> Result<Self, TooManyPatterns> {
        Self::try_from(patterns.to_owned())
    }

    /// Returns `true` if the list has no patterns.
    pub fn is_empty(&self) -> bool {
        self.0.patterns.is_empty()
    }

    /// Returns the first pattern of the list that `url` matches.
    pub fn find(&self, url: &str) -> Option<&UrlPattern> {
        if self.is_empty() {
            return None;
        }
        let first = self.0.set.matches(url.as_bytes()).iter().next()?;
        self.0.patterns.get(first)
    }
}

impl Default for Compiled {
    /// No patterns.
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            set: RegexSet::empty(),
        }
    }
}

impl TryFrom<Vec<UrlPattern>> for UrlPatterns {
    type Error = TooManyPatterns;

    fn try_from(patterns: Vec<UrlPattern>) -> Result<Self, TooManyPatterns> {
        // Each compiled by itself, so it can only be the size.
        let set = compile(&patterns).map_err(|_| TooManyPatterns)?;
        Ok(Self(Arc::new(Compiled { patterns, set })))
    }
}

impl From<UrlPatterns> for Vec<UrlPattern> {
    fn from(list: UrlPatterns) -> Self {
        list.0.patterns.clone()
    }
}

impl PartialEq for UrlPatterns {
    fn eq(&self, other: &Self) -> bool {
        self.0.patterns == other.0.patterns
    }
}

impl Eq for UrlPatterns {}

/// Compiles patterns without Unicode support. URLs are ASCII, so `\d` needs only ten digits, and
/// the Unicode tables are saved.
fn compile(patterns: &[UrlPattern]) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns.iter().map(UrlPattern::expression))
        .unicode(false)
        .dot_matches_new_line(true)
        .size_limit(MAX_COMPILED)
        .build()
}

/// Returns the last line of the error message; the lines before it only point at the position.
fn in_words(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "it takes too much memory".to_owned(),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn patterns(texts: &[&str]) -> UrlPatterns {
        let patterns: Vec<UrlPattern> = texts.iter().map(|text| text.parse().unwrap()).collect();
        UrlPatterns::new(&patterns).unwrap()
    }

    #[track_caller]
    fn check(texts: &[&str], url: &str, expected: Option<&str>) {
        let found = patterns(texts);
        let found = found.find(url).map(UrlPattern::as_str);
        assert_eq!(found, expected, "{url}");
    }

    #[test]
    fn a_pattern_is_the_whole_url_or_an_expression_in_it() {
        let url = "https://example.org/docs/a.pdf?page=2";
        check(&[], url, None);
        check(&["*.pdf"], url, None);
        check(&["*.pdf*"], url, Some("*.pdf*"));
        check(&["*?page=*"], url, Some("*?page=*"));
        check(&["*PAGE*"], url, None);
        check(
            &["https://example.org/docs/*"],
            url,
            Some("https://example.org/docs/*"),
        );
        check(&["http://example.org/*"], url, None);
        check(&["https://example.org/docs"], url, None);
        check(&["re:/docs/"], url, Some("re:/docs/"));
        check(&["re:(?i)PAGE=\\d+$"], url, Some("re:(?i)PAGE=\\d+$"));
        check(&["re:^/docs/"], url, None);
        check(&["*.png", "re:x{3}", "*docs*", "*"], url, Some("*docs*"));
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_the_reason() {
        let check = |text: &str, expected: &str| {
            let error = text.parse::<UrlPattern>().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("", "begin it with `*`");
        check("/private/*", "begin it with `*`");
        check("re:(", "unclosed group");
        check("re:((a{100}){100}){100}", "too much memory");
        check(&"*".repeat(2_001), "more than 2000 bytes");
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused_and_taken_back(text in "(\\*|re:|http)\\PC{0,20}") {
            if let Ok(pattern) = text.parse::<UrlPattern>() {
                prop_assert_eq!(pattern.to_string(), text);
                let _ = patterns(&[pattern.as_str()]).find("http://a.example/");
            }
        }

        /// A URL matches itself, and itself with any part left to a star.
        #[test]
        fn a_star_is_anything(url in "http://[a-z.?+()$^|\\[\\]{}/\\\\]{0,20}", from in 7_usize..30, to in 7_usize..30) {
            let (from, to) = (from.min(url.len()), to.min(url.len()));
            let (from, to) = (from.min(to), from.max(to));
            let starred = format!("{}*{}", &url[..from], &url[to..]);
            for text in [&url, &starred] {
                prop_assert!(patterns(&[text]).find(&url).is_some(), "{}", text);
            }
        }
    }
}
