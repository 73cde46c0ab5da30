//! Requests to a store for files that speaks the protocol of Amazon's S3. rusty-s3 signs URLs
//! (AWS Signature Version 4, in the query), and they are requested by the crawl's own HTTP library.

use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use reqwest::header::{CONTENT_LENGTH, ETAG, HeaderMap};
use reqwest::{Client, Method, Response, StatusCode, Url};
use rusty_s3::actions::{
    AbortMultipartUpload, CompleteMultipartUpload, CreateMultipartUpload, HeadObject, PutObject,
    S3Action, UploadPart,
};
use rusty_s3::{Bucket, Credentials, UrlStyle};

use super::UploadOptions;
use crate::fetch::service_client;

/// Time for which a signed URL holds. Clocks may differ by minutes.
const VALID: Duration = Duration::from_mins(30);

/// Time that a request may take, with what it sends.
const PATIENCE: Duration = Duration::from_mins(20);

/// Bytes of an answer that are read; those of S3 have some hundred.
const MAX_SAID: usize = 64 << 10;

/// Characters of an error that are shown.
const SHOWN: usize = 300;

/// A bucket of a service.
pub(super) struct Service {
    client: Client,
    bucket: Bucket,
    credentials: Option<Credentials>,
}

/// A part of a file, or all of it.
pub(super) struct Part {
    pub(super) body: Bytes,
    /// Its MD5 digest: the service refuses a body that has another.
    pub(super) digest: [u8; 16],
}

/// What a service says of an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) length: u64,
    /// The MD5 digest in hexadecimal, or of an object that came in parts the digest of their
    /// digests and how many they are; `None` if the service encrypts with keys by which it tells
    /// something else.
    pub(super) etag: Option<String>,
}

impl Service {
    pub(super) fn new(options: &UploadOptions) -> io::Result<Self> {
        let style = match options.path_style {
            true => UrlStyle::Path,
            false => UrlStyle::VirtualHost,
        };
        let (name, region) = (options.bucket.clone(), options.region.clone());
        let bucket = Bucket::new(options.endpoint.clone(), style, name, region);
        let bucket =
            bucket.map_err(|error| io::Error::other(format!("archive.upload: {error}")))?;
        let credentials = options.credentials.as_ref().map(|it| {
            let secret = it.secret.reveal();
            match &it.token {
                Some(token) => Credentials::new_with_token(&it.key, secret, token.reveal()),
                None => Credentials::new(&it.key, secret),
            }
        });
        Ok(Self {
            client: service_client(&options.ca_files).map_err(io::Error::other)?,
            bucket,
            credentials,
        })
    }

