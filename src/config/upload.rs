//! The upload of closed files: where to, and by whose leave.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ArchiveSettings, Config, Error};
use crate::engine::{Credentials, UploadOptions};
use crate::fetch::Secret;

/// What becomes of a file that was uploaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AfterUpload {
    /// It stays.
    #[default]
    Keep,
    /// It is deleted once the service has told that it has all of it.
    Delete,
}

/// Whether none of the settings that need a place to upload to differ from their defaults.
pub(super) fn is_without(archive: &ArchiveSettings) -> bool {
    let default = ArchiveSettings::default();
    archive.upload_endpoint.is_none()
        && archive.upload_credentials.is_none()
        && archive.after_upload == default.after_upload
}

impl Config {
    /// Returns where closed files are uploaded to, without what signs for it.
    pub(super) fn upload_options(&self) -> Result<Option<UploadOptions>, Error> {
        let archive = &self.archive;
        let Some(place) = &archive.upload else {
            return Ok(None);
        };
        let refuse = |key, expected| Error::Value { key, expected };
        let is_name = |name: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
            (3..=255).contains(&name.len()) && name.chars().all(allowed)
        };
        let place = place.strip_prefix("s3://").map(|it| it.trim_matches('/'));
        let parts = place.map(|it| it.split_once('/').unwrap_or((it, "")));
        let parts = parts.filter(|(bucket, _)| is_name(bucket));
        let (bucket, prefix) =
            parts.ok_or_else(|| refuse("archive.upload", "s3://BUCKET or s3://BUCKET/PREFIX"))?;
        let endpoint = match &archive.upload_endpoint {
            Some(endpoint) => endpoint.clone(),
            None => format!("https://s3.{}.amazonaws.com", archive.upload_region),
        };
        let endpoint = ::url::Url::parse(&endpoint).ok();
        let endpoint = endpoint.filter(|it| matches!(it.scheme(), "http" | "https"));
        Ok(Some(UploadOptions {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            endpoint: endpoint.ok_or_else(|| {
                let expected = "a URL such as https://storage.example.org";
                refuse("archive.upload_endpoint", expected)
            })?,
            region: archive.upload_region.clone(),
            path_style: archive.upload_path_style,
            credentials: None,
            deletes: archive.after_upload == AfterUpload::Delete,
            ca_files: self.fetch.ca_files.clone(),
        }))
    }

    /// Returns what signs uploads: of the file that the configuration names, or of the environment.
    ///
    /// # Errors
    ///
    /// [`Error::Credentials`] if neither has both key and secret.
    pub fn upload_credentials(
        &self,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Credentials, Error> {
        let (of, place) = match &self.archive.upload_credentials {
            Some(path) => {
                let refused = |reason: String| Error::Credentials {
                    place: path.display().to_string(),
                    reason,
                };
                let text = fs::read_to_string(path).map_err(|it| refused(it.to_string()))?;
                (Pairs::of_file(&text), path.as_path())
            }
            None => (Pairs::of(environment), Path::new("the environment")),
        };
        let lacks = |what: &str| Error::Credentials {
            place: place.display().to_string(),
            reason: format!("it has no {what}"),
        };
        let secret = |it: String| {
            Secret::try_from(it).map_err(|reason| Error::Credentials {
                place: place.display().to_string(),
                reason: reason.to_owned(),
            })
        };
        Ok(Credentials {
            key: of.key.ok_or_else(|| lacks("aws_access_key_id"))?,
            secret: secret(of.secret.ok_or_else(|| lacks("aws_secret_access_key"))?)?,
            token: of.token.map(secret).transpose()?,
        })
    }
}

/// What may be found.
#[derive(Default)]
struct Pairs {
    key: Option<String>,
    secret: Option<String>,
    token: Option<String>,
}

impl Pairs {
    fn of(get: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| get(name).filter(|it| !it.is_empty());
        Self {
            key: get("AWS_ACCESS_KEY_ID"),
            secret: get("AWS_SECRET_ACCESS_KEY"),
            token: get("AWS_SESSION_TOKEN"),
        }
    }

    /// Reads the section `[default]`, or what stands before any.
    fn of_file(text: &str) -> Self {
        let mut is_read = true;
        let mut pairs = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                is_read = section.trim_end_matches(']').trim() == "default";
            } else if let Some((name, value)) = line.split_once('=').filter(|_| is_read) {
                pairs.push((name.trim().to_uppercase(), value.trim().to_owned()));
            }
        }
        let find = |name: &str| pairs.iter().find(|(it, _)| it == name);
        Self::of(|name| find(name).map(|(_, value)| value.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        toml::from_str(&format!("[archive]\n{text}")).unwrap()
    }

    #[test]
    fn a_place_is_a_bucket_and_what_names_begin_with() {
        let place = |text: &str| config(text).options().unwrap().archive.handover.upload;
        assert_eq!(place(""), None);
        let upload = place("upload = \"s3://crawls/2026/news/\"").unwrap();
        assert_eq!((&*upload.bucket, &*upload.prefix), ("crawls", "2026/news"));
        assert_eq!(
            upload.endpoint.as_str(),
            "https://s3.us-east-1.amazonaws.com/"
        );
        let upload = place("upload = \"s3://crawls\"\nupload_endpoint = \"http://127.0.0.1:9000\"");
        let upload = upload.unwrap();
        assert_eq!((&*upload.prefix, upload.deletes), ("", false));
        assert_eq!(upload.endpoint.as_str(), "http://127.0.0.1:9000/");
        for (wrong, key) in [
            ("upload = \"crawls\"", "archive.upload"),
            ("upload = \"s3://\"", "archive.upload"),
            ("upload = \"s3://a b/\"", "archive.upload"),
            (
                "upload = \"s3://abc\"\nupload_endpoint = \"ftp://x\"",
                "archive.upload_endpoint",
            ),
            ("after_upload = \"delete\"", "archive.upload"),
            ("also_in = [\"cold\"]", "archive.also_in"),
            ("since = [\"../first\"]", "archive.since"),
            ("on_close = [\"\"]", "archive.on_close"),
            ("on_close_timeout = \"0s\"", "archive.on_close_timeout"),
        ] {
            let refused = config(wrong).options().unwrap_err().to_string();
            assert!(refused.contains(key), "{wrong}: {refused}");
        }
    }

    #[test]
    fn credentials_are_read_and_never_shown() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("credentials");
        let file = "[other]\naws_access_key_id = no\n[default]\n# mine\naws_access_key_id = me\n\
                    aws_secret_access_key = hush=\n";
        fs::write(&path, file).unwrap();
        let named = config(&format!("upload_credentials = {path:?}"));
        let none = |_: &str| None;
        let found = named.upload_credentials(none).unwrap();
        assert_eq!((&*found.key, found.secret.reveal()), ("me", "hush="));
        assert!(!format!("{found:?}").contains("hush"));
        let environment = |name: &str| (name != "AWS_SESSION_TOKEN").then(|| name.to_owned());
        let found = config("").upload_credentials(environment).unwrap();
        assert_eq!(found.secret.reveal(), "AWS_SECRET_ACCESS_KEY");
        assert_eq!(found.token, None);
        let refused = config("").upload_credentials(none).unwrap_err().to_string();
        assert!(refused.contains("AWS_ACCESS_KEY_ID"), "{refused}");
        fs::write(&path, "[default]\naws_access_key_id = me\n").unwrap();
        let refused = named.upload_credentials(none).unwrap_err().to_string();
        assert!(refused.contains("aws_secret_access_key"), "{refused}");
    }
}
