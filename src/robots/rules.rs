//! Parses the bytes of a robots.txt into the [`Rules`] for one crawler, in one pass.
//!
//! Well-formed rules are read here. All other lines are read by the line parser of the `robotstxt`
//! crate, which accepts the usual misspellings of `disallow`: RFC 9309 does not mention them, but
//! what their author wanted is plain. Lines that it handles badly are kept from it; see
//! [`can_be_record`].

use std::time::Duration;

use robotstxt::RobotsParseHandler;
use robotstxt::parser::RobotsTxtParser;

use super::matcher::{Decision, Matcher, MatcherBuilder};

/// Maximum number of bytes read of a body. RFC 9309, section 2.5 requires at least 500 KiB; the
/// round number above it costs nothing and leaves no rule at the mercy of how a kilobyte is
/// defined.
pub const MAX_BODY: usize = 512 * 1024;

/// Maximum crawl delay that is honoured. Beyond an hour a host would be visited so rarely that the
/// number is more often a mistake than a wish.
pub const MAX_CRAWL_DELAY: Duration = Duration::from_hours(1);

/// Maximum number of sitemaps kept, in order of appearance. Addresses of more than 4,096 bytes are
/// skipped.
pub const MAX_SITEMAPS: usize = 1_000;

/// Maximum number of characters shown of a line.
const MAX_LINE_SHOWN: usize = 500;

/// Maximum length of a sitemap's address, in bytes.
const MAX_SITEMAP_LEN: usize = 4_096;

/// What a host asks of one crawler: rules, crawl delay and sitemaps. Immutable. Holds about as many
/// bytes as the body, at worst (all escapes) some three times [`MAX_BODY`]; see [`Rules::size`].
#[derive(Debug, Clone)]
pub struct Rules {
    matcher: Matcher,
    crawl_delay: Option<Duration>,
    sitemaps: Box<[String]>,
}

/// The line of a robots.txt that decided about a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleLine {
    /// Line number, from 1.
    pub number: u32,
    /// Set if the line allows the path.
    pub allow: bool,
    /// The line as written, at most 500 characters.
    pub text: String,
}

impl Rules {
    /// Parses the rules for the crawler with this product token, in any case. Parsing never fails:
    /// whatever is not a rule is skipped. Of a body beyond [`MAX_BODY`], only the lines that end
    /// before the limit count, because a rule cut in the middle would say more than was meant.
    ///
    /// All groups that name the crawler are merged; the groups for `*` apply only if none does (RFC
    /// 9309, section 2.2.1). If there are neither, everything is allowed.
    pub fn parse(body: &[u8], product_token: &str) -> Self {
        let mut reader = Reader::new(product_token);
        // Lines that are still to be handed to the line parser.
        let mut text = String::new();
        for (number, line) in lines(within_limit(body)) {
            let is_blank = |byte: &&u8| **byte <= b' ';
            let line = &line[line.iter().take_while(is_blank).count()..];
            let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
            if let Some((pattern, allow)) = plain_rule(line) {
                reader.read(&mut text);
                reader.rule(number, pattern, allow);
            } else if can_be_record(line) {
                push_ascii(line, &mut text);
                text.push('\n');
                reader.lines.push(number);
            }
        }
        reader.read(&mut text);
        reader.finish()
    }

    /// Returns the line of a robots.txt that decides about a path with its query, or `None` if none
    /// does and the path is allowed. Reads the whole body again, so it serves people who ask why,
    /// not every visit.
    pub fn explain(body: &[u8], product_token: &str, path_and_query: &str) -> Option<RuleLine> {
        let decision = Self::parse(body, product_token).decide(path_and_query)?;
        Some(RuleLine {
            number: decision.line,
            allow: decision.allow,
            text: line(body, decision.line),
        })
    }

    /// Returns rules that allow everything.
    pub fn allow_all() -> Self {
        Self {
            matcher: MatcherBuilder::default().build(),
            crawl_delay: None,
            sitemaps: Box::default(),
        }
    }

    /// Returns rules that disallow everything except robots.txt itself.
    pub fn disallow_all() -> Self {
        let mut builder = MatcherBuilder::default();
        builder.add("/", false, 0);
        Self {
            matcher: builder.build(),
            crawl_delay: None,
            sitemaps: Box::default(),
        }
    }

