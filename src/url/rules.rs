//! The rules of the canonical form as data: the list of rules, which of them are on by default, and
//! the names of parameters that carry tracking or a session. `canonical.rs` applies them. To treat
//! URLs differently, change a line here.
//!
//! Some normalizations are not listed because the URL standard's parser has applied them already:
//! case of scheme and host, IDN, default port, dot segments, and the encoding of characters that no
//! URL may contain. The fragment never reaches a server and is always dropped.

use serde::{Deserialize, Serialize};

/// Version of the part of the canonical form that no setting controls; each crawl keeps it with its
/// settings. Raise it whenever any URL gets a different canonical form than before, including by a
/// change to a list below: a crawl begun under another version would meet its own pages as new
/// ones.
pub(super) const FORM: u32 = 1;

/// One normalization, which can be switched on and off by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[repr(u8)]
#[expect(missing_docs, reason = "each is described by its line in `RULES`")]
pub enum Rule {
    Scheme,
    Userinfo,
    Www,
    TrailingDot,
    PercentEncoding,
    SessionInPath,
    PathCase,
    DuplicateSlashes,
    IndexFile,
    TrailingSlash,
    EmptyQuery,
    Parameters,
    Tracking,
    SessionInQuery,
    QueryOrder,
}

/// A rule with its name, its description and its default.
#[derive(Debug)]
pub struct RuleLine {
    /// The rule.
    pub rule: Rule,
    /// Name in configuration and output.
    pub name: &'static str,
    /// What the rule does, as one sentence without a period.
    pub what: &'static str,
    /// Set if [`Canonicalizer::default`](super::Canonicalizer::default) applies the rule.
    pub by_default: bool,
}

const fn line(rule: Rule, name: &'static str, by_default: bool, what: &'static str) -> RuleLine {
    RuleLine {
        rule,
        name,
        what,
        by_default,
    }
}

/// All rules, in the order of application.
static RULES: [RuleLine; 15] = [
    // Off: a host may serve other pages, or none, under https. Most do not.
    line(
        Rule::Scheme,
        "scheme",
        false,
        "writes http as https where the URL names no port",
    ),
    // User names and passwords in links do not identify a page, and they can be invented freely: a
    // page that links to `http://1@host/`, `http://2@host/` and so on would otherwise have no end.
    // They are dropped when a URL is parsed; the rule is for URLs that were kept before that.
    line(
        Rule::Userinfo,
        "userinfo",
        true,
        "drops user name and password",
    ),
    // Off: they are two hosts, and it is for them to say which redirects to the other.
    line(
        Rule::Www,
        "www",
        false,
        "drops `www.` before a host name, also with a number, as in `www2.`",
    ),
    line(
        Rule::TrailingDot,
        "trailing-dot",
        true,
        "drops the dot after a host name",
    ),
    line(
        Rule::PercentEncoding,
        "percent-encoding",
        true,
        "decodes escapes of unreserved characters, writes the others in upper case (RFC 3986 6.2.2)",
    ),
    line(
        Rule::SessionInPath,
        "session-in-path",
        true,
        "drops `;jsessionid=...` and the segments of ASP.NET sessions without cookies",
    ),
    // Off: most servers distinguish `/Page` from `/page`.
    line(
        Rule::PathCase,
        "path-case",
        false,
        "writes the path in lower case, but not its escapes",
    ),
    // Off: `/web/2020/http://a.example/` is a common kind of path, and some servers distinguish
    // `//` from `/`.
    line(
        Rule::DuplicateSlashes,
        "duplicate-slashes",
        false,
        "folds runs of slashes in the path",
    ),
    // Off: only the server's configuration determines which file stands for a directory.
    line(
        Rule::IndexFile,
        "index-file",
        false,
        "drops `index.html` and its kin from the end of the path",
    ),
    line(
        Rule::TrailingSlash,
        "trailing-slash",
        true,
        "drops slashes at the end of a path",
    ),
    line(
        Rule::EmptyQuery,
        "empty-query",
        true,
        "drops an empty query and empty pieces of a query",
    ),
    // On: it does nothing unless the settings name a parameter.
    line(
        Rule::Parameters,
        "parameters",
        true,
        "drops parameters that settings name for the host",
    ),
    line(
        Rule::Tracking,
        "tracking",
        true,
        "drops parameters known to carry only tracking",
    ),
    line(
        Rule::SessionInQuery,
        "session-in-query",
        true,
        "drops parameters known to carry a session",
    ),
    line(
        Rule::QueryOrder,
        "query-order",
        true,
        "sorts parameters by name; equal names keep their order",
    ),
];

