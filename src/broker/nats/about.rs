//! What NATS says of itself: its servers, and what they may store.

use async_nats::jetstream::context::DeleteStreamErrorKind;

use super::{Error, Nats, Result, stream_of};

/// What NATS says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Version of the server that is connected to.
    pub version: String,
    /// Copies of each log that is made.
    pub replicas: usize,
    /// Servers that have a copy of the log that was asked about; none if the server is no cluster.
    pub servers: Vec<Peer>,
    /// Length of the longest message, in bytes.
    pub max_message: usize,
    /// Bytes stored.
    pub stored: u64,
    /// Bytes that may be stored, if that is bounded.
    pub max_stored: Option<u64>,
    /// Streams.
    pub streams: u64,
    /// Streams that may be made, if that is bounded.
    pub max_streams: Option<u64>,
}

/// A server that has a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Whether the copy has all that the leader's has.
    pub is_current: bool,
    /// Whether it is away.
    pub is_offline: bool,
}

impl Nats {
    /// Asks NATS about itself, and about the servers that have this log.
    ///
    /// # Errors
    ///
    /// [`Error::Away`] if there is no answer, [`Error::Missing`] if there is no such log.
    pub fn about(&self, log: &str) -> Result<About> {
        let (name, _) = self.log(log);
        let (cluster, account) = self.ask(|context| async move {
            let stream = stream_of(&context, &name).await?;
            let cluster = stream.cached_info().cluster.clone();
            let account = context.query_account().await;
            let account = account.map_err(|error| Error::Away(error.to_string()))?;
            Ok((cluster, account))
        })?;
        let bound = |bound: Option<i64>| bound.and_then(|it| u64::try_from(it).ok());
        let mut servers = Vec::new();
        if let Some(cluster) = cluster.filter(|_| self.replicas > 1) {
            servers.extend(cluster.leader.map(|name| Peer {
                name,
                is_current: true,
                is_offline: false,
            }));
            servers.extend(cluster.replicas.into_iter().map(|peer| Peer {
                name: peer.name,
                is_current: peer.current,
                is_offline: peer.offline,
            }));
        }
        Ok(About {
            version: self.version.clone(),
            replicas: self.replicas,
            servers,
            max_message: self.max_message,
            stored: account.storage,
            max_stored: bound(account.limits.max_storage),
            streams: account.streams as u64,
            max_streams: bound(account.limits.max_streams),
        })
    }

    /// Removes a log, if it is there.
    ///
    /// # Errors
    ///
    /// [`Error::Away`] if there is no answer.
    pub fn remove(&self, log: &str) -> Result<()> {
        let (name, _) = self.log(log);
        self.ask(|context| async move {
            match context.delete_stream(&name).await {
                Ok(_) => Ok(()),
                Err(error) => match error.kind() {
                    DeleteStreamErrorKind::JetStream(_) => Ok(()),
                    _ => Err(Error::Away(error.to_string())),
                },
            }
        })
    }
}
