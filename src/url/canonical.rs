//! The canonical form of a URL. This is the only place that makes a [`CanonicalUrl`].
//!
//! Canonicalization stands between parsing and admission. Its result is hashed into a [`UrlId`] and
//! never requested, because a server may distinguish URLs that the rules fold together.
//!
//! Steps, in order: origin (scheme, userinfo, `www.`, trailing dot), path (escapes, sessions, dot
//! segments that these uncovered, case, index file, slashes), query (escapes, empty pieces,
//! parameters named in the settings, tracking, sessions, order). All steps work on the raw text and
//! never on decoded pairs, so `a%26b` stays what it is and `+` is not a space.
//!
//! Which rules apply depends on the host (`host_rules.rs`).
//!
//! Invariant: whatever rules are on, the canonical form parses, and it is its own canonical form.

use std::borrow::Cow;

use ::url::{Position, Url};

use super::host_name::{without_trailing_dot, without_www};
use super::host_rules::{HostRules, HostTable, Parameter, RulesAt};
use super::rules::{self, Rule, RuleSet};
use super::{HostKey, HostPattern, Secret, UrlId};

/// The normal form of a URL. A crawl identifies a URL by it but never requests it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CanonicalUrl(String);

impl CanonicalUrl {
    /// Returns the canonical form as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of this form under a crawl's secret.
    pub fn id(&self, secret: &Secret) -> UrlId {
        UrlId::of(&self.0, secret)
    }
}

impl std::fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes canonical URLs by a set of rules; by default the rules that [`Rule::all`] marks as
/// default.
///
/// The rules that apply at a host come from these sources, each overriding the one before: the
/// given rule set, what was learned of the host, the settings for all hosts, the settings for this
/// host. [`Self::description`] covers all of them except what was learned.
#[derive(Debug, Clone)]
pub struct Canonicalizer {
    rules: HostTable,
}

impl Default for Canonicalizer {
    fn default() -> Self {
        Self::with_rules(RuleSet::default())
    }
}

impl Canonicalizer {
    /// Creates a canonicalizer that applies exactly these rules.
    pub fn with_rules(rules: RuleSet) -> Self {
        Self {
            rules: HostTable::new(rules, HostRules::default(), []),
        }
    }

    /// Creates a canonicalizer that applies the default rules with the given changes, for all hosts
    /// and for some. Where several patterns match a host, the most specific pattern that names a
    /// rule or parameter decides about it.
    pub fn with_hosts(
        everywhere: HostRules,
        hosts: impl IntoIterator<Item = (HostPattern, HostRules)>,
    ) -> Self {
        Self {
            rules: HostTable::new(RuleSet::default(), everywhere, hosts),
        }
    }

    /// Adds learned rules for exactly this host. Settings take precedence over them, and they
    /// replace what was learned of the host before.
    ///
    /// Hosts that share a canonical form by the rules `www` or `scheme` count as one host here.
    /// Those two rules concern more than one host and cannot be learned.
    pub fn learn(&mut self, host: &HostKey, rules: HostRules) {
        self.rules.learn(host, rules);
    }

    /// Forgets what was learned of this host.
    pub fn forget(&mut self, host: &HostKey) {
        self.rules.forget(host);
    }

    /// Returns what was learned of this host.
    pub fn learned(&self, host: &HostKey) -> Option<&HostRules> {
        self.rules.learned(host)
    }

    /// Describes everything that the canonical form of a URL depends on, except what was learned,
    /// one setting per line. Two canonicalizers with the same settings have the same description.
    pub fn description(&self) -> &str {
        self.rules.description()
    }

    /// Returns the rules that change `url` on the way to its canonical form, in the order of
    /// application.
    pub fn explain(&self, url: &Url) -> Vec<Rule> {
        let Some(rules) = self.rules_at(url) else {
            return Vec::new();
        };
        let all = rules.set;
        let mut form = Form { rules };
        form.rules.set = RuleSet::EMPTY;
        let mut last = form.of(url);
        let mut fired = Vec::new();
        for rule in all.iter() {
            form.rules.set = form.rules.set.with(rule);
            let next = form.of(url);
            if next != last {
                fired.push(rule);
                last = next;
            }
        }
        fired
    }

