//! Cookies (RFC 6265), if they are enabled: each host gets back what it set itself, for as long as
//! the process runs.
//!
//! A cookie never leaves the host that set it: `Domain` is ignored, so no list of public suffixes
//! is needed, and no host can set what another one reads. Cookies are bounded in number and bytes,
//! per host and in total.

mod file;
mod login;

pub use file::{CookieFile, CookieFileError};
pub(super) use login::{Logins, logs_out};

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::url::{HostKey, Url};

/// Maximum number of cookies per host (RFC 6265, section 6.1 asks for at least 50).
const MAX_COOKIES: usize = 50;
/// Maximum length of a cookie's name, value and path, in bytes (the same section asks for at least
/// 4,096). Longer cookies are ignored.
const MAX_COOKIE_BYTES: usize = 4_096;
/// Maximum number of bytes kept per host, and hence sent in one request; the oldest cookies are
/// dropped first. Servers refuse longer headers.
const MAX_HOST_BYTES: usize = 8 << 10;
/// Maximum number of bytes kept in total; the least recently visited hosts are dropped first.
const MAX_BYTES: usize = 16 << 20;
/// Estimated overhead per host, in bytes.
const HOST_BYTES: usize = 200;

/// The cookies of all hosts. The lock is never held across an await.
#[derive(Debug, Default)]
pub(super) struct Cookies(Mutex<Jars>);

#[derive(Debug, Default)]
struct Jars {
    hosts: HashMap<HostKey, Jar>,
    bytes: usize,
    /// Number of uses so far, from which the age of hosts is told.
    uses: u64,
}

/// The cookies of a host, in the order in which they were first set.
#[derive(Debug, Default)]
struct Jar {
    cookies: Vec<Cookie>,
    last_used: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    path: String,
    expires: Option<Timestamp>,
}

impl Cookie {
    fn bytes(&self) -> usize {
        self.name.len() + self.value.len() + self.path.len()
    }

    fn holds(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| expires > now)
    }
}

impl Jar {
    fn bytes(&self) -> usize {
        self.cookies.iter().map(Cookie::bytes).sum::<usize>() + HOST_BYTES
    }
}

impl Cookies {
    /// Forgets all cookies.
    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Jars::default();
    }

    /// Returns the Cookie header for a request, if there is one to send: what the host set, and
    /// what the file has for it beside that.
    pub(super) fn header_with(
        &self,
        file: &CookieFile,
        (host, url): (&HostKey, &Url),
        now: Timestamp,
    ) -> Option<String> {
        let set = self.header(host, url, now);
        let has = |name: &str| {
            let pairs = set.iter().flat_map(|it| it.split("; "));
            pairs
                .into_iter()
                .any(|it| it.split('=').next() == Some(name))
        };
        let given = file.of(url, now, has).into_iter();
        let given = given.map(|(name, value)| match name {
            "" => value.to_owned(),
            name => format!("{name}={value}"),
        });
        let pairs: Vec<String> = set.clone().into_iter().chain(given).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// Returns the Cookie header for a request, if there is one to send.
    pub(super) fn header(&self, host: &HostKey, url: &Url, now: Timestamp) -> Option<String> {
        let mut jars = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jars.uses += 1;
        let uses = jars.uses;
        let jar = jars.hosts.get_mut(host)?;
        jar.last_used = uses;
        let mut sent: Vec<&Cookie> = (jar.cookies.iter())
            .filter(|cookie| cookie.holds(now) && is_below(url.path(), &cookie.path))
            .collect();
        // Longer paths first (section 5.4); the sort is stable.
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> = (sent.iter())
            .map(|cookie| {
                if cookie.name.is_empty() {
                    cookie.value.clone()
                } else {
                    format!("{}={}", cookie.name, cookie.value)
                }
            })
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// Keeps the cookies that a response sets.
    pub(super) fn keep<'a>(
        &self,
        host: &HostKey,
        url: &Url,
        set: impl Iterator<Item = &'a str>,
        now: Timestamp,
    ) {
        let set: Vec<(Cookie, bool)> = set.filter_map(|line| parse(line, url, now)).collect();
        if set.is_empty() {
            return;
        }
        let mut jars = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jars.uses += 1;
        let uses = jars.uses;
        let mut jar = jars.hosts.remove(host).map_or_else(Jar::default, |jar| {
            jars.bytes -= jar.bytes();
            jar
        });
        jar.last_used = uses;
        jar.cookies.retain(|cookie| cookie.holds(now));
        for (cookie, is_kept) in set {
            let same = |it: &Cookie| it.name == cookie.name && it.path == cookie.path;
            match jar.cookies.iter().position(same) {
                Some(at) if is_kept => jar.cookies[at] = cookie,
                Some(at) => drop(jar.cookies.remove(at)),
                None if is_kept => jar.cookies.push(cookie),
                None => {}
            }
            while jar.cookies.len() > MAX_COOKIES || jar.bytes() > MAX_HOST_BYTES {
                jar.cookies.remove(0);
            }
        }
        if !jar.cookies.is_empty() {
            jars.bytes += jar.bytes();
            jars.hosts.insert(host.clone(), jar);
        }
        if jars.bytes > MAX_BYTES {
            jars.shrink();
        }
    }
}

