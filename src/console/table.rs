//! The table of routes. What guards them, what describes them and what tests them is made from it.

use std::collections::HashMap;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};
use serde::Serialize;

use super::answer::{Failed, Json};
use super::guard::{Ends, HEADERS, Needs};
use super::routes::{follow, health, hosts, metrics, page, questions, status, steer};
use super::{Hub, Shared};

/// A route.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// One sentence.
    pub(super) about: &'static str,
    pub(super) needs: Needs,
    serve: MethodRouter<Shared>,
}

impl Route {
    /// One that reads what is in memory.
    fn get(path: &'static str, about: &'static str, serve: MethodRouter<Shared>) -> Self {
        Self {
            method: Method::GET,
            path,
            about,
            needs: Needs::default(),
            serve,
        }
    }

    /// One that reads the store, or files of the crawl.
    fn read(path: &'static str, about: &'static str, serve: MethodRouter<Shared>) -> Self {
        let route = Self::get(path, about, serve);
        let needs = Needs {
            store: true,
            ..route.needs
        };
        Self { needs, ..route }
    }

    /// One that has nothing of the crawl.
    fn open(path: &'static str, about: &'static str, serve: MethodRouter<Shared>) -> Self {
        let route = Self::get(path, about, serve);
        let needs = Needs {
            is_open: true,
            ..route.needs
        };
        Self { needs, ..route }
    }

    /// One that changes something.
    fn post(path: &'static str, about: &'static str, serve: MethodRouter<Shared>) -> Self {
        Self {
            method: Method::POST,
            needs: Needs {
                writes: true,
                ..Needs::default()
            },
            ..Self::get(path, about, serve)
        }
    }
}

/// Every route.
pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::open("/", "The page.", get(page::index)),
        Route::open("/assets/{name}", "A file of the page.", get(page::asset)),
        Route::open(
            "/healthz",
            "Whether the process answers.",
            get(health::healthz),
        ),
        Route::open(
            "/readyz",
            "Whether the crawl is open, commits, and has room on its disk.",
            get(health::readyz),
        ),
        Route::get(
            "/metrics",
            "Counters and gauges for Prometheus, as OpenMetrics.",
            get(metrics::metrics),
        ),
        Route::get("/api/v1", "What can be asked for.", get(index)),
        Route::get(
            "/api/v1/status",
            "What the crawl is doing: counters, gauges, what limits it.",
            get(status::status),
        ),
        Route::get(
            "/api/v1/config",
            "Every setting and who set it.",
            get(status::config),
        ),
        Route::get(
            "/api/v1/history",
            "Counters and gauges over time.",
            get(follow::history),
        ),
        Route::get(
            "/api/v1/events",
            "What happens, as lines of JSON or server-sent events.",
            get(follow::events),
        ),
        Route::read(
            "/api/v1/pages",
            "The pages, in the order of their commits, as lines of JSON.",
            get(follow::pages),
        ),
        Route::read("/api/v1/hosts", "The hosts, sorted.", get(hosts::hosts)),
        Route::read(
            "/api/v1/why",
            "What happened to a URL, and why.",
            get(questions::why),
        ),
        Route::read(
            "/api/v1/similar",
            "The stored pages that are most similar to a page.",
            get(questions::similar),
        ),
        Route::read(
            "/api/v1/report",
            "What deduplication did.",
            get(questions::report),
        ),
        Route::read(
            "/api/v1/rules",
            "The kinds of URLs that say nothing new.",
            get(questions::rules),
        ),
        Route::read(
            "/api/v1/left-out",
            "What was left out, and why.",
            get(questions::left_out),
        ),
        Route::post("/api/v1/seeds", "Adds seeds.", post(steer::seeds)),
        Route::post(
            "/api/v1/pause",
            "Makes no new visits until the crawl is resumed.",
            post(steer::pause),
        ),
        Route::post("/api/v1/resume", "Makes visits again.", post(steer::resume)),
        Route::post(
            "/api/v1/stop",
            "Ends the run gracefully.",
            post(steer::stop),
        ),
        Route::post(
            "/api/v1/retry",
            "Puts URLs that were given up back in their queues.",
            post(steer::retry),
        ),
        Route::post(
            "/api/v1/hosts/{host}/retry",
            "Puts what failed at a host, and at names below it, back in its queue.",
            post(steer::retry_host),
        ),
        Route::post(
            "/api/v1/settings",
            "Changes settings that can change while the crawl runs.",
            post(steer::settings),
        ),
    ]
}

/// What can be asked for.
#[derive(Serialize)]
struct Index {
    routes: Vec<Entry>,
}

/// A route, in a sentence.
#[derive(Serialize)]
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
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(failed) => failed.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        headers.insert(name, HeaderValue::from_static(value));
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
