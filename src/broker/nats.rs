//! NATS JetStream as the engine.
//!
//! A log is a stream with one subject, and its positions are the stream's sequence numbers. The
//! rows of a crawl are one stream, which keeps the last message of each subject. An append is
//! conditional on the last sequence of its subject, which the leader of the stream checks. Reads
//! ask the leader too: what is acknowledged is read.

mod about;
mod address;

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Chain;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, push};
use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamErrorKind, PublishError, PublishErrorKind,
};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, RawMessageErrorKind, Stream};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{ConnectError, ConnectErrorKind, rustls};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Sender, channel};

pub use about::{About, Peer};
pub use address::{Address, TlsFiles};

use super::{Broker, Error, Result, Tail};

/// The oldest server that is accepted: those before lost streams when they were killed (before
/// 2.10.23), or let several writers win that expected the same end of a log.
pub const LEAST_VERSION: (u64, u64, u64) = (2, 10, 26);

/// Time after which a request counts as not answered. A stream has a new leader 4 to 6 s after its
/// leader died; a request that waits for that is made again.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Time without a word from the server after which it is asked whether it is there; after three
/// times as long without an answer, another one is connected to. A machine that lost its power or
/// its cable closes no connection. Together with [`CONNECT`] that is less than the time after which
/// a worker that says nothing is dead, if nobody chose another.
const SILENCE: Duration = Duration::from_millis(1_500);

/// Time after which a server counts as not there that does not answer who connects.
const CONNECT: Duration = Duration::from_secs(3);

/// Copies of each log and of the rows, where there are several servers: one may be away.
const REPLICAS: usize = 3;

/// Time after which an engine that sends what a log has says that there is nothing; after twice as
/// long it is taken to send no more.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Number of messages of a log that wait to be read at most.
const SENT: usize = 64;

/// Time after which a message is sent again that was refused because another one of its subject was
/// on its way to the servers.
const ANOTHER: Duration = Duration::from_millis(10);

/// Bytes of a message that are left for its headers.
const HEADERS: usize = 1 << 10;

/// A connection to NATS, with a thread of its own.
pub struct Nats {
    name: String,
    /// Taken by the end only.
    runtime: Option<Runtime>,
    context: Context,
    version: String,
    /// Copies of what is made.
    replicas: usize,
    max_message: usize,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Nats {
    /// Connects to the engine.
    ///
    /// # Errors
    ///
    /// [`Error::Away`] if no server answers; [`Error::Refused`] if the server is too old, or has no
    /// JetStream.
    pub fn connect(address: &Address) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("broker")
            .enable_all()
            .build()
            .map_err(|error| Error::Refused(format!("cannot start a thread: {error}")))?;
        let servers = address.servers().to_vec();
        let options = address.options()?;
        let options = options.connection_timeout(CONNECT).ping_interval(SILENCE);
        let connect = async move {
            let client = options.connect(servers).await;
            let client = client.map_err(|error| match is_of_tls(&error) {
                true => Error::Refused(format!(
                    "no TLS with the server: {}; see --tls-ca, --tls-cert and --tls-key",
                    reason(&error)
                )),
                false => Error::Away(reason(&error)),
            })?;
            let server = client.server_info();
            // It starts a task of its own, for which it must be on this reactor.
            let mut context = jetstream::new(client);
            context.set_timeout(TIMEOUT);
            Ok((server, context))
        };
        let (server, context) = wait(&runtime, connect)?;
        let is_known = version(&server.version).is_some_and(|version| version >= LEAST_VERSION);
        if !is_known {
            let (major, minor, patch) = LEAST_VERSION;
            return Err(Error::Refused(format!(
                "the server is nats-server {}, which can lose what it has acknowledged; install \
                 {major}.{minor}.{patch} or newer",
                server.version
            )));
        }
        if !server.jetstream {
            return Err(Error::Refused(
                "the server runs without JetStream; start it with `-js`".to_owned(),
            ));
        }
        Ok(Self {
            name: address.name().to_owned(),
            runtime: Some(runtime),
            context,
            version: server.version.clone(),
            replicas: match server.cluster {
                Some(_) => REPLICAS,
                None => 1,
            },
            max_message: server.max_payload.saturating_sub(HEADERS),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        })
    }

