//! Frames as they are found in the world: tables, navigation after the text, no frame at all, deep
//! nests of `div`, cookie banners; and what changes in them at each request.

use std::fmt::Write as _;

use super::site::{Reply, link};
use super::text::Random;
use super::tongue::Tongue;

/// How a page is built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Build {
    /// A layout of tables; the headline is large text, no heading.
    Tables,
    /// The text first, the navigation after it.
    NavLast,
    /// Nothing but a heading and the text.
    Bare,
    /// Boxes in boxes, with a cookie banner and buttons to share.
    Soup,
    /// Header, breadcrumbs, article, footer.
    Modern,
}

/// What changes at each request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// Who is here.
    Online,
    /// A saying, one of three hundred.
    Quote,
    /// A token in a form and in the head.
    Token,
    /// How often the page was seen.
    Views,
    /// An advertisement, one of sixty.
    Ads,
    /// The time of day.
    Clock,
    /// Three pages of the site that others read.
    Popular,
    /// A state for scripts, with the number of the request.
    State,
}

/// The frame of a site.
#[derive(Debug, Clone)]
pub(crate) struct Skin {
    seed: u64,
    pub(crate) tongue: Tongue,
    build: Build,
    name: String,
    links: Vec<(String, String)>,
    noise: &'static [Noise],
    has_one_title: bool,
    popular: Vec<(String, String)>,
    banner: String,
    foot: String,
}

impl Skin {
    /// The frame of a site of this name.
    pub(crate) fn new(seed: u64, name: &str, build: Build, tongue: Tongue) -> Self {
        let mut random = Random::of(seed, name);
        Self {
            seed,
            tongue,
            build,
            name: name.to_owned(),
            links: Vec::new(),
            noise: &[],
            has_one_title: false,
            popular: Vec::new(),
            banner: tongue.prose(&mut random, 45),
            foot: tongue.prose(&mut random, 25),
        }
    }

    /// The name of the site.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// With these links in the navigation.
    pub(crate) fn links(mut self, links: &[(&str, &str)]) -> Self {
        let own = links.iter().map(|it| (it.0.to_owned(), it.1.to_owned()));
        self.links = own.collect();
        self
    }

    /// With these things that change at each request.
    pub(crate) fn noise(mut self, noise: &'static [Noise]) -> Self {
        self.noise = noise;
        self
    }

    /// With the name of the site as the title of every page, and no headlines.
    pub(crate) fn one_title(mut self) -> Self {
        self.has_one_title = true;
        self
    }

    /// With these pages to show three of.
    pub(crate) fn popular(mut self, pages: Vec<(String, String)>) -> Self {
        self.popular = pages;
        self
    }

    /// The same site built otherwise.
    pub(crate) fn built(&self, build: Build) -> Self {
        Self {
            build,
            ..self.clone()
        }
    }

    /// In another language, with the same links.
    pub(crate) fn in_tongue(&self, tongue: Tongue) -> Self {
        let mut random = Random::of(self.seed, &format!("{} {}", self.name, tongue.tag()));
        Self {
            tongue,
            banner: tongue.prose(&mut random, 45),
            foot: tongue.prose(&mut random, 25),
            ..self.clone()
        }
    }

