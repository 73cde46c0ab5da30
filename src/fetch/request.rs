//! What the configuration can add to requests: header fields and cookies.

use std::collections::BTreeMap;
use std::fmt;

use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use super::secret::{HIDDEN, WAS_HIDDEN, is_secret};

/// Whether cookies are kept and sent back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CookieMode {
    /// Cookies are dropped, so that a page does not depend on what was visited before.
    #[default]
    Off,
    /// Each host gets back the cookies that it set, for as long as the process lasts.
    Host,
}

/// Header fields added to requests; in a configuration, a table of names and values.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    try_from = "BTreeMap<String, String>",
    into = "BTreeMap<String, String>"
)]
pub struct ExtraHeaders(Vec<(HeaderName, HeaderValue)>);

/// Fields that the client sets itself, or that would change which responses it gets.
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
    /// Iterates over the fields in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// Returns whether a field is a secret, judging by its name.
    pub fn has_secret(&self) -> bool {
        self.0.iter().any(|(name, _)| is_secret(name.as_str()))
    }
}

/// Shows names, and values that are not secret.
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
                .map_err(|_| format!("{given:?} is not a header field name"))?;
            if OURS.contains(&name.as_str()) {
                return Err(format!("{given:?} is set by gleaner and cannot be given"));
            }
            if headers.iter().any(|(other, _)| *other == name) {
                return Err(format!("{given:?} is given twice"));
            }
            if value.contains(HIDDEN) {
                return Err(format!("the value of {given:?}: {WAS_HIDDEN}"));
            }
            // Not shown, because it may be a secret.
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
}