    /// Returns how many requests were made, and how many bytes were published.
    pub fn traffic(&self) -> (u64, u64) {
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        (count(&self.requests), count(&self.bytes))
    }

    fn log(&self, log: &str) -> (String, String) {
        let name = &self.name;
        (format!("{name}-log-{log}"), format!("{name}.log.{log}"))
    }

    fn rows(&self, row: &str) -> (String, String) {
        let name = &self.name;
        (format!("{name}-rows"), format!("{name}.rows.{row}"))
    }

    /// Makes a request, and waits for its end.
    fn ask<T, F>(&self, request: impl FnOnce(Context) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        self.requests.fetch_add(1, Ordering::Relaxed);
        match &self.runtime {
            Some(runtime) => wait(runtime, request(self.context.clone())),
            None => Err(Error::Away("the connection is closed".to_owned())),
        }
    }

    fn create_stream(&self, config: stream::Config) -> Result<()> {
        self.ask(|context| async move {
            match context.get_or_create_stream(config).await {
                Ok(_) => Ok(()),
                Err(error) => Err(not_made(&error)),
            }
        })
    }

    fn config(&self, (name, subject): (String, String)) -> stream::Config {
        stream::Config {
            name,
            subjects: vec![subject],
            num_replicas: self.replicas,
            ..stream::Config::default()
        }
    }

    /// Publishes a message, if the last one of its subject is the one that is given.
    fn send(&self, subject: String, after: Option<u64>, payload: &[u8]) -> Result<u64> {
        let bytes = payload.len() as u64;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let mut message = PublishMessage::build().payload(Bytes::copy_from_slice(payload));
        if let Some(after) = after {
            message = message.expected_last_subject_sequence(after);
        }
        self.ask(|context| async move {
            let until = Instant::now() + TIMEOUT;
            loop {
                let sent = context.send_publish(subject.clone(), message.clone()).await;
                let answer = match sent {
                    Ok(sent) => sent.await,
                    Err(error) => Err(error),
                };
                let error = match answer {
                    Ok(acknowledged) => return Ok(acknowledged.sequence),
                    Err(error) => error,
                };
                if is_behind_another(&error) && Instant::now() < until {
                    tokio::time::sleep(ANOTHER).await;
                    continue;
                }
                return Err(match error.kind() {
                    PublishErrorKind::WrongLastSequence => Error::Moved,
                    PublishErrorKind::MaxPayloadExceeded => Error::Refused(error.to_string()),
                    // Also a stream that has no leader for the moment is not found.
                    _ => Error::Away(error.to_string()),
                });
            }
        })
    }
}

/// Waits on this thread, which may be one of another reactor, for what the thread of this one does.
fn wait<T: Send + 'static>(
    runtime: &Runtime,
    request: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    runtime.spawn(async move {
        // Who asked waits below.
        let _ = sender.send(request.await);
    });
    let answer = receiver.recv();
    answer.unwrap_or_else(|_| Err(Error::Away("its client panicked".to_owned())))
}

/// Why a stream was not made. Servers that have lost their leader, or one of them, may make it in a
/// moment.
fn not_made(error: &CreateStreamError) -> Error {
    use CreateStreamErrorKind::{
        JetStream, JetStreamUnavailable, NotFound, Response, ResponseParse, TimedOut,
    };
    const ELECTING: [ErrorCode; 6] = [
        ErrorCode::CLUSTER_INCOMPLETE,
        ErrorCode::CLUSTER_NO_PEERS,
        ErrorCode::CLUSTER_NOT_ACTIVE,
        ErrorCode::CLUSTER_NOT_ASSIGNED,
        ErrorCode::CLUSTER_NOT_AVAILABLE,
        ErrorCode::CLUSTER_NOT_LEADER,
    ];
    let reason = format!("a stream cannot be made: {error}");
    match error.kind() {
        TimedOut | Response | ResponseParse | JetStreamUnavailable | NotFound => {
            Error::Away(reason)
        }
        JetStream(error) if ELECTING.contains(&error.error_code()) => Error::Away(reason),
        _ => Error::Refused(reason),
    }
}

