//! The table of routes. What guards them, what describes them and what tests them is made from it.

use std::collections::HashMap;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE, TRANSFER_ENCODING};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::answer::{Failed, Json, Listed, json};
use super::guard::{Ends, HEADERS, Needs};
use super::openapi::openapi;
use super::route::Route;
use super::routes::follow::{EventsOf, HistoryOf, PagesOf};
use super::routes::health::Health;
use super::routes::hosts::{HostsAnswer, HostsOf};
use super::routes::questions::{
    ClusterAnswer, ClusterOf, ClustersOf, OfUrl, ReportOf, SimilarAnswer, SimilarTo,
};
use super::routes::status::{ConfigAnswer, StatusAnswer};
use super::routes::steer::{Done, HeldAnswer, Nothing, Retry, Seeds, Set, SetAnswer, Stop};
use super::routes::trust::{CompareAnswer, GroupsOf, Pair, Said, SamplesAnswer, SamplesOf};
use super::routes::workers::WorkersAnswer;
use super::routes::{
    follow, health, hosts, metrics, page, questions, status, steer, trust, workers,
};
use super::{Hub, Shared};
use crate::engine::{CrawlEvent, Omissions, Retried, SeedsAdded, Series};
use crate::inspect::{Dups, HostStory, Learned, Marked, MarksNow, NotFetched, Report, Why};

/// Every route.
pub(super) fn routes() -> Vec<Route> {
    [about_itself(), watching(), asking(), steering()]
        .into_iter()
        .flatten()
        .collect()
}

/// The page, what watches over the process, and what describes the rest.
fn about_itself() -> Vec<Route> {
    vec![
        Route::get::<()>("/", "The page.", get(page::index))
            .file("text/html")
            .open(),
        Route::get::<()>("/assets/{name}", "A file of the page.", get(page::asset))
            .file("*/*")
            .open(),
        Route::get::<Health>(
            "/healthz",
            "Whether the process answers.",
            get(health::healthz),
        )
        .open(),
        Route::get::<Health>(
            "/readyz",
            "Whether the crawl is open, commits, and has room on its disk.",
            get(health::readyz),
        )
        .open(),
        Route::get::<Value>(
            "/openapi.json",
            "The description of all routes, OpenAPI 3.1.",
            get(description),
        ),
        Route::get::<()>(
            "/metrics",
            "Counters and gauges for Prometheus.",
            get(metrics::metrics),
        )
        .file("text/plain"),
        Route::get::<Index>("/api/v1", "What can be asked for.", get(index)),
    ]
}

/// What the crawl is doing.
fn watching() -> Vec<Route> {
    const LINES: &[&str] = &["application/x-ndjson"];
    const EVENTS: &[&str] = &["application/x-ndjson", "text/event-stream"];
    vec![
        Route::get::<Listed<StatusAnswer>>(
            "/api/v1/status",
            "What the crawl is doing: counters, gauges, what limits it.",
            get(status::status),
        ),
        Route::get::<Listed<WorkersAnswer>>(
            "/api/v1/workers",
            "The workers that share a crawl, and its shards, as this worker sees them.",
            get(workers::workers),
        ),
        Route::get::<Listed<ConfigAnswer>>(
            "/api/v1/config",
            "Every setting and who set it.",
            get(status::config),
        ),
        Route::get::<Listed<Series>>(
            "/api/v1/history",
            "Counters and gauges over time.",
            get(follow::history),
        )
        .asks::<HistoryOf>(),
        Route::get::<CrawlEvent>(
            "/api/v1/events",
            "What happens, as lines of JSON or server-sent events.",
            get(follow::events),
        )
        .asks::<EventsOf>()
        .lines(EVENTS),
        Route::get::<Value>(
            "/api/v1/pages",
            "The pages, in the order of their commits, as `gleaner pages` prints them.",
            get(follow::pages),
        )
        .asks::<PagesOf>()
        .lines(LINES)
        .reads(),
    ]
}

