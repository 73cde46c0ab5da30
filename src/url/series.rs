//! Finds the list that a URL is a page of, by the page number, the date or the letter in it.

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

/// Query parameters that choose a letter of an index.
const LETTERS: [&str; 8] = [
    "letter", "initial", "char", "alpha", "az", "abc", "first", "begins",
];

/// Query parameters that hold a part of a date.
const DATES: [&str; 4] = ["day", "month", "year", "week"];

/// Returns the URL that all pages of a list share: without its page number (`/list` for
/// `/list?page=2`, `/list/` for `/list/page/2/`), and with a mark for each date and for the letter
/// of an index (`/tour/2024/05/12`, `/names/b`, `/names?letter=b`). Returns `None` for a URL that
/// has none of them, such as that of a list's first page.
pub fn series(url: &Url) -> Option<Url> {
    let unnumbered = without_parameter(url).or_else(|| without_segment(url));
    let url = unnumbered.as_ref().unwrap_or(url);
    without_slots(url).or(unnumbered)
}

/// The place of a date or a letter in the URL of a list. No URL as received has it unescaped.
const MARK: &str = "{}";

/// Returns the URL with a mark for each date and letter, if it has any.
fn without_slots(url: &Url) -> Option<Url> {
    let mut marked = 0;
    let segments: Vec<&str> = url.path().split('/').collect();
    let mut path: Vec<&str> = Vec::with_capacity(segments.len());
    let last = segments.iter().rposition(|segment| !segment.is_empty());
    let mut is_in_date = false;
    for (at, segment) in segments.iter().enumerate() {
        // A month or a day counts only behind a year.
        let continues = is_in_date && is_within(segment, 31);
        is_in_date = continues || is_year(segment);
        let is_letter = Some(at) == last && at > 1 && is_letter(name_of_file(segment));
        if continues || is_in_date || is_whole_date(segment) || is_letter {
            marked += 1;
            path.push(MARK);
        } else {
            path.push(segment);
        }
    }
    let mut pairs: Vec<String> = Vec::new();
    for pair in url.query().into_iter().flat_map(|query| query.split('&')) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_named = |names: &[&str]| names.iter().any(|it| name.eq_ignore_ascii_case(it));
        let is_date =
            is_whole_date(value) || is_named(&DATES) && (is_year(value) || is_within(value, 53));
        if is_date || is_named(&LETTERS) && is_letter(value) {
            marked += 1;
            pairs.push(format!("{name}={MARK}"));
        } else {
            pairs.push(pair.to_owned());
        }
    }
    if marked == 0 {
        return None;
    }
    let mut list = url.clone();
    list.set_path(&path.join("/"));
    list.set_query((!pairs.is_empty()).then(|| pairs.join("&")).as_deref());
    Some(list)
}

fn is_year(text: &str) -> bool {
    text.len() == 4 && (text.starts_with("19") || text.starts_with("20")) && is_number(text)
}

/// Whether a text is a number of one or two digits from 1 to `most`.
fn is_within(text: &str, most: u8) -> bool {
    text.len() <= 2
        && text
            .parse()
            .is_ok_and(|number: u8| (1..=most).contains(&number))
}

/// Whether a text is a date by itself: `2024-05`, `2024-05-12`, `2024_05_12`, `20240512`.
fn is_whole_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['-', '_', '.']).collect();
    match parts[..] {
        [one] => {
            let parts = (one.get(..4), one.get(4..6), one.get(6..));
            one.len() == 8
                && matches!(parts, (Some(year), Some(month), Some(day))
                    if is_year(year) && is_within(month, 12) && is_within(day, 31))
        }
        [year, month] => is_year(year) && is_within(month, 12),
        [year, month, day] => {
            is_year(year) && is_within(month, 12) && is_within(day, 31)
                || is_year(day) && is_within(month, 31) && is_within(year, 31)
        }
        _ => false,
    }
}

/// Whether a text is the letter of an alphabetical index, or its place for numbers.
fn is_letter(text: &str) -> bool {
    text == "0-9"
        || text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
        || matches!(text.as_bytes(), [a, b'-', b] if a.is_ascii_alphabetic() && b.is_ascii_alphabetic())
}

/// The name of a file without its extension.
fn name_of_file(segment: &str) -> &str {
    match segment.rsplit_once('.') {
        Some((name, "html" | "htm" | "php" | "asp" | "aspx" | "jsp")) => name,
        _ => segment,
    }
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
        check("/2024/05", Some("/%7B%7D/%7B%7D"));
        check("/2024/05?page=2", Some("/%7B%7D/%7B%7D"));
        check("/tours/2024-05-12/", Some("/tours/%7B%7D/"));
        check("/2024/05/12/a-story", Some("/%7B%7D/%7B%7D/%7B%7D/a-story"));
        check(
            "/tours?date=12.05.2024&place=x",
            Some("/tours?date={}&place=x"),
        );
        check("/tours?year=2024&month=5", Some("/tours?year={}&month={}"));
        check("/names/b", Some("/names/%7B%7D"));
        check("/names/b.html", Some("/names/%7B%7D"));
        check("/names?letter=B", Some("/names?letter={}"));
        check("/names/0-9", Some("/names/%7B%7D"));
        check("/names/bob", None);
        check("/b", None);
        check("/12/05", None);
        check("/item/20249999", None);
        check("/tours?month=may", None);
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
