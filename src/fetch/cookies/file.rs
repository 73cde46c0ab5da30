//! Cookies of a login, from a file in the format of Netscape, as browsers' extensions and `curl`
//! write it. Their values are secrets: no message, record or log has them.
//!
//! A cookie is sent to the hosts, the paths and the schemes that its line says, and nowhere else.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;

use super::is_below;
use crate::url::Url;

/// The cookies of a file. A clone shares them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CookieFile(Arc<Vec<Line>>);

/// Shows how many there are.
impl fmt::Debug for CookieFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CookieFile({} cookies)", self.0.len())
    }
}

#[derive(Clone, PartialEq, Eq)]
struct Line {
    domain: String,
    /// Whether hosts below the domain get it too.
    is_below: bool,
    path: String,
    is_secure: bool,
    expires: Option<Timestamp>,
    name: String,
    value: String,
}

/// A line that is no cookie. It is not shown, because it may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line}: {reason}; a cookie has seven fields with a tab between each: domain, TRUE or \
     FALSE for the hosts below it, path, TRUE or FALSE for https only, time of its end or 0, name, \
     value"
)]
pub struct CookieFileError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl CookieFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// [`CookieFileError`] for the first line that is neither a cookie nor a comment.
    pub fn parse(text: &str) -> Result<Self, CookieFileError> {
        let mut cookies = Vec::new();
        for (at, line) in text.lines().enumerate() {
            // What scripts cannot read has this mark; other lines of the kind are comments.
            let line = line.strip_prefix("#HttpOnly_").unwrap_or(line);
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let cookie = Line::parse(line);
            let line = at + 1;
            cookies.push(cookie.map_err(|reason| CookieFileError { line, reason })?);
        }
        Ok(Self(Arc::new(cookies)))
    }

    /// Returns these cookies and others.
    #[must_use]
    pub fn with(self, others: &Self) -> Self {
        Self(Arc::new(self.0.iter().chain(&*others.0).cloned().collect()))
    }

    /// Returns whether the file has a cookie for a host, whatever the path and the scheme.
    pub fn is_for(&self, url: &Url) -> bool {
        self.0.iter().any(|cookie| cookie.is_for(url))
    }

    /// Says why a URL whose host the file has cookies for gets none of them, if that is so.
    pub(in crate::fetch) fn withheld(&self, url: &Url, now: Timestamp) -> Option<&'static str> {
        if !self.of(url, now, |_| false).is_empty() {
            return None;
        }
        let all = |is: fn(&Line, Timestamp) -> bool| {
            let mut own = self.0.iter().filter(|cookie| cookie.is_for(url));
            own.all(|cookie| is(cookie, now))
        };
        Some(match url.scheme() {
            "http" if all(|cookie, _| cookie.is_secure) => "are for https only",
            _ if all(Line::has_ended) => "have ended",
            _ => "have ended, are for https only or for other paths",
        })
    }

    /// Returns how many cookies have ended.
    pub fn ended(&self, now: Timestamp) -> usize {
        self.0.iter().filter(|it| it.has_ended(now)).count()
    }

    /// Returns the number of cookies.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the cookies for a request, by name, those of longer paths first; none whose name
    /// `has` knows.
    pub(super) fn of(
        &self,
        url: &Url,
        now: Timestamp,
        has: impl Fn(&str) -> bool,
    ) -> Vec<(&str, &str)> {
        let is_meant = |cookie: &&Line| {
            cookie.is_for(url)
                && (!cookie.is_secure || url.scheme() == "https")
                && is_below(url.path(), &cookie.path)
                && !cookie.has_ended(now)
                && !has(&cookie.name)
        };
        let mut meant: Vec<&Line> = self.0.iter().filter(is_meant).collect();
        meant.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs = meant.into_iter();
        pairs.map(|it| (&*it.name, &*it.value)).collect()
    }
}

