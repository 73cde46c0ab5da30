//! Sites of made-up pages, the same on every machine: articles, documentation, listings, forums and
//! tables of 5 to 60 kB, some 28 kB on average, with the head, menus, scripts and footer that pages
//! have, and each with words of its own. Every twentieth is an earlier one at another address.

use std::fmt::Write as _;

use crate::text::{Random, noun, prose, push, slug, title};

/// Kinds of pages, and the first part of their paths.
const KINDS: [(&str, Body); 5] = [
    ("news", article),
    ("docs", documentation),
    ("shop", listing),
    ("forum", forum),
    ("data", table),
];

/// Writes what a page is about.
type Body = fn(&mut Writer<'_>);

/// A site: every page has a number, links to its neighbours, and is reached from the first.
pub(crate) struct Site {
    seed: u64,
    /// Path of each page.
    pub(crate) paths: Vec<String>,
    name: String,
    head: String,
    menu: String,
    footer: String,
}

/// A page that is being written.
struct Writer<'a> {
    html: String,
    random: Random,
    paths: &'a [String],
    /// Its number, or that of the page it is a copy of.
    number: usize,
}

impl Site {
    /// The site of this number, with so many pages.
    pub(crate) fn new(number: u64, pages: usize) -> Self {
        let mut random = Random::of(number, "site");
        let path = |page: usize| {
            let slug = slug(&mut Random::of(number ^ page as u64, "path"), 3);
            match page {
                0 => "/".to_owned(),
                _ => format!("/{}/{page}-{slug}.html", KINDS[page % KINDS.len()].0),
            }
        };
        let paths: Vec<String> = (0..pages.max(1)).map(path).collect();
        let name = title(&mut random, 2);
        Self {
            seed: random.bits(),
            head: head(&mut random, &name),
            menu: menu(&mut random, &paths),
            footer: footer(&mut random, &name, &paths),
            paths,
            name,
        }
    }

    /// The page of this number.
    pub(crate) fn page(&self, number: usize) -> String {
        // A copy differs in what it calls its address.
        let words = if number % 20 == 19 {
            number - 5
        } else {
            number
        };
        let mut page = Writer {
            html: String::with_capacity(32 << 10),
            random: Random::of(self.seed ^ words as u64, "page"),
            paths: &self.paths,
            number: words,
        };
        let heading = title(&mut page.random, 5);
        let html = &mut page.html;
        push(
            html,
            &["<!doctype html>\n<html lang=\"en\">\n<head>\n<title>"],
        );
        push(html, &[&heading, " | ", &self.name, "</title>\n"]);
        push(html, &["<meta property=\"og:title\" content=\"", &heading]);
        push(html, &["\">\n<link rel=\"canonical\" href=\""]);
        push(html, &[&self.paths[number], "\">\n", &self.head]);
        push(
            html,
            &["</head>\n<body class=\"page page-", KINDS[number % 5].0],
        );
        push(html, &[" has-sidebar\">\n", &self.menu]);
        html.push_str("<main id=\"content\" class=\"layout__main\" role=\"main\">\n");
        push(html, &["<h1 class=\"title\">", &heading, "</h1>\n"]);
        KINDS[number % KINDS.len()].1(&mut page);
        page.html.push_str("</main>\n");
        page.related();
        page.html.push_str(&self.footer);
        page.html
    }
}

impl Writer<'_> {
    fn paragraph(&mut self, words: usize) {
        self.html.push_str("<p>");
        prose(&mut self.html, &mut self.random, words, self.paths);
        self.html.push_str("</p>\n");
    }

    fn phrase(&mut self, words: usize) -> String {
        title(&mut self.random, words)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound)
    }

    fn path(&mut self) -> &str {
        &self.paths[self.random.below(self.paths.len())]
    }

    /// Links to the neighbours, and to others by a rule of their own.
    fn related(&mut self) {
        let count = self.paths.len();
        self.html
            .push_str("<aside class=\"sidebar\"><h2>Related</h2><ul class=\"related\">\n");
        // A copy leads to the neighbours of its original: the page behind it has another way.
        let beside = [1, 2, count - 1].map(|step| (self.number + step) % count);
        let further = (2..11).map(|step| (self.number * 7 + step * step * 31) % count);
        for page in beside.into_iter().chain(further) {
            let path = &self.paths[page];
            let name = noun(&mut self.random);
            let _ = writeln!(
                self.html,
                "<li class=\"related__item\"><a class=\"related__link\" href=\"{path}\" \
                 data-track=\"related-{page}\"><span>{name} no. {page}</span></a></li>"
            );
        }
        self.html.push_str("</ul></aside>\n");
    }
}

