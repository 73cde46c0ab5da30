//! Closed files of the archive leave while the crawl runs, and what it has closed at its end.

use std::path::Path;

use tokio::sync::watch;

use crate::archive::WarcOptions;
use crate::engine::commit::Committer;
use crate::engine::error::Error;
use crate::engine::messages::StopHandle;
use crate::engine::options::Options;
use crate::handover::{Files, Handover, HandoverState};

/// Lets the files leave that are closed, and those that will be, if there is a way out.
pub(crate) fn start_handover(
    committer: &mut Committer,
    options: &Options,
    data: &Path,
    state: &watch::Sender<Vec<HandoverState>>,
    stop: &StopHandle,
) -> Result<Option<Handover>, Error> {
    committer.tell_closed();
    let names = &committer.names;
    let files = Files {
        pages: WarcOptions::pages_of(data, names.pages.clone()),
        texts: WarcOptions::texts_of(data, names.texts.clone()),
    };
    let (closed, stop) = (committer.closed.subscribe(), stop.clone());
    let stopped = async move { stop.stopped().await };
    let options = &options.archive.handover;
    Handover::start(options, data, &files, &closed, state, stopped).map_err(Error::Handover)
}
