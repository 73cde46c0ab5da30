//! What must be used and must not be shown: passwords, tokens. Wherever a setting is printed, kept or
//! logged, [`HIDDEN`] stands in its place.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Stands in the place of a secret.
pub const HIDDEN: &str = "(hidden)";

/// Parts of the names of header fields whose values are secrets.
const SECRET_NAMES: [&str; 7] = [
    "auth", "cookie", "token", "key", "secret", "passw", "session",
];

/// Whether the value of a header field is a secret, by its name.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// A text that is a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Secret(String);

impl Secret {
    /// The secret itself.
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
        match text.contains(HIDDEN) {
            true => Err(WAS_HIDDEN),
            false => Ok(Self(text)),
        }
    }
}

impl From<Secret> for String {
    fn from(_: Secret) -> Self {
        HIDDEN.to_owned()
    }
}

/// What is to be said of a setting that was copied from where secrets are not shown.
pub(super) const WAS_HIDDEN: &str =
    "(hidden) stands where a secret is not shown; give the secret itself";

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