/// The error returned for a name that no rule has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a canonicalization rule")]
pub struct UnknownRule(
    /// The unknown name.
    pub String,
);

impl Rule {
    /// Returns every rule with its description, in the order of application.
    pub fn all() -> &'static [RuleLine] {
        &RULES
    }
}

impl std::str::FromStr for Rule {
    type Err = UnknownRule;

    fn from_str(name: &str) -> Result<Self, UnknownRule> {
        let line = RULES.iter().find(|line| line.name == name);
        line.map(|line| line.rule)
            .ok_or_else(|| UnknownRule(name.to_owned()))
    }
}

impl TryFrom<String> for Rule {
    type Error = UnknownRule;

    fn try_from(name: String) -> Result<Self, UnknownRule> {
        name.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(RULES[*self as usize].name)
    }
}

/// A set of rules; by default the rules that [`Rule::all`] marks as default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleSet(u16);

impl RuleSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// Returns `true` if the set contains `rule`.
    pub fn has(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u8) != 0
    }

    /// Returns the set with `rule` added.
    #[must_use]
    pub fn with(self, rule: Rule) -> Self {
        Self(self.0 | (1 << rule as u8))
    }

    /// Returns the set with `rule` removed.
    #[must_use]
    pub fn without(self, rule: Rule) -> Self {
        Self(self.0 & !(1 << rule as u8))
    }

    /// Returns the set with the rules of `off` removed and those of `on` added.
    #[must_use]
    pub fn changed(self, on: Self, off: Self) -> Self {
        Self((self.0 & !off.0) | on.0)
    }

    /// Iterates over the rules of the set, in the order of application.
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        let lines = RULES.iter().map(|line| line.rule);
        lines.filter(move |rule| self.has(*rule))
    }
}

impl FromIterator<Rule> for RuleSet {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        rules.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl Default for RuleSet {
    fn default() -> Self {
        RULES
            .iter()
            .filter(|line| line.by_default)
            .map(|line| line.rule)
            .collect()
    }
}

/// Tells whether a parameter only says where a visitor came from. Matches full names or documented
/// prefixes, ignoring case; never a part of a name.
pub(super) fn is_tracking(name: &str) -> bool {
    TRACKING_PREFIXES.iter().any(|prefix| {
        name.len() > prefix.len()
            && name.as_bytes()[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes())
    }) || TRACKING
        .binary_search_by(|listed| compare(listed, name))
        .is_ok()
}

/// Tells whether a parameter carries a session and says nothing about the page.
pub(super) fn is_session(name: &str, value: &str) -> bool {
    match SESSIONS.binary_search_by(|(listed, _)| compare(listed, name)) {
        Ok(found) => match SESSIONS[found].1 {
            Value::Any => true,
            Value::SessionShaped => is_session_shaped(value),
        },
        Err(_) => is_asp_session(name),
    }
}

/// Tells whether a server may show this file for its directory, as with `index.html` or
/// `default.aspx`.
pub(super) fn is_index_file(segment: &str) -> bool {
    let Some((stem, extension)) = segment.split_once('.') else {
        return false;
    };
    let is_one_of = |list: &[&str], text: &str| list.iter().any(|it| it.eq_ignore_ascii_case(text));
    (is_one_of(&["index"], stem) && is_one_of(&INDEX_EXTENSIONS, extension))
        || (is_one_of(&["default"], stem) && is_one_of(&DEFAULT_EXTENSIONS, extension))
}

/// Extensions that common servers accept for `index`: Apache, nginx, PHP, servlets, `ColdFusion`.
static INDEX_EXTENSIONS: [&str; 11] = [
    "asp", "aspx", "cfm", "cgi", "htm", "html", "jsp", "php", "pl", "shtml", "xhtml",
];

/// Extensions that IIS accepts for `default`.
static DEFAULT_EXTENSIONS: [&str; 4] = ["asp", "aspx", "htm", "html"];

/// Tells whether a path segment is a cookieless ASP.NET session: `(S(...))`, also combined with an
/// authentication ticket or the mark of the cookie probe, as in `(X(1)F(...)S(...))`; in ASP.NET
/// 1.1, 24 characters in one pair of parentheses.
pub(super) fn is_asp_net_session(segment: &str) -> bool {
    let Some(inner) = segment
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    else {
        return false;
    };
    if inner.len() == 24 {
        return inner
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            && inner.bytes().any(|b| b.is_ascii_digit());
    }
    let mut rest = inner;
    let mut has_session = false;
    while let Some((head, tail)) = rest.split_once(')') {
        let [letter @ (b'S' | b'A' | b'F' | b'X'), b'(', value @ ..] = head.as_bytes() else {
            return false;
        };
        if value.is_empty()
            || !value
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(b))
        {
            return false;
        }
        has_session |= *letter != b'X';
        rest = tail;
    }
    has_session && rest.is_empty()
}

