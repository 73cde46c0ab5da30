//! The client of the control socket: how a command talks to the crawl that runs in a data
//! directory.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::protocol::{MAX_LINE, MAX_SEEDS, Request, Response};
use super::socket::{NAME, short_path};
use crate::engine::{ForgetDone, ForgetOrder, Retried, RetryFilter, SeedsAdded};
use crate::inspect::{Answer, Question};

/// How long a response may take. Seeds are answered when they are committed, after the commit in
/// progress.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// A connection to a running crawl.
#[derive(Debug)]
pub struct Client {
    directory: PathBuf,
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the crawl that runs in a data directory.
    pub fn connect(directory: &Path) -> Result<Self, Error> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                Error::NotRunning(directory.to_owned())
            }
            _ => Error::Io {
                directory: directory.to_owned(),
                source,
            },
        };
        let (path, _open) = short_path(directory, NAME).map_err(failed)?;
        let stream = UnixStream::connect(path).map_err(failed)?;
        stream
            .set_read_timeout(Some(RESPONSE_TIMEOUT))
            .map_err(failed)?;
        Ok(Self {
            directory: directory.to_owned(),
            stream: BufReader::new(stream),
        })
    }

    /// Sends a request and waits for the response.
    pub fn ask(&mut self, request: &Request) -> Result<Response, Error> {
        let response = self
            .exchange(request)
            .map_err(|source| self.failed(source))?;
        match response {
            Response::Refused { reason } => Err(Error::Refused(reason)),
            response => Ok(response),
        }
    }

    /// Asks a question and waits for its answer, without a time limit if every page has to be read.
    pub fn question(&mut self, question: Question) -> Result<Answer, Error> {
        if question.reads_every_page() {
            self.wait_at_most(None)?;
        }
        let response = self.ask(&Request::Ask(question))?;
        self.wait_at_most(Some(RESPONSE_TIMEOUT))?;
        match response {
            Response::Answer(answer) => Ok(*answer),
            _ => Err(self.failed(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Adds any number of seeds. If one is refused, those of earlier requests stay added.
    pub fn add_seeds(&mut self, seeds: impl Iterator<Item = String>) -> Result<SeedsAdded, Error> {
        let mut sum = SeedsAdded::default();
        let mut seeds = seeds.peekable();
        while seeds.peek().is_some() {
            let urls = seeds.by_ref().take(MAX_SEEDS).collect();
            if let Response::Added(added) = self.ask(&Request::AddSeeds { urls })? {
                sum.new += added.new;
                sum.known += added.known;
            }
        }
        Ok(sum)
    }

    /// Requeues failed URLs.
    pub fn retry(&mut self, filter: &RetryFilter) -> Result<Retried, Error> {
        let mut sum = Retried::default();
        loop {
            let request = Request::Retry {
                filter: filter.clone(),
                from: sum.next.take(),
            };
            if let Response::Retried(part) = self.ask(&request)? {
                sum.add(part);
            }
            if sum.next.is_none() {
                return Ok(sum);
            }
        }
    }

    /// Forgets pages, or lets them come back.
    pub fn forget(&mut self, order: &ForgetOrder) -> Result<ForgetDone, Error> {
        let mut sum = ForgetDone::default();
        loop {
            let request = Request::Forget {
                order: order.clone(),
                from: sum.next.take(),
            };
            if let Response::Forgotten(part) = self.ask(&request)? {
                sum.add(part);
            }
            if sum.next.is_none() {
                return Ok(sum);
            }
        }
    }

    /// Waits until the crawl has ended and released its data directory.
    pub fn wait_for_end(mut self) -> Result<(), Error> {
        self.wait_at_most(None)?;
        match io::copy(&mut self.stream, &mut io::sink()) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Sets how long each response may take from now on; `None` for any time.
    fn wait_at_most(&self, limit: Option<Duration>) -> Result<(), Error> {
        let limited = self.stream.get_ref().set_read_timeout(limit);
        limited.map_err(|source| self.failed(source))
    }

    fn exchange(&mut self, request: &Request) -> io::Result<Response> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        line.clear();
        (&mut self.stream)
            .take(MAX_LINE)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_slice(&line)?)
    }

    fn failed(&self, source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset => Error::Ended(self.directory.clone()),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Error::Silent(self.directory.clone())
            }
            _ => Error::Io {
                directory: self.directory.clone(),
                source,
            },
        }
    }
}

/// Why a running crawl could not be reached, or refused a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No process listens on the control socket.
    #[error("no crawl is running in {0}")]
    NotRunning(PathBuf),
    /// The crawl ended before it responded.
    #[error("the crawl in {0} ended before it responded")]
    Ended(PathBuf),
    /// The crawl did not respond in time.
    #[error(
        "the crawl in {0} does not respond; try again, or check what it is doing with `gleaner status`"
    )]
    Silent(PathBuf),
    /// Reading or writing the socket failed.
    #[error("cannot communicate with the crawl in {directory}: {source}")]
    Io {
        /// The data directory.
        directory: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The crawl refused the request.
    #[error("the crawl refused: {0}")]
    Refused(String),
}
