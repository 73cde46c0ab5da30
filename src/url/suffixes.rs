//! The parts of a host name by the Public Suffix List, with and without its private section.

use ::url::{Host, Url};
use psl::Type;

use super::host_name::without_trailing_dot;

/// Suffixes of a host name under which domains are registered, and the domains under these. An
/// address has none, nor has a name under a suffix that is not listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Suffixes<'a> {
    /// The suffix of a registry, such as `com` or `co.uk`.
    pub registry_suffix: Option<&'a str>,
    /// The domain under it.
    pub registered_domain: Option<&'a str>,
    /// The same, or the longer suffix of an owner who gives out names, such as `github.io`.
    pub private_suffix: Option<&'a str>,
    /// The domain under it.
    pub private_domain: Option<&'a str>,
}

impl<'a> Suffixes<'a> {
    /// Returns the parts of the host of a URL.
    pub fn of(url: &'a Url) -> Self {
        match url.host() {
            Some(Host::Domain(name)) => Self::of_name(without_trailing_dot(name)),
            _ => Self::default(),
        }
    }

    fn of_name(name: &'a str) -> Self {
        let Some((suffix, kind)) = known_suffix(name) else {
            return Self::default();
        };
        let registry = match kind {
            Type::Icann => Some(suffix),
            Type::Private => registry_suffix(suffix),
        };
        Self {
            registry_suffix: registry,
            registered_domain: registry.and_then(|it| domain_under(name, it)),
            private_suffix: Some(suffix),
            private_domain: domain_under(name, suffix),
        }
    }
}

/// The suffix of a name, and which section of the list has it. What the list does not know has one
/// by its last rule, which is none here.
fn known_suffix(name: &str) -> Option<(&str, Type)> {
    let suffix = psl::suffix(name.as_bytes())?;
    let start = name.len().checked_sub(suffix.as_bytes().len())?;
    Some((name.get(start..)?, suffix.typ()?))
}

/// The suffix of a registry in one of the private section.
fn registry_suffix(suffix: &str) -> Option<&str> {
    let (_, shorter) = suffix.split_once('.')?;
    match known_suffix(shorter)? {
        (suffix, Type::Icann) => Some(suffix),
        (suffix, Type::Private) => registry_suffix(suffix),
    }
}

/// A suffix with one label more of a name; nothing if the name is the suffix.
fn domain_under<'a>(name: &'a str, suffix: &str) -> Option<&'a str> {
    let above = name.strip_suffix(suffix)?.strip_suffix('.')?;
    let start = above.rfind('.').map_or(0, |dot| dot + 1);
    name.get(start..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts_and_addresses_have_none() {
        let check = |url: &str, expected: [&str; 4]| {
            let url = Url::parse(url).unwrap();
            let found = Suffixes::of(&url);
            let found = [
                found.registry_suffix,
                found.registered_domain,
                found.private_suffix,
                found.private_domain,
            ];
            assert_eq!(found.map(Option::unwrap_or_default), expected, "{url}");
        };
        let com = ["com", "example.com", "com", "example.com"];
        check("http://www.example.com./", com);
        check("http://example.com/", com);
        check("http://com/", ["com", "", "com", ""]);
        let uk = ["co.uk", "bbc.co.uk", "co.uk", "bbc.co.uk"];
        check("http://news.bbc.co.uk/", uk);
        check(
            "http://a.b.github.io/",
            ["io", "github.io", "github.io", "b.github.io"],
        );
        check("http://github.io/", ["io", "github.io", "github.io", ""]);
        check(
            "http://bucket.s3.amazonaws.com/",
            [
                "com",
                "amazonaws.com",
                "s3.amazonaws.com",
                "bucket.s3.amazonaws.com",
            ],
        );
        check("http://www.ck/", ["ck", "www.ck", "ck", "www.ck"]);
        check("http://127.0.0.1:8080/", [""; 4]);
        check("http://[::1]/", [""; 4]);
        check("http://a.localhost/", [""; 4]);
    }
}