/// Questions that read the store.
fn asking() -> Vec<Route> {
    vec![
        Route::get::<Listed<HostsAnswer>>("/api/v1/hosts", "The hosts, sorted.", get(hosts::hosts))
            .asks::<HostsOf>()
            .reads(),
        Route::get::<Listed<HostStory>>(
            "/api/v1/hosts/{host}",
            "All that is known of a host.",
            get(hosts::host),
        )
        .reads(),
        Route::get::<Listed<Why>>(
            "/api/v1/why",
            "What happened to a URL, and why.",
            get(questions::why),
        )
        .asks::<OfUrl>()
        .reads(),
        Route::get::<Listed<SimilarAnswer>>(
            "/api/v1/similar",
            "The stored pages that are most similar to a page. Reads every page.",
            get(questions::similar),
        )
        .asks::<SimilarTo>()
        .reads(),
        Route::get::<Listed<Dups>>(
            "/api/v1/clusters",
            "Clusters of duplicates, in the order in which their originals were found.",
            get(questions::clusters),
        )
        .asks::<ClustersOf>()
        .reads(),
        Route::get::<Listed<ClusterAnswer>>(
            "/api/v1/clusters/{id}",
            "A cluster and its duplicates.",
            get(questions::cluster),
        )
        .asks::<ClusterOf>()
        .reads(),
        Route::get::<Listed<Report>>(
            "/api/v1/report",
            "What deduplication did. Reads every page.",
            get(questions::report),
        )
        .asks::<ReportOf>()
        .reads(),
        Route::get::<Listed<Learned>>(
            "/api/v1/rules",
            "The kinds of URLs that say nothing new.",
            get(questions::rules),
        )
        .reads(),
        Route::get::<Listed<SamplesAnswer>>(
            "/api/v1/samples",
            "Duplicates drawn at random, and what people said of them.",
            get(trust::samples),
        )
        .asks::<SamplesOf>()
        .reads(),
        Route::get::<Listed<CompareAnswer>>(
            "/api/v1/compare",
            "The texts of two pages, and where they differ.",
            get(trust::compare),
        )
        .asks::<Pair>()
        .reads(),
        Route::get::<Listed<MarksNow>>(
            "/api/v1/marks",
            "What people said of verdicts, how precise each tier is, and how wrong kinds are undone.",
            get(trust::marks),
        )
        .reads(),
        Route::get::<Listed<NotFetched>>(
            "/api/v1/not-fetched",
            "What was not fetched, by reason, host or pattern. By host and pattern it reads every page.",
            get(trust::not_fetched),
        )
        .asks::<GroupsOf>()
        .reads(),
        Route::get::<Listed<Omissions>>(
            "/api/v1/left-out",
            "What was left out, and why.",
            get(questions::left_out),
        )
        .reads(),
    ]
}

/// Commands.
fn steering() -> Vec<Route> {
    vec![
        Route::post::<Seeds, Listed<SeedsAdded>>(
            "/api/v1/seeds",
            "Adds seeds.",
            post(steer::seeds),
        ),
        Route::post::<Nothing, Listed<Done>>(
            "/api/v1/pause",
            "Makes no new visits until the crawl is resumed.",
            post(steer::pause),
        ),
        Route::post::<Nothing, Listed<Done>>(
            "/api/v1/resume",
            "Makes visits again.",
            post(steer::resume),
        ),
        Route::post::<Stop, Listed<Done>>(
            "/api/v1/stop",
            "Ends the run gracefully.",
            post(steer::stop),
        ),
        Route::post::<Retry, Listed<Retried>>(
            "/api/v1/retry",
            "Puts URLs that were given up back in their queues.",
            post(steer::retry),
        ),
        Route::post::<Said, Listed<Marked>>(
            "/api/v1/marks",
            "Says that a verdict is right or wrong.",
            post(trust::mark),
        ),
        Route::post::<Nothing, Listed<HeldAnswer>>(
            "/api/v1/hosts/{host}/hold",
            "Makes no visits of a host until it is released.",
            post(steer::hold),
        ),
        Route::post::<Nothing, Listed<HeldAnswer>>(
            "/api/v1/hosts/{host}/release",
            "Lets a host go on that is held.",
            post(steer::release),
        ),
        Route::post::<Nothing, Listed<Retried>>(
            "/api/v1/hosts/{host}/retry",
            "Puts what failed at a host back in its queue.",
            post(steer::retry_host),
        ),
        Route::post::<Set, Listed<SetAnswer>>(
            "/api/v1/settings",
            "Changes settings that can change while the crawl runs.",
            post(steer::settings),
        ),
    ]
}

