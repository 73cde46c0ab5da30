//! The console of a crawl: where it listens, and the settings that it shows and changes.

use std::sync::Arc;

use super::reload::Reloading;
use crate::cli::Failure;
use crate::cli::commands::duplicates::show::texts;
use crate::cli::output::Screen;
use crate::config::Config;
use crate::console::{Console, Crawling, ListenError, ListenOptions, Listening};
use crate::control::Handles;
use crate::export::Reader;

/// Opens the console, if the settings ask for one. Comes before anything else is opened, so that an
/// address that is taken costs nothing.
pub(in crate::cli::commands) fn open(
    config: &Config,
    screen: &Screen,
) -> Result<Option<Console>, Failure> {
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
    let console = Console::start(listening).map_err(anyhow::Error::from)?;
    screen.say(&format!("listening at {}", console.place()));
    Ok(Some(console))
}

/// Shows a crawl that is open.
pub(in crate::cli::commands) fn show(
    console: Option<&Console>,
    handles: &Handles,
    reloading: &Arc<Reloading>,
) {
    if let Some(console) = console {
        console.show(Crawling {
            directory: reloading.directory().to_owned(),
            handles: handles.clone(),
            settings: reloading.clone(),
            reader: Arc::new(Reader::new(texts(reloading.directory()))),
        });
    }
}
