//! The console of a crawl: where it listens, and the settings that it shows and changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::duplicates::show::texts;
use super::reload::Reloading;
use crate::cli::output::Screen;
use crate::cli::{Failure, help};
use crate::config::{Config, Flag};
use crate::console::{Console, Crawling, ListenError, ListenOptions, Listening};
use crate::control::Handles;
use crate::export::Reader;

/// The flags of the console.
#[derive(Debug, Clone, Args)]
pub(super) struct ConsoleFlags {
    /// Let the crawl be watched and steered over HTTP here: ADDRESS:PORT, such as 127.0.0.1:7979, or
    /// unix:PATH [default: none]
    #[arg(help_heading = help::SETTINGS, long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// File with the secret that clients of --listen send, which only its owner can read; needed
    /// where other machines can connect [default: none]
    #[arg(help_heading = help::SETTINGS, long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl ConsoleFlags {
    /// Those that were given.
    pub(super) fn flags(&self) -> impl Iterator<Item = Flag> {
        // The next run may be started elsewhere.
        let anywhere = |path: &Path| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            path.display().to_string()
        };
        let token = self.token_file.as_deref().map(anywhere);
        let listen = self.listen.as_ref().map(|listen| {
            match listen.strip_prefix("unix:").filter(|path| !path.is_empty()) {
                Some(path) => format!("unix:{}", anywhere(Path::new(path))),
                None => listen.clone(),
            }
        });
        let given = [
            ("--listen", "daemon.listen", listen),
            ("--token-file", "daemon.token_file", token),
        ];
        given.into_iter().filter_map(|(name, key, value)| {
            Some(Flag {
                name,
                key: key.to_owned(),
                value: value?,
                adds: false,
            })
        })
    }
}

/// Opens the console, if the settings ask for one. Comes before anything else is opened, so that an
/// address that is taken costs nothing.
pub(super) fn open(config: &Config, screen: &Screen) -> Result<Option<Console>, Failure> {
    let settings = &config.daemon;
    let Some(address) = settings.address() else {
        return Ok(None);
    };
    let options = ListenOptions {
        address: address.to_owned(),
        hosts: settings.hosts.clone(),
        token_file: settings.token_path(),
    };
    let listening = Listening::open(&options).map_err(|error| match error {
        ListenError::Usage(message) => Failure::usage(message),
        taken @ ListenError::Taken { .. } => Failure::Taken(taken.to_string()),
    })?;
    let place = listening.place();
    let console = Console::start(listening).map_err(anyhow::Error::from)?;
    screen.say(&format!("listening at {place}"));
    Ok(Some(console))
}

/// Shows a crawl that is open.
pub(super) fn show(console: Option<&Console>, handles: &Handles, reloading: &Arc<Reloading>) {
    if let Some(console) = console {
        console.show(Crawling {
            directory: reloading.directory().to_owned(),
            handles: handles.clone(),
            settings: reloading.clone(),
            reader: Arc::new(Reader::new(texts(reloading.directory()))),
        });
    }
}
