//! Refusals: pages that a server sends with status 200 instead of the one requested, such as
//! challenges, access denials and consent questions.
//!
//! Wording alone decides nothing: wikis, dictionaries, poems and the news have pages with the same
//! headlines. A refusal is recognized if its headline says nothing more than that (`Access denied
//! (album)` does), if the page leads nowhere else on its site, if it says little that such pages do
//! not say, and if something proves it: a script of a challenge, a reference number or the address
//! of the visitor, a sentence to the visitor, or nothing at all besides the headline. A refusal
//! that is missed here is found when it repeats itself, whereas a page that is taken for a refusal
//! is lost as an original, so in doubt it counts as a page.

mod words;

#[cfg(test)]
mod tests;

use html5ever::local_name;
use serde::{Deserialize, Serialize};

use super::cut::floor_char_boundary;
use super::facts::links::{Link, LinkKind};
use super::html::{Outline, Tag, attribute, has_token};
use crate::url::Url;
use words::{
    ACCEPT, CONSENT, DENIED, OF_CONSENT, OF_TERMS, OF_TESTS, ON_EVERY_PAGE, REFERENCES, SERVERS,
    SUBJECT, TEST, TO_VISITORS, VENDORS, WIDGETS,
};

/// What was sent instead of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// A challenge: a CAPTCHA or another test that the visitor is human.
    Challenge,
    /// An access denial.
    Denied,
    /// A question for consent, for example to cookies.
    Consent,
}

/// Maximum number of characters of visible text: of a challenge or denial, of a challenge without a
/// mark, of a bare denial, and of a consent question.
const MAX_TEST: usize = 900;
const MAX_UNMARKED_TEST: usize = 450;
const MAX_BARE: usize = 80;
const MAX_CONSENT: usize = 3_000;

/// Maximum number of links. A challenge may link to its vendor, a consent question to its terms.
const MAX_TEST_LINKS: usize = 6;
const MAX_UNMARKED_LINKS: usize = 1;
const MAX_DENIED_LINKS: usize = 3;
const MAX_CONSENT_LINKS: usize = 15;

/// Maximum number of links to other pages of the site: a page that has more is part of it.
const MAX_OWN_LINKS: usize = 1;
const MAX_CONSENT_OWN_LINKS: usize = 3;

/// Maximum number of lines, and of their characters, that say something else than a test does.
const MAX_OTHER_LINES: usize = 3;
const MAX_OTHER: usize = 150;

/// Maximum number of characters of a sentence of a challenge without a mark, of the sentence of a
/// denial, and of what stands in a headline after the phrase.
const MAX_SENTENCE: usize = 120;
const MAX_DENIAL: usize = 100;
const MAX_BRAND: usize = 60;

/// Maximum number of characters of the label of a button.
const MAX_LABEL: usize = 15;

/// Maximum share of a consent question, in percent, that says something else.
const MAX_OTHER_PERCENT: usize = 40;

/// Minimum number of characters of a sentence that ends without a stop: labels of buttons and names
/// of languages are shorter.
const MIN_SENTENCE: usize = 20;

/// Number of bytes of the page that are searched for scripts, of which the tree has only the names.
const MAX_SEARCHED: usize = 64 << 10;

/// Number of bytes of a script that are searched.
const MAX_SCRIPT: usize = 4_096;

/// Texts with more bytes than this are not examined: a character has four bytes at most.
const MAX_BYTES: usize = 4 * MAX_CONSENT;