impl Jars {
    /// Drops the least recently visited hosts, an eighth of the bytes at once.
    fn shrink(&mut self) {
        let mut hosts: Vec<(u64, HostKey)> = (self.hosts.iter())
            .map(|(host, jar)| (jar.last_used, host.clone()))
            .collect();
        hosts.sort();
        for (_, host) in hosts {
            if self.bytes <= MAX_BYTES - MAX_BYTES / 8 {
                break;
            }
            if let Some(jar) = self.hosts.remove(&host) {
                self.bytes -= jar.bytes();
            }
        }
    }
}

/// Parses a cookie. The flag is false if the cookie is to be deleted (section 5.2).
fn parse(line: &str, url: &Url, now: Timestamp) -> Option<(Cookie, bool)> {
    let mut parts = line.split(';');
    let pair = parts.next()?.trim();
    let (name, value) = pair.split_once('=').unwrap_or(("", pair));
    let mut cookie = Cookie {
        name: name.trim().to_owned(),
        value: value.trim().to_owned(),
        path: default_path(url.path()).to_owned(),
        expires: None,
    };
    let mut max_age = None;
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "path" if value.starts_with('/') => value.clone_into(&mut cookie.path),
            "path" => default_path(url.path()).clone_into(&mut cookie.path),
            // `Secure` is accepted only over https (draft-ietf-httpbis-rfc6265bis, section 5.7).
            // Host keys include the scheme, so such a cookie is never sent over http.
            "secure" if url.scheme() != "https" => return None,
            "max-age" => max_age = value.parse::<i64>().ok().or(max_age),
            "expires" => cookie.expires = date(value).or(cookie.expires),
            _ => {}
        }
    }
    if let Some(seconds) = max_age {
        let age = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        // An age beyond what a timestamp can hold means that the cookie does not expire.
        cookie.expires = now.checked_add(age).ok();
    }
    let is_sane = !(cookie.name.is_empty() && cookie.value.is_empty())
        && cookie.bytes() <= MAX_COOKIE_BYTES
        && !pair
            .bytes()
            .any(|byte| byte.is_ascii_control() || byte > b'~');
    let is_kept = cookie.holds(now);
    is_sane.then_some((cookie, is_kept))
}

/// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, also with hyphens and without a weekday.
fn date(text: &str) -> Option<Timestamp> {
    let text = text.split_once(',').map_or(text, |(_, date)| date);
    let text = text.trim().replace('-', " ").replace("GMT", "+0000");
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(&text);
    date.ok()
}

/// Returns the default path of a cookie: the directory of a path (section 5.1.4).
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(at) => &path[..at],
    }
}

