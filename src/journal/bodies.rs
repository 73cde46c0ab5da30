//! Bodies of pages, read back from the archives of a crawl: stored, or rebuilt from a delta.
//!
//! Only reads files, so it works beside the process that crawls, which says where to read.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::content::Content;
use super::page_line::RecordPlace;
use crate::archive::{
    self, Digest, Limits, PackError, PackedBody, ReadRecord, SegmentReader, WarcOptions, unpack,
};

/// Where the body of a page is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BodyPlace {
    /// In a response. If another page's response has its bytes, its own head is in a revisit
    /// record.
    Response {
        /// The response.
        response: RecordPlace,
        /// The revisit record with the page's own head.
        revisit: Option<RecordPlace>,
    },
    /// In the response that a revisit record refers to.
    Revisit {
        /// The revisit record.
        revisit: RecordPlace,
    },
    /// In a pack, perhaps as a delta.
    Pack {
        /// The record with the pack.
        pack: RecordPlace,
        /// Number of the body in it.
        number: u8,
        /// The response that the delta refers to, if it is one.
        base: Option<RecordPlace>,
    },
    /// In a pack of one that no record has yet.
    Waiting {
        /// The pack, in hexadecimal.
        pack: String,
        /// The response that the delta refers to, if it is one.
        base: Option<RecordPlace>,
    },
}

/// Why a body cannot be given.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// A record cannot be read. The file may have been moved away.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// The response that the body is a delta against cannot be read.
    #[error("its body is kept as a difference from another response, which cannot be read")]
    Base(#[source] archive::Error),
    /// The record is not what the crawl says it is.
    #[error("the record at byte {offset} of {} is not the {expected} that the crawl stored there", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        offset: u64,
        /// What it should be.
        expected: &'static str,
    },
    /// A pack cannot be read.
    #[error("the bodies at byte {offset} of {}", path.display())]
    Pack {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        offset: u64,
        /// What is wrong.
        source: PackError,
    },
    /// A body that waits for its pack cannot be read.
    #[error("the body in the store is damaged")]
    Waiting(#[source] PackError),
    /// No response in the archive has the bytes that a revisit record refers to.
    #[error("no file in warc/ has the response of {url} with the payload {digest}")]
    NoResponse {
        /// URL of the response.
        url: String,
        /// Its digest.
        digest: String,
    },
}

/// Reads bodies from the archives of a crawl.
#[derive(Debug, Clone)]
pub struct Bodies {
    data: PathBuf,
}

impl Bodies {
    /// Reads the bodies of the crawl in a data directory.
    pub fn of(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
        }
    }

    /// Returns head and body of a page.
    pub fn read(&self, place: &BodyPlace) -> Result<Content, BodyError> {
        match place {
            BodyPlace::Response { response, revisit } => {
                let record = self.record(response)?;
                let stored = http(&record).ok_or_else(|| self.not(response, "response"))?;
                let revisit = revisit.as_ref().map(|revisit| self.record(revisit));
                let revisit = revisit.transpose()?;
                // The head of a 304 says nothing about the body.
                let own = revisit.as_ref().filter(|it| it.has_identical_payload());
                let own = own.and_then(http);
                Ok(content(own.map_or(stored.0, |(head, _)| head), stored.1))
            }
            BodyPlace::Revisit { revisit } => {
                let record = self.record(revisit)?;
                let field = |name| record.header(name).unwrap_or_default().to_owned();
                let digest = field("WARC-Payload-Digest");
                let Some(response) = self.find(&digest)? else {
                    return Err(BodyError::NoResponse {
                        url: field("WARC-Refers-To-Target-URI"),
                        digest,
                    });
                };
                let own = Some(&record).filter(|it| it.has_identical_payload());
                let parts = http(&response).map(|(head, payload)| {
                    content(own.and_then(http).map_or(head, |(own, _)| own), payload)
                });
                parts.ok_or_else(|| self.not(revisit, "revisit record"))
            }
            BodyPlace::Pack { pack, number, base } => {
                let record = self.record(pack)?;
                let damaged = |source| BodyError::Pack {
                    path: self.path(pack),
                    offset: pack.offset,
                    source,
                };
                let bodies = unpack(&record.block).map_err(damaged)?;
                let body = bodies.get(usize::from(*number));
                let body = body.ok_or_else(|| damaged(PackError::NoSuchBody))?;
                self.rebuild(body, base.as_ref(), damaged)
            }
            BodyPlace::Waiting { pack, base } => {
                let damaged = BodyError::Waiting;
                let block = hex::decode(pack).map_err(|_| damaged(PackError::Form))?;
                let bodies = unpack(&block).map_err(damaged)?;
                let body = bodies.first().ok_or(damaged(PackError::NoSuchBody))?;
                self.rebuild(body, base.as_ref(), damaged)
            }
        }
    }

    fn rebuild(
        &self,
        body: &PackedBody,
        base: Option<&RecordPlace>,
        damaged: impl Fn(PackError) -> BodyError,
    ) -> Result<Content, BodyError> {
        let base = match (&body.base, base) {
            (None, _) => None,
            (Some(_), None) => return Err(damaged(PackError::Base)),
            (Some(named), Some(place)) => {
                let record = self.record(place).map_err(BodyError::Base)?;
                let stored = http(&record).filter(|(_, it)| Digest::of(it) == named.payload);
                let (head, payload) = stored.ok_or_else(|| self.not(place, "response"))?;
                Some(content(head, payload))
            }
        };
        let (head, own) = body
            .content(base.as_ref().map(Content::bytes))
            .map_err(damaged)?;
        Ok(Content::from_parts(&head, &own, body.is_coded))
    }

    /// Searches the archive for the response with a payload, which takes a while.
    fn find(&self, digest: &str) -> Result<Option<ReadRecord>, BodyError> {
        for path in self.files()? {
            for record in archive::records(&path)? {
                let record = match record {
                    Err(error @ archive::Error::Io { .. }) => return Err(error.into()),
                    // What is behind the acknowledged end may break off.
                    Err(_) => break,
                    Ok(record) => record,
                };
                if record.header("WARC-Type") == Some("response")
                    && record.header("WARC-Payload-Digest") == Some(digest)
                {
                    return Ok(Some(record));
                }
            }
        }
        Ok(None)
    }

    /// Returns the files that the archive of pages has now; earlier ones may be nowhere.
    fn files(&self) -> Result<Vec<PathBuf>, archive::Error> {
        let directory = self.data.join("warc");
        let files = archive::files_of(&directory).map_err(|source| archive::Error::Io {
            action: "list",
            path: directory.clone(),
            source,
        })?;
        Ok(files.paths)
    }

    fn record(&self, place: &RecordPlace) -> Result<ReadRecord, archive::Error> {
        let path = self.path(place);
        let mut records = SegmentReader::open_at(&path, place.offset, Limits::default())?;
        records.next().unwrap_or(Err(archive::Error::Torn {
            path,
            offset: place.offset,
        }))
    }

    fn path(&self, place: &RecordPlace) -> PathBuf {
        WarcOptions::path_of(&self.data, &place.file)
    }

    fn not(&self, place: &RecordPlace, expected: &'static str) -> BodyError {
        BodyError::Record {
            path: self.path(place),
            offset: place.offset,
            expected,
        }
    }
}

fn http(record: &ReadRecord) -> Option<(&[u8], &[u8])> {
    record.http_parts()
}

fn content(head: &[u8], payload: &[u8]) -> Content {
    Content::of(head, &Bytes::copy_from_slice(payload))
}