/// What is known of a page when it is asked whether it is a refusal.
pub(super) struct Asked<'a, 'p> {
    pub(super) html: &'a str,
    pub(super) outline: &'a Outline<'p>,
    /// The title and the first `<h1>`.
    pub(super) headlines: [Option<&'a str>; 2],
    /// The visible text, a block a line.
    pub(super) visible: &'a str,
    pub(super) links: &'a [Link],
    pub(super) url: &'a Url,
}

/// The kind of refusal, if the page is one.
pub(super) fn refusal(asked: &Asked<'_, '_>) -> Option<Refusal> {
    if asked.visible.len() > MAX_BYTES || !may_be_refusal(asked) {
        return None;
    }
    let headlines: Vec<String> = (asked.headlines.iter().flatten())
        .map(|it| plain(it))
        .collect();
    // Most short pages are told by that they have none of the phrases.
    let is_short = asked.visible.chars().count() <= MAX_TEST;
    let text = plain(asked.visible);
    let says_test =
        is_short && (headlines.iter().any(|it| has_any(it, TEST)) || has_any(&text, TEST));
    let begins_so = |list| headlines.iter().any(|it| begins(it, list));
    if !says_test && !begins_so(DENIED) && !begins_so(CONSENT) {
        return None;
    }
    let said = Said::of(asked, headlines, text);
    if says_test && said.is_challenge(asked) {
        Some(Refusal::Challenge)
    } else if said.is_denial(asked) {
        Some(Refusal::Denied)
    } else {
        said.is_consent(asked).then_some(Refusal::Consent)
    }
}

/// Whether a page is short enough and leads to few enough pages, by what is counted quickly. Hardly
/// any page is and does.
fn may_be_refusal(asked: &Asked<'_, '_>) -> bool {
    let links = asked.links.iter();
    let links = links.filter(|it| it.kind == LinkKind::Anchor).count();
    let is_short = asked.visible.len() <= 4 * MAX_TEST;
    let headlines = || asked.headlines.iter().flatten();
    (is_short && links <= MAX_TEST_LINKS.max(MAX_DENIED_LINKS))
        || (links <= MAX_CONSENT_LINKS && headlines().any(|it| begins(&plain(it), CONSENT)))
}

/// What a page says, in lower case.
struct Said {
    headlines: Vec<String>,
    /// The lines that are not headlines.
    lines: Vec<String>,
    text: String,
    /// Number of characters of the visible text.
    length: usize,
    /// Number of links, of those to other pages of the site, and of those that are no terms.
    links: usize,
    own_links: usize,
    other_links: usize,
    host: String,
}

impl Said {
    fn of(asked: &Asked<'_, '_>, headlines: Vec<String>, text: String) -> Self {
        let host = asked.url.host_str().unwrap_or_default().to_lowercase();
        let lines = asked.visible.lines().map(plain).filter(|line| {
            !line.is_empty() && *line != host && !headlines.iter().any(|it| it == line)
        });
        let lines = lines.collect();
        let (mut links, mut own_links, mut other_links) = (0, 0, 0);
        for link in asked.links.iter().filter(|it| it.kind == LinkKind::Anchor) {
            links += 1;
            let Ok(target) = crate::url::parse(&link.url) else {
                continue;
            };
            let is_own = target.host_str() == asked.url.host_str()
                && target.path() != "/"
                && target.path() != asked.url.path();
            own_links += usize::from(is_own);
            let address = target.as_str().to_lowercase();
            other_links += usize::from(is_own && !has_any(&address, OF_TERMS));
        }
        Self {
            headlines,
            lines,
            text,
            length: asked.visible.chars().count(),
            links,
            own_links,
            other_links,
            host,
        }
    }

    /// Whether a page that is short, and has a phrase of a test, is one.
    fn is_challenge(&self, asked: &Asked<'_, '_>) -> bool {
        if self.links > MAX_TEST_LINKS
            || self.own_links > MAX_OWN_LINKS
            || has_own_form(asked.outline)
        {
            return false;
        }
        let others = self
            .lines
            .iter()
            .filter(|it| !has_any(it, OF_TESTS) && !has_any(it, TEST));
        let (count, length) = others.fold((0, 0), |(count, length), line| {
            (count + 1, length + line.chars().count())
        });
        if count > MAX_OTHER_LINES || length > MAX_OTHER {
            return false;
        }
        let scripts = scripts(asked.html);
        if is_of_vendor(&scripts, asked.outline) {
            return true;
        }
        let is_short = self.length <= MAX_UNMARKED_TEST;
        let labels = self.lines.iter().filter(|line| {
            line.chars().count() <= MAX_LABEL && !has_any(line, OF_TESTS) && !has_any(line, TEST)
        });
        if is_short && count == labels.count() && has_widget(&scripts, asked.outline) {
            return true;
        }
        let is_only_test = self.headlines.iter().any(|headline| {
            let headline = ["please ", "bitte "]
                .iter()
                .find_map(|word| headline.strip_prefix(word))
                .unwrap_or(headline);
            self.is_only(headline, TEST, false)
        });
        let is_story = |line: &String| {
            line.chars().count() > MAX_SENTENCE || line.contains(['"', '“', '”', '«', '»', '„'])
        };
        is_short
            && count == 0
            && self.links <= MAX_UNMARKED_LINKS
            && is_only_test
            && !self.lines.iter().any(is_story)
            && is_operated(&scripts, asked.outline)
    }