/// Tells whether a request path matches a cookie's path (section 5.1.4).
fn is_below(path: &str, cookie: &str) -> bool {
    let Some(rest) = path.strip_prefix(cookie) else {
        return false;
    };
    rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::parse as parse_url;

    fn now() -> Timestamp {
        "2026-11-20T10:00:00Z".parse().unwrap()
    }

    fn keep(cookies: &Cookies, url: &str, set: &[&str]) {
        let url = parse_url(url).unwrap();
        cookies.keep(&HostKey::of(&url), &url, set.iter().copied(), now());
    }

    #[track_caller]
    fn check(cookies: &Cookies, url: &str, expected: Option<&str>) {
        let url = parse_url(url).unwrap();
        let header = cookies.header(&HostKey::of(&url), &url, now());
        assert_eq!(header.as_deref(), expected, "{url}");
    }

    #[test]
    fn a_host_gets_back_what_it_set() {
        let cookies = Cookies::default();
        keep(
            &cookies,
            "https://a.example/shop/cart",
            &[
                "id=1; Path=/; Secure; HttpOnly",
                "cart = full ",
                "b=2; Domain=example",
            ],
        );
        check(&cookies, "https://a.example/", Some("id=1"));
        check(
            &cookies,
            "https://a.example/shop",
            Some("cart=full; b=2; id=1"),
        );
        check(&cookies, "https://a.example/shopping", Some("id=1"));
        check(&cookies, "https://b.a.example/shop", None);
        check(&cookies, "https://b.example/shop", None);
        check(&cookies, "http://a.example/shop", None);
        keep(&cookies, "https://a.example/", &["id=2; path=/"]);
        check(&cookies, "https://a.example/", Some("id=2"));
    }

    #[test]
    fn what_has_expired_is_not_sent() {
        let cookies = Cookies::default();
        let url = "http://a.example/";
        keep(
            &cookies,
            url,
            &[
                "a=1; Max-Age=60",
                "b=1; Max-Age=0",
                "c=1; Expires=Fri, 20 Nov 2026 11:00:00 GMT",
                "d=1; Expires=Fri, 20-Nov-2026 09:00:00 GMT",
                "e=1; Expires=Fri, 20 Nov 2026 09:00:00 GMT; Max-Age=9",
                "f=1; Expires=tomorrow",
                "g=1; Secure",
                "=; a",
            ],
        );
        check(&cookies, url, Some("a=1; c=1; e=1; f=1"));
        keep(&cookies, url, &["c=; Max-Age=-1"]);
        check(&cookies, url, Some("a=1; e=1; f=1"));
    }

    #[test]
    fn nothing_grows_without_end() {
        let cookies = Cookies::default();
        let many: Vec<String> = (0..2_000).map(|n| format!("n{n}={n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        keep(&cookies, "http://a.example/", &many);
        let long = format!("x={}", "y".repeat(MAX_COOKIE_BYTES));
        keep(&cookies, "http://a.example/", &[&long]);
        check_bounds(&cookies, 1);
        let full: Vec<String> = (0..4)
            .map(|n| format!("{n}={}", "z".repeat(1_900)))
            .collect();
        let full: Vec<&str> = full.iter().map(String::as_str).collect();
        for host in 0..3_000 {
            keep(&cookies, &format!("http://h{host}.example/"), &full);
        }
        let hosts = check_bounds(&cookies, 1_500);
        assert!(hosts < 3_000);
        // The last one was not forgotten, the first one was.
        let last = parse_url("http://h2999.example/").unwrap();
        assert!(cookies.header(&HostKey::of(&last), &last, now()).is_some());
        check(&cookies, "http://h0.example/", None);
    }

    fn check_bounds(cookies: &Cookies, at_least: usize) -> usize {
        let jars = cookies.0.lock().unwrap();
        let bytes: usize = jars.hosts.values().map(Jar::bytes).sum();
        assert_eq!(bytes, jars.bytes);
        assert!(bytes <= MAX_BYTES);
        for jar in jars.hosts.values() {
            assert!(jar.cookies.len() <= MAX_COOKIES && jar.bytes() <= MAX_HOST_BYTES);
        }
        assert!(jars.hosts.len() >= at_least);
        jars.hosts.len()
    }
}
