//! Script shells: pages that say nothing until their scripts run. They are told by what they are
//! made of, without running anything.
//!
//! Three things must come together. The page is blank: what a reader without scripts sees is
//! nothing, a word that something loads, or the frame of the site. It waits for a program: an
//! element that applications are mounted in stands empty, or `<noscript>` asks for JavaScript, or
//! there is nothing at all. And it has a program of its own, not only one that measures visitors.
//! What carries its content as data (`parts/state.rs`) is no shell. In doubt it is a page: a shell
//! that is missed is a duplicate that is kept.

use html5ever::local_name;

use super::html::{Outline, OutlineElement, Sight, Tag, TextNode, attribute, has_token};

/// Maximum number of bytes of visible text outside of the main content: skip links, a footer.
const MAX_FRAME: usize = 400;

/// Maximum number of bytes of a text that says that something loads, or asks for JavaScript.
const MAX_LOADING: usize = 48;
const MAX_ASKING: usize = 300;

/// Maximum number of bytes of text that a script may reveal, and of a `<noscript>`.
const MAX_HIDDEN: usize = 300;
const MAX_NOSCRIPT: usize = 400;

/// Maximum number of links of the frame.
const MAX_LINKS: usize = 4;

/// Ids of elements that applications are mounted in, in lower case without hyphens and underscores.
const MOUNTS: &str = " root app next nuxt gatsby svelte ember emberapp qapp reactroot reactapp vueapp \
    mount mainapp application approot appmount appcontainer appwrapper approotcontainer spa sparoot \
    pageroot jsapp elm flutter target outlet apphost ngapp ";

/// Words that say that something loads.
const LOADING: [&str; 22] = [
    "load",
    "wait",
    "moment",
    "laden",
    "lädt",
    "geduld",
    "charge",
    "patien",
    "carg",
    "espere",
    "caric",
    "attend",
    "carreg",
    "aguarde",
    "ładowanie",
    "загруз",
    "подожд",
    "読み込",
    "ロード",
    "加载",
    "載入",
    "로딩",
];

/// Words of a text that asks for JavaScript.
const ASKING: [&str; 5] = [
    "javascript",
    "java script",
    "enable js",
    "スクリプト",
    "脚本",
];

/// Words in the addresses of programs that are no part of a page.
const MEASURES: [&str; 24] = [
    "analytics",
    "gtag",
    "gtm.js",
    "googletagmanager",
    "adsbygoogle",
    "doubleclick",
    "hotjar",
    "matomo",
    "piwik",
    "plausible",
    "umami",
    "statcounter",
    "segment",
    "fbevents",
    "beacon",
    "pixel",
    "cookie",
    "consent",
    "recaptcha",
    "sentry",
    "newrelic",
    "clarity",
    "email-decode",
    "jquery",
];

/// Whether a page is a script shell, unless its data say more.
pub(super) fn is_shell(outline: &Outline<'_>) -> bool {
    says_little(outline)
        && is_blank_text(outline)
        && has_program(outline)
        && waits(outline)
        && is_blank_otherwise(outline)
}

/// Whether the visible texts are short enough for a frame and a word that something loads, whatever
/// they say. Hardly any page is that short.
fn says_little(outline: &Outline<'_>) -> bool {
    let shown = outline.texts.iter().filter(|it| it.sight == Sight::Shown);
    let mut lengths = shown.map(|text| text.characters.trim().len());
    let most = MAX_FRAME + MAX_ASKING;
    lengths.try_fold(most, usize::checked_sub).is_some()
}

/// Whether the visible texts are none, say that something loads, or belong to the frame.
fn is_blank_text(outline: &Outline<'_>) -> bool {
    let (mut frame, mut loading, mut hidden, mut noscript) = (0, 0, 0, 0);
    for text in &outline.texts {
        let characters = text.characters.trim();
        if characters.is_empty() {
            continue;
        }
        match text.sight {
            Sight::Never => {}
            Sight::Hidden if is_within(outline, text, |it| it.tag == Tag::Noscript) => {
                noscript += characters.len();
            }
            Sight::Hidden => hidden += characters.len(),
            Sight::Shown if says_loading(characters) => loading += characters.len(),
            Sight::Shown if is_within(outline, text, is_frame) && !is_prose(outline, text) => {
                frame += characters.len();
            }
            Sight::Shown => return false,
        }
    }
    frame <= MAX_FRAME && loading <= MAX_ASKING && hidden <= MAX_HIDDEN && noscript <= MAX_NOSCRIPT
}

