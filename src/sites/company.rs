//! How the own parts of two pages compare, by what their URLs say of their sites.

use crate::dedup::own::{Company, OwnComparison, OwnLines, compare};
use crate::url;

/// Compares the own parts of two pages, each given with its URL. Their whole texts have this
/// similarity, 0 to 1.
pub(crate) fn compare_own(
    one: (&str, &OwnLines),
    other: (&str, &OwnLines),
    similarity: f64,
) -> OwnComparison {
    let company = Company {
        similarity: Some(similarity as f32),
        ..company(one, other)
    };
    compare(one.1, other.1, company)
}

/// Returns how much two pages have to do with each other.
pub(crate) fn company(
    (url, own): (&str, &OwnLines),
    (others_url, other): (&str, &OwnLines),
) -> Company {
    // Many pages of both are known.
    let are_settled = own.is_settled && other.is_settled;
    Company {
        is_one: own.site == other.site || are_settled && have_one_path(url, others_url),
        similarity: None,
    }
}

/// Whether two sites have pages under one path, such as the same shop in two countries. Every site
/// has a home page.
fn have_one_path(one: &str, other: &str) -> bool {
    let path = |text: &str| {
        let path = url::parse(text).ok()?.path().to_owned();
        (path.len() > 1).then_some(path)
    };
    let one = path(one);
    one.is_some() && one == path(other)
}
