//! What goes on: history, events and pages.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::console::Shared;
use crate::console::answer::{Asked, Failed, Listed, command, json};
use crate::console::stream::{self, Form, Pages};
use crate::engine::{Position, Resolution};
use crate::page::Markup;

/// Which part of the history is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct HistoryOf {
    /// How far apart the rows are: seconds of the last 5 minutes, tens of seconds of the last hour,
    /// minutes of the last day, or all since the crawl began.
    #[serde(default)]
    res: Step,
}

/// How far apart rows are.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
enum Step {
    #[default]
    #[serde(rename = "1s")]
    Second,
    #[serde(rename = "10s")]
    TenSeconds,
    #[serde(rename = "1m")]
    Minute,
    #[serde(rename = "all")]
    All,
}

pub(in crate::console) async fn history(
    State(shared): State<Shared>,
    Asked(HistoryOf { res }): Asked<HistoryOf>,
) -> Result<Response, Failed> {
    let crawl = shared.crawl()?;
    let history = crawl.handles.watch.history().clone();
    let command = command(&["report", "--json"], &crawl.directory);
    let resolution = match res {
        Step::Second => Resolution::Second,
        Step::TenSeconds => Resolution::TenSeconds,
        Step::Minute => Resolution::Minute,
        Step::All => Resolution::All,
    };
    let written = move || {
        let list = history.read(resolution).map_err(Failed::internal)?;
        let written = serde_json::to_vec(&Listed { list, command });
        written.map(Bytes::from).map_err(Failed::internal)
    };
    // A day of minutes takes some milliseconds to write, and the file is read.
    match resolution {
        Resolution::Second | Resolution::TenSeconds => Ok(json(written()?)),
        Resolution::Minute | Resolution::All => {
            let question = format!("history {res:?}");
            let at_once = async { Ok(()) };
            let made = shared.kept.long.get(question, at_once, |()| async move {
                let written = tokio::task::spawn_blocking(written).await;
                written.map_err(Failed::internal)?
            });
            Ok(json(Bytes::clone(&*made.await?)))
        }
    }
}

/// Which events are asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct EventsOf {
    /// The id of the event behind which they begin; the oldest that is kept if there is none.
    after: Option<String>,
    /// Whether those that come are sent as they happen.
    #[serde(default, deserialize_with = "truth")]
    follow: bool,
}

pub(in crate::console) async fn events(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Asked(EventsOf { after, follow }): Asked<EventsOf>,
) -> Result<Response, Failed> {
    let accepts = headers.get(ACCEPT).and_then(|it| it.to_str().ok());
    let form = match accepts.is_some_and(|it| it.contains("text/event-stream")) {
        true => Form::Sse,
        false => Form::Lines,
    };
    // What a browser that connects again says by itself is later than its address.
    let last = headers.get("last-event-id").and_then(|it| it.to_str().ok());
    let after = last.map(str::to_owned).or(after);
    let after = after.map(|id| {
        id.parse::<u64>()
            .map_err(|_| Failed::bad(format!("the query: {id:?} is no id of an event")))
    });
    stream::events(&shared, after.transpose()?, follow, form)
}

/// Which pages are asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct PagesOf {
    /// The `position` of the page behind which they begin; the first if there is none.
    after: Option<String>,
    /// Whether those that are committed later are sent too.
    #[serde(default, deserialize_with = "truth")]
    follow: bool,
    /// Whether only originals are sent.
    #[serde(default, deserialize_with = "truth")]
    unique: bool,
    /// Whether the main text is sent, and in which form.
    #[serde(default)]
    text: TextForm,
}

/// The form of the main text.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
enum TextForm {
    /// None.
    #[serde(rename = "0")]
    None,
    /// The field `text`.
    #[default]
    #[serde(rename = "text")]
    Text,
    /// The field `markdown`.
    #[serde(rename = "markdown")]
    Markdown,
}

pub(in crate::console) async fn pages(
    State(shared): State<Shared>,
    Asked(PagesOf {
        after,
        follow,
        unique,
        text,
    }): Asked<PagesOf>,
) -> Result<Response, Failed> {
    let after = after.map(|text| {
        text.parse::<Position>().map_err(|error| {
            Failed::bad(format!(
                "the query: after={text:?}: {error}; give the `position` of a page"
            ))
        })
    });
    let pages = Pages {
        after: after.transpose()?.unwrap_or_default(),
        follow,
        unique,
        text: !matches!(text, TextForm::None),
        markup: matches!(text, TextForm::Markdown).then_some(Markup::Markdown),
    };
    stream::pages(&shared, pages).await
}

/// Reads 1, true, 0 or false.
fn truth<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    match String::deserialize(value)?.as_str() {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        other => Err(serde::de::Error::custom(format!(
            "{other:?} is neither 1 nor 0"
        ))),
    }
}