    /// Returns the canonical form of `url`. The rules apply to http and https; any other URL, which
    /// [`parse`](super::parse) never returns, only loses its fragment.
    pub fn canonicalize(&self, url: &Url) -> CanonicalUrl {
        CanonicalUrl(match self.rules_at(url) {
            Some(rules) => Form { rules }.of(url),
            None => url[..Position::AfterQuery].trim_end_matches(' ').to_owned(),
        })
    }

    /// Returns the rules that apply at the host of `url`, or `None` if it is not http or https.
    pub(super) fn rules_at(&self, url: &Url) -> Option<RulesAt<'_>> {
        matches!(url.scheme(), "http" | "https").then(|| self.rules.at(url))
    }
}

/// Builds the canonical form by the rules of one host.
struct Form<'a> {
    rules: RulesAt<'a>,
}

impl Form<'_> {
    fn has(&self, rule: Rule) -> bool {
        self.rules.set.has(rule)
    }

    fn of(&self, url: &Url) -> String {
        let mut canonical = String::with_capacity(url.as_str().len());
        self.push_origin(url, &mut canonical);
        self.push_path(url.path(), &mut canonical);
        if let Some(query) = url.query() {
            self.push_query(query, &mut canonical);
        }
        canonical
    }

    fn push_origin(&self, url: &Url, out: &mut String) {
        // A port was chosen for one scheme and means nothing for the other.
        let scheme = if self.has(Rule::Scheme) && url.port().is_none() {
            "https"
        } else {
            url.scheme()
        };
        out.push_str(scheme);
        out.push_str("://");
        if !self.has(Rule::Userinfo) {
            let behind = url.scheme().len() + "://".len();
            out.push_str(&url[..Position::BeforeHost][behind..]);
        }
        let mut host = &url[Position::BeforeHost..Position::AfterHost];
        if self.has(Rule::Www) {
            host = without_www(host);
        }
        if self.has(Rule::TrailingDot) {
            host = without_trailing_dot(host);
        }
        out.push_str(host);
        out.push_str(&url[Position::AfterHost..Position::BeforePath]);
    }

    /// Pushes the path, which begins with a slash and keeps at least that slash.
    fn push_path(&self, path: &str, out: &mut String) {
        let start = out.len();
        let path = self.unescaped(path);
        // Most paths contain nothing for the walk below: the parser has resolved their dot
        // segments.
        if path.contains(['%', ';', '('])
            || path.contains("/.")
            || self.has(Rule::DuplicateSlashes)
            || self.has(Rule::PathCase)
        {
            self.push_segments(&path, out);
        } else {
            out.push_str(&path);
        }
        if self.has(Rule::TrailingSlash) {
            truncate_slashes(start, out);
        }
        // Removing an index file may uncover another, which would otherwise go in a second round.
        while self.has(Rule::IndexFile) {
            let segment = out[start..]
                .rfind('/')
                .map_or(out.len(), |at| start + at + 1);
            if !rules::is_index_file(&out[segment..]) {
                break;
            }
            out.truncate(segment);
            if !self.has(Rule::TrailingSlash) {
                break;
            }
            truncate_slashes(start, out);
        }
        if out.len() == start {
            out.push('/');
        }
    }

    /// Pushes the path segment by segment, without session segments. Decoded escapes and dropped
    /// sessions may uncover dot segments (`/a/..;jsessionid=1/b`), which are resolved as the parser
    /// would.
    fn push_segments(&self, path: &str, out: &mut String) {
        let start = out.len();
        let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
        while let Some(segment) = segments.next() {
            let is_last = segments.peek().is_none();
            let mut segment = self.without_path_session(segment);
            let is_session = self.has(Rule::SessionInPath) && rules::is_asp_net_session(&segment);
            if self.has(Rule::PathCase) {
                segment = lower_case(segment);
            }
            // Lower-casing may have turned the segment into a session.
            if is_session || (self.has(Rule::SessionInPath) && rules::is_asp_net_session(&segment))
            {
                continue;
            }
            match dots(&segment) {
                Dots::None
                    if segment.is_empty() && !is_last && self.has(Rule::DuplicateSlashes) => {}
                Dots::None => {
                    out.push('/');
                    out.push_str(&segment);
                }
                dots => {
                    if dots == Dots::Double {
                        let parent = out[start..].rfind('/').unwrap_or(0);
                        out.truncate(start + parent);
                    }
                    if is_last {
                        out.push('/');
                    }
                }
            }
        }
    }

    /// Pushes `?` and the remaining query, or nothing if nothing remains.
    fn push_query(&self, query: &str, out: &mut String) {
        let query = self.unescaped(query);
        let mut pieces: Vec<Cow<'_, str>> = Vec::new();
        for piece in query.split('&') {
            let piece = self.without_path_session(piece);
            if !self.drops_piece(&piece) {
                pieces.push(piece);
            }
        }
        if self.has(Rule::QueryOrder) && !pieces.is_sorted_by_key(|piece| name(piece)) {
            pieces.sort_by(|a, b| name(a).cmp(name(b)));
        }
        for (index, piece) in pieces.iter().enumerate() {
            out.push(if index == 0 { '?' } else { '&' });
            out.push_str(piece);
        }
    }

    fn drops_piece(&self, piece: &str) -> bool {
        if piece.is_empty() {
            return self.has(Rule::EmptyQuery);
        }
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        match self.rules.says(name) {
            Some(Parameter::Keep) => false,
            Some(Parameter::Drop) if self.has(Rule::Parameters) => true,
            _ => {
                (self.has(Rule::Tracking) && rules::is_tracking(name))
                    || (self.has(Rule::SessionInQuery) && rules::is_session(name, value))
            }
        }
    }

    /// Drops `;jsessionid=...` (Servlet specification, section 7.1.3), and whatever else would be a
    /// session in a query, from a path segment or a piece of the query. Some servers append the
    /// session to the whole URL, so it can follow either.
    fn without_path_session<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !text.contains(';') || !self.has(Rule::SessionInPath) {
            return Cow::Borrowed(text);
        }
        let is_kept = |parameter: &&str| {
            parameter
                .split_once('=')
                .is_none_or(|(name, value)| !rules::is_session(name, value))
        };
        let mut parts = text.split(';');
        let mut kept = parts.next().unwrap_or_default().to_owned();
        for parameter in parts.filter(is_kept) {
            kept.push(';');
            kept.push_str(parameter);
        }
        Cow::Owned(kept)
    }

    fn unescaped<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match text.find('%') {
            Some(first) if self.has(Rule::PercentEncoding) => {
                Cow::Owned(unescape_unreserved(text, first))
            }
            _ => Cow::Borrowed(text),
        }
    }
}

