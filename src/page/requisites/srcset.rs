//! `srcset`: the images among which a browser chooses (HTML standard, section 4.8.4.3.8).

/// Passes on the URL of each candidate. Descriptors are skipped, valid or not: which candidate is
/// shown depends on the screen.
pub(super) fn each_url(srcset: &str, mut each: impl FnMut(&str)) {
    let mut rest = srcset;
    loop {
        rest = rest.trim_start_matches(|c: char| is_space(c) || c == ',');
        if rest.is_empty() {
            return;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        // A comma within a URL is part of it; at its end it separates the candidates.
        let url = word.trim_end_matches(',');
        each(url);
        rest = match url.len() == word.len() {
            true => after_descriptors(after),
            false => after,
        };
    }
}

/// Returns what follows the descriptors of a candidate: commas in parentheses belong to them.
fn after_descriptors(rest: &str) -> &str {
    let mut is_in_parentheses = false;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' => is_in_parentheses = true,
            b')' => is_in_parentheses = false,
            b',' if !is_in_parentheses => return rest.get(at + 1..).unwrap_or_default(),
            _ => {}
        }
    }
    ""
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(srcset: &str, expected: &[&str]) {
        let mut found = Vec::new();
        each_url(srcset, |url| found.push(url.to_owned()));
        assert_eq!(found, expected, "{srcset:?}");
    }

    #[test]
    fn candidates_are_told_apart_as_browsers_do() {
        check("a.png", &["a.png"]);
        check("a.png 1x, b.png 2x", &["a.png", "b.png"]);
        check("a.png, b.png 2x", &["a.png", "b.png"]);
        check("a.png 100w,b.png 200w", &["a.png", "b.png"]);
        check(" \n a.png\t100w\n,\n b.png", &["a.png", "b.png"]);
        // A comma that no space follows is part of the URL.
        check(
            "/w,100/a.png 1x, /w,200/a.png 2x",
            &["/w,100/a.png", "/w,200/a.png"],
        );
        check("a.png,b.png", &["a.png,b.png"]);
        check("a.png,, , b.png", &["a.png", "b.png"]);
        check("a.png (x, y) 1x, b.png", &["a.png", "b.png"]);
        check(
            "data:image/png;base64,AA== 1x, b.png 2x",
            &["data:image/png;base64,AA==", "b.png"],
        );
        check("", &[]);
        check(" , ,", &[]);
    }
}