fn says_loading(text: &str) -> bool {
    if text.len() > MAX_ASKING {
        return false;
    }
    let is_only_marks = !text.chars().any(char::is_alphanumeric);
    let text = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    is_only_marks || has(&ASKING) || (text.len() <= MAX_LOADING && has(&LOADING))
}

/// Whether an element holds what a site puts around its pages.
fn is_frame(item: &OutlineElement<'_>) -> bool {
    matches!(item.tag, Tag::Nav | Tag::Header | Tag::Footer | Tag::Aside)
}

/// Whether a text of a header is a headline or paragraph, as of a page that is all header.
fn is_prose(outline: &Outline<'_>, text: &TextNode<'_>) -> bool {
    is_within(outline, text, |it| it.tag == Tag::P || it.tag.heading() > 0)
        && !is_within(outline, text, |it| it.tag == Tag::Footer)
}

fn is_within(
    outline: &Outline<'_>,
    text: &TextNode<'_>,
    is_meant: impl Fn(&OutlineElement<'_>) -> bool,
) -> bool {
    is_below(outline, text.parent, is_meant)
}

/// Whether an element or one around it is meant.
fn is_below(
    outline: &Outline<'_>,
    mut at: usize,
    is_meant: impl Fn(&OutlineElement<'_>) -> bool,
) -> bool {
    while let Some(item) = outline.elements.get(at) {
        if is_meant(item) {
            return true;
        }
        if item.parent == at {
            break;
        }
        at = item.parent;
    }
    false
}

/// Whether there are no images, films, forms and hardly any links.
fn is_blank_otherwise(outline: &Outline<'_>) -> bool {
    let mut links = 0;
    for (index, item) in outline.elements.iter().enumerate() {
        let is_shown = item.sight == Sight::Shown;
        match item.tag {
            Tag::Img if is_shown && !is_splash(item) && !is_below(outline, index, is_frame) => {
                return false;
            }
            // What they contain is no text, but they are seen.
            Tag::Canvas
            | Tag::Video
            | Tag::Audio
            | Tag::Object
            | Tag::Iframe
            | Tag::Frame
            | Tag::Textarea
            | Tag::Select
                if !item.traits.is_hidden() && !is_hidden(outline, item.parent) =>
            {
                return false;
            }
            Tag::Custom if is_shown && attribute(item.element, &local_name!("src")).is_some() => {
                return false;
            }
            Tag::Input if is_shown && !is_hidden_field(item) => return false,
            Tag::A if is_shown && attribute(item.element, &local_name!("href")).is_some() => {
                links += 1;
                if !is_below(outline, index, is_frame) {
                    links += MAX_LINKS;
                }
            }
            Tag::Meta if is_refresh(item) => return false,
            _ => {}
        }
    }
    links <= MAX_LINKS
}

fn is_hidden(outline: &Outline<'_>, at: usize) -> bool {
    outline
        .elements
        .get(at)
        .is_some_and(|item| item.sight > Sight::Shown)
}

fn is_hidden_field(item: &OutlineElement<'_>) -> bool {
    attribute(item.element, &local_name!("type"))
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("hidden"))
}

fn is_refresh(item: &OutlineElement<'_>) -> bool {
    attribute(item.element, &local_name!("http-equiv"))
        .is_some_and(|it| it.trim().eq_ignore_ascii_case("refresh"))
}

/// Whether an image is what a page shows while it loads.
fn is_splash(item: &OutlineElement<'_>) -> bool {
    let names = [
        local_name!("src"),
        local_name!("alt"),
        local_name!("class"),
        local_name!("id"),
    ];
    let values = names
        .iter()
        .filter_map(|name| attribute(item.element, name));
    values.into_iter().any(|value| {
        let value = value.to_ascii_lowercase();
        ["loading", "loader", "spinner", "splash", "1x1", "pixel.gif"]
            .iter()
            .any(|word| value.contains(word))
    })
}

/// Whether the page has a program of its own.
fn has_program(outline: &Outline<'_>) -> bool {
    let is_own = |&(address, is_module): &(Option<&str>, bool)| match address {
        None => is_module,
        Some(address) => {
            let address = address.to_ascii_lowercase();
            !MEASURES.iter().any(|word| address.contains(word))
        }
    };
    let is_preload = |item: &OutlineElement<'_>| {
        attribute(item.element, &local_name!("rel"))
            .is_some_and(|rel| has_token(rel, "modulepreload"))
    };
    outline.programs.iter().any(is_own)
        || outline
            .elements
            .iter()
            .any(|item| item.tag == Tag::Link && is_preload(item))
}