fn article(page: &mut Writer<'_>) {
    let (name, day) = (page.phrase(2), 1 + page.below(28));
    let _ = writeln!(
        page.html,
        "<article class=\"story\"><p class=\"byline\">By <a href=\"{}\" rel=\"author\">{name}</a>, \
         <time datetime=\"2026-03-{day:02}\">{day} March 2026</time></p>",
        page.paths[0]
    );
    for at in 0..3 + page.below(26) {
        match at % 8 {
            3 => {
                let heading = page.phrase(4);
                push(&mut page.html, &["<h2>", &heading, "</h2>\n"]);
            }
            5 => {
                let caption = page.phrase(9);
                let _ = writeln!(
                    page.html,
                    "<figure class=\"wide\"><img src=\"/media/{day}/{at}.jpg\" width=\"1200\" height=\"800\" \
                     srcset=\"/media/{day}/{at}-600.jpg 600w, /media/{day}/{at}-1200.jpg 1200w\" \
                     alt=\"{caption}\"><figcaption>{caption}.</figcaption></figure>"
                );
            }
            _ => {}
        }
        let words = 50 + page.below(90);
        page.paragraph(words);
    }
    page.html.push_str("</article>\n");
}

fn documentation(page: &mut Writer<'_>) {
    for section in 0..=page.below(13) {
        let heading = page.phrase(3);
        let anchor = format!("section-{section}");
        push(
            &mut page.html,
            &["<section id=\"", &anchor, "\"><h2>", &heading],
        );
        push(
            &mut page.html,
            &["<a class=\"headerlink\" href=\"#", &anchor],
        );
        push(
            &mut page.html,
            &["\" title=\"Link to this heading\">&para;</a></h2>\n"],
        );
        let words = 40 + page.below(90);
        page.paragraph(words);
        page.html
            .push_str("<div class=\"highlight\"><pre><code class=\"language-c\">");
        for line in 0..4 + page.below(9) {
            let (call, name) = (noun(&mut page.random), noun(&mut page.random));
            let _ = writeln!(
                page.html,
                "<span class=\"kt\">int</span> <span class=\"n\">{name}</span> <span class=\"o\">=</span> \
                 <span class=\"nf\">{call}</span>(<span class=\"mi\">{line}</span>, &amp;<span class=\"n\">{name}</span>);"
            );
        }
        page.html
            .push_str("</code></pre></div>\n<dl class=\"parameters\">\n");
        for _ in 0..2 + page.below(5) {
            let name = noun(&mut page.random);
            push(
                &mut page.html,
                &["<dt><code>", name, "</code> <em>(optional)</em></dt><dd>"],
            );
            let words = 12 + page.below(20);
            page.paragraph(words);
            page.html.push_str("</dd>\n");
        }
        page.html.push_str("</dl></section>\n");
    }
}

fn listing(page: &mut Writer<'_>) {
    page.html
        .push_str("<div class=\"grid grid--3\" data-view=\"cards\">\n");
    for card in 0..4 + page.below(40) {
        let (name, price) = (page.phrase(4), page.below(90_000));
        let path = page.path().to_owned();
        let _ = writeln!(
            page.html,
            "<div class=\"card card--product\" data-id=\"{price}\"><a class=\"card__media\" href=\"{path}\">\
             <img loading=\"lazy\" src=\"/media/p/{price}.webp\" alt=\"{name}\"></a><div class=\"card__body\">\
             <h3 class=\"card__title\"><a href=\"{path}\">{name}</a></h3><p class=\"price\"><span>{}.{:02}</span> \
             &euro;</p><span class=\"stars\" aria-label=\"{} of 5\"></span>",
            price / 100,
            price % 100,
            card % 5 + 1
        );
        let words = 10 + page.below(30);
        page.paragraph(words);
        page.html.push_str(
            "<button class=\"btn btn--buy\" type=\"button\">Add to basket</button></div></div>\n",
        );
    }
    page.html.push_str("</div>\n");
}