/// Removes trailing slashes from the part of `out` that begins at `start`.
fn truncate_slashes(start: usize, out: &mut String) {
    out.truncate(start + out[start..].trim_end_matches('/').len());
}

/// Lower-cases everything except the hexadecimal digits of escapes, which another rule handles
/// (`%3A` and `%3a`).
fn lower_case(segment: Cow<'_, str>) -> Cow<'_, str> {
    if !segment.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return segment;
    }
    let mut lower = String::with_capacity(segment.len());
    let mut of_escape = 0_u8;
    for (at, character) in segment.char_indices() {
        if trailing_escape(segment.get(..at + 3).unwrap_or_default()).is_some() {
            of_escape = 3;
        }
        lower.push(match of_escape {
            0 => character.to_ascii_lowercase(),
            _ => character,
        });
        of_escape = of_escape.saturating_sub(1);
    }
    Cow::Owned(lower)
}

/// Decodes the escapes of unreserved characters and upper-cases the others, until nothing changes:
/// `%%41`, whose first `%` escapes nothing, becomes `%A`, and `%%30%30` becomes `%00`. One pass
/// suffices, because each decoded character consumes three. `first` is the position of the first
/// `%`.
fn unescape_unreserved(text: &str, first: usize) -> String {
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    for character in text[first..].chars() {
        out.push(character);
        while let Some(octet) = trailing_escape(&out) {
            if is_unreserved(octet) {
                out.truncate(out.len() - 3);
                out.push(char::from(octet));
            } else {
                let upper = [octet >> 4, octet & 15].map(|digit| HEX_DIGITS[usize::from(digit)]);
                out.truncate(out.len() - 2);
                out.extend(upper.map(char::from));
                break;
            }
        }
    }
    out
}

