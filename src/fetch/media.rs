//! Which types of content are wanted, by the declared media type (RFC 9110, section 8.3).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A pattern of media types: `text/html`, `image/*` or `*/*`. Parameters are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MediaPattern {
    kind: String,
    /// `None` for any.
    subtype: Option<String>,
}

impl MediaPattern {
    fn matches(&self, kind: &str, subtype: &str) -> bool {
        (self.kind == "*" || self.kind.eq_ignore_ascii_case(kind))
            && (self.subtype.as_ref()).is_none_or(|it| it.eq_ignore_ascii_case(subtype))
    }
}

impl FromStr for MediaPattern {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "give a media type such as text/html, or image/* for all of a kind";
        let is_token = |text: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
            !text.is_empty() && text.chars().all(allowed)
        };
        let (kind, subtype) = text.split_once('/').ok_or(EXPECTED)?;
        let is_kind = is_token(kind) || (kind == "*" && subtype == "*");
        if !is_kind || !(subtype == "*" || is_token(subtype)) {
            return Err(EXPECTED);
        }
        Ok(Self {
            kind: kind.to_ascii_lowercase(),
            subtype: (subtype != "*").then(|| subtype.to_ascii_lowercase()),
        })
    }
}

impl TryFrom<String> for MediaPattern {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        text.parse()
    }
}

impl fmt::Display for MediaPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, subtype } = self;
        write!(f, "{kind}/{}", subtype.as_deref().unwrap_or("*"))
    }
}

impl From<MediaPattern> for String {
    fn from(pattern: MediaPattern) -> Self {
        pattern.to_string()
    }
}

/// A media type without its parameters.
pub(crate) fn essence(declared: &str) -> &str {
    declared.split(';').next().unwrap_or_default().trim()
}

/// Returns why a response of this type is not wanted, if it is not. One that declares none, or
/// something else than a type, is wanted: nobody knows what it is before it is read.
pub(super) fn refusal(
    declared: Option<&str>,
    accept: &[MediaPattern],
    reject: &[MediaPattern],
) -> Option<String> {
    let declared = essence(declared?);
    let (kind, subtype) = declared.split_once('/')?;
    let matching = |patterns: &[MediaPattern]| {
        let found = patterns.iter().find(|it| it.matches(kind, subtype));
        found.map(MediaPattern::to_string)
    };
    if let Some(pattern) = matching(reject) {
        return Some(format!("it is {declared}, and fetch.reject has {pattern}"));
    }
    let is_accepted = accept.is_empty() || matching(accept).is_some();
    (!is_accepted).then(|| format!("it is {declared}, which is not in fetch.accept"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(text: &str) -> Vec<MediaPattern> {
        let parts = text.split(' ').filter(|it| !it.is_empty());
        parts.map(|it| it.parse().unwrap()).collect()
    }

    #[test]
    fn what_is_not_wanted_is_told_by_its_type() {
        let check = |declared: Option<&str>, accept: &str, reject: &str, expected: Option<&str>| {
            let refused = refusal(declared, &patterns(accept), &patterns(reject));
            match (refused, expected) {
                (Some(why), Some(part)) => assert!(why.contains(part), "{why}"),
                (refused, expected) => assert_eq!(refused.as_deref(), expected, "{declared:?}"),
            }
        };
        // Nobody can know of these.
        check(None, "text/html", "*/*", None);
        check(Some("nonsense"), "text/html", "", None);
        check(Some("image/png"), "", "", None);
        check(
            Some("Text/HTML; charset=utf-8"),
            "text/html",
            "image/*",
            None,
        );
        check(Some("text/html"), "text/*", "", None);
        check(
            Some("image/png"),
            "",
            "image/*",
            Some("fetch.reject has image/*"),
        );
        check(Some("image/png"), "image/*", "image/png", Some("image/png"));
        check(
            Some("application/pdf"),
            "text/*",
            "",
            Some("not in fetch.accept"),
        );
        check(Some("a/b"), "", "*/*", Some("*/*"));
    }

    #[test]
    fn patterns_are_types() {
        for wrong in [
            "",
            "html",
            "text/",
            "/html",
            "*/html",
            "te xt/html",
            "text/html;q=1",
        ] {
            assert!(wrong.parse::<MediaPattern>().is_err(), "{wrong}");
        }
        for right in [
            "text/html",
            "image/*",
            "*/*",
            "application/vnd.ms-excel+xml",
        ] {
            assert_eq!(right.parse::<MediaPattern>().unwrap().to_string(), right);
        }
    }
}
