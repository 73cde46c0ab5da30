//! Host aliases: hosts that may serve the same pages under several names. The name of the host is
//! then a slot of its URLs (`kinds.rs`).

use super::policy::AliasMode;
use crate::url::{HostKey, Url};

/// Whether `mode` allows one host to be taken for the other.
pub fn may_be_one(a: &HostKey, b: &HostKey, mode: AliasMode) -> bool {
    match mode {
        AliasMode::Off => false,
        AliasMode::Names => named_port(a) == named_port(b) && bare(a.name()) == bare(b.name()),
        AliasMode::Mirrors => true,
    }
}

/// The port, if it is not the default port of the scheme.
fn named_port(host: &HostKey) -> Option<u16> {
    let own = if host.as_str().starts_with("https:") {
        443
    } else {
        80
    };
    (host.port() != own).then(|| host.port())
}

fn bare(name: &str) -> &str {
    name.strip_prefix("www.").unwrap_or(name)
}

/// The URL with the same path and query at another host.
pub fn counterpart(url: &Url, host: &HostKey) -> Option<Url> {
    let mut other = host.url();
    other.set_path(url.path());
    other.set_query(url.query());
    (HostKey::of(&other) == *host).then_some(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::parse;

    fn host(text: &str) -> HostKey {
        HostKey::parse(text).unwrap()
    }

    #[test]
    fn names_of_one_host_are_known() {
        let check = |a: &str, b: &str, expected: bool| {
            let (a, b) = (host(a), host(b));
            assert_eq!(may_be_one(&a, &b, AliasMode::Names), expected, "{a} {b}");
            assert!(may_be_one(&a, &b, AliasMode::Mirrors));
            assert!(!may_be_one(&a, &b, AliasMode::Off));
        };
        check("http://a.example", "https://a.example", true);
        check("http://www.a.example", "https://a.example", true);
        check("http://a.example:81", "http://www.a.example:81", true);
        check("http://a.example:81", "http://a.example", false);
        check("http://a.example", "http://b.example", false);
        check("http://a.example", "http://m.a.example", false);
    }

    #[test]
    fn the_same_page_is_found_at_another_host() {
        let url = parse("http://www.a.example:81/x/y?z=1").unwrap();
        let other = counterpart(&url, &host("https://a.example")).unwrap();
        assert_eq!(other.as_str(), "https://a.example/x/y?z=1");
    }
}