    /// Returns `true` if a path with its query (`/a/b?c=d`, as requested) may be visited. The
    /// longest matching rule decides, `allow` among equally long ones; without a matching rule the
    /// path is allowed (RFC 9309, section 2.2.2). Takes linear time in the length of the path.
    pub fn allows(&self, path_and_query: &str) -> bool {
        self.decide(path_and_query)
            .is_none_or(|decision| decision.allow)
    }

    /// Returns the rule that decides about a path, or `None` if no rule applies and the path is
    /// allowed.
    pub fn decide(&self, path_and_query: &str) -> Option<Decision> {
        self.matcher.decide(path_and_query)
    }

    /// Returns the delay between visits that the crawler's own groups ask for, up to
    /// [`MAX_CRAWL_DELAY`]; the longest if there are several. `Crawl-delay` is not in RFC 9309.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// Returns the sitemaps that the file names for any crawler, in order and without repetition,
    /// as written: they may be relative or on another host.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// Returns the size in memory, in bytes, for memory budgets.
    pub fn size(&self) -> usize {
        let sitemaps = self
            .sitemaps
            .iter()
            .map(|sitemap| sitemap.capacity() + size_of::<String>());
        size_of::<Self>() + self.matcher.heap_size() + sitemaps.sum::<usize>()
    }
}

/// Returns the whole lines within [`MAX_BODY`]. A body of exactly that length may have been cut
/// before it came here. A single line of that length is not a rule and is read as it was cut.
fn within_limit(body: &[u8]) -> &[u8] {
    if body.len() < MAX_BODY {
        return body;
    }
    let head = &body[..MAX_BODY];
    match head.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
        Some(end) => &head[..end],
        None => head,
    }
}

/// Returns the lines of a robots.txt, numbered from 1. A line ends with CR, LF or both. The byte
/// order mark is removed, because the line parser would make it part of the first key.
pub fn lines(body: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mark = [0xEF, 0xBB, 0xBF];
    let marked = body
        .iter()
        .zip(mark)
        .take_while(|(byte, mark)| *byte == mark)
        .count();
    let mut rest = Some(&body[marked..]);
    let mut number = 0;
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (line, after) = match end {
            Some(end) if text[end..].starts_with(b"\r\n") => (&text[..end], Some(&text[end + 2..])),
            Some(end) => (&text[..end], Some(&text[end + 1..])),
            None => (text, None),
        };
        rest = after;
        number += 1;
        Some((number, line))
    })
}

