//! The name of a site, as far as its domain tells it: what is called so names no page.

use crate::url::{Site, Url};

/// Maximum number of words of a name.
const MAX_WORDS: usize = 3;
/// Least length of the name of a domain that is looked for, in letters.
const MIN_LETTERS: usize = 4;

/// What the domain of a page is called, without the public suffix.
pub(super) struct DomainLabel(Option<String>);

impl DomainLabel {
    pub(super) fn of(url: &Url) -> Self {
        let site = url.domain().map(|_| Site::of(url));
        let label = site.and_then(|site| Some(letters(site.as_str().split('.').next()?)));
        Self(label.filter(|label| label.len() >= MIN_LETTERS))
    }

    /// Whether words are the name of the site: hardly more than what its domain is called.
    pub(super) fn is_name(&self, words: &[&str]) -> bool {
        let Some(label) = self.0.as_ref().filter(|_| words.len() <= MAX_WORDS) else {
            return false;
        };
        let name = letters(&words.concat());
        label.len() * 5 >= name.len() * 2 && name.contains(label.as_str())
    }
}

fn letters(text: &str) -> String {
    let letters = text.chars().filter(|it| it.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
