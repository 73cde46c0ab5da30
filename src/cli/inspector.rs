//! Who answers questions about a crawl: its store, or the process that runs it and holds the store.

use std::path::Path;
use std::time::{Duration, Instant};

use super::Failure;
use crate::cluster::{Called, worker_of};
use crate::config;
use crate::control::client::{self, Client};
use crate::engine::{self, DirectoryError, StoppedCrawl, View};
use crate::inspect::{self, Answer, Question};

/// Whether another command reads the directory, or is just about to let it go.
fn is_for_a_moment(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::Engine(engine::Error::Directory(DirectoryError::InUse {
            for_a_while: true,
            ..
        })) | Failure::Control(client::Error::NotRunning(_))
    )
}

/// Says why a worker that has a copy of a shard does not answer, if it is that.
fn of_a_copy(failure: &Failure, data_dir: &Path) -> Option<Failure> {
    let (_, Called { name: worker, .. }) = worker_of(data_dir)?;
    let is_silent = matches!(failure, Failure::Control(client::Error::NotRunning(_)));
    is_silent.then(|| Failure::Usage {
        message: format!(
            "worker {worker} runs and follows the shard in {}: its copy answers when the worker \
             does not run",
            data_dir.display()
        ),
        hint: Some("`gleaner cluster status` names the owner of each shard, which answers"),
    })
}

/// Answers questions about the crawl in one data directory.
pub(super) enum Inspector {
    /// Nobody runs the crawl: its store answers, with the settings of the last run.
    Store {
        view: View,
        /// Keeps others from running the crawl meanwhile.
        _held: StoppedCrawl,
    },
    /// The process that runs the crawl answers.
    Running(Client),
}

impl Inspector {
    /// Finds out who answers for a data directory. Another command that reads it has it for a
    /// moment, which is waited for.
    pub(super) fn open(data_dir: &Path) -> Result<Self, Failure> {
        /// Longer than any question takes but those that read every page.
        const PATIENCE: Duration = Duration::from_secs(10);
        let begun = Instant::now();
        loop {
            match Self::open_now(data_dir) {
                Err(failure) if is_for_a_moment(&failure) && begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(failure) => return Err(of_a_copy(&failure, data_dir).unwrap_or(failure)),
                opened => return opened,
            }
        }
    }

    /// The same, of a directory that nobody else reads at this moment.
    pub(super) fn open_now(data_dir: &Path) -> Result<Self, Failure> {
        match StoppedCrawl::open(data_dir) {
            Ok(crawl) => {
                let config = config::kept(&crawl.settings()?);
                let mut options = config.options()?;
                // A list may be gone since; what it blocked has its place in the log.
                if let Ok(list) = config.read_block_lists() {
                    options.policies.block(list);
                }
                Ok(Self::Store {
                    view: crawl.view(options),
                    _held: crawl,
                })
            }
            Err(engine::Error::Directory(DirectoryError::InUse {
                for_a_while: false, ..
            })) => Ok(Self::Running(Client::connect(data_dir)?)),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks a question.
    pub(super) fn ask(&mut self, question: Question) -> Result<Answer, Failure> {
        match self {
            Self::Store { view, .. } => Ok(inspect::answer(view, &question)?),
            Self::Running(client) => Ok(client.question(question)?),
        }
    }
}
