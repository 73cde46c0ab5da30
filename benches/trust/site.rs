//! What a made-up site is: what it answers, which of its pages are good, and what is expected of a
//! crawl of it.

use std::fmt::Write as _;

use super::text::Random;

/// One request.
pub(crate) struct Ask<'a> {
    /// Name of the host, without the port.
    pub(crate) host: &'a str,
    /// Path, without the query.
    pub(crate) path: &'a str,
    /// Query, without the question mark; empty if there is none.
    pub(crate) query: &'a str,
    /// Number of requests of the site before this one.
    pub(crate) serial: usize,
}

impl<'a> Ask<'a> {
    /// The value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let pairs = self.query.split('&').filter_map(|it| it.split_once('='));
        pairs.clone().find(|(key, _)| *key == name).map(|it| it.1)
    }

    /// The value of a parameter as a number.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }

    /// What follows this in the path, as a number.
    pub(crate) fn after(&self, prefix: &str) -> Option<usize> {
        let rest = self.path.strip_prefix(prefix)?;
        let rest = rest.strip_suffix(".html").unwrap_or(rest);
        rest.trim_end_matches('/').parse().ok()
    }

    /// The segments of the path that are not empty.
    pub(crate) fn segments(&self) -> Vec<&'a str> {
        self.path.split('/').filter(|it| !it.is_empty()).collect()
    }
}

/// One answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) mime: &'static str,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
    /// Which good page this shows. Two addresses with one key show the same page.
    pub(crate) key: Option<String>,
}

impl Reply {
    /// A page.
    pub(crate) fn html(body: String) -> Self {
        Self {
            status: 200,
            mime: "text/html; charset=utf-8",
            location: None,
            body,
            key: None,
        }
    }

    /// Another kind of document.
    pub(crate) fn of(mime: &'static str, body: String) -> Self {
        Self {
            mime,
            ..Self::html(body)
        }
    }

    /// No such page.
    pub(crate) fn missing() -> Self {
        let body =
            "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>";
        Self {
            status: 404,
            ..Self::html(body.to_owned())
        }
    }

    /// Permanently elsewhere.
    pub(crate) fn moved(to: String) -> Self {
        Self {
            status: 301,
            location: Some(to),
            ..Self::html(String::new())
        }
    }

    /// This answer shows a good page.
    pub(crate) fn good(self, key: impl Into<String>) -> Self {
        Self {
            key: Some(key.into()),
            ..self
        }
    }
}

/// What a site answers to a request.
pub(crate) type Answer = Box<dyn Fn(&Ask) -> Reply + Send + Sync>;

/// A made-up site, of one host or several.
pub(crate) struct Site {
    /// Names of its hosts.
    pub(crate) hosts: Vec<String>,
    /// Where a crawl begins.
    pub(crate) seeds: Vec<String>,
    /// The pages that must not be lost: key, and an address that shows it.
    pub(crate) good: Vec<(String, String)>,
    pub(crate) answer: Answer,
    /// Scope of the crawl.
    pub(crate) scope: &'static str,
    /// More lines of the configuration file.
    pub(crate) settings: String,
    /// Share of the good pages that may be lost, for kinds whose bound allows some.
    pub(crate) may_lose: f64,
    /// What the summary must name, for sites that only a budget ends.
    pub(crate) must_say: &'static str,
    /// Requests after which the crawl is stopped; 0: three per good page and 20,000.
    pub(crate) cap: usize,
}

impl Site {
    /// A site of one host that begins at its root.
    pub(crate) fn new(answer: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            hosts: vec![HOST.to_owned()],
            seeds: vec![at("/")],
            good: Vec::new(),
            answer: Box::new(answer),
            scope: "host",
            settings: String::new(),
            may_lose: 0.0,
            must_say: "",
            cap: 0,
        }
    }

    /// These pages are good: key, and path with query on the first host.
    pub(crate) fn good<K: Into<String>, P: AsRef<str>>(
        mut self,
        pages: impl IntoIterator<Item = (K, P)>,
    ) -> Self {
        let pages = pages.into_iter();
        self.good
            .extend(pages.map(|(key, path)| (key.into(), at(path.as_ref()))));
        self
    }
}

/// The host of most sites.
pub(crate) const HOST: &str = "site.example";

/// A URL on it.
pub(crate) fn at(path: &str) -> String {
    format!("http://{HOST}{path}")
}

/// So many of something, at this scale.
pub(crate) fn scaled(count: usize, scale: f64) -> usize {
    ((count as f64 * scale).round() as usize).max(1)
}

/// The frame around the pages of a site: its name, its navigation, what stands at the side and
/// below.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    name: String,
    top: String,
    side: String,
    foot: String,
}

impl Look {
    /// A frame with these links, and so many words at the side.
    pub(crate) fn new(seed: u64, name: &str, links: &[(&str, &str)], words: usize) -> Self {
        let mut random = Random::of(seed, name);
        let mut top = String::new();
        for (href, text) in links {
            let _ = write!(top, "<li><a href=\"{href}\">{text}</a></li>");
        }
        let title = random.phrase(3);
        let side = match words {
            0 => String::new(),
            _ => format!("<h3>{title}</h3>{}", random.paragraphs(words)),
        };
        let foot = format!("<p>{}</p><p>© {name}</p>", random.prose(words / 4 + 8));
        let name = name.to_owned();
        Self {
            name,
            top,
            side,
            foot,
        }
    }

    /// A page.
    pub(crate) fn page(&self, title: &str, main: &str) -> Reply {
        self.titled(&format!("{title} - {}", self.name), title, main)
    }

    /// A page with a title and another headline.
    pub(crate) fn titled(&self, title: &str, headline: &str, main: &str) -> Reply {
        let Self {
            name,
            top,
            side,
            foot,
        } = self;
        Reply::html(format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
             <link rel=\"stylesheet\" href=\"/style.css\"></head>\n<body><header><a href=\"/\">{name}</a>\
             <nav><ul>{top}</ul></nav></header>\n<main><h1>{headline}</h1>\n{main}\n</main>\n\
             <aside>{side}</aside>\n<footer>{foot}</footer></body></html>\n"
        ))
    }

    /// A page whose headline says nothing of its own.
    pub(crate) fn plain(&self, title: &str, main: &str) -> Reply {
        let Self {
            name,
            top,
            side,
            foot,
        } = self;
        Reply::html(format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
             <body><div id=\"head\"><a href=\"/\">{name}</a><ul>{top}</ul></div>\n\
             <div id=\"content\">\n{main}\n</div>\n<div id=\"side\">{side}</div>\
             <div id=\"foot\">{foot}</div></body></html>\n"
        ))
    }
}

/// A link.
pub(crate) fn link(href: &str, text: &str) -> String {
    format!("<a href=\"{}\">{text}</a>", href.replace('&', "&amp;"))
}

/// A list of links.
pub(crate) fn list<H: AsRef<str>, T: AsRef<str>>(
    links: impl IntoIterator<Item = (H, T)>,
) -> String {
    let mut html = String::from("<ul>\n");
    for (href, text) in links {
        let _ = writeln!(html, "<li>{}</li>", link(href.as_ref(), text.as_ref()));
    }
    html.push_str("</ul>\n");
    html
}
