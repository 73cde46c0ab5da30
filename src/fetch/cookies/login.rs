//! What keeps a login: links that would end it are left alone, and a host that no longer knows it
//! is noticed.
//!
//! A site that has forgotten a login says so by leading to its page for logging in, or by 401. One
//! such answer says little: a page may be for others only. So it counts once no page at all came
//! with the login, or when several come one after the other.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::super::Exchange;
use crate::url::{HostKey, Url};

/// Answers in a row that ask for a login, after which the login is taken for lost.
const IN_A_ROW: u32 = 5;

/// Words for ending a login, as sites have them in URLs, without what is between letters.
const OUT: [&str; 14] = [
    "logout",
    "signout",
    "logoff",
    "signoff",
    "userlogout",
    "abmelden",
    "ausloggen",
    "deconnexion",
    "cerrarsesion",
    "uitloggen",
    "loggaut",
    "wyloguj",
    "disconnexion",
    "endsession",
];

/// Words for beginning one.
const IN: [&str; 12] = [
    "login",
    "signin",
    "logon",
    "signon",
    "userlogin",
    "anmelden",
    "einloggen",
    "connexion",
    "iniciarsesion",
    "inloggen",
    "loggain",
    "wplogin",
];

/// Parameters whose value says what a URL does.
const ACTIONS: [&str; 11] = [
    "action", "act", "do", "mode", "op", "task", "cmd", "route", "event", "a", "r",
];

/// Parts of paths behind which words are subjects.
const ABOUT: [&str; 12] = [
    "wiki",
    "docs",
    "doc",
    "help",
    "manual",
    "blog",
    "news",
    "tag",
    "tags",
    "topics",
    "glossary",
    "dictionary",
];

/// Tells whether visiting a URL would end a login: the last part of its path says so, or a
/// parameter that says what it does. An article on the subject does not.
pub(in crate::fetch) fn logs_out(url: &Url) -> bool {
    does(url, &OUT)
}

fn does(url: &Url, words: &[&str]) -> bool {
    let is_word = |text: &str| words.contains(&&*letters(text));
    let path = url.path().trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let bare = last.split('.').next().unwrap_or_default();
    // As in Special:UserLogout.
    let bare = bare.rsplit([':', '!']).next().unwrap_or_default();
    // A page of a wiki or of a manual may be about it.
    let before = path.rsplit('/').nth(1).unwrap_or_default();
    let is_about = !last.contains(':') && ABOUT.contains(&&*letters(before));
    is_word(bare) && !is_about
        || url.query_pairs().any(|(name, value)| {
            let value = value.rsplit([':', '/']).next().unwrap_or_default();
            let is_page = name == "title" && letters(value).starts_with("user") && is_word(value);
            is_page
                || ACTIONS.contains(&&*name.to_ascii_lowercase()) && is_word(value)
                || value.is_empty() && is_word(&name)
        })
}

/// A word without what is between its letters: `log-out`, `Log_Out` and `logout` are one.
fn letters(text: &str) -> String {
    let letters = text
        .chars()
        .filter(|letter| !matches!(letter, '-' | '_' | ' ' | '+'));
    letters.flat_map(char::to_lowercase).collect()
}

/// What was seen of the logins, by host.
#[derive(Debug, Default)]
pub(in crate::fetch) struct Logins(Mutex<HashMap<HostKey, Seen>>);

#[derive(Debug, Default)]
struct Seen {
    /// Whether a page came with the login.
    has_come: bool,
    /// Number of answers in a row that asked for a login.
    asked: u32,
}

impl Logins {
    /// Forgets what was seen: there are other cookies.
    pub(in crate::fetch) fn forget(&self) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.clear();
    }

    /// Notes an answer at a host with a login. Returns how it shows that the login is not known
    /// there, if it does.
    pub(in crate::fetch) fn note(
        &self,
        host: &HostKey,
        url: &Url,
        exchange: &Exchange,
    ) -> Option<String> {
        let is_login = does(url, &IN);
        let target = exchange.redirect_target(url).filter(|to| does(to, &IN));
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.entry(host.clone()).or_default();
        let how = match (exchange.status, target) {
            // The page for logging in is there for everybody.
            _ if is_login => return None,
            (401, _) => "the server answers 401".to_owned(),
            (_, Some(to)) => format!("the server leads to {}", to.path()),
            (200..=299, None) => {
                *seen = Seen {
                    has_come: true,
                    asked: 0,
                };
                return None;
            }
            // Other redirects and errors say nothing of it.
            _ => return None,
        };
        seen.asked += 1;
        (!seen.has_come || seen.asked >= IN_A_ROW).then(|| {
            seen.asked = 0;
            how
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::url::parse;

    #[test]
    fn articles_on_logging_out_do_not_log_out() {
        for innocent in [
            "http://a.example/",
            "http://a.example/docs/logout/reasons",
            "http://a.example/how-to-logout",
            "http://a.example/logouts",
            "http://a.example/search?q=logout",
            "http://a.example/login?next=/logout",
            "http://a.example/wiki/Logout",
            "http://a.example/index.php?title=Logout",
            "http://a.example/wiki/Logout_(film)",
        ] {
            assert!(!logs_out(&parse(innocent).unwrap()), "{innocent}");
        }
        for out in [
            "http://a.example/logout",
            "http://a.example/users/sign_out/",
            "http://a.example/Log-Out.php?token=1",
            "http://a.example/wp-login.php?action=logout&_wpnonce=1",
            "http://a.example/index.php?title=Special:UserLogout",
            "http://a.example/wiki/Special:UserLogout",
            "http://a.example/ucp.php?mode=logout&sid=1",
            "http://a.example/index.php?logout",
            "http://a.example/abmelden",
        ] {
            assert!(logs_out(&parse(out).unwrap()), "{out}");
        }
    }

    fn exchange(status: u16, location: Option<&str>) -> Exchange {
        let location = location.map(|to| ("location".to_owned(), to.as_bytes().to_vec()));
        Exchange {
            started: jiff::Timestamp::UNIX_EPOCH,
            duration: Duration::ZERO,
            remote: None,
            protocols: Vec::new(),
            request_head: Vec::new(),
            status,
            headers: location.into_iter().collect(),
            body: bytes::Bytes::new(),
            cut: None,
        }
    }

    #[test]
    fn a_login_is_lost_when_nothing_comes_with_it() {
        let host = HostKey::parse("http://a.example").unwrap();
        let logins = Logins::default();
        let note = |path: &str, status, to| {
            let url = parse(&format!("http://a.example{path}")).unwrap();
            logins.note(&host, &url, &exchange(status, to)).is_some()
        };
        // Pages for others only, among pages that come.
        assert!(!note("/", 200, None));
        for path in ["/admin", "/staff", "/board", "/keys"] {
            assert!(!note(path, 302, Some("/login?next=x")), "{path}");
        }
        assert!(!note("/members", 200, None));
        assert!(!note("/moved", 301, Some("/there")));
        assert!(!note("/gone", 404, None));
        // And when nothing else comes any more.
        for _ in 1..IN_A_ROW {
            assert!(!note("/x", 302, Some("/login")));
            // The page for logging in is no sign of a login.
            assert!(!note("/login", 200, None));
        }
        assert!(note("/x", 401, None));
        // Nothing ever came.
        let other = HostKey::parse("http://b.example").unwrap();
        let url = parse("http://b.example/").unwrap();
        let lost = logins.note(&other, &url, &exchange(302, Some("/users/sign_in")));
        assert!(lost.is_some_and(|why| why.starts_with("the server leads to /users/sign_in")));
    }
}
