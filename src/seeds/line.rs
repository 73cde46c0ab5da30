//! One seed as text: a URL or a bare name, with settings behind it, or a JSON object.

use serde::{Deserialize, Serialize};

use super::Reason;
use crate::frontier::{ScopeKind, Seed, SeedSettings};
use crate::url::{self, Url};

/// Maximum length of a tag, in characters: it stands in each line about a page.
const MAX_TAG: usize = 64;

/// A seed as a JSON object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    depth: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

/// Reads a seed: a URL, or a bare name of a host, with a port and a path if it has them; behind it,
/// after white space, `depth=N`, `scope=KIND` and `tag=WORD`, in any order. Or the same as a JSON
/// object.
///
/// # Errors
///
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Seed, Reason> {
    let text = text.trim();
    if text.starts_with('{') {
        return object(text);
    }
    let (mut rest, mut settings) = (text, SeedSettings::default());
    // No URL has white space, so a word with a name and a value is none of it.
    while let Some((before, word)) = rest.rsplit_once(char::is_whitespace) {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name)) else {
            break;
        };
        set(&mut settings, name, value)?;
        rest = before.trim_end();
    }
    let (url, is_bare) = url_or_name(rest)?;
    Ok(Seed {
        url,
        is_bare,
        settings,
    })
}

/// Returns a seed as text from which [`parse`] makes the same seed.
pub fn to_line(seed: &Seed) -> String {
    let url = seed.url.as_str();
    let url = match seed.is_bare {
        true => url.strip_prefix("https://").unwrap_or(url),
        false => url,
    };
    if seed.settings.is_empty() {
        return url.to_owned();
    }
    let SeedSettings { depth, scope, tag } = seed.settings.clone();
    let object = Object {
        url: url.to_owned(),
        depth,
        scope,
        tag,
    };
    // Texts and numbers can always be written.
    serde_json::to_string(&object).unwrap_or_default()
}