/// Whether a message was refused because another one of its subject is on its way to the servers
/// that keep the log. Nothing was written, and where the log ends is known in a moment only.
fn is_behind_another(error: &PublishError) -> bool {
    Chain::new(error).any(|error| {
        let error: Option<&jetstream::Error> = error.downcast_ref();
        error.is_some_and(|it| it.error_code() == ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
    })
}

/// Whether a connection failed because of TLS: the client says so, or hides it in an error of I/O.
fn is_of_tls(error: &ConnectError) -> bool {
    let is_within = |error: &(dyn StdError + 'static)| {
        let inner = error.downcast_ref().and_then(io::Error::get_ref);
        matches!(inner, Some(inner) if inner.is::<rustls::Error>())
    };
    error.kind() == ConnectErrorKind::Tls || Chain::new(error).any(is_within)
}

/// Says what went wrong, with what is behind it.
fn reason(error: &ConnectError) -> String {
    let mut text = error.to_string();
    for behind in Chain::new(error).skip(1).map(ToString::to_string) {
        if !text.contains(&behind) {
            text = format!("{text}: {behind}");
        }
    }
    text
}

/// Returns the numbers of a version such as 2.10.26 or 2.12.0-RC.1.
fn version(text: &str) -> Option<(u64, u64, u64)> {
    let numbers = text.trim_start_matches('v').split(['-', '+']).next()?;
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// Asks for the stream, whose leader answers.
async fn stream_of(context: &Context, name: &str) -> Result<Stream> {
    context
        .get_stream(name)
        .await
        .map_err(|error| match error.kind() {
            GetStreamErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                Error::Missing(name.to_owned())
            }
            _ => Error::Away(error.to_string()),
        })
}

/// Reads a message; `None` if there is none.
async fn message(
    context: &Context,
    name: String,
    select: impl FnOnce(RawMessageBuilder) -> RawMessageBuilder,
) -> Result<Option<(u64, Vec<u8>)>> {
    let stream = context.get_stream_no_info(&name).await;
    let stream = stream.map_err(|error| Error::Refused(error.to_string()))?;
    match select(stream.raw_message_builder()).send().await {
        Ok(message) => Ok(Some((message.sequence, message.payload.to_vec()))),
        Err(error) => match error.kind() {
            RawMessageErrorKind::NoMessageFound => Ok(None),
            RawMessageErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                Err(Error::Missing(name))
            }
            _ => Err(Error::Away(error.to_string())),
        },
    }
}

/// Passes on what the engine sends of a log, until it says nothing any more or nobody listens.
async fn pass_on(mut messages: push::Messages, sender: Sender<(u64, Vec<u8>)>) {
    loop {
        let next = tokio::select! {
            next = messages.next() => next,
            () = sender.closed() => return,
        };
        // An error is a heartbeat that did not come: the server is away, or has forgotten who
        // listens.
        let Some(Ok(message)) = next else { return };
        let Ok(position) = message.info().map(|info| info.stream_sequence) else {
            return;
        };
        if sender
            .send((position, message.payload.to_vec()))
            .await
            .is_err()
        {
            return;
        }
    }
}

type RawMessageBuilder = stream::RawMessageBuilder<stream::WithHeaders>;

impl Broker for Nats {
    fn create(&self, log: &str) -> Result<()> {
        // Without a bound: the engine would set as much aside for it. It is trimmed instead.
        self.create_stream(self.config(self.log(log)))?;
        self.create_stream(stream::Config {
            max_messages_per_subject: 1,
            ..self.config(self.rows(">"))
        })
    }

