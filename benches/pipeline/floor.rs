//! The floor: what a crawler costs that fetches, parses, resolves links and forgets all but the
//! URLs seen. The same crates as gleaner's, and nothing else.

use std::collections::{HashSet, VecDeque};
use std::io::Read as _;

use reqwest::{Client, header};
use scraper::{Html, Selector};
use tokio::task::JoinSet;
use url::Url;

/// Pages that are under way at once.
const AT_ONCE: usize = 64;

/// Crawls the hosts of these seeds with so many threads. Says how many pages it parsed.
pub(crate) fn crawl(seeds: &str, threads: usize, gzip: bool) {
    // Ours brings its own; the bare client takes the one of the process.
    let provider = rustls::crypto::ring::default_provider();
    assert!(provider.install_default().is_ok(), "nobody did so before");
    let seeds: Vec<Url> = seeds.lines().flat_map(str::parse).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .expect("threads can be started");
    let pages = runtime.block_on(async { tokio::spawn(visit_all(seeds, gzip)).await });
    crate::say(&pages.expect("it does not panic").to_string());
}

async fn visit_all(seeds: Vec<Url>, gzip: bool) -> usize {
    let client = Client::builder().no_proxy().tcp_nodelay(true);
    let client = client.build().expect("a client");
    let hosts: HashSet<String> = seeds.iter().filter_map(host).collect();
    let mut seen: HashSet<String> = seeds.iter().map(Url::to_string).collect();
    let mut queue = VecDeque::from(seeds);
    let mut visits = JoinSet::new();
    let mut pages = 0;
    loop {
        while visits.len() < AT_ONCE
            && let Some(url) = queue.pop_front()
        {
            let client = client.clone();
            visits.spawn(async move { visit(&client, url, gzip).await });
        }
        let Some(visit) = visits.join_next().await else {
            return pages;
        };
        let Ok(Some(links)) = visit else {
            continue;
        };
        pages += 1;
        for link in links {
            let is_ours = host(&link).is_some_and(|host| hosts.contains(&host));
            if is_ours && !seen.contains(link.as_str()) {
                seen.insert(link.to_string());
                queue.push_back(link);
            }
        }
    }
}

fn host(url: &Url) -> Option<String> {
    url.host_str().map(str::to_owned)
}

/// The links of a page; `None` if there is none.
async fn visit(client: &Client, url: Url, gzip: bool) -> Option<Vec<Url>> {
    let mut request = client.get(url.clone());
    if gzip {
        request = request.header(header::ACCEPT_ENCODING, "gzip");
    }
    let response = request.send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let is_coded = response.headers().contains_key(header::CONTENT_ENCODING);
    #[expect(clippy::disallowed_methods, reason = "the web is our own")]
    let body = response.bytes().await.ok()?;
    if !is_coded {
        return Some(links(&body, &url));
    }
    let mut plain = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&body[..]);
    decoder.read_to_end(&mut plain).ok()?;
    Some(links(&plain, &url))
}

fn links(body: &[u8], base: &Url) -> Vec<Url> {
    thread_local! {
        static ANCHORS: Selector = Selector::parse("a[href]").expect("a selector");
    }
    let page = Html::parse_document(&String::from_utf8_lossy(body));
    ANCHORS.with(|anchors| {
        let targets = page.select(anchors).filter_map(|it| it.attr("href"));
        let links = targets.filter_map(|target| base.join(target).ok());
        links
            .map(|mut link| {
                link.set_fragment(None);
                link
            })
            .collect()
    })
}
