//! Finds the list that a URL is a page of, by the page number in it.

use ::url::Url;

/// Query parameters that number the pages of a list.
const PARAMETERS: [&str; 13] = [
    "page",
    "p",
    "pg",
    "paged",
    "pageno",
    "page_no",
    "pagenum",
    "pagenumber",
    "currentpage",
    "seite",
    "pagina",
    "start",
    "offset",
];

/// Names of path segments that precede a page number, or of segments that end in it.
const SEGMENTS: [&str; 4] = ["page", "seite", "pagina", "p"];

/// Returns the URL without its page number: `/list` for `/list?page=2`, `/list/` for
/// `/list/page/2/`. Returns `None` for a URL without a page number, such as that of the first page.
pub fn series(url: &Url) -> Option<Url> {
    without_parameter(url).or_else(|| without_segment(url))
}

fn is_number(text: &str) -> bool {
    (1..=7).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_parameter(url: &Url) -> Option<Url> {
    let numbers = |pair: &&str| {
        pair.split_once('=').is_some_and(|(name, value)| {
            is_number(value) && PARAMETERS.iter().any(|it| name.eq_ignore_ascii_case(it))
        })
    };
    let pairs: Vec<&str> = url.query()?.split('&').collect();
    let rest: Vec<&str> = pairs.iter().filter(|it| !numbers(it)).copied().collect();
    if rest.len() == pairs.len() {
        return None;
    }
    let rest = rest.join("&");
    let mut first = url.clone();
    first.set_query((!rest.is_empty()).then_some(&rest));
    Some(first)
}

fn without_segment(url: &Url) -> Option<Url> {
    let path = url.path();
    let (body, slash) = match path.strip_suffix('/') {
        Some(body) => (body, "/"),
        None => (path, ""),
    };
    let is_name = |name: &str| SEGMENTS.iter().any(|it| name.eq_ignore_ascii_case(it));
    let (before, last) = body.rsplit_once('/')?;
    let rest = match before.rsplit_once('/') {
        Some((before, name)) if is_number(last) && is_name(name) => before,
        _ => {
            let digits = last.trim_end_matches(|c: char| c.is_ascii_digit());
            let name = digits.trim_end_matches(['-', '_']);
            // `p2` is as likely to be a name.
            let is_page = is_number(&last[digits.len()..]) && is_name(name) && name.len() > 1;
            if !is_page {
                return None;
            }
            before
        }
    };
    let mut first = url.clone();
    first.set_path(&format!("{rest}{slash}"));
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pages_of_a_list_lead_to_its_first() {
        let check = |url: &str, expected: Option<&str>| {
            let url = Url::parse(&format!("http://a.example{url}")).unwrap();
            let found = series(&url).map(|first| first.to_string());
            let expected = expected.map(|path| format!("http://a.example{path}"));
            assert_eq!(found, expected, "{url}");
        };
        check("/list?page=2", Some("/list"));
        check("/list?sort=up&Page=12&x", Some("/list?sort=up&x"));
        check("/list?start=20", Some("/list"));
        check("/list/page/2/", Some("/list/"));
        check("/list/page/2", Some("/list"));
        check("/list/seite-3", Some("/list"));
        check("/page/2", Some("/"));
        check("/list", None);
        check("/list?page=about", None);
        check("/2024/05", None);
        check("/chapter/p2", None);
        check("/list?sort=2", None);
    }

    proptest! {
        #[test]
        fn no_url_makes_it_panic_and_it_ends(path in "/(page|p|[0-9]{1,3}|/|-){0,6}(\\?(page=[0-9]{0,3}|&){0,3})?") {
            let mut url = Some(Url::parse(&format!("http://a.example{path}")).unwrap());
            for _ in 0..20 {
                url = url.and_then(|url| series(&url));
            }
            prop_assert_eq!(url, None);
        }
    }
}
