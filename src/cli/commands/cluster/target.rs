//! Which crawl of several workers a command is about, and how its engine is reached.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;

use crate::broker::{Address, Nats, TlsFiles};
use crate::cli::{Failure, help};

/// Which crawl.
#[derive(Debug, Args)]
pub(in crate::cli::commands) struct Target {
    /// The engine and the name of the crawl; tls:// for servers that are reached by TLS only
    #[arg(value_name = "nats://SERVER,SERVER/NAME")]
    address: Address,
    /// Certificates (PEM) of who signs those of the servers [default: those the system trusts]
    #[arg(help_heading = help::ENGINE, long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Certificate (PEM) by which the servers know who connects
    #[arg(help_heading = help::ENGINE, long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Key (PEM) of that certificate
    #[arg(help_heading = help::ENGINE, long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl Target {
    /// Returns where the engine is, with what it takes to reach it.
    pub(in crate::cli::commands) fn address(&self) -> Address {
        let files = TlsFiles {
            ca: self.tls_ca.clone(),
            own: self.tls_cert.clone().zip(self.tls_key.clone()),
        };
        self.address.clone().with(files)
    }

    /// Returns the name of the crawl.
    pub(super) fn name(&self) -> &str {
        self.address.name()
    }

    /// Connects to the engine.
    pub(in crate::cli::commands) fn connect(&self) -> Result<Arc<Nats>, Failure> {
        let address = self.address();
        let broker = Nats::connect(&address).with_context(|| format!("cannot use {address}"))?;
        Ok(Arc::new(broker))
    }
}