/// Returns a line in a form fit to be shown: at most 500 characters, without control characters.
pub fn line(body: &[u8], number: u32) -> String {
    let line = lines(body).find(|(found, _)| *found == number);
    let line = String::from_utf8_lossy(line.map_or(b"", |(_, line)| line));
    let line = line.trim().chars().take(MAX_LINE_SHOWN);
    line.map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Reads a well-formed rule: returns its pattern and whether it allows, as the line parser would,
/// but without the ten allocations that the parser spends on possible misspellings. Nearly all
/// lines of a large file are well-formed.
fn plain_rule(line: &[u8]) -> Option<(&str, bool)> {
    // The parser cuts longer lines, and what is not ASCII has to be escaped for it.
    if line.len() > MAX_PLAIN_RULE || !line.is_ascii() {
        return None;
    }
    let (key, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    let key = key.trim();
    let allow = if key.eq_ignore_ascii_case("disallow") {
        false
    } else if key.eq_ignore_ascii_case("allow") {
        true
    } else {
        return None;
    };
    Some((value.trim(), allow))
}

/// Maximum length of a rule that is read without the line parser, in bytes.
const MAX_PLAIN_RULE: usize = 8 * 1024;

/// Tells whether a line, without its comment, has the colon that the grammar of RFC 9309, section
/// 2.2 requires and begins like user-agent, allow, disallow, sitemap or crawl-delay. Most records
/// that we do not know do not. The parser would accept a space for a missing colon, a case in which
/// the test suites disagree.
fn can_be_record(line: &[u8]) -> bool {
    let begins = |initial: &u8| b"uadsc".contains(&initial.to_ascii_lowercase());
    line.first().is_some_and(begins) && line.contains(&b':')
}

/// Pushes a line in ASCII. Bytes beyond ASCII become escapes, the form in which they are compared
/// anyway (RFC 9309, section 2.2.2). Escapes get upper-case digits here, because the parser, where
/// it has to do that itself, loses every `%` that escapes nothing.
fn push_ascii(line: &[u8], text: &mut String) {
    let mut rest = line;
    while let [byte, after @ ..] = rest {
        rest = after;
        match (byte, after) {
            (b'%', [high, low, tail @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                text.push('%');
                text.push(char::from(high.to_ascii_uppercase()));
                text.push(char::from(low.to_ascii_uppercase()));
                rest = tail;
            }
            (0x80.., _) => super::matcher::push_escape(*byte, text),
            _ => text.push(char::from(*byte)),
        }
    }
}

/// Whom the records that follow apply to.
#[derive(Debug, Clone, Copy, Default)]
struct Audience {
    us: bool,
    all: bool,
    /// Set after a record: the next user-agent line begins a new group.
    closed: bool,
}

impl Audience {
    fn add(&mut self, us: bool, all: bool) {
        if self.closed {
            *self = Self::default();
        }
        self.us |= us;
        self.all |= all;
    }
}

/// The records seen so far of the groups of one kind: those that name us, or those for all
/// crawlers.
#[derive(Default)]
struct Group {
    named: bool,
    rules: MatcherBuilder,
    crawl_delay: Option<Duration>,
}

/// Collects groups from the parser's callbacks. Records that the RFC does not define do not end a
/// group (section 2.2.4). A crawl delay, however, applies only to the agents named right before it,
/// so delays have an audience of their own.
struct Reader<'a> {
    product_token: &'a str,
    /// For each line handed to the parser next, its line number in the body.
    lines: Vec<u32>,
    rule_audience: Audience,
    delay_audience: Audience,
    us: Group,
    all: Group,
    sitemaps: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(product_token: &'a str) -> Self {
        Self {
            product_token,
            lines: Vec::new(),
            rule_audience: Audience::default(),
            delay_audience: Audience::default(),
            us: Group::default(),
            all: Group::default(),
            sitemaps: Vec::new(),
        }
    }

    /// Passes `text` to the line parser and empties it. The text has to be ASCII, because the
    /// parser cuts long lines at byte positions and panics inside a character.
    fn read(&mut self, text: &mut String) {
        if !text.is_empty() {
            RobotsTxtParser::new(text, self).parse();
            self.lines.clear();
            text.clear();
        }
    }

    /// Returns the line number in the body of a line as the parser counts it.
    fn number(&self, line: u32) -> u32 {
        let at = (line as usize).checked_sub(1);
        at.and_then(|at| self.lines.get(at)).copied().unwrap_or(0)
    }

    fn rule(&mut self, line: u32, pattern: &str, allow: bool) {
        self.rule_audience.closed = true;
        self.delay_audience.closed = true;
        if self.rule_audience.us {
            self.us.rules.add(pattern, allow, line);
        }
        // Once a group names us, those for all crawlers do not matter.
        if self.rule_audience.all && !self.us.named {
            self.all.rules.add(pattern, allow, line);
        }
    }

    fn finish(self) -> Rules {
        let group = if self.us.named { self.us } else { self.all };
        Rules {
            matcher: group.rules.build(),
            crawl_delay: group.crawl_delay,
            sitemaps: self.sitemaps.into(),
        }
    }
}

impl RobotsParseHandler for Reader<'_> {
    fn handle_robots_start(&mut self) {}

    fn handle_robots_end(&mut self) {}

    fn handle_user_agent(&mut self, _line: u32, value: &str) {
        // A product token has no version, but `gleaner/0.1` can only mean us. A value of several
        // words means another crawler.
        let name = value
            .split_once('/')
            .map_or(value, |(name, _)| name)
            .trim_ascii_end();
        let us = !name.is_empty() && name.eq_ignore_ascii_case(self.product_token);
        let all = value == "*";
        self.rule_audience.add(us, all);
        self.delay_audience.add(us, all);
        self.us.named |= us;
        self.all.named |= all;
    }

    fn handle_allow(&mut self, line: u32, value: &str) {
        self.rule(self.number(line), value, true);
    }

    fn handle_disallow(&mut self, line: u32, value: &str) {
        self.rule(self.number(line), value, false);
    }

    fn handle_sitemap(&mut self, _line: u32, value: &str) {
        if value.is_empty() || value.len() > MAX_SITEMAP_LEN || self.sitemaps.len() == MAX_SITEMAPS
        {
            return;
        }
        if !self.sitemaps.iter().any(|known| known == value) {
            self.sitemaps.push(value.to_owned());
        }
    }

    fn handle_unknown_action(&mut self, _line: u32, action: &str, value: &str) {
        if !action.eq_ignore_ascii_case("crawl-delay") {
            return;
        }
        self.delay_audience.closed = true;
        let Some(delay) = seconds(value) else { return };
        if self.delay_audience.us {
            self.us.crawl_delay = self.us.crawl_delay.max(Some(delay));
        }
        if self.delay_audience.all {
            self.all.crawl_delay = self.all.crawl_delay.max(Some(delay));
        }
    }
}

/// Parses a number of seconds, which may have a fraction.
fn seconds(value: &str) -> Option<Duration> {
    let seconds: f64 = value.parse().ok()?;
    if seconds.is_nan() || seconds < 0.0 {
        return None;
    }
    Some(Duration::from_secs_f64(
        seconds.min(MAX_CRAWL_DELAY.as_secs_f64()),
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Checks which paths the crawler `gleaner` may visit (`+`) and may not (`-`).
    fn check(body: &str, expected: &[&str]) {
        let rules = Rules::parse(body.as_bytes(), "gleaner");
        for expectation in expected {
            let (sign, path) = expectation.split_at(1);
            assert_eq!(rules.allows(path), sign == "+", "{path} by {body:?}");
        }
    }

    #[test]
    fn without_rules_all_is_allowed() {
        check("", &["+/", "+/x"]);
        check("<html><body>Disallow: /</body></html>", &["+/"]);
        check("disallow: /x", &["+/x"]);
        check("user-agent: other\ndisallow: /", &["+/"]);
        check("user-agent: *\ndisallow:", &["+/"]);
    }

    #[test]
    fn robots_txt_itself_is_always_allowed() {
        check(
            "user-agent: *\ndisallow: /",
            &["+/robots.txt", "-/robots.txt.bak", "-/", "-"],
        );
        assert!(Rules::disallow_all().allows("/robots.txt"));
        assert!(!Rules::disallow_all().allows("/x"));
        assert!(Rules::allow_all().allows("/x"));
    }

    #[test]
    fn a_group_that_names_us_replaces_those_for_all() {
        check(
            "user-agent: *\ndisallow: /\nuser-agent: gleaner\ndisallow: /g",
            &["+/", "-/g"],
        );
        check(
            "user-agent: gleaner\ndisallow: /g\nuser-agent: *\ndisallow: /",
            &["+/", "-/g"],
        );
        check("user-agent: *\ndisallow: /\nuser-agent: gleaner", &["+/"]);
    }

    #[test]
    fn agents_are_compared_whole_and_in_any_case() {
        for agent in ["gleaner", "GLEANER", "gleaner/0.1", " Gleaner / 2 "] {
            check(&format!("user-agent: {agent}\ndisallow: /"), &["-/"]);
        }
        for agent in [
            "glean",
            "gleaners",
            "gleaner bot",
            "my-gleaner",
            "glea*",
            "",
            "/",
            "gleaner*",
        ] {
            check(&format!("user-agent: {agent}\ndisallow: /"), &["+/"]);
        }
    }

    #[test]
    fn groups_of_one_agent_are_one() {
        check(
            "user-agent: gleaner\ndisallow: /a\nuser-agent: x\ndisallow: /b\nuser-agent: Gleaner\ndisallow: /c",
            &["-/a", "+/b", "-/c"],
        );
        check(
            "user-agent: *\ndisallow: /a\n\nuser-agent: *\ndisallow: /b",
            &["-/a", "-/b"],
        );
    }

    #[test]
    fn agents_in_a_row_share_their_rules() {
        check(
            "user-agent: x\n\n# comment\nuser-agent: gleaner\ndisallow: /a",
            &["-/a"],
        );
        check(
            "user-agent: gleaner\nuser-agent: x\ndisallow: /a\nuser-agent: y\ndisallow: /b",
            &["-/a", "+/b"],
        );
    }

    #[test]
    fn records_unknown_to_the_rfc_end_no_group() {
        for record in [
            "sitemap: http://a.example/s",
            "crawl-delay: 1",
            "noindex: /x",
            "host: a.example",
        ] {
            check(
                &format!("user-agent: gleaner\n{record}\nuser-agent: x\ndisallow: /a"),
                &["-/a"],
            );
            check(
                &format!("user-agent: gleaner\n{record}\ndisallow: /a"),
                &["-/a"],
            );
        }
    }

    #[test]
    fn lines_end_as_they_like() {
        for end in ["\n", "\r", "\r\n", "\n\r\n"] {
            check(
                &["user-agent: gleaner", "disallow: /a # b", " DISALLOW :/c "].join(end),
                &["-/a", "-/c", "+/b"],
            );
        }
    }

    #[test]
    fn slips_of_the_pen_are_forgiven() {
        check(
            "useragent: gleaner\ndissalow: /a\nDisalow : /b",
            &["-/a", "-/b"],
        );
    }

    #[test]
    fn a_line_without_colon_is_no_record() {
        check(
            "user-agent: *\ndisallow /a\n  disallow /b # c: d\ndisallow: /e",
            &["+/a", "+/b", "-/e"],
        );
        check("user-agent *\ndisallow: /", &["+/"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        check("\u{feff}user-agent: *\ndisallow: /a", &["-/a"]);
        let cut = Rules::parse(b"\xEF\xBBuser-agent: *\ndisallow: /a", "gleaner");
        assert!(!cut.allows("/a"));
    }

    #[test]
    fn bytes_beyond_ascii_are_compared_as_escapes() {
        check(
            "user-agent: *\ndisallow: /é",
            &["-/%C3%A9", "-/%c3%a9", "-/é", "+/e"],
        );
        let latin = Rules::parse(b"user-agent: *\ndisallow: /\xE9", "gleaner");
        assert!(!latin.allows("/%E9") && latin.allows("/é"));
    }

    #[test]
    fn long_lines_of_multibyte_characters_are_survived() {
        let line = "é".repeat(20_000);
        check(
            &format!("user-agent: *\ndisallow: /{line}\ndisallow: /a"),
            &["-/a", "+/b"],
        );
    }

    #[test]
    fn percents_that_escape_nothing_are_kept() {
        check(
            "user-agent: *\ndisallow: /a%zz%aab",
            &["-/a%zz%AAb", "+/a", "+/a%aab"],
        );
    }

    #[test]
    fn only_whole_lines_within_the_limit_count() {
        let head = "user-agent: *\ndisallow: /a\n";
        let filler = "#\n".repeat((MAX_BODY - head.len()) / 2 - 5);
        let inside = format!("{head}{filler}disallow: /b\n");
        assert!(inside.len() > MAX_BODY && inside.len() < MAX_BODY + 8);
        check(&inside, &["-/a", "+/b", "+/"]);
        check(&inside.replacen("#\n#\n#\n#\n", "", 1), &["-/a", "-/b"]);
        // The body may have been cut before, so its last line may have gone on.
        check(&inside[..MAX_BODY], &["-/a", "+/b", "+/"]);
    }

    #[test]
    fn the_rule_that_decides_is_named_as_it_is_written() {
        let body = "\u{feff}# a comment\r\n\r\nUser-Agent: *\rDisallow: /\n\nnonsense\nUser-agent: gleaner\r\n  disallow : /a*b # why\nAllow: /a/b\nDisallow: /A\n";
        let rule = |path| {
            let rule = Rules::explain(body.as_bytes(), "gleaner", path)?;
            assert_eq!(
                rule.allow,
                Rules::parse(body.as_bytes(), "gleaner").allows(path)
            );
            Some((rule.number, rule.text))
        };
        assert_eq!(rule("/axb"), Some((8, "disallow : /a*b # why".to_owned())));
        // Equally long: the allowing rule wins.
        assert_eq!(rule("/a/b"), Some((9, "Allow: /a/b".to_owned())));
        assert_eq!(rule("/A"), Some((10, "Disallow: /A".to_owned())));
        assert_eq!(rule("/c"), None);
        assert_eq!(rule("/robots.txt"), None);
        let other = Rules::explain(body.as_bytes(), "other", "/x").unwrap();
        assert_eq!((other.number, other.allow), (4, false));
    }

    #[test]
    fn a_decision_names_its_line() {
        for end in ["\n", "\r", "\r\n"] {
            let body = [
                "\u{feff}# about",
                "user-agent: *",
                "",
                "not a record",
                "disallow: /a",
                "allow: /a/*/b # why",
                "disallow: /b",
                "allow: /b",
            ]
            .join(end);
            let rules = Rules::parse(body.as_bytes(), "gleaner");
            for (path, expected) in [
                ("/a/x", Some((false, 5))),
                ("/a/x/b", Some((true, 6))),
                ("/b", Some((true, 8))),
                ("/c", None),
                ("/robots.txt", None),
            ] {
                let decision = rules.decide(path).map(|it| (it.allow, it.line));
                assert_eq!(decision, expected, "{path} with {end:?}");
            }
            let line = lines(body.as_bytes()).find(|(number, _)| *number == 5);
            assert_eq!(line, Some((5, "disallow: /a".as_bytes())));
        }
    }

    fn check_delay(body: &str, expected: Option<f64>) {
        let rules = Rules::parse(body.as_bytes(), "gleaner");
        assert_eq!(
            rules.crawl_delay().map(|delay| delay.as_secs_f64()),
            expected,
            "{body:?}"
        );
    }

    #[test]
    fn delays() {
        check_delay("user-agent: *\ndisallow: /", None);
        check_delay("crawl-delay: 5\nuser-agent: *", None);
        check_delay("user-agent: *\nCrawl-Delay: 2.5", Some(2.5));
        check_delay(
            "user-agent: *\ncrawl-delay: 5\nuser-agent: gleaner\ndisallow: /",
            None,
        );
        check_delay(
            "user-agent: *\ncrawl-delay: 5\nuser-agent: gleaner\ncrawl-delay: 7",
            Some(7.0),
        );
        check_delay(
            "user-agent: gleaner\ncrawl-delay: 5\nuser-agent: x\ncrawl-delay: 7",
            Some(5.0),
        );
        check_delay(
            "user-agent: gleaner\nuser-agent: x\ncrawl-delay: 7",
            Some(7.0),
        );
        check_delay(
            "user-agent: *\ncrawl-delay: 5\ncrawl-delay: 9\ncrawl-delay: 1",
            Some(9.0),
        );
        for (value, expected) in [
            ("0", Some(0.0)),
            ("1e9", Some(3600.0)),
            ("inf", Some(3600.0)),
            ("-1", None),
            ("NaN", None),
            ("soon", None),
            ("", None),
        ] {
            check_delay(&format!("user-agent: *\ncrawl-delay: {value}"), expected);
        }
    }

    #[test]
    fn sitemaps_stand_anywhere() {
        let body = "sitemap: http://a.example/1\nuser-agent: x\nSite-Map: /2\ndisallow: /\nSITEMAP:http://a.example/1\nsitemap:";
        assert_eq!(
            Rules::parse(body.as_bytes(), "gleaner").sitemaps(),
            ["http://a.example/1", "/2"]
        );
        let many: Vec<String> = (0..3_000).map(|n| format!("sitemap: /{n}")).collect();
        assert_eq!(
            Rules::parse(many.join("\n").as_bytes(), "gleaner")
                .sitemaps()
                .len(),
            MAX_SITEMAPS
        );
    }

    #[test]
    fn size_is_bounded_by_the_body() {
        for line in [
            "allow:/\n",
            "disallow: /a/b/c\n",
            "disallow: /*\n",
            "sitemap: /x\n",
        ] {
            let lines: String = (0..90_000)
                .map(|n| line.replace('\n', &format!("{n}\n")))
                .collect();
            let rules = Rules::parse(format!("user-agent: *\n{lines}").as_bytes(), "gleaner");
            assert!(
                rules.size() > 1_000 && rules.size() < 5 * MAX_BODY,
                "{line:?} holds {}",
                rules.size()
            );
        }
        assert!(Rules::allow_all().size() < 500);
    }

    proptest! {
        /// What is read here equals what the line parser reads, which alone knows the misspelt key.
        #[test]
        fn a_rule_is_the_same_whoever_reads_it(
            pattern in "[ \t/a-c%0-9A-Fa-f*$:é]{0,12}",
            path in "/[a-c%0-9A-Fa-f:é]{0,10}",
            allow in any::<bool>(),
        ) {
            let (key, other) = if allow { ("Allow ", "allowed") } else { ("disALLOW", "disalow") };
            let of = |key: &str| {
                let body = format!("user-agent: *\ndisallow: /a\n{key}:{pattern}\r\n");
                Rules::parse(body.as_bytes(), "x").decide(&path)
            };
            prop_assert_eq!(of(key), of(other));
        }
        #[test]
        fn any_bytes_are_read(body in proptest::collection::vec(any::<u8>(), 0..300), path in "\\PC{0,20}") {
            let rules = Rules::parse(&body, "gleaner");
            prop_assert!(rules.allows("/robots.txt"));
            rules.allows(&path);
        }

        #[test]
        fn any_lines_are_read(
            lines in proptest::collection::vec("(user-agent|allow|disallow|sitemap|crawl-delay|x)[: ]{0,2}[*/a$%é#]{0,6}", 0..20),
            path in "/[*/a$%é]{0,8}",
        ) {
            Rules::parse(lines.join("\n").as_bytes(), "a").allows(&path);
        }
    }
}
