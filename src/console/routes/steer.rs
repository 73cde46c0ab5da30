//! What steers the crawl.

use std::collections::BTreeMap;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::console::answer::{Failed, Json, Listed, Named, Sent, command, obeyed};
use crate::console::{Hub, Shared};
use crate::control::{Request, Response, obey};
use crate::engine::{Retried, RetryFilter, RetryHosts, SeedsAdded, retry_classes};
use crate::frontier::Trouble;
use crate::url::HostKey;

/// What came of a command that says no more.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(in crate::console) struct Done {
    /// Whether it has taken effect.
    done: bool,
    /// Fetches in progress, for whose end a pause waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    fetching: Option<usize>,
}

/// A command without parameters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct Nothing {}

/// Seeds.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct Seeds {
    /// At most 1,000 URLs.
    urls: Vec<String>,
}

pub(in crate::console) async fn seeds(
    State(shared): State<Shared>,
    Sent(Seeds { urls }): Sent<Seeds>,
) -> Result<Json<Listed<SeedsAdded>>, Failed> {
    if urls.is_empty() {
        return Err(Failed::bad("the body: urls names no seed"));
    }
    let mut words = vec!["seeds", "add"];
    words.extend(urls.iter().map(String::as_str));
    let command = command(&words, &shared.crawl()?.directory);
    match done(&shared, &Request::AddSeeds { urls: urls.clone() }).await? {
        Response::Added(list) => Ok(Json(Listed { list, command })),
        other => Err(unexpected(&other)),
    }
}

pub(in crate::console) async fn pause(
    State(shared): State<Shared>,
    Sent(Nothing {}): Sent<Nothing>,
) -> Result<Json<Listed<Done>>, Failed> {
    simple(&shared, &Request::Pause, "pause").await
}

pub(in crate::console) async fn resume(
    State(shared): State<Shared>,
    Sent(Nothing {}): Sent<Nothing>,
) -> Result<Json<Listed<Done>>, Failed> {
    simple(&shared, &Request::Resume, "resume").await
}

/// What nobody says by accident.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct Stop {
    /// The word `stop`.
    confirm: Confirmed,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Confirmed {
    Stop,
}

pub(in crate::console) async fn stop(
    State(shared): State<Shared>,
    Sent(Stop {
        confirm: Confirmed::Stop,
    }): Sent<Stop>,
) -> Result<Json<Listed<Done>>, Failed> {
    simple(&shared, &Request::Stop, "stop").await
}

/// What is put back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct Retry {
    /// Classes of failures, or `trap` for what is deferred, as `gleaner retry --class` takes them.
    classes: Vec<String>,
    /// Restricts it to a host and names below it; with a scheme, to that host alone.
    #[serde(default)]
    host: Option<String>,
}

pub(in crate::console) async fn retry(
    State(shared): State<Shared>,
    Sent(Retry { classes, host }): Sent<Retry>,
) -> Result<Json<Listed<Retried>>, Failed> {
    let host = host.map(|host| {
        let hosts = host.parse::<RetryHosts>();
        hosts.map_err(|error| Failed::bad(format!("the body: host: {error}")))
    });
    retried(&shared, classes, host.transpose()?).await
}

pub(in crate::console) async fn retry_host(
    State(shared): State<Shared>,
    Named(host): Named,
    Sent(Nothing {}): Sent<Nothing>,
) -> Result<Json<Listed<Retried>>, Failed> {
    let host = RetryHosts::One(host_of(&host)?);
    let classes = Trouble::ALL.iter().map(|it| it.name().to_owned());
    retried(&shared, classes.collect(), Some(host)).await
}

/// Which hosts are held, or let go on.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::console) struct HeldAnswer {
    /// Whether it has taken effect: no visit of theirs is in progress.
    done: bool,
    /// Those for which that is new; null if a visit is still in progress.
    hosts: Option<Vec<String>>,
}

pub(in crate::console) async fn hold(
    State(shared): State<Shared>,
    Named(host): Named,
    Sent(Nothing {}): Sent<Nothing>,
) -> Result<Json<Listed<HeldAnswer>>, Failed> {
    let host = host_of(&host)?.as_str().to_owned();
    let command = command(&["pause", "--host", &host], &shared.crawl()?.directory);
    held(&shared, &Request::Hold { host }, command).await
}

