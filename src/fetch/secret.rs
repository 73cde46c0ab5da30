//! Secrets such as passwords and tokens, which are used but never shown. Wherever a setting is
//! printed, stored or logged, [`HIDDEN`] replaces them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Replaces a secret wherever it would be shown.
pub const HIDDEN: &str = "(hidden)";

/// Substrings of the names of header fields whose values are secrets.
const SECRET_NAMES: [&str; 7] = [
    "auth", "cookie", "token", "key", "secret", "passw", "session",
];

/// Tells by the name of a header field whether its value is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Text that is a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Secret(String);

impl Secret {
    /// Returns the secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl TryFrom<String> for Secret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        if text.contains(HIDDEN) {
            Err(WAS_HIDDEN)
        } else {
            Ok(Self(text))
        }
    }
}

impl From<Secret> for String {
    fn from(_: Secret) -> Self {
        HIDDEN.to_owned()
    }
}

/// The error for a setting that was copied from output in which secrets are hidden.
pub(super) const WAS_HIDDEN: &str =
    "(hidden) is a placeholder for a secret; give the secret itself";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let secret: Secret = serde_json::from_str("\"user:pass\"").unwrap();
        assert_eq!(secret.reveal(), "user:pass");
        assert_eq!(format!("{secret:?}"), HIDDEN);
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"(hidden)\"");
        assert!(serde_json::from_str::<Secret>("\"(hidden)\"").is_err());
    }

    #[test]
    fn secret_fields_are_told_by_their_names() {
        for name in [
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "X-API-Key",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["Accept-Language", "From", "DNT", "Keep-Alive"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
