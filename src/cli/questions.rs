//! Whom to ask about a crawl: its store, or the process that crawls and has the store to itself.

use std::path::Path;

use super::Failure;
use crate::config;
use crate::control::client::Client;
use crate::control::{Request, Response};
use crate::engine::{
    self, Cursor, DirectoryError, Dups, Options, Reading, Report, ReportOptions, Similar, Subject,
    Why,
};
use crate::url::Url;

/// Who answers questions about a crawl.
pub(super) enum Source {
    /// Nobody crawls: its store, with the settings of the last run.
    Store(Box<(Reading, Options)>),
    /// The process that crawls.
    Crawl(Client),
}

impl Source {
    /// Finds out who answers for a data directory.
    pub(super) fn open(data_dir: &Path) -> Result<Self, Failure> {
        match Reading::open(data_dir) {
            Ok(reading) => {
                let options = config::kept(&reading.settings()?).options()?;
                Ok(Self::Store(Box::new((reading, options))))
            }
            Err(engine::Error::Directory(DirectoryError::InUse { .. })) => {
                Ok(Self::Crawl(Client::connect(data_dir)?))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What happened to a URL.
    pub(super) fn why(&mut self, url: &Url) -> Result<Why, Failure> {
        match self {
            Self::Store(store) => Ok(store.0.why(&store.1, url)?),
            Self::Crawl(client) => {
                let url = url.to_string();
                match client.ask(&Request::Why { url })? {
                    Response::Why(why) => Ok(*why),
                    _ => Err(something_else()),
                }
            }
        }
    }

    /// Some of the clusters of duplicates, from a place on.
    pub(super) fn dups(&mut self, from: Option<Cursor>) -> Result<Dups, Failure> {
        match self {
            Self::Store(store) => Ok(store.0.dups(&store.1, from.as_ref())?),
            Self::Crawl(client) => match client.ask(&Request::Dups { from })? {
                Response::Dups(dups) => Ok(dups),
                _ => Err(something_else()),
            },
        }
    }

    /// What deduplication did.
    pub(super) fn report(&mut self, shown: ReportOptions) -> Result<Report, Failure> {
        match self {
            Self::Store(store) => Ok(store.0.report(&store.1, shown)?),
            Self::Crawl(client) => match client.ask_patiently(&Request::Report(shown))? {
                Response::Report(report) => Ok(*report),
                _ => Err(something_else()),
            },
        }
    }

    /// The stored pages that are most like a page.
    pub(super) fn similar(
        &mut self,
        subject: Subject,
        limit: usize,
    ) -> Result<Option<Similar>, Failure> {
        match self {
            Self::Store(store) => Ok(store.0.similar(&store.1, &subject, limit)?),
            Self::Crawl(client) => {
                match client.ask_patiently(&Request::Similar { subject, limit })? {
                    Response::Similar { found } => Ok(found),
                    _ => Err(something_else()),
                }
            }
        }
    }
}

fn something_else() -> Failure {
    Failure::Io(anyhow::anyhow!("the crawl answered something else"))
}