    fn is_denial(&self, asked: &Asked<'_, '_>) -> bool {
        if self.length > MAX_TEST || self.links > MAX_DENIED_LINKS || self.own_links > MAX_OWN_LINKS
        {
            return false;
        }
        let titles: Vec<&String> = (self.headlines.iter())
            .filter(|it| begins(it, DENIED))
            .collect();
        let is_only = |may_name: bool| {
            let mut titles = titles.iter();
            titles.len() > 0 && titles.all(|it| self.is_only(it, DENIED, may_name))
        };
        if is_only(true) && (self.has_reference() || has_address(&self.text)) {
            return true;
        }
        if !is_only(false) {
            return false;
        }
        let path = asked.url.path();
        let is_permission = self.text.contains("permission to access")
            && (self.text.contains("on this server")
                || self.text.contains("this resource")
                || (path.len() > 1 && self.text.contains(&path.to_lowercase())));
        let images = asked.outline.elements.iter();
        let has_images = images.filter(|it| it.tag == Tag::Img).count() > 0;
        let is_alone = self.links == 0 && !has_images;
        let is_signature = |line: &String| {
            begins(line, SERVERS) || begins(line, DENIED) || !line.chars().any(char::is_alphabetic)
        };
        let others: Vec<&String> = self.lines.iter().filter(|it| !is_signature(it)).collect();
        match others.as_slice() {
            [] => is_alone && self.length <= MAX_BARE,
            [line] => {
                let is_short = line.chars().count() <= MAX_DENIAL;
                is_permission || (is_alone && is_short && begins(line, TO_VISITORS))
            }
            _ => is_permission && others.len() <= MAX_OTHER_LINES,
        }
    }

    fn is_consent(&self, asked: &Asked<'_, '_>) -> bool {
        let rests = self.headlines.iter().filter_map(|headline| {
            phrases(CONSENT).find_map(|phrase| headline.strip_prefix(phrase))
        });
        let rests: Vec<&str> = rests.collect();
        let is_titled = !rests.is_empty()
            && rests
                .iter()
                .all(|rest| rest.chars().count() <= MAX_BRAND && !rest.contains(['(', ':']));
        if self.length > MAX_CONSENT
            || self.links > MAX_CONSENT_LINKS
            || self.other_links > MAX_CONSENT_OWN_LINKS
            || !is_titled
            || !has_any(&self.text, SUBJECT)
        {
            return false;
        }
        let sentences = self.lines.iter().map(|line| (line, line.chars().count()));
        let sentences = sentences
            .filter(|(line, length)| *length >= MIN_SENTENCE || line.ends_with(['.', '。', '!']));
        let (mut all, mut other) = (0, 0);
        for (line, length) in sentences {
            all += length;
            other += if has_any(line, OF_CONSENT) { 0 } else { length };
        }
        other * 100 <= all * MAX_OTHER_PERCENT && can_accept(asked.outline)
    }

    /// Whether a headline says nothing more than one of the phrases that it begins with, apart from
    /// who says it: the host, the vendor of the protection or, if `may_name`, any name.
    fn is_only(&self, headline: &str, list: &str, may_name: bool) -> bool {
        let rests = phrases(list).filter_map(|phrase| headline.strip_prefix(phrase));
        rests.into_iter().any(|rest| {
            let said = rest.trim_matches(|c: char| !c.is_alphanumeric());
            let is_separate = rest
                .trim_start()
                .starts_with(['|', '-', '–', '—', '·', '•', '»']);
            let letters: String = said.chars().filter(|c| c.is_alphanumeric()).collect();
            let host: String = self.host.chars().filter(|c| c.is_alphanumeric()).collect();
            let is_host =
                !letters.is_empty() && (host.contains(&letters) || said.contains(&self.host));
            !said.chars().any(char::is_alphabetic)
                || has_any(said, SERVERS)
                || is_host
                || phrases(list).any(|phrase| phrase == said)
                || (may_name && is_separate && said.chars().count() <= MAX_BRAND)
        })
    }

    /// Whether there is a reference number.
    fn has_reference(&self) -> bool {
        const NEAR: usize = 40;
        const SHORTEST: usize = 5;
        phrases(REFERENCES).any(|phrase| {
            self.text.match_indices(phrase).any(|(at, _)| {
                let rest = self.text.get(at + phrase.len()..).unwrap_or_default();
                let near = &rest[..floor_char_boundary(rest, NEAR)];
                let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
                near.split(|c| !is_part(c))
                    .any(|it| it.len() >= SHORTEST && it.bytes().any(|byte| byte.is_ascii_digit()))
            })
        })
    }
}

/// Whether a text contains an IP address.
fn has_address(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':');
    text.split(|c| !is_part(c)).any(|word| {
        let word = word.trim_matches(['.', ':']);
        word.len() >= 7 && word.parse::<std::net::IpAddr>().is_ok()
    })
}

fn has_any(text: &str, list: &str) -> bool {
    phrases(list).any(|phrase| text.contains(phrase))
}

fn begins(text: &str, list: &str) -> bool {
    phrases(list).any(|phrase| text.starts_with(phrase))
}

/// The phrases of a list, which are separated by bars.
fn phrases(list: &str) -> impl Iterator<Item = &str> {
    list.split('|').map(str::trim)
}

/// The text in lower case, with one kind of apostrophe and of space.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.trim_start().chars() {
        match c {
            '’' | 'ʼ' => plain.push('\''),
            c if c.is_whitespace() => {
                if !plain.ends_with(' ') {
                    plain.push(' ');
                }
            }
            c if c.is_ascii() => plain.push(c.to_ascii_lowercase()),
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain
}

