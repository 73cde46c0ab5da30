//! What an export wrote, and where the next one goes on.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::Error;
use crate::engine::Position;

/// The file beside the files of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format of the files.
    pub format: String,
    /// What wrote them.
    pub software: String,
    /// The crawls that were read, in order.
    pub crawls: Vec<CrawlRead>,
    /// The files, in order.
    pub files: Vec<Written>,
}

/// How far a crawl was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlRead {
    /// Its data directory, as given.
    pub data_dir: String,
    /// Where reading began.
    pub after: String,
    /// Where it ended.
    pub position: String,
    /// In packages, the files of its archive that were packed, now or by the exports before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archive_files: Vec<PackedFile>,
}

/// A file of an archive that is in a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedFile {
    /// Its name.
    pub name: String,
    /// Its length, in bytes.
    pub bytes: u64,
}

/// A file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Its name.
    pub name: String,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// Number of pages in it.
    pub pages: u64,
}

impl Manifest {
    /// Creates the manifest of an export in a format.
    pub fn new(format: &str, crawls: Vec<CrawlRead>, files: Vec<Written>) -> Self {
        Self {
            format: format.to_owned(),
            software: concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")).to_owned(),
            crawls,
            files,
        }
    }

    /// Returns where the manifest of an export to this file, or directory, is.
    pub fn path_for(output: &Path) -> PathBuf {
        if output.is_dir() {
            return output.join("manifest.json");
        }
        let mut name = output.as_os_str().to_owned();
        name.push(".manifest.json");
        PathBuf::from(name)
    }

    /// Reads a manifest.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
        serde_json::from_str(&text).map_err(|error| {
            Error::Request(format!(
                "{} is no manifest of an export: {error}; give a position, or the file \
                 `….manifest.json` that an earlier export wrote",
                path.display()
            ))
        })
    }

    /// Writes it.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|error| Error::io("write", path)(error.into()))? + "\n";
        fs::write(path, text).map_err(Error::io("write", path))
    }

    /// Returns the files of a crawl that are packed already.
    pub(super) fn packed_of(&self, data_dir: &Path) -> &[PackedFile] {
        self.crawl(data_dir).map_or(&[], |it| &it.archive_files)
    }

    fn crawl(&self, data_dir: &Path) -> Option<&CrawlRead> {
        let name = data_dir.display().to_string();
        self.crawls.iter().find(|crawl| crawl.data_dir == name)
    }

    /// Returns where a crawl was left; its beginning if this export did not read it.
    pub fn position_of(&self, data_dir: &Path) -> Result<Position, Error> {
        match self.crawl(data_dir) {
            None => Ok(Position::default()),
            Some(crawl) => crawl.position.parse().map_err(|reason| {
                Error::Request(format!(
                    "the manifest's position of {} is none: {reason}",
                    data_dir.display()
                ))
            }),
        }
    }
}