    /// The texts that change, for the request of this number.
    fn restless(&self, serial: usize) -> String {
        let mut random = Random::of(self.seed, &format!("noise {serial}"));
        let mut html = String::new();
        for noise in self.noise {
            match noise {
                Noise::Online => {
                    let (guests, name) = (random.between(1, 90), random.below(400));
                    let _ = write!(
                        html,
                        "<div class=\"online\">Users browsing this page: user{name} and {guests} guests</div>"
                    );
                }
                Noise::Quote => {
                    let mut saying =
                        Random::of(self.seed, &format!("saying {}", random.below(300)));
                    let text = self.tongue.prose(&mut saying, 14);
                    let _ = write!(html, "<blockquote class=\"fortune\">{text}</blockquote>");
                }
                Noise::Token => {
                    let token = random.hex(40);
                    let _ = write!(
                        html,
                        "<form action=\"/search\" method=\"post\"><input type=\"hidden\" name=\"authenticity_token\" value=\"{token}\"><input name=\"q\"></form>"
                    );
                }
                Noise::Views => {
                    let _ = write!(
                        html,
                        "<span class=\"hits\">Viewed {} times</span>",
                        4_000 + serial
                    );
                }
                Noise::Ads => {
                    let ad = random.below(60);
                    let mut text = Random::of(self.seed, &format!("ad {ad}"));
                    let _ = write!(
                        html,
                        "<div class=\"ad\"><a rel=\"nofollow\" href=\"http://ads.example/c?{}\"><img src=\"http://ads.example/{ad}.gif\" alt=\"\">{}</a></div>",
                        random.hex(12),
                        self.tongue.prose(&mut text, 9)
                    );
                }
                Noise::Clock => {
                    let second = serial * 7 % 86_400;
                    let _ = write!(
                        html,
                        "<div class=\"clock\">It is currently Sun Nov 22, 2026 {:02}:{:02}:{:02}</div>",
                        second / 3_600,
                        second / 60 % 60,
                        second % 60
                    );
                }
                Noise::State => {
                    let (id, time) = (random.hex(20), 1_790_000_000 + serial);
                    let _ = write!(
                        html,
                        "<script id=\"__APP_STATE__\" type=\"application/json\">{{\"requestId\":\"{id}\",\"now\":{time},\"build\":\"a41\"}}</script>"
                    );
                }
                Noise::Popular => {
                    html += "<div class=\"popular\"><ul>";
                    for _ in 0..3.min(self.popular.len()) {
                        let (href, text) = &self.popular[random.below(self.popular.len())];
                        let _ = write!(html, "<li>{}</li>", link(href, text));
                    }
                    html += "</ul></div>";
                }
            }
        }
        html
    }

    /// A page, as the answer to the request of this number.
    pub(crate) fn page(&self, serial: usize, title: &str, main: &str) -> Reply {
        let Self {
            name, banner, foot, ..
        } = self;
        let (tag, restless) = (self.tongue.tag(), self.restless(serial));
        let nav: String = self
            .links
            .iter()
            .map(|(href, text)| format!("<li>{}</li>", link(href, text)))
            .collect();
        let head = match self.has_one_title {
            true => name.clone(),
            false => format!("{title} | {name}"),
        };
        let headline = |html: String| match self.has_one_title {
            true => String::new(),
            false => html,
        };
        let body = match self.build {
            Build::Tables => format!(
                "<table width=\"100%\"><tr><td colspan=\"3\"><img src=\"/logo.gif\" alt=\"{name}\"></td></tr>\
                 <tr><td valign=\"top\"><ul>{nav}</ul><font size=\"1\">{foot}</font></td>\
                 <td valign=\"top\">{}{main}</td><td>{restless}</td></tr></table>",
                headline(format!("<font size=\"+2\"><b>{title}</b></font><br>"))
            ),
            Build::NavLast => format!(
                "<div id=\"c\">{}{main}</div>{restless}<hr><div id=\"n\"><b>{name}</b><ul>{nav}</ul>{foot}</div>",
                headline(format!("<h1>{title}</h1>"))
            ),
            Build::Bare => format!("{}{main}{restless}", headline(format!("<h1>{title}</h1>"))),
            Build::Soup => format!(
                "<div class=\"a\"><div class=\"b\"><div class=\"consent\"><div>{banner}</div><div><a href=\"#ok\">OK</a></div></div>\
                 <div class=\"c\"><div class=\"d\"><div>{name}</div><div class=\"m\"><ul>{nav}</ul></div></div>\
                 <div class=\"e\"><div class=\"f\">{}<div class=\"g\"><div>{main}</div></div>\
                 <div class=\"share\"><a href=\"http://share.example/f\">Share</a> <a href=\"http://share.example/t\">Post</a></div></div>\
                 <div class=\"s\">{restless}</div></div></div></div><div class=\"z\">{foot}</div></div>",
                headline(format!("<div class=\"t\"><h2>{title}</h2></div>"))
            ),
            Build::Modern => format!(
                "<header><a href=\"/\">{name}</a><nav><ul>{nav}</ul></nav></header><nav class=\"crumbs\"><a href=\"/\">{name}</a></nav>\
                 <main><article>{}{main}</article></main><aside>{restless}</aside><footer><p>{foot}</p></footer>",
                headline(format!("<h1>{title}</h1>"))
            ),
        };
        Reply::html(format!(
            "<!doctype html><html lang=\"{tag}\"><head><meta charset=\"utf-8\"><title>{head}</title></head><body>\n{body}\n</body></html>"
        ))
    }
}