fn object(text: &str) -> Result<Seed, Reason> {
    let object: Object = serde_json::from_str(text).map_err(Reason::Object)?;
    let (url, is_bare) = url_or_name(object.url.trim())?;
    if let Some(tag) = &object.tag {
        check_tag(tag)?;
    }
    Ok(Seed {
        url,
        is_bare,
        settings: SeedSettings {
            depth: object.depth,
            scope: object.scope,
            tag: object.tag,
        },
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_lowercase() || it == b'_')
}

fn set(settings: &mut SeedSettings, name: &str, value: &str) -> Result<(), Reason> {
    let wrong = |expected: &str| Reason::Setting(format!("{name}={value}: {expected}"));
    let is_set = match name {
        "depth" => {
            let depth = value.parse();
            let depth = depth.map_err(|_| wrong("a depth is a number of links, 0 to 65535"))?;
            settings.depth.replace(depth).is_some()
        }
        "scope" => {
            let scope = match value {
                "host" => ScopeKind::Host,
                "domain" => ScopeKind::Domain,
                "prefix" => ScopeKind::Prefix,
                "any" => ScopeKind::Any,
                _ => return Err(wrong("a scope is host, domain, prefix or any")),
            };
            settings.scope.replace(scope).is_some()
        }
        "tag" => {
            check_tag(value)?;
            settings.tag.replace(value.to_owned()).is_some()
        }
        _ => {
            return Err(wrong(
                "a seed has depth, scope and tag; in a URL, write white space as %20",
            ));
        }
    };
    match is_set {
        true => Err(Reason::Setting(format!("{name} is given twice"))),
        false => Ok(()),
    }
}

fn check_tag(tag: &str) -> Result<(), Reason> {
    let is_sound = !tag.is_empty()
        && tag.chars().count() <= MAX_TAG
        && tag.trim() == tag
        && !tag.contains(char::is_control);
    match is_sound {
        true => Ok(()),
        false => Err(Reason::Setting(format!(
            "tag={tag}: a tag has 1 to {MAX_TAG} printable characters"
        ))),
    }
}

/// Reads a URL, or a bare name. Returns whether it is one.
fn url_or_name(text: &str) -> Result<(Url, bool), Reason> {
    match url::parse(text) {
        Ok(url) => Ok((url, false)),
        Err(error) => match bare(text) {
            Some(url) => Ok((url, true)),
            None => Err(Reason::Url(error)),
        },
    }
}

/// The page over https that a bare name stands for. A name has a dot, or is an address or
/// `localhost`, so that a word is not taken for one, and nothing before it.
fn bare(text: &str) -> Option<Url> {
    let name = text.split(['/', '?', '#']).next().unwrap_or_default();
    if name.is_empty()
        || text.contains("://")
        || text.contains(char::is_whitespace)
        || name.contains('@')
    {
        return None;
    }
    let url = url::parse(&format!("https://{text}")).ok()?;
    let is_name = match url.host()? {
        ::url::Host::Domain(name) => name.trim_matches('.').contains('.') || name == "localhost",
        ::url::Host::Ipv4(_) => name.contains('.'),
        ::url::Host::Ipv6(_) => true,
    };
    is_name.then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_a_page_over_https() {
        let check = |text: &str, expected: Option<&str>| {
            let seed = parse(text).ok();
            assert!(seed.as_ref().is_none_or(|seed| seed.is_bare), "{text}");
            assert_eq!(
                seed.map(|seed| seed.url.to_string()).as_deref(),
                expected,
                "{text}"
            );
        };
        check("example.org", Some("https://example.org/"));
        check("Example.ORG/Docs?a=1", Some("https://example.org/Docs?a=1"));
        check("example.org:8080/x", Some("https://example.org:8080/x"));
        check("localhost:8000", Some("https://localhost:8000/"));
        check("192.168.1.7", Some("https://192.168.1.7/"));
        check("[::1]:80/", Some("https://[::1]:80/"));
        check("müller.example", Some("https://xn--mller-kva.example/"));
        for text in [
            "word",
            "not a url",
            "mailto:me@example.org",
            "me@example.org",
            "ftp://example.org/",
            "tel:12345",
            "javascript:alert(1)",
            "//example.org/",
            "/docs",
            "12345",
            "example..org/ x",
            "data:text/plain,a.b",
            "",
            ".",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn what_holds_for_a_seed_stands_behind_it() {
        let check = |text: &str, url: &str, depth, scope, tag: Option<&str>| {
            let seed = parse(text).unwrap();
            let settings = SeedSettings {
                depth,
                scope,
                tag: tag.map(str::to_owned),
            };
            assert_eq!(
                (seed.url.as_str(), &seed.settings),
                (url, &settings),
                "{text}"
            );
            assert_eq!(parse(&to_line(&seed)).unwrap(), seed, "{text}");
        };
        let a = "https://a.org/";
        check(a, a, None, None, None);
        check("a.org tag=x", a, None, None, Some("x"));
        let all = "https://a.org/ depth=2 scope=prefix tag=news";
        check(all, a, Some(2), Some(ScopeKind::Prefix), Some("news"));
        check(
            "https://a.org/\ttag=ü\tdepth=0",
            a,
            Some(0),
            None,
            Some("ü"),
        );
        check("a.org  scope=any ", a, None, Some(ScopeKind::Any), None);
        let object = r#"{"url": "a.org", "depth": 3, "scope": "domain", "tag": "two words"}"#;
        let domain = Some(ScopeKind::Domain);
        check(object, a, Some(3), domain, Some("two words"));
        // These are parts of a URL.
        check(
            "https://a.org/?depth=2",
            "https://a.org/?depth=2",
            None,
            None,
            None,
        );
        check("https://a.org/a b", "https://a.org/a%20b", None, None, None);
    }

    #[test]
    fn what_is_no_setting_is_named() {
        let check = |text: &str, part: &str| {
            let said = parse(text).unwrap_err().to_string();
            assert!(said.contains(part), "{text}: {said}");
        };
        check(
            "https://a.org/ dept=2",
            "dept=2: a seed has depth, scope and tag",
        );
        check(
            "https://a.org/ depth=-1",
            "depth=-1: a depth is a number of links",
        );
        check(
            "https://a.org/ scope=site",
            "a scope is host, domain, prefix or any",
        );
        check("https://a.org/ tag=", "1 to 64 printable characters");
        check("https://a.org/ tag=a tag=b", "tag is given twice");
        check("word tag=a", "relative URL without a base");
        check(r#"{"url": "a.org", "dept": 1}"#, "unknown field `dept`");
        check(r#"{"depth": 1}"#, "missing field `url`");
        check("{", "an object has \"url\"");
    }

    proptest::proptest! {
        /// Whatever is read is read again from what is written of it.
        #[test]
        fn a_seed_round_trips(text in "\\PC{0,40}", tag in "[a-z =#{}\"\\\\]{0,8}") {
            for text in [text.clone(), format!("https://a.org/{text} tag={tag}")] {
                if let Ok(seed) = parse(&text) {
                    proptest::prop_assert_eq!(parse(&to_line(&seed)).unwrap(), seed);
                }
            }
        }
    }
}