fn forum(page: &mut Writer<'_>) {
    for post in 0..2 + page.below(26) {
        let (name, words) = (page.phrase(1), 15 + page.below(120));
        let posts = page.below(9_000);
        let _ = writeln!(
            page.html,
            "<div class=\"post\" id=\"p{post}\"><table class=\"post__frame\"><tr><td class=\"user\">\
             <a href=\"{}\">{name}</a><br><small>{posts} posts<br>Joined: Mar {}</small></td><td class=\"message\">\
             <div class=\"date\">#{post} &raquo; 2026-03-{:02} 1{}:{:02}</div>",
            page.paths[post % page.paths.len()],
            2_000 + post % 26,
            1 + post % 28,
            post % 10,
            posts % 60
        );
        if post % 3 == 2 {
            page.html
                .push_str("<blockquote><cite>Somebody wrote:</cite>");
            page.paragraph(words / 3 + 1);
            page.html.push_str("</blockquote>");
        }
        page.paragraph(words);
        push(
            &mut page.html,
            &[
                "<div class=\"signature\">-- <br>",
                &name,
                "</div></td></tr></table></div>\n",
            ],
        );
    }
}

fn table(page: &mut Writer<'_>) {
    let words = 30 + page.below(60);
    page.paragraph(words);
    page.html.push_str(
        "<table class=\"data sortable\"><thead><tr><th>Name</th><th>Place</th><th>Year</th>\
         <th>Count</th><th>Share</th><th>Remarks</th></tr></thead><tbody>\n",
    );
    for row in 0..8 + page.below(170) {
        let (name, place, remark) = (page.phrase(2), page.phrase(1), page.phrase(3));
        let count = page.below(1_000_000);
        let path = page.path().to_owned();
        let _ = writeln!(
            page.html,
            "<tr class=\"row{}\"><td><a href=\"{path}\">{name}</a></td><td>{place}</td><td>{}</td>\
             <td align=\"right\">{count}</td><td align=\"right\">{}.{} %</td><td>{remark}</td></tr>",
            row % 2,
            1_900 + count % 126,
            count % 100,
            count % 10
        );
    }
    page.html.push_str("</tbody></table>\n");
}

fn head(random: &mut Random, name: &str) -> String {
    let mut html = String::new();
    push(
        &mut html,
        &[
            "<meta charset=\"utf-8\">\n<meta property=\"og:site_name\" content=\"",
            name,
        ],
    );
    html.push_str(
        "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    );
    for _ in 0..4 {
        let file = slug(random, 2);
        push(
            &mut html,
            &[
                "<link rel=\"stylesheet\" href=\"/assets/",
                &file,
                ".css?v=17\">\n",
            ],
        );
    }
    html.push_str("<script>\n(function(w,d){var q=w.queue=w.queue||[];\n");
    let lines = random.between(2, 30);
    for at in 0..lines {
        let (key, value) = (noun(random), noun(random));
        let _ = writeln!(
            html,
            "q.push(['{key}',{{id:{at},v:\"{value}\",t:Date.now()<w.t?1:0}}]);"
        );
    }
    html.push_str("})(window,document);\n</script>\n<style>\n");
    for _ in 0..lines {
        let (block, part) = (noun(random), noun(random));
        let _ = writeln!(
            html,
            ".{block}__{part}>a:hover{{color:#1a2b3c;margin:0 auto;display:flex}}"
        );
    }
    html.push_str("</style>\n");
    html
}

fn menu(random: &mut Random, paths: &[String]) -> String {
    let mut html = String::from(
        "<header class=\"site-header\"><nav class=\"menu\" aria-label=\"Main\"><ul>\n",
    );
    let count = random.between(4, 28);
    for path in paths.iter().take(count) {
        let _ = writeln!(
            html,
            "<li class=\"menu__item\"><a class=\"menu__link\" href=\"{path}\"><svg width=\"16\" height=\"16\">\
             <path d=\"M0 0h16v16H0z\"/></svg>{}</a></li>",
            title(random, 2)
        );
    }
    html.push_str(
        "</ul></nav><form action=\"/search\" role=\"search\"><input name=\"q\"></form></header>\n",
    );
    html
}

fn footer(random: &mut Random, name: &str, paths: &[String]) -> String {
    let mut html = String::from("<footer class=\"site-footer\"><div class=\"columns\">\n");
    for path in paths.iter().skip(1).take(16) {
        push(
            &mut html,
            &["<div><a href=\"", path, "\">", noun(random), "</a></div>\n"],
        );
    }
    push(
        &mut html,
        &[
            "</div><p>&copy; 2026 ",
            name,
            ". All rights reserved.</p></footer>\n",
        ],
    );
    html.push_str("<script src=\"/assets/main.js\" defer></script>\n</body></html>\n");
    html
}