impl Line {
    fn parse(line: &str) -> Result<Self, &'static str> {
        let fields: Vec<&str> = line.trim_end_matches(['\r', '\n']).split('\t').collect();
        // Some writers leave out an empty value with its tab.
        let (fields, value) = match fields[..] {
            [a, b, c, d, e, f] => ([a, b, c, d, e, f], ""),
            [a, b, c, d, e, f, value] => ([a, b, c, d, e, f], value),
            _ => return Err("it has not seven fields"),
        };
        let [domain, below, path, secure, expires, name] = fields;
        let truth = |text: &str| match text {
            "TRUE" | "true" => Some(true),
            "FALSE" | "false" => Some(false),
            _ => None,
        };
        let bare = domain.strip_prefix('.').unwrap_or(domain);
        let host = ::url::Host::parse(bare).map_err(|_| "its domain is no host")?;
        let is_below = truth(below).ok_or("its second field is neither TRUE nor FALSE")?;
        // Browsers write seconds, some with a fraction; 0 and -1 mean the end of the session.
        let seconds: f64 = expires.parse().map_err(|_| "its time is no number")?;
        let can_be_sent = |text: &str| {
            text.bytes()
                .all(|byte| matches!(byte, b' '..=b'~' if byte != b';'))
        };
        if !can_be_sent(name) || !can_be_sent(value) || name.is_empty() && value.is_empty() {
            return Err("its name or value cannot be sent");
        }
        if !path.starts_with('/') {
            return Err("its path does not begin with /");
        }
        Ok(Self {
            domain: host.to_string(),
            is_below: is_below || domain.starts_with('.'),
            path: path.to_owned(),
            is_secure: truth(secure).ok_or("its fourth field is neither TRUE nor FALSE")?,
            expires: (seconds > 0.0)
                .then(|| Timestamp::from_second(seconds as i64).ok())
                .flatten(),
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }

    fn has_ended(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }

    fn is_for(&self, url: &Url) -> bool {
        let name = url.host_str().unwrap_or_default().trim_end_matches('.');
        if name == self.domain {
            return true;
        }
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let above = name.strip_suffix(&*self.domain);
        self.is_below && !is_address && above.is_some_and(|it| it.ends_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::parse;

    const FILE: &str = "# Netscape HTTP Cookie File\n\n\
        .a.example\tTRUE\t/\tTRUE\t0\tsession\thush\n\
        #HttpOnly_b.example\tFALSE\t/members\tFALSE\t4102444800\tid\t7\n\
        b.example\tFALSE\t/\tFALSE\t1000\told\tgone\n\
        127.0.0.1\tTRUE\t/\tFALSE\t0\tport\t1\n";

    #[track_caller]
    fn check(url: &str, expected: &[(&str, &str)]) {
        let file = CookieFile::parse(FILE).unwrap();
        let now = "2026-11-20T10:00:00Z".parse().unwrap();
        assert_eq!(
            file.of(&parse(url).unwrap(), now, |_| false),
            expected,
            "{url}"
        );
    }

    #[test]
    fn a_cookie_goes_where_its_line_says() {
        for other in [
            "https://example/",
            "https://a.example.evil.example/",
            "https://nota.example/",
            "https://www.b.example/members",
            "http://127.0.0.2/",
        ] {
            check(other, &[]);
        }
        check("http://a.example/", &[]);
        check("https://a.example/", &[("session", "hush")]);
        check("https://www.a.example:8443/x", &[("session", "hush")]);
        check("http://b.example/", &[]);
        check("http://b.example/membership", &[]);
        check("http://b.example/members/x", &[("id", "7")]);
        check("http://127.0.0.1:81/", &[("port", "1")]);
    }

    #[test]
    fn why_a_host_gets_none_of_its_cookies_is_said() {
        let file = CookieFile::parse(FILE).unwrap();
        let now = "2026-11-20T10:00:00Z".parse().unwrap();
        let check = |url, expected| {
            assert_eq!(file.withheld(&parse(url).unwrap(), now), expected, "{url}");
        };
        check("https://a.example/", None);
        check("http://b.example/members/x", None);
        check("http://a.example/", Some("are for https only"));
        let several = "have ended, are for https only or for other paths";
        check("http://b.example/", Some(several));
        let ended = CookieFile::parse("b.example\tFALSE\t/\tFALSE\t1000\told\tgone\n").unwrap();
        let url = parse("http://b.example/").unwrap();
        assert_eq!(ended.withheld(&url, now), Some("have ended"));
    }

    #[test]
    fn lines_that_are_none_are_named_without_what_they_hold() {
        let wrong = |line: &str, expected: &str| {
            let error = CookieFile::parse(&format!("# x\n{line}")).unwrap_err();
            assert_eq!((error.line, error.reason), (2, expected));
            assert!(!error.to_string().contains("hush"));
        };
        wrong(
            "a.example TRUE / TRUE 0 session hush",
            "it has not seven fields",
        );
        wrong(
            "a.example\tyes\t/\tTRUE\t0\ts\thush",
            "its second field is neither TRUE nor FALSE",
        );
        wrong(
            "a.example\tTRUE\t/\t1\t0\ts\thush",
            "its fourth field is neither TRUE nor FALSE",
        );
        wrong("a b\tTRUE\t/\tTRUE\t0\ts\thush", "its domain is no host");
        wrong(
            "a.example\tTRUE\t/\tTRUE\tsoon\ts\thush",
            "its time is no number",
        );
        wrong(
            "a.example\tTRUE\tx\tTRUE\t0\ts\thush",
            "its path does not begin with /",
        );
        wrong(
            "a.example\tTRUE\t/\tTRUE\t0\ts\thush;a",
            "its name or value cannot be sent",
        );
        let file = CookieFile::parse(FILE).unwrap();
        assert_eq!(format!("{file:?}"), "CookieFile(4 cookies)");
        let now = "2026-11-20T10:00:00Z".parse().unwrap();
        assert_eq!((file.ended(now), file.is_empty()), (1, false));
        assert_eq!(
            CookieFile::parse("a.example\tFALSE\t/\tFALSE\t0\tempty")
                .unwrap()
                .len(),
            1
        );
    }
}