const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Returns the octet of the escape at the end of `text`.
fn trailing_escape(text: &str) -> Option<u8> {
    let [.., b'%', high, low] = text.as_bytes() else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// Tells whether an octet is an unreserved character (RFC 3986, section 2.3).
fn is_unreserved(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"-._~".contains(&octet)
}

#[derive(PartialEq)]
enum Dots {
    None,
    Single,
    Double,
}

/// Tells which dot segment the parser would see in a segment; it also reads `%2e` as a dot.
fn dots(segment: &str) -> Dots {
    let mut rest = segment;
    let mut count = 0;
    while let Some(after) = rest
        .strip_prefix('.')
        .or_else(|| rest.strip_prefix("%2e"))
        .or_else(|| rest.strip_prefix("%2E"))
    {
        rest = after;
        count += 1;
    }
    match (rest, count) {
        ("", 1) => Dots::Single,
        ("", 2) => Dots::Double,
        _ => Dots::None,
    }
}

/// Returns the name of a query piece: the text before the first `=`.
fn name(piece: &str) -> &str {
    piece.split_once('=').map_or(piece, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        Canonicalizer::default()
            .canonicalize(&Url::parse(text).unwrap())
            .0
    }

    /// Checks that all of these have the canonical form `expected`.
    fn check_same(expected: &str, urls: &[&str]) {
        for url in urls.iter().chain([&expected]) {
            assert_eq!(canonical(url), expected, "{url}");
        }
    }

    /// Checks that no two of these have the same canonical form.
    fn check_distinct(urls: &[&str]) {
        let mut forms: Vec<String> = urls.iter().map(|url| canonical(url)).collect();
        forms.sort();
        forms.dedup();
        assert_eq!(forms.len(), urls.len(), "{urls:?} became {forms:?}");
    }

    #[test]
    fn origin() {
        check_same(
            "http://a.example/",
            &[
                "HTTP://A.EXAMPLE:80",
                "http://a.example.",
                "http://a.example#f",
            ],
        );
        check_same(
            "https://a.example/",
            &[
                "https://a.example:443/",
                "https://u:p@a.example/",
                "https://@a.example/",
            ],
        );
        check_same("http://a.example:81/x", &["http://u@a.example.:081/x"]);
        check_same(
            "http://xn--bcher-kva.example/",
            &["http://bücher.example/", "http://B%C3%BCCHER.example./"],
        );
        check_same(
            "http://127.0.0.1/",
            &["http://127.1/", "http://0x7f.0.0.1./"],
        );
        check_same("http://[2001:db8::1]/", &["http://[2001:DB8:0:0::1]:80"]);
        check_distinct(&[
            "http://a.example/",
            "https://a.example/",
            "http://www.a.example/",
            "http://a.example:8080/",
        ]);
    }

    #[test]
    fn a_host_of_odd_dots_is_left_alone() {
        // Without one of its dots the name would end in a number and no longer parse.
        check_same("http://foo.09../", &[]);
        check_same("http://a.example../", &[]);
        check_same("http://./", &[]);
    }

    #[test]
    fn escapes() {
        check_same(
            "http://a.example/~u/a-b_c.d",
            &["http://a.example/%7Eu/a%2Db%5fc%2e%64"],
        );
        check_same(
            "http://a.example/caf%C3%A9",
            &["http://a.example/café", "http://a.example/caf%c3%a9"],
        );
        check_same(
            "http://a.example/x?q=%2Fa%26b",
            &["http://a.example/x?%71=%2f%61%26b"],
        );
        check_same(
            "http://a.example/%00",
            &["http://a.example/%%300", "http://a.example/%%30%30"],
        );
        check_distinct(&["http://a.example/a%2Fb", "http://a.example/a/b"]);
        check_distinct(&[
            "http://a.example/a%2541",
            "http://a.example/aA",
            "http://a.example/a%25A",
        ]);
        check_distinct(&["http://a.example/?q=a%26b=c", "http://a.example/?q=a&b=c"]);
        check_distinct(&[
            "http://a.example/?q=a%2Bb",
            "http://a.example/?q=a+b",
            "http://a.example/?q=a%20b",
        ]);
        check_distinct(&["http://a.example/?x=%23y", "http://a.example/?x="]);
    }

    #[test]
    fn dot_segments() {
        check_same(
            "http://a.example/c",
            &["http://a.example/b/../c", "http://a.example/%2e/b/.%2E/./c"],
        );
        // The dots appear only when an escape is decoded that no parser sees.
        check_same("http://a.example/b", &["http://a.example/a/%%32e%%32e/b"]);
        check_distinct(&[
            "http://a.example/...",
            "http://a.example/.a",
            "http://a.example/a",
            "http://a.example/",
        ]);
    }

    #[test]
    fn trailing_slash() {
        check_same(
            "http://a.example/d/i",
            &[
                "http://a.example/d/i/",
                "http://a.example/d/i//",
                "http://a.example/d/i/.",
            ],
        );
        check_same("http://a.example/d?q=/", &["http://a.example/d/?q=/"]);
        check_same(
            "http://a.example/",
            &["http://a.example//", "http://a.example"],
        );
        check_distinct(&[
            "http://a.example/a//b",
            "http://a.example/a/b",
            "http://a.example/ab",
        ]);
    }

    #[test]
    fn query_pieces() {
        check_same(
            "http://a.example/x",
            &["http://a.example/x?", "http://a.example/x?&&"],
        );
        check_same(
            "http://a.example/x?a=1&b=2",
            &["http://a.example/x?&b=2&&a=1&"],
        );
        check_same(
            "http://a.example/x?a=2&a=1&b",
            &[
                "http://a.example/x?b&a=2&a=1",
                "http://a.example/x?a=2&b&a=1",
            ],
        );
        check_distinct(&[
            "http://a.example/x?a=2&a=1",
            "http://a.example/x?a=1&a=2",
            "http://a.example/x?a=1",
        ]);
        check_distinct(&[
            "http://a.example/x?a",
            "http://a.example/x?a=",
            "http://a.example/x?=",
        ]);
        check_distinct(&[
            "http://a.example/x?/c/3",
            "http://a.example/x?/c/4",
            "http://a.example/x?ID=1",
            "http://a.example/x?id=1",
        ]);
    }

    #[test]
    fn tracking() {
        check_same(
            "http://a.example/x",
            &[
                "http://a.example/x?utm_source=home&utm_medium=link",
                "http://a.example/x?gclid=1",
            ],
        );
        check_same(
            "http://a.example/x?b=1",
            &[
                "http://a.example/x?utm_content=toc&b=1",
                "http://a.example/x?b=1&%75tm_id=1",
            ],
        );
        check_distinct(&[
            "http://a.example/utm_source=x",
            "http://a.example/",
            "http://a.example/?q=utm_source",
            "http://a.example/?utmost=1",
        ]);
        check_distinct(&[
            "http://a.example/?u=http://b.example/?utm_source=b",
            "http://a.example/?u=http://b.example/",
        ]);
    }

    #[test]
    fn sessions() {
        let hex = "cdc993a493e899bed04f4d0c8a462a03";
        check_same(
            "http://a.example/x.html?c=4",
            &[
                &format!("http://a.example/x.html?PHPSESSID={hex}&c=4"),
                &format!("http://a.example/x.html?c=4&sid={hex}"),
                &format!("http://a.example/x.html;jsessionid={hex}.node1?c=4"),
                &format!("http://a.example/x.html?c=4;JSESSIONID={hex}"),
                "http://a.example/(S(lit3py55t21z5v55vlm25s55))/x.html?c=4",
            ],
        );
        check_same(
            "http://a.example/",
            &["http://a.example/;jsessionid=1", "http://a.example/(S(a))"],
        );
        check_same(
            "http://a.example/b",
            &["http://a.example/a/..;jsessionid=1/b"],
        );
        check_same(
            "http://a.example/a;v=1",
            &[
                "http://a.example/a;jsessionid=1;v=1",
                "http://a.example/a;v=1;%6Asessionid=1",
            ],
        );
        check_distinct(&[
            "http://a.example/a;v=1",
            "http://a.example/a;v=2",
            "http://a.example/a",
            "http://a.example/a;",
        ]);
        check_distinct(&[
            "http://a.example/?sid=1",
            "http://a.example/?sid=2",
            "http://a.example/?session=am",
            "http://a.example/?insid=1",
        ]);
    }

    #[test]
    fn rules_can_be_chosen() {
        let url = Url::parse("http://u@a.example./p//q/?b=1&&a=2&utm_id=3#f").unwrap();
        let with = |names: &[&str]| {
            let rules = names.iter().map(|name| name.parse::<Rule>().unwrap());
            Canonicalizer::with_rules(rules.collect())
                .canonicalize(&url)
                .0
        };
        assert_eq!(with(&[]), "http://u@a.example./p//q/?b=1&&a=2&utm_id=3");
        assert_eq!(
            with(&["query-order", "empty-query"]),
            "http://u@a.example./p//q/?a=2&b=1&utm_id=3"
        );
        assert_eq!(
            with(&["duplicate-slashes", "userinfo"]),
            "http://a.example./p/q/?b=1&&a=2&utm_id=3"
        );
        assert_eq!(
            with(&["trailing-dot", "trailing-slash", "tracking"]),
            "http://u@a.example/p//q?b=1&&a=2"
        );
    }

    /// Checks that these have one canonical form if `rule` is on besides the default rules.
    fn check_folds(rule: Rule, expected: &str, urls: &[&str]) {
        let canonicalizer = Canonicalizer::with_rules(RuleSet::default().with(rule));
        for url in urls {
            let form = canonicalizer.canonicalize(&Url::parse(url).unwrap());
            assert_eq!(form.as_str(), expected, "{url} with {rule}");
        }
    }

    #[test]
    fn rules_that_are_off_by_default() {
        check_folds(
            Rule::Scheme,
            "https://a.example/x",
            &[
                "http://a.example/x",
                "http://a.example:80/x",
                "https://a.example/x",
            ],
        );
        check_folds(
            Rule::Scheme,
            "http://a.example:443/",
            &["http://a.example:443/"],
        );
        check_folds(
            Rule::Www,
            "http://a.example/",
            &[
                "http://www.a.example/",
                "http://WWW2.a.example./",
                "http://www.www.a.example/",
            ],
        );
        for kept in [
            "http://www.example/",
            "http://wwwa.example/",
            "http://www.1.2.3.4.a/",
        ] {
            let expected = kept.replace("www.1.2", "1.2");
            check_folds(Rule::Www, &expected, &[kept]);
        }
        check_folds(
            Rule::PathCase,
            "http://a.example/page/caf%C3%A9%2Fx?Q=A",
            &["http://a.example/PAGE/CAF%C3%A9%2fX?Q=A"],
        );
        check_folds(
            Rule::IndexFile,
            "http://a.example/d",
            &[
                "http://a.example/d/index.html",
                "http://a.example/d/INDEX.PHP",
                "http://a.example/d/default.aspx",
                "http://a.example/d/index.htm/",
            ],
        );
        check_folds(
            Rule::IndexFile,
            "http://a.example/myindex.html?b",
            &["http://a.example/myindex.html?b"],
        );
        check_folds(
            Rule::IndexFile,
            "http://a.example/?b",
            &["http://a.example/index.cgi?b"],
        );
        check_folds(
            Rule::DuplicateSlashes,
            "http://a.example/a/b",
            &["http://a.example//a///b//"],
        );
        check_distinct(&[
            "http://a.example/d/index.html",
            "http://a.example/d/",
            "http://www.a.example/d/",
            "https://a.example/d/",
            "http://a.example/D/",
            "http://a.example//d/",
        ]);
    }

    #[test]
    fn an_explanation_names_the_rules_that_changed_something() {
        let explain = |text| {
            let url = Url::parse(text).unwrap();
            let rules = Canonicalizer::default().explain(&url).into_iter();
            rules.map(|rule| rule.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(explain("http://a.example/x?a=1&b=2"), Vec::<String>::new());
        assert_eq!(
            explain("http://u@a.example./%7ex;jsessionid=1/?b=1&&a=2&utm_id=3&PHPSESSID=4"),
            [
                "userinfo",
                "trailing-dot",
                "percent-encoding",
                "session-in-path",
                "trailing-slash",
                "empty-query",
                "tracking",
                "session-in-query",
                "query-order",
            ]
        );
    }

    /// Text made of the pieces on which rules act, so that the rules interact.
    fn nasty() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            proptest::sample::select(vec![
                "/",
                "//",
                ".",
                "..",
                "%2e",
                "%2E",
                "%%32e",
                "%",
                "%2",
                "%25",
                "%41",
                "%7e",
                "%3B",
                "%2f",
                ";",
                "=",
                "&",
                "&&",
                "?",
                "a",
                "Z",
                "é",
                " ",
                "\\",
                "+",
                "#",
                ";jsessionid=1",
                "jsessionid",
                "(S(a1))",
                "(S(",
                "))",
                "utm_a=1",
                "utm_",
                "gclid",
                "sid=9682993c8daa2c5497996114facdc805",
                "PHPSESSID=1",
                "/index.html",
                "/Default.ASP",
                "(LIT3PY55T21Z5V55VLM25S55)",
                "a=1",
                "a=2",
                "b",
                "'",
                "\"",
                "<",
                "|",
                "{",
                "@",
                ":",
                "\u{0}",
                "\t",
                "5",
                "f",
                "F",
            ])
            .prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
    }

    fn nasty_url() -> impl Strategy<Value = String> {
        let origin = proptest::sample::select(vec![
            "http://a.example",
            "https://A.example.:443",
            "http://u:p@a.example",
            "http://foo.09..",
            "http://[::1]:8",
            "http://a.b..",
            "http://0x7f.1",
            "http://.",
            "http://bücher.example.",
            "https://www.a.example",
            "http://www3.www.A.example.:443",
            "http://www.www..",
            "http://www.1.example",
            "http://",
        ]);
        (origin, nasty()).prop_map(|(origin, rest)| format!("{origin}/{rest}"))
    }

    proptest! {
        #[test]
        fn canonical_forms_are_their_own(text in nasty_url(), mask in any::<u16>()) {
            let chosen = Rule::all().iter().filter(|line| mask & (1 << line.rule as u8) != 0);
            let chosen: RuleSet = chosen.map(|line| line.rule).collect();
            if let Ok(url) = Url::parse(&text) {
                for canonicalizer in [Canonicalizer::default(), Canonicalizer::with_rules(chosen)] {
                    let once = canonicalizer.canonicalize(&url);
                    let parsed = Url::parse(once.as_str()).unwrap();
                    prop_assert_eq!(parsed.as_str(), once.as_str());
                    prop_assert_eq!(&canonicalizer.canonicalize(&parsed), &once);
                }
            }
        }

        #[test]
        fn any_text_is_taken_or_refused(text in "\\PC{0,40}") {
            if let Ok(url) = crate::url::parse(&text) {
                let once = Canonicalizer::default().canonicalize(&url);
                let parsed = Url::parse(once.as_str()).unwrap();
                prop_assert_eq!(Canonicalizer::default().canonicalize(&parsed), once);
            }
        }

        /// Two URLs that differ in a parameter that no rule names stay two.
        #[test]
        fn kept_parameters_are_kept(
            name in "[a-z]{1,8}",
            (value, other) in ("[A-Za-z0-9]{0,6}", "[A-Za-z0-9]{0,6}"),
            around in proptest::collection::vec("utm_[a-z]{1,5}=[a-z]{0,3}|[a-f]{1,3}=[0-9]{0,2}|gclid=x|", 0..5),
            at in any::<proptest::sample::Index>(),
        ) {
            prop_assume!(!rules::is_tracking(&name) && !rules::is_session(&name, &value) && !rules::is_session(&name, &other));
            let at = at.index(around.len() + 1);
            let with = |piece: Option<String>| {
                let mut pieces = around.clone();
                if let Some(piece) = piece {
                    pieces.insert(at, piece);
                }
                canonical(&format!("http://a.example/x?{}", pieces.join("&")))
            };
            let form = with(Some(format!("{name}={value}")));
            prop_assert_ne!(&form, &with(None));
            if value != other {
                prop_assert_ne!(&form, &with(Some(format!("{name}={other}"))));
            }
            let expected = format!("{name}={value}");
            prop_assert!(form.split(['?', '&']).any(|piece| piece == expected));
        }

        /// The order of parameters of different names does not matter.
        #[test]
        fn order_of_names_is_folded(values in proptest::collection::btree_map("[a-z]{1,4}", "[0-9]{0,3}", 0..8)) {
            let pieces: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let forward = canonical(&format!("http://a.example/?{}", pieces.join("&")));
            let reversed: Vec<String> = pieces.into_iter().rev().collect();
            prop_assert_eq!(forward, canonical(&format!("http://a.example/?{}", reversed.join("&"))));
        }
    }
}
