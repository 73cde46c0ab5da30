//! The questions of the control socket, asked over HTTP.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::console::Shared;
use crate::console::answer::{Asked, Failed, Json, Listed, Named, command, json};
use crate::dedup::Tier;
use crate::engine::{Omissions, View};
use crate::inspect::{
    self, Cluster, ClusterFilter, Cursor, Dups, Learned, MAX_LISTED, ReportOptions, Similar,
    Subject, Why,
};

/// A URL that is asked about.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct OfUrl {
    /// The URL, in any of its forms.
    url: String,
}

pub(in crate::console) async fn why(
    State(shared): State<Shared>,
    Asked(OfUrl { url }): Asked<OfUrl>,
) -> Result<Json<Listed<Why>>, Failed> {
    let command = command(&["why", &url, "--json"], &shared.crawl()?.directory);
    let list = shared.read(move |view| inspect::why(view, &url)).await?;
    Ok(Json(Listed { list, command }))
}

/// A page to which others are to be similar.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct SimilarTo {
    /// The URL of a page of the crawl, in any of its forms.
    url: String,
    /// Number of pages to list, at most 100.
    #[serde(default = "ten")]
    limit: usize,
}

pub(super) fn ten() -> usize {
    10
}

fn one() -> u64 {
    1
}

/// The most similar pages.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::console) struct SimilarAnswer {
    /// Null if the URL is neither stored nor a duplicate of a stored page.
    found: Option<Similar>,
}

pub(in crate::console) async fn similar(
    State(shared): State<Shared>,
    Asked(SimilarTo { url, limit }): Asked<SimilarTo>,
) -> Result<Response, Failed> {
    let limit = limit.clamp(1, MAX_LISTED);
    let words = ["similar", &url, "--limit", &limit.to_string(), "--json"];
    let command = command(&words, &shared.crawl()?.directory);
    let subject = Subject::Url(url);
    long(&shared, (command.clone(), command), move |view| {
        let found = inspect::similar(view, &subject, limit)?;
        Ok(SimilarAnswer { found })
    })
    .await
}

/// How much of a report is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct ReportOf {
    /// Number of clusters and hosts to list, at most 100.
    #[serde(default = "ten")]
    top: usize,
    /// Minimum number of pages of a listed host.
    #[serde(default = "one")]
    min_pages: u64,
}

pub(in crate::console) async fn report(
    State(shared): State<Shared>,
    Asked(ReportOf { top, min_pages }): Asked<ReportOf>,
) -> Result<Response, Failed> {
    let top = top.clamp(1, MAX_LISTED);
    let (shown, least) = (top.to_string(), min_pages.to_string());
    let words = ["report", "--top", &shown, "--min-pages", &least, "--json"];
    let command = command(&words, &shared.crawl()?.directory);
    let options = ReportOptions { top, min_pages };
    long(&shared, (command.clone(), command), move |view| {
        inspect::report(view, options)
    })
    .await
}

pub(in crate::console) async fn rules(
    State(shared): State<Shared>,
) -> Result<Json<Listed<Learned>>, Failed> {
    let command = command(&["status", "--rules", "--json"], &shared.crawl()?.directory);
    let list = shared.read(|view| inspect::learned(view.store())).await?;
    Ok(Json(Listed { list, command }))
}

pub(in crate::console) async fn left_out(
    State(shared): State<Shared>,
) -> Result<Json<Listed<Omissions>>, Failed> {
    let command = command(&["status", "--json"], &shared.crawl()?.directory);
    let list = shared.read(|view| Ok(Omissions::read(view.store(), false)?));
    let list = list.await?;
    Ok(Json(Listed { list, command }))
}

/// Which clusters are asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct ClustersOf {
    /// The `next` of the answer after which this one goes on.
    after: Option<String>,
    /// The least number of duplicates.
    #[serde(default)]
    min: usize,
    /// A tier by which one of the duplicates at least was found.
    tier: Option<Tier>,
}

/// Reads a cursor.
fn cursor(after: Option<&str>) -> Result<Option<Cursor>, Failed> {
    let read = after.map(|text| {
        Cursor::read(text).ok_or_else(|| {
            Failed::bad("the query: after is to be the `next` of an answer of this path")
        })
    });
    read.transpose()
}

pub(in crate::console) async fn clusters(
    State(shared): State<Shared>,
    Asked(ClustersOf { after, min, tier }): Asked<ClustersOf>,
) -> Result<Json<Listed<Dups>>, Failed> {
    let from = cursor(after.as_deref())?;
    let least = min.to_string();
    let mut words = vec!["dups"];
    if min > 0 {
        words.extend(["--min", &least]);
    }
    if let Some(tier) = tier {
        words.extend(["--tier", tier.name()]);
    }
    let command = command(&words, &shared.crawl()?.directory);
    let filter = ClusterFilter { min, tier };
    let list = shared.read(move |view| inspect::clusters(view, from.as_ref(), filter));
    let list = list.await?;
    Ok(Json(Listed { list, command }))
}

/// Where the members of a cluster go on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::console) struct ClusterOf {
    /// The `next` of the answer after which this one goes on.
    after: Option<String>,
}

/// A cluster.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::console) struct ClusterAnswer {
    #[serde(flatten)]
    cluster: Cluster,
    /// Where its members go on; null at the end.
    next: Option<Cursor>,
}

pub(in crate::console) async fn cluster(
    State(shared): State<Shared>,
    Named(id): Named,
    Asked(ClusterOf { after }): Asked<ClusterOf>,
) -> Result<Json<Listed<ClusterAnswer>>, Failed> {
    let number = id.parse::<u64>();
    let number =
        number.map_err(|_| Failed::bad(format!("the path: {id:?} is no id of a cluster")))?;
    let from = cursor(after.as_deref())?;
    let found = shared.read(move |view| inspect::cluster(view, number, from.as_ref()));
    let found = found.await?;
    let (cluster, next) = found
        .ok_or_else(|| Failed::not_found(format!("there is no cluster {id}, or no longer")))?;
    let words = ["dups", "--cluster", &id];
    Ok(Json(Listed {
        list: ClusterAnswer { cluster, next },
        command: command(&words, &shared.crawl()?.directory),
    }))
}

/// An answer for which every page is read: it is made once for all who ask meanwhile, and kept.
pub(super) async fn long<T: Serialize + Send + 'static>(
    shared: &Shared,
    (question, command): (String, String),
    ask: impl FnOnce(&View) -> Result<T, inspect::Error> + Send + 'static,
) -> Result<Response, Failed> {
    let _place = shared.long_place()?;
    let reader = Shared::clone(shared);
    let kept = &shared.kept.long;
    let made = kept.get(question, shared.long_turn(), |turn| async move {
        let list = reader.read_in(turn, ask).await?;
        let written = serde_json::to_vec(&Listed { list, command });
        written.map(Bytes::from).map_err(Failed::internal)
    });
    Ok(json(Bytes::clone(&*made.await?)))
}