async fn description(State(shared): State<Shared>) -> Response {
    let made = || serde_json::to_vec(&openapi(routes())).unwrap_or_default();
    json(shared.description.get_or_init(made).clone().into())
}

/// What can be asked for.
#[derive(Serialize, JsonSchema)]
struct Index {
    routes: Vec<Entry>,
}

/// A route, in a sentence.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Path")]
struct Entry {
    method: String,
    path: &'static str,
    about: &'static str,
}

async fn index() -> Json<Index> {
    let routes = routes().into_iter().map(|route| Entry {
        method: route.method.to_string(),
        path: route.path,
        about: route.about,
    });
    Json(Index {
        routes: routes.collect(),
    })
}

/// What serves all of them.
pub(super) fn router(hub: &Shared) -> Router {
    let mut router = Router::new();
    let mut needs = HashMap::new();
    for route in routes() {
        needs.insert((route.method, route.path), route.needs);
        router = router.route(route.path, route.serve);
    }
    let guard = Guard {
        hub: Shared::clone(hub),
        needs: needs.into(),
    };
    router
        .fallback(async || Failed::not_found("there is no such path; GET openapi.json lists all"))
        .method_not_allowed_fallback(async || {
            Failed::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method",
                "this path takes another method; GET openapi.json tells which",
            )
        })
        .layer(from_fn_with_state(guard, pass))
        .with_state(Shared::clone(hub))
}

/// What the guard knows.
#[derive(Clone)]
struct Guard {
    hub: Shared,
    needs: std::sync::Arc<HashMap<(Method, &'static str), Needs>>,
}

/// Lets a request pass to its route, and adds to the answer what browsers are to know.
async fn pass(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let checked = guard.check(&guard.hub, &request);
    // It may have had a length too, by which a proxy may have read it: what is behind it may be a
    // request to that proxy and none to this.
    let is_chunked = request.headers().contains_key(TRANSFER_ENCODING);
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(failed) => failed.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        headers.insert(name, HeaderValue::from_static(value));
    }
    if is_chunked {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if response.status().is_client_error() && !response.headers().contains_key(CONTENT_TYPE) {
        // What the router refuses by itself has the form of all that is refused.
        let (mut parts, _) = response.into_parts();
        parts.headers.remove("content-length");
        let reason = parts.status.canonical_reason().unwrap_or("refused");
        let mut failed = Failed::new(parts.status, "refused", reason).into_response();
        failed.headers_mut().extend(parts.headers);
        return failed;
    }
    response
}

impl Guard {
    fn check(&self, hub: &Hub, request: &Request) -> Result<(), Failed> {
        let method = match *request.method() {
            Method::HEAD => Method::GET,
            ref method => method.clone(),
        };
        let path = request.extensions().get::<MatchedPath>();
        let needs = path.and_then(|path| {
            let found = self.needs.iter();
            let mut found = found.filter(|((its, at), _)| *at == path.as_str() && *its == method);
            found.next().map(|(_, needs)| *needs)
        });
        let ends = request.extensions().get::<Ends>().copied();
        hub.access.check(
            needs.unwrap_or_default(),
            (request.method(), request.uri(), request.headers()),
            ends.unwrap_or_default(),
        )
    }
}
