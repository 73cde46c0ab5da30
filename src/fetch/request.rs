//! What is sent with requests besides what every request needs, for the whole crawl and for some
//! hosts: header fields, credentials, cookies, through which proxy, within which bounds.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use super::secret::{HIDDEN, Secret, WAS_HIDDEN, is_secret};
use super::{FetchOptions, Proxy};
use crate::url::{HostKey, HostMap, HostPattern};

/// What is sent to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestOptions {
    /// Header fields, in their order; they win over those that are sent by default.
    pub headers: ExtraHeaders,
    /// User and password, with a colon in between (RFC 7617).
    pub auth: Option<Secret>,
    /// Whether cookies are kept and sent back.
    pub cookies: CookieMode,
    /// Through which proxy.
    pub proxy: Proxy,
    /// Until the head of the answer is there, from the start.
    pub head_timeout: Duration,
    /// Until the end of the body, from the start: a byte a second defeats a read timeout.
    pub total_timeout: Duration,
    /// Bytes of a body as received; what is longer is cut, and stored as cut.
    pub max_body_bytes: usize,
}

impl Default for RequestOptions {
    fn default() -> Self {
        Self {
            headers: ExtraHeaders::default(),
            auth: None,
            cookies: CookieMode::default(),
            proxy: Proxy::None,
            head_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_mins(2),
            max_body_bytes: 20 << 20,
        }
    }
}

/// Whether cookies are kept and sent back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CookieMode {
    /// They are not: a page then does not depend on what was visited before.
    #[default]
    Off,
    /// Each host gets its own back, as long as the process lasts.
    Host,
}

/// What differs at some hosts; what is `None` does not. The fields are those of [`RequestOptions`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described where it is overridden")]
pub struct RequestOverrides {
    pub headers: Option<ExtraHeaders>,
    pub auth: Option<Secret>,
    pub cookies: Option<CookieMode>,
    pub proxy: Option<Proxy>,
    pub head_timeout: Option<Duration>,
    pub total_timeout: Option<Duration>,
    pub max_body_bytes: Option<usize>,
}

impl RequestOverrides {
    fn apply(&self, options: &mut RequestOptions) {
        // Taken apart, so that a new field cannot be forgotten.
        let Self {
            headers,
            auth,
            cookies,
            proxy,
            head_timeout,
            total_timeout,
            max_body_bytes,
        } = self;
        set(&mut options.headers, headers.as_ref());
        set(&mut options.cookies, cookies.as_ref());
        set(&mut options.proxy, proxy.as_ref());
        set(&mut options.head_timeout, head_timeout.as_ref());
        set(&mut options.total_timeout, total_timeout.as_ref());
        set(&mut options.max_body_bytes, max_body_bytes.as_ref());
        if auth.is_some() {
            options.auth.clone_from(auth);
        }
    }
}

fn set<T: Clone>(field: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}

/// What is sent to each host.
#[derive(Debug)]
pub(super) struct Requests {
    everywhere: Arc<RequestOptions>,
    own: HostMap<RequestOverrides>,
}

impl Requests {
    pub(super) fn new(options: &FetchOptions) -> Self {
        let mut own = HostMap::default();
        for (pattern, overrides) in &options.own {
            own.insert(pattern, overrides.clone());
        }
        Self {
            everywhere: Arc::new(options.request.clone()),
            own,
        }
    }

    /// What is sent to a host: each field is the most specific pattern's that has it.
    pub(super) fn at(&self, host: &HostKey) -> Arc<RequestOptions> {
        if self.own.is_empty() {
            return Arc::clone(&self.everywhere);
        }
        let mut options = Arc::clone(&self.everywhere);
        for overrides in self.own.matching(host) {
            overrides.apply(Arc::make_mut(&mut options));
        }
        options
    }
}

/// Every proxy that is named, and the longest body that is allowed anywhere.
pub(super) fn extent(options: &FetchOptions) -> (Vec<Proxy>, usize) {
    let own: &[(HostPattern, RequestOverrides)] = &options.own;
    let proxies = own.iter().filter_map(|(_, it)| it.proxy.clone());
    let proxies = proxies.chain([options.request.proxy.clone()]).collect();
    let bodies = own.iter().filter_map(|(_, it)| it.max_body_bytes);
    let longest = bodies.fold(options.request.max_body_bytes, usize::max);
    (proxies, longest)
}