/// Whether something waits for the program: an empty mount, a `<noscript>` that asks for it, or a
/// page without anything.
fn waits(outline: &Outline<'_>) -> bool {
    let asks = |text: &TextNode<'_>| {
        let words = text.characters.to_lowercase();
        ASKING.iter().any(|word| words.contains(word))
    };
    let mut is_empty = true;
    for text in &outline.texts {
        let is_text = text.sight < Sight::Never && !text.characters.trim().is_empty();
        if is_text && asks(text) {
            return true;
        }
        is_empty &= !is_text || text.sight > Sight::Shown;
    }
    (is_empty && outline.drawings == 0)
        || (0..outline.elements.len()).any(|index| is_empty_mount(outline, index))
}

/// Whether an application is mounted in an element, which says nothing yet.
fn is_empty_mount(outline: &Outline<'_>, index: usize) -> bool {
    outline.elements.get(index).is_some_and(is_mount)
        && outline.texts_of(index).iter().all(|text| {
            let characters = text.characters.trim();
            characters.is_empty() || text.sight > Sight::Shown || says_loading(characters)
        })
}

fn is_mount(item: &OutlineElement<'_>) -> bool {
    match item.tag {
        Tag::Div | Tag::Main | Tag::Section | Tag::Body => {
            let id = attribute(item.element, &local_name!("id")).unwrap_or_default();
            let letters = id.chars().filter(|c| !matches!(c, '_' | '-'));
            let letters: String = letters.map(|c| c.to_ascii_lowercase()).collect();
            !letters.is_empty() && MOUNTS.contains(&format!(" {letters} "))
        }
        Tag::Custom => {
            let name = &**item.element.name();
            name.starts_with("app-")
                || ["-app", "-root", "-shell", "-application"]
                    .iter()
                    .any(|end| name.ends_with(end))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::page::{Page, PageOptions};
    use crate::url::{Canonicalizer, Identity, Secret, Url};

    fn is_shell(html: &str) -> bool {
        let identity = Identity::new(
            Canonicalizer::default(),
            Secret::from_bytes([0; Secret::LEN]),
        );
        let url = Url::parse("https://a.example/page").unwrap();
        Page::parse_html(html, &url, &identity, &PageOptions::default()).is_script_shell
    }

    #[test]
    fn pages_with_little_text_are_pages() {
        for page in [
            // An image, with what measures visitors and with the site's own bundle.
            "<title>Cat</title><img src=/cat.jpg><script src=/js/bundle.js></script>",
            "<div id=root><img src=/uploads/strip-17.png alt=''></div><script src=/main.js></script>",
            "<div id=app><picture><source srcset=/a.webp><img src=/a.jpg></picture></div>\
             <script type=module src=/assets/index.js></script>",
            // A form.
            "<div id=app><form><input name=user><input type=password name=p><button>Log in</button>\
             </form></div><script src=/app.js></script>",
            // A short note; with comments that need scripts.
            "<h1>Note</h1><p>Gone fishing.</p><div id=disqus_thread></div><script src=/embed.js></script>\
             <noscript>Please enable JavaScript to view the comments.</noscript>",
            "<p>Gone fishing.</p><noscript>Enable JavaScript for comments.</noscript>\
             <script src=/theme.js></script>",
            // Made on the server.
            "<div id=__next><header><a href=/>Shop</a></header><main><h1>Lamp</h1><p>19.99</p></main>\
             </div><script src=/_next/static/chunks/main.js></script>",
            "<div id=app data-server-rendered=true><p>Sold out.</p></div><script src=/app.js></script>",
            "<div id=app><header><h1>Coming soon</h1><p>We open in May.</p></header></div>\
             <script src=/js/app.js></script>",
            // A tracking pixel and a tag manager.
            "<p>Closed today.</p><noscript><img src=https://t.example/p.gif></noscript>\
             <noscript><iframe src=https://www.googletagmanager.com/ns.html></iframe></noscript>\
             <script src=https://www.googletagmanager.com/gtm.js></script>",
            "<title>Blank</title><script src=https://www.google-analytics.com/analytics.js></script>",
            // A map with an address, and one that is all there is.
            "<p>12 Main Street, Springfield</p><div id=map></div><div id=app></div>\
             <script src=/js/map.js></script>",
            "<iframe src=https://maps.example/?q=1></iframe><script src=/main.js></script>",
            // A drawing, a game, a film.
            "<svg><path d='M0 0'/></svg><script src=/zoom.js></script>",
            "<canvas id=game></canvas><script src=/game.js></script>",
            "<video src=/film.mp4></video><script src=/player.js></script>",
            // AMP.
            "<html amp><amp-img src=/a.jpg width=1 height=1></amp-img>\
             <script async src=https://cdn.ampproject.org/v0.js></script>",
            // What leads elsewhere.
            "<meta http-equiv=refresh content='0; url=/new'><script src=/app.js></script>",
            "<frameset><frame src=/a></frameset><script src=/app.js></script>",
            // An application without a program.
            "<div id=root></div>",
            "<body></body>",
            // A list of links without any text besides.
            "<div id=app></div><ul><li><a href=/1>1</a><li><a href=/2>2</a></ul><script src=/a.js></script>",
            // What is written for readers without scripts.
            "<div id=app></div><noscript><h1>Opening hours</h1><p>Monday to Friday from nine to five, \
             Saturday from ten to two. We are closed on Sundays and on public holidays. You find us at \
             12 Main Street in Springfield, behind the town hall, on the second floor; ring twice. By \
             bus take line 7 to the market, from where it is a walk of five minutes through the park. \
             Visitors with children may use the garden. Dogs must stay outside. Coffee is served from \
             two to four on weekdays. Groups of ten or more are asked to write to us a week before \
             their visit, so that somebody can show them around the house.</p></noscript>\
             <script src=/app.js></script>",
        ] {
            assert!(!is_shell(page), "{page}");
        }
    }

    #[test]
    fn shells_whose_data_carry_the_content_are_pages() {
        let shell = |data: &str| {
            format!(
                "<title>t</title><body><div id=__next></div>{data}<script src=/main.js></script>"
            )
        };
        let article = r#"<script type="application/ld+json">{"@type":"NewsArticle","headline":"Fire",
            "articleBody":"It burnt all night.","description":"A fire."}</script>"#;
        let state = r#"<script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":
            {"product":{"name":"Lamp","price":19.99,"description":"A lamp."}}}}</script>"#;
        let words = "word ".repeat(40);
        let body = format!("<script>window.__STATE__={{post:{{body:'{words}'}}}}</script>");
        for data in [article, state, &body] {
            assert!(!is_shell(&shell(data)), "{data}");
        }
        // What every page of the site says is no content.
        let site = r#"<script type="application/ld+json">{"@type":"Organization","name":"A",
            "description":"We sell lamps.","address":{"@type":"PostalAddress","name":"B"}}</script>"#;
        let settings = r#"<script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{}},
            "page":"/[id]","query":{"id":"7"},"buildId":"x","title":"My shop"}</script>"#;
        for data in [site, settings, ""] {
            assert!(is_shell(&shell(data)), "{data}");
        }
    }

    #[test]
    fn shells_are_told() {
        for shell in [
            // React, with and without what it says by default.
            "<title>React App</title><noscript>You need to enable JavaScript to run this app.</noscript>\
             <div id=root></div><script src=/static/js/main.8f2a1c.js></script>",
            "<div id=root></div><script defer src=/static/js/bundle.js></script>",
            // Next.
            "<div id=__next></div><script id=__NEXT_DATA__ type=application/json>{\"props\":\
             {\"pageProps\":{}},\"page\":\"/\"}</script><script src=/_next/static/main.js></script>",
            // Vue and Vite.
            "<noscript><strong>We're sorry but shop doesn't work properly without JavaScript enabled. \
             Please enable it to continue.</strong></noscript><div id=app></div>\
             <script src=/js/chunk-vendors.js></script>",
            "<div id=app></div><script type=module crossorigin src=/assets/index.4f.js></script>",
            "<div id=__nuxt></div><script>window.__NUXT__={config:{}}</script><script src=/_nuxt/a.js></script>",
            // Angular, with what it shows meanwhile.
            "<app-root></app-root><script src=runtime.js></script><script src=main.js></script>",
            "<app-root><div class=spinner><img src=/assets/loader.svg><p>Loading...</p></div></app-root>\
             <script src=main.js type=module></script>",
            // Svelte, Ember, Gatsby, and one without a name.
            "<link rel=modulepreload href=/_app/start.js><div style='display: contents'></div>",
            "<body><script src=/assets/vendor.js></script><script src=/assets/shop.js></script></body>",
            "<div id=___gatsby><div style=outline:none tabindex=-1></div></div>\
             <script src=/app-1.js></script>",
            "<div id=content></div><script src=/build/bundle.js></script>",
            // In a frame, and in another language.
            "<header><a href=/>Home</a></header><main id=main></main><div id=app></div>\
             <footer><p>© 2026 A <a href=/legal>Legal</a></p></footer><script src=/app.js></script>",
            "<div id=root>Wird geladen …</div><script src=/app.js></script>",
            "<div id=root><p>Bitte aktivieren Sie JavaScript.</p></div><script src=/app.js></script>",
            "<div id=app>読み込み中</div><script src=/app.js></script>",
        ] {
            assert!(is_shell(shell), "{shell}");
        }
    }
}
