//! How the own parts of two pages compare, by what their URLs say of their sites.

use crate::dedup::SHORT_ACROSS;
use crate::dedup::own::{
    OwnComparison, OwnLines, compare_hosts_within, compare_strictly_within, compare_within,
};
use crate::url;

/// Compares the own parts of two pages, each given with its URL. Their whole texts have this
/// similarity, 0 to 1.
pub(crate) fn compare_own(
    (url, own): (&str, &OwnLines),
    (others_url, other): (&str, &OwnLines),
    similarity: f64,
) -> OwnComparison {
    let is_one_site = own.site == other.site;
    let is_short = own.words().min(other.words()) < SHORT_ACROSS;
    let have_two = matches!((own.headline, other.headline), (Some(a), Some(b)) if a != b);
    if !is_one_site && is_short && have_two {
        return OwnComparison::Differ;
    }
    let similarity = similarity as f32;
    let are_settled = own.is_settled && other.is_settled;
    let is_same_text = similarity >= 1.0 && !have_one_host(url, others_url);
    match is_one_site {
        // Many pages of both are known.
        false if are_settled && have_one_path(url, others_url) => {
            compare_strictly_within(own, other, similarity)
        }
        true if !are_settled && is_same_text => compare_hosts_within(own, other, similarity),
        _ => compare_within(own, other, similarity),
    }
}

/// Whether two sites have pages under one path, such as the same shop in two countries. Every site
/// has a home page.
fn have_one_path(one: &str, other: &str) -> bool {
    let place = |text: &str| {
        let url = url::parse(text).ok()?;
        let place = (url.path().to_owned(), url.query().map(str::to_owned));
        (place.0.len() > 1).then_some(place)
    };
    let one = place(one);
    one.is_some() && one == place(other)
}

fn have_one_host(one: &str, other: &str) -> bool {
    let host = |text: &str| Some(url::parse(text).ok()?.host_str()?.to_owned());
    host(one) == host(other)
}
