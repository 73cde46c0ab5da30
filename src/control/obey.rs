//! Where a request becomes a response, whatever brought it: the control socket or the console.

use std::fmt::Display;
use std::time::Duration;

use super::protocol::{MAX_SEEDS, Request, Response};
use crate::engine::{Control, StopHandle, Watch, hosts_named};
use crate::inspect::{Question, answer};
use crate::seeds::{self, Seed};

/// How long a pause waits for fetches in progress before the response is sent anyway.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The handles of a crawl, by which it is observed and steered. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handles {
    /// Takes commands, and gives views.
    pub control: Control,
    /// Shows what goes on.
    pub watch: Watch,
    /// Ends the run.
    pub stop: StopHandle,
}

/// Does what a request asks for, and says what came of it.
pub async fn obey(request: &Request, handles: &Handles) -> Response {
    let Handles {
        control,
        watch,
        stop,
    } = handles;
    match request {
        Request::Pause => match tokio::time::timeout(PAUSE_TIMEOUT, control.pause()).await {
            Ok(Ok(())) => Response::Done,
            Ok(Err(over)) => refused(over),
            Err(_) => Response::Pausing {
                fetching: watch.gauges().fetching,
            },
        },
        Request::Resume => match control.resume().await {
            Ok(()) => Response::Done,
            Err(over) => refused(over),
        },
        Request::Hold { host } => hold(control, host, true).await,
        Request::Release { host } => hold(control, host, false).await,
        Request::Stop => {
            stop.stop();
            Response::Done
        }
        Request::Retry { filter, from } => {
            match control.retry(filter.clone(), from.clone()).await {
                Ok(retried) => Response::Retried(retried),
                Err(error) => refused(error),
            }
        }
        Request::Forget { order, from } => {
            match control.forget(order.clone(), from.clone()).await {
                Ok(done) => Response::Forgotten(done),
                Err(error) => refused(error),
            }
        }
        Request::Ask(question) => ask(control, question.clone()).await,
        Request::AddSeeds { urls } => match parsed(urls, control) {
            Ok(seeds) => match control.add_seeds(seeds, true).await {
                Ok(added) => {
                    control.tell_seeds(None, &added);
                    Response::Added(added)
                }
                Err(over) => refused(over),
            },
            Err(reason) => refused(reason),
        },
    }
}

/// Holds the hosts of a name, or lets them go on.
async fn hold(control: &Control, name: &str, is_held: bool) -> Response {
    let hosts = match hosts_named(name) {
        Ok(hosts) => hosts,
        Err(error) => return refused(error),
    };
    match tokio::time::timeout(PAUSE_TIMEOUT, control.hold(hosts, is_held)).await {
        Ok(Ok(hosts)) => Response::Held {
            hosts: hosts.iter().map(|host| host.as_str().to_owned()).collect(),
        },
        Ok(Err(error)) => refused(error),
        // It is held already, and one of its visits is in progress.
        Err(_) => Response::Pausing { fetching: 1 },
    }
}

/// Answers a question on a thread that may block, because reading the store does.
async fn ask(control: &Control, question: Question) -> Response {
    let view = match control.view() {
        Ok(view) => view,
        Err(over) => return refused(over),
    };
    match tokio::task::spawn_blocking(move || answer(&view, &question)).await {
        Ok(Ok(answer)) => Response::Answer(Box::new(answer)),
        Ok(Err(error)) => refused(error),
        Err(error) => refused(error),
    }
}

/// The response that a request failed.
pub(super) fn refused(reason: impl Display) -> Response {
    Response::Refused {
        reason: reason.to_string(),
    }
}

/// Parses and checks seeds. Fails at the first that cannot be crawled.
fn parsed(urls: &[String], control: &Control) -> Result<Vec<Seed>, String> {
    if urls.len() > MAX_SEEDS {
        return Err(format!("at most {MAX_SEEDS} seeds in one request"));
    }
    urls.iter()
        .map(|text| {
            let seed = seeds::parse(text).map_err(|error| format!("{text:?}: {error}"))?;
            control
                .check_seed(&seed.url, true)
                .map_err(|error| format!("{text:?}: {error}"))?;
            Ok(seed)
        })
        .collect()
}
