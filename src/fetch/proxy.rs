//! Proxies: through which one requests are sent.
//!
//! With `http`, `https` and `socks5h` the proxy resolves names and so determines where a name
//! leads; the guard then checks only literal addresses and names of this machine. With `socks5`
//! names are resolved here, the guard checks their addresses, and the proxy is asked for an address
//! that was checked.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderValue;
use serde::{Deserialize, Serialize};

use super::secret::{HIDDEN, WAS_HIDDEN};
use crate::url::Url;

/// A proxy; in configuration a URL such as `http://proxy.example:3128` or
/// `socks5://user:password@127.0.0.1:1080`, or `none`. Its password is never shown.
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Proxy {
    /// No proxy: connect to hosts directly.
    #[default]
    None,
    /// Connect through the proxy at this URL.
    Url(Url),
}

impl Proxy {
    /// Returns the proxy's URL, if there is a proxy.
    pub(super) fn url(&self) -> Option<&Url> {
        match self {
            Self::None => None,
            Self::Url(url) => Some(url),
        }
    }

    /// Tells whether the proxy is asked for names rather than addresses.
    pub(super) fn resolves(&self) -> bool {
        self.url().is_some_and(|url| url.scheme() != "socks5")
    }

    /// Tells whether the proxy is asked for full URLs in requests for http URLs (RFC 9112, section
    /// 3.2.2).
    pub(super) fn takes_urls(&self) -> bool {
        self.url()
            .is_some_and(|url| !url.scheme().starts_with("socks"))
    }

    /// Returns the Proxy-Authorization header, if the proxy needs one (RFC 7617).
    pub(super) fn authorization(&self) -> Option<HeaderValue> {
        let url = self.url().filter(|url| !url.username().is_empty())?;
        let decoded = |text: &str| String::from_utf8_lossy(&unescape(text)).into_owned();
        let password = url.password().unwrap_or_default();
        basic(&format!(
            "{}:{}",
            decoded(url.username()),
            decoded(password)
        ))
    }

    /// Tells whether a name is that of the proxy.
    pub(super) fn is_at(&self, name: &str) -> bool {
        let bare = |name: &'_ str| name.trim_end_matches('.').to_ascii_lowercase();
        let host = self.url().and_then(Url::host_str);
        host.is_some_and(|host| bare(host) == bare(name))
    }
}

/// Returns the value of an Authorization header for `user:password` (RFC 7617).
pub(super) fn basic(credentials: &str) -> Option<HeaderValue> {
    let mut value =
        HeaderValue::try_from(format!("Basic {}", STANDARD.encode(credentials))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Undoes percent-escapes.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex::decode([*high, *low]).ok(),
            _ => None,
        };
        match escaped {
            Some(byte) => {
                bytes.extend(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from(self.clone()))
    }
}

impl TryFrom<String> for Proxy {
    type Error = &'static str;

    /// The text may contain a password, so the error does not quote it.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        const EXPECTED: &str = "it must be none, or the URL of a proxy such as \
             http://proxy.example:3128 (or https, socks5, socks5h) without a path";
        if text == "none" {
            return Ok(Self::None);
        }
        if text.contains(HIDDEN) {
            return Err(WAS_HIDDEN);
        }
        let url: Url = text.parse().map_err(|_| EXPECTED)?;
        let is_known = matches!(url.scheme(), "http" | "https" | "socks5" | "socks5h");
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none();
        if is_known && is_bare && url.host_str().is_some_and(|host| !host.is_empty()) {
            Ok(Self::Url(url))
        } else {
            Err(EXPECTED)
        }
    }
}

impl From<Proxy> for String {
    fn from(proxy: Proxy) -> Self {
        let Proxy::Url(url) = proxy else {
            return "none".to_owned();
        };
        let host = url.host_str().unwrap_or_default();
        let user = match url.username() {
            "" => "",
            _ => "(hidden)@",
        };
        let port = url.port().map(|port| format!(":{port}"));
        format!(
            "{}://{user}{host}{}",
            url.scheme(),
            port.unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Proxy, &'static str> {
        Proxy::try_from(text.to_owned())
    }

    #[test]
    fn a_proxy_is_shown_without_its_password() {
        let check = |text: &str, shown: &str| {
            assert_eq!(String::from(read(text).unwrap()), shown);
        };
        check("none", "none");
        check("http://proxy.example:3128/", "http://proxy.example:3128");
        check("socks5://u:hush@[::1]:1080", "socks5://(hidden)@[::1]:1080");
        for text in [
            "",
            "proxy.example:3128",
            "ftp://hush.example",
            "http://hush.example/path",
            "socks5://(hidden)@[::1]:1080",
        ] {
            assert!(!read(text).unwrap_err().contains("hush"), "{text}");
        }
    }

    #[test]
    fn credentials_are_sent_as_they_were_meant() {
        let proxy = read("http://a%40b:p%3Aw@proxy.example").unwrap();
        let value = proxy.authorization().unwrap();
        assert_eq!(value, "Basic YUBiOnA6dw==");
        assert_eq!(read("http://proxy.example").unwrap().authorization(), None);
        assert_eq!(
            basic("Aladdin:open sesame").unwrap(),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        );
    }
}