/// Header fields that a person adds to requests: in a configuration, a table of names and values.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    try_from = "BTreeMap<String, String>",
    into = "BTreeMap<String, String>"
)]
pub struct ExtraHeaders(Vec<(HeaderName, HeaderValue)>);

/// Fields that the client sets itself, or that would change what it takes for an answer.
const OURS: [&str; 13] = [
    "host",
    "user-agent",
    "accept-encoding",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "upgrade",
    "range",
    "expect",
    "if-none-match",
    "if-modified-since",
    "proxy-authorization",
];

impl ExtraHeaders {
    /// The fields, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// Whether one of them is a secret, by its name.
    pub fn has_secret(&self) -> bool {
        self.0.iter().any(|(name, _)| is_secret(name.as_str()))
    }
}

/// Names, and values that are no secrets.
impl fmt::Debug for ExtraHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BTreeMap::from(self.clone()).fmt(f)
    }
}

impl TryFrom<BTreeMap<String, String>> for ExtraHeaders {
    type Error = String;

    fn try_from(table: BTreeMap<String, String>) -> Result<Self, String> {
        let mut headers = Vec::new();
        for (given, value) in table {
            let name = HeaderName::try_from(&given)
                .map_err(|_| format!("{given:?} is no name of a header field"))?;
            if OURS.contains(&name.as_str()) {
                return Err(format!("{given:?} is set by gleaner and cannot be given"));
            }
            if headers.iter().any(|(other, _)| *other == name) {
                return Err(format!("{given:?} is there twice"));
            }
            if value.contains(HIDDEN) {
                return Err(format!("the value of {given:?}: {WAS_HIDDEN}"));
            }
            // The value may be a secret: it is not shown.
            let is_printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            let value = HeaderValue::try_from(value).ok().filter(|_| is_printable);
            let mut value = value.ok_or_else(|| {
                format!("the value of {given:?} cannot be sent: use printable ASCII characters")
            })?;
            value.set_sensitive(is_secret(name.as_str()));
            headers.push((name, value));
        }
        Ok(Self(headers))
    }
}

impl From<ExtraHeaders> for BTreeMap<String, String> {
    fn from(headers: ExtraHeaders) -> Self {
        let shown = headers.0.into_iter().map(|(name, value)| {
            let shown = match is_secret(name.as_str()) {
                true => HIDDEN,
                false => value.to_str().unwrap_or_default(),
            };
            (name.as_str().to_owned(), shown.to_owned())
        });
        shown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(json: &str) -> Result<ExtraHeaders, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_are_shown_without_their_secrets() {
        let read = headers(r#"{"X-Api-Key": "hush", "Accept-Language": "de"}"#).unwrap();
        let shown = serde_json::to_string(&read).unwrap();
        assert_eq!(shown, r#"{"accept-language":"de","x-api-key":"(hidden)"}"#);
        assert!(!format!("{read:?}").contains("hush"));
        assert!(read.has_secret());
        for refused in [
            r#"{"x-api-key": "(hidden)"}"#,
            r#"{"a b": "hush"}"#,
            r#"{"x": "hush\n"}"#,
            r#"{"Host": "hush"}"#,
            r#"{"a": "1", "A": "2"}"#,
        ] {
            let error = headers(refused).unwrap_err();
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn what_is_said_most_specifically_holds_field_by_field() {
        let entry = |pattern: &str, overrides| (pattern.parse().unwrap(), overrides);
        let seconds = Duration::from_secs;
        let requests = Requests::new(&FetchOptions {
            own: vec![
                entry(
                    "www.example.org",
                    RequestOverrides {
                        head_timeout: Some(seconds(5)),
                        ..RequestOverrides::default()
                    },
                ),
                entry(
                    "example.org",
                    RequestOverrides {
                        head_timeout: Some(seconds(7)),
                        cookies: Some(CookieMode::Host),
                        ..RequestOverrides::default()
                    },
                ),
            ],
            ..FetchOptions::new("test")
        });
        let check = |host: &str, timeout, cookies| {
            let found = requests.at(&HostKey::parse(host).unwrap());
            assert_eq!(
                (found.head_timeout, found.cookies),
                (seconds(timeout), cookies)
            );
        };
        check("https://www.example.org", 5, CookieMode::Host);
        check("https://example.org", 7, CookieMode::Host);
        check("https://example.net", 30, CookieMode::Off);
    }
}