    /// Returns what is stored under a name, if anything is.
    pub(super) async fn head(&self, name: &str) -> Result<Option<Stored>, String> {
        let url = HeadObject::new(&self.bucket, self.credentials.as_ref(), name).sign(VALID);
        let response = self.send(Method::HEAD, url, Bytes::new(), None).await?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => Ok(Some(stored(response.headers()))),
            status => Err(format!("HEAD: {status}")),
        }
    }

    /// Stores an object in one request.
    pub(super) async fn put(&self, name: &str, part: Part) -> Result<(), String> {
        let url = PutObject::new(&self.bucket, self.credentials.as_ref(), name).sign(VALID);
        let Part { body, digest } = part;
        let response = self.send(Method::PUT, url, body, Some(digest)).await?;
        expect_success("PUT", response).await.map(drop)
    }

    /// Begins an object that comes in parts, and returns the name of the upload.
    pub(super) async fn begin(&self, name: &str) -> Result<String, String> {
        let action = CreateMultipartUpload::new(&self.bucket, self.credentials.as_ref(), name);
        let response = self.send(Method::POST, action.sign(VALID), Bytes::new(), None);
        let said = expect_success("POST ?uploads", response.await?).await?;
        let said = CreateMultipartUpload::parse_response(&said)
            .map_err(|error| format!("POST ?uploads: not an answer of S3: {error}"))?;
        Ok(said.upload_id().to_owned())
    }

    /// Uploads a part, and returns the tag by which the object names it.
    pub(super) async fn part(
        &self,
        name: &str,
        upload: &str,
        number: u16,
        part: Part,
    ) -> Result<String, String> {
        let credentials = self.credentials.as_ref();
        let url = UploadPart::new(&self.bucket, credentials, name, number, upload).sign(VALID);
        let Part { body, digest } = part;
        let response = self.send(Method::PUT, url, body, Some(digest)).await?;
        let tag = response.headers().get(ETAG);
        let tag = tag.and_then(|tag| Some(tag.to_str().ok()?.to_owned()));
        let what = format!("PUT of part {number}");
        expect_success(&what, response).await?;
        tag.ok_or_else(|| format!("{what}: the answer has no ETag"))
    }

    /// Makes an object of its parts.
    pub(super) async fn complete(
        &self,
        name: &str,
        upload: &str,
        tags: &[String],
    ) -> Result<(), String> {
        let tags = tags.iter().map(String::as_str);
        let credentials = self.credentials.as_ref();
        let action = CompleteMultipartUpload::new(&self.bucket, credentials, name, upload, tags);
        let url = action.sign(VALID);
        let body = Bytes::from(action.body());
        let what = "POST ?uploadId";
        let response = self.send(Method::POST, url, body, None).await?;
        let said = expect_success(what, response).await?;
        // What fails while it waits has the status of success.
        match said.contains("<Error>") {
            true => Err(format!("{what}: {}", shown(&said))),
            false => Ok(()),
        }
    }

    /// Gives up an object of which parts are there.
    pub(super) async fn abort(&self, name: &str, upload: &str) -> Result<(), String> {
        let credentials = self.credentials.as_ref();
        let action = AbortMultipartUpload::new(&self.bucket, credentials, name, upload);
        let response = self.send(Method::DELETE, action.sign(VALID), Bytes::new(), None);
        let response = response.await?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(()),
            _ => expect_success("DELETE ?uploadId", response).await.map(drop),
        }
    }

    /// Sends a request. URLs are signed, so none may stand in an error.
    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Bytes,
        digest: Option<[u8; 16]>,
    ) -> Result<Response, String> {
        let mut request = self.client.request(method, url).timeout(PATIENCE);
        if let Some(digest) = digest {
            request = request.header("content-md5", STANDARD.encode(digest));
        }
        let request = request.header(CONTENT_LENGTH, body.len()).body(body);
        request.send().await.map_err(|error| {
            let error = anyhow::Error::from(error.without_url());
            format!("{error:#}")
        })
    }
}

/// Returns the digests of a file's parts as a service tells them of the object.
pub(super) fn etag_of(parts: &[[u8; 16]]) -> String {
    match parts {
        [only] => hex::encode(only),
        parts => format!(
            "{}-{}",
            hex::encode(Md5::digest(parts.concat())),
            parts.len()
        ),
    }
}

fn stored(headers: &HeaderMap) -> Stored {
    let get = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_other = get("x-amz-server-side-encryption").is_some_and(|it| it.starts_with("aws:kms"))
        || get("x-amz-server-side-encryption-customer-algorithm").is_some();
    let etag = get("etag").map(|it| it.trim_matches('"').to_owned());
    Stored {
        length: get("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or_default(),
        etag: etag.filter(|_| !is_other),
    }
}

/// Returns what the service said, or an error with the beginning of it.
async fn expect_success(what: &str, mut response: Response) -> Result<String, String> {
    let status = response.status();
    let mut said = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if said.len() + chunk.len() <= MAX_SAID => said.extend(chunk),
            Ok(None) => break,
            _ if !status.is_success() => break,
            Ok(Some(_)) => return Err(format!("{what}: an answer of more than {MAX_SAID} bytes")),
            Err(error) => return Err(format!("{what}: {}", error.without_url())),
        }
    }
    let said = String::from_utf8_lossy(&said);
    match status.is_success() {
        true => Ok(said.into_owned()),
        false => Err(format!("{what}: {status}: {}", shown(&said))),
    }
}

fn shown(said: &str) -> String {
    said.chars().take(SHOWN).collect()
}