    fn end(&self, log: &str) -> Result<u64> {
        let (name, _) = self.log(log);
        self.ask(|context| async move {
            let stream = stream_of(&context, &name).await?;
            Ok(stream.cached_info().state.last_sequence)
        })
    }

    fn append_message(&self, log: &str, after: u64, message: &[u8]) -> Result<u64> {
        let (_, subject) = self.log(log);
        self.send(subject, Some(after), message)
    }

    fn publish(&self, log: &str, message: &[u8]) -> Result<()> {
        let (_, subject) = self.log(log);
        self.send(subject, None, message).map(drop)
    }

    fn message_after(&self, log: &str, after: u64) -> Result<Option<(u64, Vec<u8>)>> {
        let (name, subject) = self.log(log);
        let next = after + 1;
        let found = self.ask(|context| async move {
            message(&context, name, |it| {
                it.sequence(next).next_by_subject(subject)
            })
            .await
        })?;
        match found {
            Some((first, _)) if first > next => Err(Error::Trimmed { first }),
            found => Ok(found),
        }
    }

    fn tail(&self, log: &str, after: u64) -> Result<Tail> {
        let (name, _) = self.log(log);
        self.ask(move |context| async move {
            let config = push::Config {
                deliver_subject: context.client().new_inbox(),
                deliver_policy: DeliverPolicy::ByStartSequence {
                    start_sequence: after + 1,
                },
                ack_policy: AckPolicy::None,
                flow_control: true,
                idle_heartbeat: HEARTBEAT,
                // It lives where the log does, and as long as this connection.
                inactive_threshold: 2 * HEARTBEAT,
                num_replicas: 1,
                memory_storage: true,
                ..push::Config::default()
            };
            let consumer = context.create_consumer_on_stream(config, &name).await;
            let away = |error: &dyn fmt::Display| Error::Away(error.to_string());
            let consumer = consumer.map_err(|error| away(&error))?;
            let messages = consumer.messages().await;
            let messages = messages.map_err(|error| away(&error))?;
            let (sender, tail) = channel(SENT);
            tokio::spawn(pass_on(messages, sender));
            Ok(tail)
        })
    }

    fn max_message(&self) -> usize {
        self.max_message
    }

    fn trim(&self, log: &str, through: u64) -> Result<()> {
        let (name, _) = self.log(log);
        self.ask(|context| async move {
            let stream = stream_of(&context, &name).await?;
            let last = stream.cached_info().state.last_sequence;
            // Removes what is below the number.
            let below = through.saturating_add(1).min(last);
            if below > 1 {
                let purged = stream.purge().sequence(below).await;
                purged.map_err(|error| Error::Away(error.to_string()))?;
            }
            Ok(())
        })
    }

    fn bytes(&self, log: &str) -> Result<u64> {
        let (name, _) = self.log(log);
        self.ask(|context| async move {
            let stream = stream_of(&context, &name).await?;
            Ok(stream.cached_info().state.bytes)
        })
    }

    fn row(&self, name: &str) -> Result<Option<(u64, Vec<u8>)>> {
        let (stream, subject) = self.rows(name);
        self.ask(|context| async move {
            message(&context, stream, |it| it.last_by_subject(subject)).await
        })
    }

    fn put_row(&self, name: &str, version: u64, row: &[u8]) -> Result<u64> {
        let (_, subject) = self.rows(name);
        self.send(subject, Some(version), row)
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        // Dropping it would wait, which a thread of another reactor must not.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(version("2.10.26"), Some((2, 10, 26)));
        assert_eq!(version("2.12.0-RC.1"), Some((2, 12, 0)));
        assert_eq!(version("2.9"), None);
        assert!(version("2.9.10").unwrap() < LEAST_VERSION);
        assert!(version("2.11.0").unwrap() > LEAST_VERSION);
    }
}