/// The beginnings of the page's scripts in lower case, including their tags: where they come from
/// and what they contain.
fn scripts(html: &str) -> Vec<String> {
    let searched = &html[..floor_char_boundary(html, MAX_SEARCHED)];
    let searched = searched.to_ascii_lowercase();
    let scripts = searched.split("<script").skip(1);
    scripts
        .map(|script| {
            let script = script.split("</script").next().unwrap_or_default();
            script[..floor_char_boundary(script, MAX_SCRIPT)].to_owned()
        })
        .collect()
}

/// Whether a script, a frame, a form or the name of an element is that of a vendor of challenges.
fn is_of_vendor(scripts: &[String], outline: &Outline<'_>) -> bool {
    let is_marked = |text: &str| has_any(text, VENDORS) && !text.contains(ON_EVERY_PAGE);
    scripts.iter().any(|script| is_marked(script))
        || has_named(outline, |_, value| is_marked(&value.to_ascii_lowercase()))
}

/// Whether there is a CAPTCHA: its script, its widget, or a field of a form for what it shows.
fn has_widget(scripts: &[String], outline: &Outline<'_>) -> bool {
    let fields = |index: usize| {
        let item = outline.elements.get(index);
        item.is_some_and(|it| matches!(it.tag, Tag::Form | Tag::Input | Tag::Iframe))
    };
    scripts.iter().any(|script| has_any(script, WIDGETS))
        || has_named(outline, |index, value| {
            let tokens = ["g-recaptcha", "h-captcha", "cf-turnstile"];
            tokens.iter().any(|token| has_token(value, token))
                || (fields(index) && has_any(&value.to_ascii_lowercase(), WIDGETS))
        })
}

/// Whether an element has a name or address for which this holds. Links to and pictures of CAPTCHAs
/// belong to pages about them.
fn has_named(outline: &Outline<'_>, holds: impl Fn(usize, &str) -> bool) -> bool {
    let names = [
        local_name!("id"),
        local_name!("class"),
        local_name!("src"),
        local_name!("action"),
        local_name!("name"),
    ];
    outline.elements.iter().enumerate().any(|(index, item)| {
        !matches!(
            item.tag,
            Tag::A | Tag::Img | Tag::Html | Tag::Body | Tag::Meta | Tag::Link
        ) && item.tag.heading() == 0
            && names
                .iter()
                .filter_map(|name| attribute(item.element, name))
                .any(|value| holds(index, value))
    })
}

/// Whether the page contains something that acts: a form, or a script that does not only measure.
fn is_operated(scripts: &[String], outline: &Outline<'_>) -> bool {
    const MEASURES: &str =
        "analytics | gtag | googletagmanager | matomo | piwik | plausible | adsbygoogle";
    scripts.iter().any(|script| !has_any(script, MEASURES))
        || outline.elements.iter().any(|item| item.tag == Tag::Form)
}

/// Whether there is a form for more than the answer to a challenge, such as one for messages or for
/// signing in.
fn has_own_form(outline: &Outline<'_>) -> bool {
    let is_answer = |element| {
        let name = attribute(element, &local_name!("name")).unwrap_or_default();
        let name = name.to_ascii_lowercase();
        name.contains("captcha") || name.contains("response")
    };
    let (mut certain, mut texts) = (0, 0);
    for item in outline
        .elements
        .iter()
        .filter(|item| !is_answer(item.element))
    {
        let kind = attribute(item.element, &local_name!("type")).unwrap_or("text");
        let is = |kinds: &[&str]| kinds.iter().any(|it| kind.eq_ignore_ascii_case(it));
        match item.tag {
            Tag::Textarea => certain += 1,
            Tag::Input if is(&["email", "password", "search", "tel", "url"]) => certain += 1,
            Tag::Input if is(&["text"]) => texts += 1,
            _ => {}
        }
    }
    certain > 0 || texts > 1
}

/// Whether there is a button that gives consent.
fn can_accept(outline: &Outline<'_>) -> bool {
    let accepts = |text: &str| {
        let text = plain(text);
        phrases(ACCEPT).any(|word| text.contains(word))
    };
    outline.elements.iter().enumerate().any(|(index, item)| {
        let value = || attribute(item.element, &local_name!("value")).unwrap_or_default();
        let role = || attribute(item.element, &local_name!("role")).unwrap_or_default();
        match item.tag {
            Tag::Button => accepts(&outline.inner_text(index, 100)),
            Tag::Input => accepts(value()),
            Tag::A | Tag::Div | Tag::Span if role().eq_ignore_ascii_case("button") => {
                accepts(&outline.inner_text(index, 100))
            }
            _ => false,
        }
    })
}
