//! The page and its files.

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};

use crate::console::answer::Failed;
use crate::console::assets;

pub(in crate::console) async fn index(headers: HeaderMap) -> Result<Response, Failed> {
    file("index.html", &headers)
}

pub(in crate::console) async fn asset(
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failed> {
    file(&name, &headers)
}

/// A file, or that the browser has it.
fn file(name: &str, headers: &HeaderMap) -> Result<Response, Failed> {
    let asset = assets::asset(name);
    let asset = asset.ok_or_else(|| Failed::not_found(format!("the page has no file {name:?}")))?;
    let known = headers.get_all(IF_NONE_MATCH).iter();
    let is_known = known
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(','))
        .any(|it| it.trim().trim_start_matches("W/") == asset.etag || it.trim() == "*");
    let head = [
        (CONTENT_TYPE, asset.mime),
        (CACHE_CONTROL, "no-cache"),
        (ETAG, asset.etag.as_str()),
    ];
    Ok(match is_known {
        true => (StatusCode::NOT_MODIFIED, head).into_response(),
        false => (head, Body::from(asset.bytes)).into_response(),
    })
}
