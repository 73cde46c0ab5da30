//! Upload of closed files. A file of one part is stored in one request, a larger one in parts, of
//! which an object is made at once: whatever is interrupted, the object is whole or absent.
//!
//! A file is deleted only after the service has told, asked once more, that the object has the
//! file's length and digest.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use md5::{Digest as _, Md5};
use serde::{Deserialize, Serialize};

use super::UploadOptions;
use super::service::{Part, Service, Stored, etag_of};
use crate::archive::index_path;

/// Length of a part, in bytes, of files that fit into [`MAX_PARTS`] of it.
const PART: u64 = 16 << 20;

/// Parts of an object. S3 allows 10,000.
const MAX_PARTS: u64 = 9_000;

/// Uploads files to a bucket.
pub(super) struct Uploader {
    service: Service,
    prefix: String,
    deletes: bool,
    /// Names the upload that is under way, so that what a kill leaves of it is removed.
    begun: PathBuf,
}

/// An upload in parts.
#[derive(Debug, Serialize, Deserialize)]
struct Begun {
    name: String,
    upload: String,
}

impl Uploader {
    pub(super) fn new(options: &UploadOptions, directory: &Path) -> io::Result<Self> {
        Ok(Self {
            service: Service::new(options)?,
            prefix: options.prefix.clone(),
            deletes: options.deletes,
            begun: directory.join("upload-begun.json"),
        })
    }

    /// Stores a file and its index, and deletes the file if that is asked for.
    pub(super) async fn upload(&self, path: &Path) -> Result<(), String> {
        self.store(path).await?;
        let index = index_path(path);
        if index.is_file() {
            self.store(&index).await?;
        }
        // The index stays: it is small, and says what is in a file that is elsewhere.
        match self.deletes {
            true => fs::remove_file(path)
                .map_err(|error| format!("cannot delete {}: {error}", path.display())),
            false => Ok(()),
        }
    }

    /// Stores a file, and makes sure that it is there.
    async fn store(&self, path: &Path) -> Result<(), String> {
        let told = |error: io::Error| format!("cannot read {}: {error}", path.display());
        let file = File::open(path).map_err(told)?;
        let length = file.metadata().map_err(told)?.len();
        let name = self.name(path);
        let parts = Parts {
            file,
            length,
            part: PART.max(length.div_ceil(MAX_PARTS)),
        };
        self.give_up_what_was_begun().await?;
        // An earlier run may have been killed just after it was done.
        if let Some(stored) = self.service.head(&name).await?
            && stored.length == length
            && agrees(&stored, length, &parts.etag().map_err(told)?)
        {
            return Ok(());
        }
        let etag = self.send(&name, &parts, &told).await?;
        let stored = self.service.head(&name).await?;
        match stored {
            None => Err(format!("{name} is not there after its upload")),
            Some(stored) if !agrees(&stored, length, &etag) => Err(format!(
                "the service has {name} with {} bytes and the tag {:?}, and the file has \
                 {length} and {etag:?}",
                stored.length,
                stored.etag.unwrap_or_default()
            )),
            Some(_) => Ok(()),
        }
    }

    fn name(&self, path: &Path) -> String {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match self.prefix.is_empty() {
            true => name.into_owned(),
            false => format!("{}/{name}", self.prefix),
        }
    }

    /// Sends a file, and returns the tag that the object should have.
    async fn send(
        &self,
        name: &str,
        parts: &Parts,
        told: &impl Fn(io::Error) -> String,
    ) -> Result<String, String> {
        let mut digests = Vec::new();
        if parts.count() == 1 {
            let part = parts.read(0).map_err(told)?;
            digests.push(part.digest);
            self.service.put(name, part).await?;
            return Ok(etag_of(&digests));
        }
        let upload = self.service.begin(name).await?;
        self.note(Some(&Begun {
            name: name.to_owned(),
            upload: upload.clone(),
        }))?;
        let mut tags = Vec::new();
        for number in 0..parts.count() {
            let part = parts.read(number).map_err(told)?;
            digests.push(part.digest);
            // Parts count from 1, and there are at most MAX_PARTS.
            let number = number as u16 + 1;
            tags.push(self.service.part(name, &upload, number, part).await?);
        }
        self.service.complete(name, &upload, &tags).await?;
        self.note(None)?;
        Ok(etag_of(&digests))
    }

    /// Removes the parts that an upload has left behind which was killed, or has failed.
    async fn give_up_what_was_begun(&self) -> Result<(), String> {
        let text = match fs::read(&self.begun) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(format!("cannot read {}: {error}", self.begun.display())),
        };
        // A power cut may have left it empty: the service forgets such parts in its own time.
        if let Ok(Begun { name, upload }) = serde_json::from_slice(&text) {
            self.service.abort(&name, &upload).await?;
        }
        self.note(None)
    }

    fn note(&self, begun: Option<&Begun>) -> Result<(), String> {
        let done = match begun {
            Some(begun) => serde_json::to_vec(begun)
                .map_err(io::Error::other)
                .and_then(|text| fs::write(&self.begun, text)),
            None => match fs::remove_file(&self.begun) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            },
        };
        done.map_err(|error| format!("cannot write {}: {error}", self.begun.display()))
    }
}

/// Whether a service has all of a file.
fn agrees(stored: &Stored, length: u64, etag: &str) -> bool {
    // Where it tells no digest, it has compared that of each part before it took it.
    stored.length == length && stored.etag.as_deref().is_none_or(|tag| tag == etag)
}

/// A file in parts.
struct Parts {
    file: File,
    length: u64,
    part: u64,
}

impl Parts {
    fn count(&self) -> u64 {
        self.length.div_ceil(self.part).max(1)
    }

    fn read(&self, number: u64) -> io::Result<Part> {
        let from = number * self.part;
        let mut bytes = vec![0; self.part.min(self.length - from) as usize];
        self.file.read_exact_at(&mut bytes, from)?;
        Ok(Part {
            digest: Md5::digest(&bytes).into(),
            body: bytes.into(),
        })
    }

    fn etag(&self) -> io::Result<String> {
        let digest = |number| Ok(self.read(number)?.digest);
        let digests: io::Result<Vec<[u8; 16]>> = (0..self.count()).map(digest).collect();
        Ok(etag_of(&digests?))
    }
}