/// Tells whether a name is `ASPSESSIONID` followed by eight letters, as IIS names the cookie of
/// classic ASP.
fn is_asp_session(name: &str) -> bool {
    name.len() == 20
        && name.as_bytes()[..12].eq_ignore_ascii_case(b"aspsessionid")
        && name.as_bytes()[12..].iter().all(u8::is_ascii_alphabetic)
}

/// Tells whether a value is almost certainly random: 16 to 128 hexadecimal digits, or 22 to 128
/// letters and digits (128 bits in base 62), with both letters and digits. Words, numbers, dates
/// and slugs do not qualify.
fn is_session_shaped(value: &str) -> bool {
    let bytes = value.as_bytes();
    let long_enough = match bytes.len() {
        22..=128 => bytes.iter().all(u8::is_ascii_alphanumeric),
        16..22 => bytes.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    };
    long_enough && bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic)
}

/// Compares a listed lower-case name with a name found in a URL, ignoring the case of the latter.
fn compare(listed: &str, name: &str) -> std::cmp::Ordering {
    listed
        .bytes()
        .cmp(name.bytes().map(|b| b.to_ascii_lowercase()))
}

/// What the value must look like for a parameter to be a session.
#[derive(Clone, Copy)]
enum Value {
    /// Anything: the name alone is unambiguous.
    Any,
    /// A random token: the name is also used for content, and `sid=17` may be a story.
    SessionShaped,
}

/// Parameters that carry a session. Sorted, lower case.
static SESSIONS: &[(&str, Value)] = &[
    ("_sessionid", Value::Any),
    ("_sid", Value::SessionShaped),
    ("bv_sessionid", Value::Any), // BroadVision
    ("cfid", Value::Any),         // ColdFusion, with cftoken
    ("cftoken", Value::Any),
    ("jsessionid", Value::Any), // Java servlets
    ("jsid", Value::SessionShaped),
    ("lsid", Value::SessionShaped),
    ("mscsid", Value::Any),    // Commerce Server
    ("oscsid", Value::Any),    // osCommerce
    ("phpsessid", Value::Any), // PHP
    ("phpsessionid", Value::SessionShaped),
    ("sessid", Value::SessionShaped),
    ("session-id", Value::SessionShaped),
    ("session_id", Value::SessionShaped),
    ("sessionid", Value::SessionShaped),
    ("sid", Value::SessionShaped),
    ("xtcsid", Value::Any), // xt:Commerce
    ("zenid", Value::Any),  // Zen Cart
];

/// Prefixes that a vendor documents as its own.
static TRACKING_PREFIXES: &[&str] = &[
    "utm_", // Google Analytics and everybody since
    "hsa_", // HubSpot ads
];

