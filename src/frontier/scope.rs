//! The scope of a crawl: which URLs share enough with a seed to be followed.

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use crate::url::{Site, Url};

/// What a URL must share with a seed to be followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeKind {
    /// The host name, and the port if it is not the default port. http and https are equal.
    #[default]
    Host,
    /// The registrable domain: `www.example.co.uk` and `example.co.uk` are equal.
    Domain,
    /// The URL of the seed up to its last slash.
    Prefix,
    /// Nothing: every link is followed.
    Any,
}

/// The scope of a crawl: its kind, and one entry per host, domain or prefix of the seeds. It grows
/// with the seeds, not with the crawl.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    kind: ScopeKind,
    names: HashSet<String>,
    /// Host and path of each prefix without the scheme, sorted. Used by `Prefix` only.
    prefixes: BTreeSet<String>,
}

impl Scope {
    /// An empty scope of a kind.
    pub fn new(kind: ScopeKind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// Adds a seed. Returns its new entries in their stored form, which [`Scope::restore`] reads.
    pub fn add_seed(&mut self, seed: &Url) -> Vec<Vec<u8>> {
        let entries = self.new_entries(seed);
        for entry in &entries {
            self.restore(entry);
        }
        entries
    }

    /// The entries that a seed would add, in their stored form.
    pub fn new_entries(&self, seed: &Url) -> Vec<Vec<u8>> {
        // Entries for every kind are stored, so that a crawl can be resumed with another kind.
        let path = seed.path();
        let directory = &path[..=path
            .rfind('/')
            .unwrap_or(0)
            .min(path.len().saturating_sub(1))];
        let entries = [
            (b'h', host(seed)),
            (b'd', Site::of(seed).as_str().to_owned()),
            (b'p', format!("{}{directory}", host(seed))),
        ];
        entries
            .into_iter()
            .filter(|(kind, text)| match (kind, self.kind) {
                (b'h', ScopeKind::Host) | (b'd', ScopeKind::Domain) => !self.names.contains(text),
                (b'p', ScopeKind::Prefix) => !self.prefixes.contains(text),
                _ => true,
            })
            .map(|(kind, text)| [&[kind], text.as_bytes()].concat())
            .collect()
    }

    /// Adds a stored entry. Returns true if it is new. An entry for a kind other than the scope's
    /// own is not held in memory and always counts as new.
    pub fn restore(&mut self, entry: &[u8]) -> bool {
        let Some((kind, text)) = entry.split_first() else {
            return false;
        };
        let text = String::from_utf8_lossy(text).into_owned();
        match (kind, self.kind) {
            (b'h', ScopeKind::Host) | (b'd', ScopeKind::Domain) => self.names.insert(text),
            (b'p', ScopeKind::Prefix) => self.prefixes.insert(text),
            _ => true,
        }
    }

    /// Whether `url` is followed.
    pub fn admits(&self, url: &Url) -> bool {
        admits(self.kind, url, |entry| {
            Ok::<_, Infallible>(match self.kind {
                ScopeKind::Prefix => self.prefixes.contains(entry),
                _ => self.names.contains(entry),
            })
        })
        .unwrap_or_default()
    }
}

/// Whether a scope of this kind follows `url`, given its stored entries; `has` looks one up.
pub fn admits_by_entries<E>(
    kind: ScopeKind,
    url: &Url,
    mut has: impl FnMut(&[u8]) -> Result<bool, E>,
) -> Result<bool, E> {
    let letter = match kind {
        ScopeKind::Host | ScopeKind::Any => b'h',
        ScopeKind::Domain => b'd',
        ScopeKind::Prefix => b'p',
    };
    admits(kind, url, |entry| {
        has(&[&[letter], entry.as_bytes()].concat())
    })
}

fn admits<E>(
    kind: ScopeKind,
    url: &Url,
    mut has: impl FnMut(&str) -> Result<bool, E>,
) -> Result<bool, E> {
    match kind {
        ScopeKind::Any => Ok(true),
        ScopeKind::Host => has(&host(url)),
        ScopeKind::Domain => has(Site::of(url).as_str()),
        ScopeKind::Prefix => {
            let whole = format!("{}{}", host(url), url.path());
            // Every prefix ends with a slash, so the prefixes of the URL are tried, longest first.
            for (at, _) in whole.rmatch_indices('/') {
                if has(&whole[..=at])? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// The host name, and the port if it is not the default port.
fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default().trim_end_matches('.');
    match url.port() {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::parse;

    fn check(kind: ScopeKind, seed: &str, admitted: &[&str], refused: &[&str]) {
        let mut scope = Scope::new(kind);
        let kept = scope.add_seed(&parse(seed).unwrap());
        let mut restored = Scope::new(kind);
        for entry in &kept {
            restored.restore(entry);
        }
        let by_entries = |url: &str| {
            admits_by_entries(kind, &parse(url).unwrap(), |entry| {
                Ok::<_, Infallible>(kept.iter().any(|it| it == entry))
            })
        };
        assert!(admitted.iter().all(|url| by_entries(url).unwrap()));
        assert!(!refused.iter().any(|url| by_entries(url).unwrap()));
        for scope in [&scope, &restored] {
            for url in admitted {
                assert!(
                    scope.admits(&parse(url).unwrap()),
                    "{kind:?} {seed} must admit {url}"
                );
            }
            for url in refused {
                assert!(
                    !scope.admits(&parse(url).unwrap()),
                    "{kind:?} {seed} must refuse {url}"
                );
            }
        }
    }

    #[test]
    fn by_host() {
        check(
            ScopeKind::Host,
            "http://www.example.org/a/b",
            &[
                "http://www.example.org/",
                "https://www.example.org/x",
                "http://WWW.example.org:80/",
            ],
            &[
                "http://example.org/",
                "http://www.example.org:8080/",
                "http://www.example.org.evil.net/",
            ],
        );
        check(
            ScopeKind::Host,
            "http://127.0.0.1:8000/",
            &["http://127.0.0.1:8000/x"],
            &["http://127.0.0.1/", "http://127.0.0.2:8000/"],
        );
    }

    #[test]
    fn by_domain() {
        check(
            ScopeKind::Domain,
            "http://www.example.co.uk/",
            &["http://example.co.uk/", "https://shop.example.co.uk:444/"],
            &["http://other.co.uk/", "http://co.uk/"],
        );
    }

    #[test]
    fn by_prefix() {
        check(
            ScopeKind::Prefix,
            "http://example.org/docs/index.html",
            &[
                "http://example.org/docs/",
                "https://example.org/docs/a/b?c",
                "http://example.org/docs/x",
            ],
            &[
                "http://example.org/",
                "http://example.org/docs",
                "http://example.org/docsy/",
                "http://a.example.org/docs/",
            ],
        );
        check(
            ScopeKind::Prefix,
            "http://example.org",
            &["http://example.org/anything"],
            &["http://example.com/"],
        );
    }

    #[test]
    fn any() {
        check(
            ScopeKind::Any,
            "http://example.org/",
            &["https://example.com/"],
            &[],
        );
    }

    #[test]
    fn seeds_add_up_and_repeat_nothing() {
        let mut scope = Scope::new(ScopeKind::Host);
        scope.add_seed(&parse("http://a.org/").unwrap());
        let again = scope.add_seed(&parse("http://a.org/other").unwrap());
        assert!(!again.iter().any(|entry| entry[0] == b'h'));
        scope.add_seed(&parse("http://b.org/").unwrap());
        assert!(scope.admits(&parse("http://a.org/1").unwrap()));
        assert!(scope.admits(&parse("http://b.org/1").unwrap()));
    }
}