pub(in crate::console) async fn release(
    State(shared): State<Shared>,
    Named(host): Named,
    Sent(Nothing {}): Sent<Nothing>,
) -> Result<Json<Listed<HeldAnswer>>, Failed> {
    let host = host_of(&host)?.as_str().to_owned();
    let command = command(&["resume", "--host", &host], &shared.crawl()?.directory);
    held(&shared, &Request::Release { host }, command).await
}

async fn held(
    shared: &Hub,
    request: &Request,
    command: String,
) -> Result<Json<Listed<HeldAnswer>>, Failed> {
    let list = match done(shared, request).await? {
        Response::Held { hosts } => HeldAnswer {
            done: true,
            hosts: Some(hosts),
        },
        Response::Pausing { .. } => HeldAnswer {
            done: false,
            hosts: None,
        },
        other => return Err(unexpected(&other)),
    };
    Ok(Json(Listed { list, command }))
}

/// The host that a path names.
pub(in crate::console) fn host_of(text: &str) -> Result<HostKey, Failed> {
    HostKey::parse(text).ok_or_else(|| {
        Failed::bad(format!(
            "the path: {text:?} is no host; write it as https://example.org or http://example.org:8080, with %3A%2F%2F for ://"
        ))
    })
}

/// Puts back what there is, part by part.
async fn retried(
    shared: &Hub,
    classes: Vec<String>,
    host: Option<RetryHosts>,
) -> Result<Json<Listed<Retried>>, Failed> {
    let known: Vec<&str> = retry_classes().collect();
    if let Some(other) = classes.iter().find(|it| !known.contains(&it.as_str())) {
        let known = known.join(", ");
        return Err(Failed::bad(format!(
            "the body: there is no class {other:?}; classes are {known}"
        )));
    }
    if classes.is_empty() {
        return Err(Failed::bad("the body: classes names none"));
    }
    let (joined, named) = (classes.join(","), host.as_ref().map(ToString::to_string));
    let mut words = vec!["retry", "--class", &joined];
    if let Some(host) = &named {
        words.extend(["--host", host]);
    }
    let command = command(&words, &shared.crawl()?.directory);
    let filter = RetryFilter { classes, host };
    let mut list = Retried::default();
    loop {
        let request = Request::Retry {
            filter: filter.clone(),
            from: list.next.take(),
        };
        match done(shared, &request).await? {
            Response::Retried(part) => list.add(part),
            other => return Err(unexpected(&other)),
        }
        if list.next.is_none() {
            return Ok(Json(Listed { list, command }));
        }
    }
}

/// Settings to change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct Set {
    /// Values by `section.key`, written as on the command line after `--set`.
    set: BTreeMap<String, String>,
}

/// What is different.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::console) struct SetAnswer {
    /// One sentence for each setting that has another value.
    changed: Vec<String>,
}

pub(in crate::console) async fn settings(
    State(shared): State<Shared>,
    Sent(Set { set }): Sent<Set>,
) -> Result<Json<Listed<SetAnswer>>, Failed> {
    let crawl = shared.crawl()?;
    let given: Vec<String> = set
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let mut words = vec!["config", "show"];
    for one in &given {
        words.extend(["--set", one]);
    }
    let command = command(&words, &crawl.directory);
    let _place = shared.command_place()?;
    // One after the other, so that those that wait take no thread from others.
    let _turn = shared.changing.lock().await;
    // Files are read and written, and the scheduler answers.
    let change = move || crawl.settings.change(&set);
    let changed = tokio::task::spawn_blocking(change).await;
    let changed = changed.map_err(Failed::internal)?.map_err(Failed::bad)?;
    Ok(Json(Listed {
        list: SetAnswer { changed },
        command,
    }))
}

/// A command of one word.
async fn simple(shared: &Hub, request: &Request, word: &str) -> Result<Json<Listed<Done>>, Failed> {
    let command = command(&[word], &shared.crawl()?.directory);
    let list = match done(shared, request).await? {
        Response::Done => Done {
            done: true,
            fetching: None,
        },
        Response::Pausing { fetching } => Done {
            done: false,
            fetching: Some(fetching),
        },
        other => return Err(unexpected(&other)),
    };
    Ok(Json(Listed { list, command }))
}

async fn done(shared: &Hub, request: &Request) -> Result<Response, Failed> {
    // One that stops the run waits for nobody.
    let _place = match request {
        Request::Stop => None,
        _ => Some(shared.command_place()?),
    };
    let crawl = shared.crawl()?;
    obeyed(obey(request, &crawl.handles).await)
}

fn unexpected(response: &Response) -> Failed {
    Failed::internal(format!("the command had another answer: {response:?}"))
}