/// Parameters that carry only tracking. Sorted, lower case.
static TRACKING: &[&str] = &[
    "__hsfp", // HubSpot
    "__hssc",
    "__hstc",
    "__s",                  // Drip
    "__twitter_impression", // X
    "_branch_match_id",
    "_bta_c", // Bronto
    "_bta_tid",
    "_ga", // Google Analytics, across domains
    "_gac",
    "_gl",
    "_hsenc", // HubSpot mail
    "_hsmi",
    "_ke",               // Klaviyo
    "_kx",               // Klaviyo
    "_openstat",         // Openstat
    "action_object_map", // Facebook
    "action_ref_map",
    "action_type_map",
    "at_campaign", // AT Internet
    "at_custom1",
    "at_custom2",
    "at_custom3",
    "at_custom4",
    "at_medium",
    "awc",        // Awin
    "bsft_clkid", // Blueshift
    "bsft_eid",
    "bsft_mid",
    "bsft_uid",
    "cjdata",
    "cjevent", // Commission Junction
    "cm_mmc",  // IBM Digital Analytics
    "cm_mmca1",
    "dclid",  // Google Display
    "dicbo",  // Outbrain
    "dm_i",   // dotdigital
    "ef_id",  // Adobe Advertising
    "elqaid", // Eloqua
    "elqat",
    "elqcampaignid",
    "elqtrack",
    "elqtrackid",
    "epik", // Pinterest
    "fb_action_ids",
    "fb_action_types",
    "fb_source",
    "fbclid",      // Facebook
    "ga_campaign", // Google Analytics, by hand
    "ga_content",
    "ga_medium",
    "ga_source",
    "ga_term",
    "gad_campaignid", // Google Ads
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "guccounter",
    "guce_referrer", // Yahoo consent
    "guce_referrer_sig",
    "hsctatracking",
    "igsh", // Instagram
    "igshid",
    "irclickid",    // impact.com
    "itm_campaign", // internal links, in the manner of utm
    "itm_content",
    "itm_medium",
    "itm_source",
    "itm_term",
    "li_fat_id",       // LinkedIn
    "matomo_campaign", // Matomo
    "matomo_cid",
    "matomo_content",
    "matomo_group",
    "matomo_keyword",
    "matomo_kwd",
    "matomo_medium",
    "matomo_placement",
    "matomo_source",
    "mc_cid", // Mailchimp
    "mc_eid",
    "mc_tc",
    "mibextid",      // Facebook
    "mkt_tok",       // Marketo
    "ml_subscriber", // MailerLite
    "ml_subscriber_hash",
    "msclkid",      // Microsoft Ads
    "mtm_campaign", // Matomo
    "mtm_cid",
    "mtm_content",
    "mtm_group",
    "mtm_keyword",
    "mtm_kwd",
    "mtm_medium",
    "mtm_placement",
    "mtm_source",
    "oly_anon_id", // Omeda
    "oly_enc_id",
    "piwik_campaign", // Matomo, before
    "piwik_keyword",
    "piwik_kwd",
    "pk_campaign",
    "pk_cid",
    "pk_content",
    "pk_keyword",
    "pk_kwd",
    "pk_medium",
    "pk_source",
    "qclid",      // Quora
    "rb_clickid", // Rakuten
    "rdt_cid",    // Reddit
    "ref_src",    // X
    "ref_url",
    "s_cid",       // Adobe Analytics
    "s_kwcid",     // Adobe Advertising
    "sc_campaign", // Sitecore mail
    "sc_channel",
    "sc_content",
    "sc_medium",
    "sc_outcome",
    "sccid", // Snapchat
    "sfmc_activityid",
    "sfmc_id", // Salesforce
    "sfmc_journeyid",
    "srsltid",     // Google Merchant Center
    "sscid",       // ShareASale
    "tblci",       // Taboola
    "tduid",       // Tradedoubler
    "trk_contact", // Listrak
    "trk_module",
    "trk_msg",
    "trk_sid",
    "ttclid",    // TikTok
    "twclid",    // X
    "vero_conv", // Vero
    "vero_id",
    "wbraid",   // Google Ads
    "wickedid", // Wicked Reports
    "wickedsource",
    "wprov",    // Wikipedia
    "wt.mc_id", // Webtrends
    "wt_mc",    // Webtrekk
    "xtor",     // AT Internet, before
    "yclid",    // Yandex
    "ysclid",
    "zanpid", // Zanox
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_lower_case() {
        let sessions: Vec<&str> = SESSIONS.iter().map(|(name, _)| *name).collect();
        for list in [TRACKING, &sessions] {
            assert!(list.is_sorted(), "{list:?}");
            assert!(list.iter().all(|name| *name == name.to_ascii_lowercase()));
            assert!(list.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }

    /// [`FORM`] is all that a crawl keeps of these lists: whoever changes a list raises it, and
    /// puts here what the test then finds.
    #[test]
    fn other_lists_have_another_number() {
        let mut text = String::new();
        for line in Rule::all().iter().filter(|line| line.by_default) {
            text += line.name;
        }
        text += &TRACKING_PREFIXES.concat();
        text += &TRACKING.concat();
        for (name, value) in SESSIONS {
            text += name;
            text += &matches!(value, Value::Any).to_string();
        }
        text += &INDEX_EXTENSIONS.concat();
        text += &DEFAULT_EXTENSIONS.concat();
        let digest = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
        assert_eq!(
            (FORM, format!("{digest:016x}").as_str()),
            (1, "0aadd25a372c5fe9")
        );
    }

    #[test]
    fn each_rule_has_one_line_and_its_name() {
        for (index, line) in Rule::all().iter().enumerate() {
            assert_eq!(line.rule as usize, index, "{}", line.name);
            assert_eq!(line.name.parse(), Ok(line.rule));
        }
        assert_eq!("utm".parse::<Rule>(), Err(UnknownRule("utm".to_owned())));
    }

    #[test]
    fn tracking_is_known_by_whole_names_and_prefixes() {
        for name in [
            "utm_source",
            "UTM_Source",
            "utm_x",
            "gclid",
            "FBCLID",
            "_ga",
            "yclid",
            "hsa_acc",
        ] {
            assert!(is_tracking(name), "{name}");
        }
        for name in [
            "utm",
            "utm_",
            "utmost",
            "xutm_source",
            "gclid2",
            "mygclid",
            "ga",
            "",
            "mtm_",
            "id",
        ] {
            assert!(!is_tracking(name), "{name}");
        }
    }

    #[test]
    fn sessions_are_known_by_name_and_shape() {
        let hex = "9682993c8daa2c5497996114facdc805";
        for (name, value) in [
            ("PHPSESSID", hex),
            ("phpsessid", "x"),
            ("sid", hex),
            ("SID", &hex[..16]),
            ("_sid", hex),
            ("sessionid", "q8kd02kfmqpd93kzmwla01kd9f"),
            ("ASPSESSIONIDQQQQGLDK", "A"),
            ("CFTOKEN", "48630702"),
        ] {
            assert!(is_session(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("sid", "17"),
            ("sid", "20240131120000123456789"),
            ("sid", "winter-2024-sale-shoes-and-boots"),
            ("sid", &hex[..15]),
            ("session", hex),
            ("insid", hex),
            ("side", hex),
            ("sid", ""),
            ("sessionid", "42"),
            ("aspsessionid", "A"),
            ("ASPSESSIONIDQQQQ1LDK", "A"),
            ("president", hex),
        ] {
            assert!(!is_session(name, value), "{name}={value}");
        }
    }

    #[test]
    fn sessions_in_segments_are_told_from_parentheses() {
        for segment in [
            "(S(lit3py55t21z5v55vlm25s55))",
            "(X(1)S(lit3py55t21z5v55vlm25s55))",
            "(A(abc)F(d-_f))",
            "(lit3py55t21z5v55vlm25s55)",
        ] {
            assert!(is_asp_net_session(segment), "{segment}");
        }
        for segment in [
            "",
            "(",
            "()",
            "(S)",
            "(S())",
            "(X(1))",
            "(B(abc))",
            "x(S(abc))",
            "(S(abc))x",
            "(S(abc)",
            "S(abc)",
            "(S(a(b)))",
            "(abcdefghijklmnopqrstuvwx)",
            "(S(a/b))",
            "((S(abc)))",
        ] {
            assert!(!is_asp_net_session(segment), "{segment}");
        }
    }
}
