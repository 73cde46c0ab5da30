//! What a crawl asks for: every page in scope once, in the form first seen; nothing else.

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::simhash;
use crate::run::{Place, about, form, kind, leaves, linking, page, payload_digest};
use crate::web::{self, Answer, ClusterOptions, Expected, Site, Web, cluster_web};

/// A web whose duplicates are known, and a whole crawl of it.
pub(crate) struct Crawled {
    pub(crate) web: Web,
    pub(crate) crawl: Place,
    pub(crate) expected: Expected,
}

impl Crawled {
    /// Hosts, pages on each, and the seed of the web's random numbers; settings of the crawl.
    pub(crate) fn new(hosts: usize, pages_per_host: usize, seed: u64, settings: &str) -> Self {
        let options = ClusterOptions {
            hosts,
            pages_per_host,
            seed,
        };
        let (sites, expected) = cluster_web(options, &simhash);
        let web = Web::start(sites);
        let crawl = Place::new();
        let arguments = [&*web.url(0, "/"), "--scope", "any", "--allow-private"];
        crawl.crawl_by(settings, &arguments);
        Self {
            web,
            crawl,
            expected,
        }
    }

    /// Host number and path of a URL; a variant of a page is that page.
    pub(crate) fn place(&self, url: &str) -> web::Place {
        let is_of = |host: &usize| url.starts_with(&self.web.url(*host, "/"));
        let host = (0..254).find(is_of);
        let host = host.unwrap_or_else(|| panic!("{url} is of another web"));
        let place = (host, url[self.web.url(host, "").len()..].to_owned());
        self.expected.variants.get(&place).cloned().unwrap_or(place)
    }
}

#[test]
fn a_web_of_several_hosts_is_fetched_once_and_its_duplicates_are_found() {
    const HOSTS: usize = 4;
    let crawled = Crawled::new(HOSTS, 14, 20, "");
    let (web, crawl, expected) = (&crawled.web, &crawled.crawl, &crawled.expected);

    // From the servers' side: each page, redirect and missing page once, nothing else but
    // robots.txt, and that once a host.
    let mut asked: BTreeMap<web::Place, usize> = BTreeMap::new();
    for request in web.requests() {
        assert_eq!(request.method, "GET");
        let asked_for = (request.host, request.path.clone());
        let meant = expected.variants.get(&asked_for).unwrap_or(&asked_for);
        *asked.entry(meant.clone()).or_default() += 1;
    }
    let once: BTreeMap<web::Place, usize> = expected
        .allowed_paths
        .iter()
        .chain(expected.redirects.keys())
        .chain(&expected.missing)
        .cloned()
        .chain((0..HOSTS).map(|host| (host, "/robots.txt".to_owned())))
        .map(|place| (place, 1))
        .collect();
    assert_eq!(asked, once);

    let pages: BTreeMap<web::Place, _> = crawl
        .pages()
        .into_iter()
        .filter(|(_, line)| line.status == 200)
        .map(|(url, line)| (crawled.place(&url), line))
        .collect();
    assert_eq!(
        pages.keys().cloned().collect::<BTreeSet<_>>(),
        expected.allowed_paths
    );
    let mut clusters: BTreeMap<web::Place, BTreeSet<web::Place>> = BTreeMap::new();
    for (page, line) in &pages {
        let original = match &line.original {
            Some(url) => crawled.place(url),
            None => page.clone(),
        };
        assert_eq!(pages[&original].verdict, "unique", "{line:?}");
        clusters.entry(original).or_default().insert(page.clone());
    }
    let found: BTreeSet<_> = clusters.into_values().collect();
    let wanted: BTreeSet<_> = expected.clusters.iter().cloned().collect();
    assert_eq!(found, wanted);
    for (cluster, kind) in expected.clusters.iter().zip(&expected.kinds) {
        let verdicts: BTreeSet<&str> = cluster
            .iter()
            .map(|page| pages[page].verdict.name())
            .filter(|verdict| *verdict != "unique")
            .collect();
        let wanted = match kind {
            web::Kind::Single => vec![],
            web::Kind::Copy => vec!["raw"],
            web::Kind::Markup => vec!["normalized"],
            web::Kind::Frame => vec!["content"],
            web::Kind::Near => vec!["near"],
        };
        assert_eq!(verdicts.into_iter().collect::<Vec<_>>(), wanted, "{kind:?}");
    }

    // Each payload is stored once, and one page of each cluster.
    let records = crawl.records();
    let responses = records.iter().filter(|it| kind(it) == "response");
    let responses: Vec<_> = responses.filter(|it| form(it).is_some()).collect();
    let digests: BTreeSet<_> = responses
        .iter()
        .map(|it| *payload_digest(it).as_bytes())
        .collect();
    assert_eq!(digests.len(), responses.len());
    let stored = pages
        .values()
        .filter(|line| !about(&records, "response", &line.url).is_empty())
        .count();
    assert_eq!(stored, expected.unique_payloads);

    let counters = crawl.status().counters;
    assert_eq!(counters.queued, 0);
    assert_eq!(counters.forbidden, expected.forbidden.len() as u64);
    let answered = expected.allowed_paths.len() + expected.redirects.len() + expected.missing.len();
    assert_eq!(counters.pages, answered as u64);
    assert_eq!(counters.hosts, HOSTS as u64);
}

/// Crawls host 0 from `/`; the targets that were asked for there, robots.txt aside, in order.
fn targets(site: Site, arguments: &[&str]) -> Vec<String> {
    let web = Web::start(vec![site]);
    let seed = web.url(0, "/");
    Place::new().crawl(&[&[seed.as_str()], arguments].concat());
    web.asked(0)
}

#[test]
fn the_form_first_seen_is_requested_and_other_forms_are_the_same_url() {
    let links = [
        "/a?utm_source=news&x=1",
        "/a?x=1",
        "/a?x=1#part",
        "/q?b=2&a=1",
        "/q?a=1&b=2",
        "/s?PHPSESSID=0123456789abcdef0123456789abcdef&page=2",
        "/s?page=2&PHPSESSID=fedcba9876543210fedcba9876543210",
        "/j;jsessionid=0123456789ABCDEF0123456789ABCDEF",
        "/j",
        "/%7euser",
        "/~user",
        "/p?page=1",
        "/p?page=2",
    ]
    .map(|link| link.replace('&', "&amp;"));
    let asked = targets(linking(&links), &[]);
    let wanted = [
        "/",
        "/a?utm_source=news&x=1",
        "/q?b=2&a=1",
        "/s?PHPSESSID=0123456789abcdef0123456789abcdef&page=2",
        "/j;jsessionid=0123456789ABCDEF0123456789ABCDEF",
        "/%7euser",
        "/p?page=1",
        "/p?page=2",
    ];
    assert_eq!(asked, wanted);
}

#[test]
fn a_redirect_to_another_form_of_the_same_url_gets_its_page() {
    let site = Site::new()
        .page("/", Answer::html(page("home", &["/docs", "/docs/"])))
        .page("/docs", Answer::redirect(301, "/docs/"))
        .page("/docs/", Answer::html(page("documents", &["/docs/inner"])))
        .page("/docs/inner", Answer::html(page("inner", &["/docs"])));
    assert_eq!(targets(site, &[]), ["/", "/docs", "/docs/", "/docs/inner"]);
}

#[test]
fn redirects_that_lead_nowhere_end() {
    let site = Site::new()
        .robots("")
        .page("/", Answer::html(page("home", &["/a", "/x", "/t0", "/n"])))
        // Two forms of one URL that point at each other.
        .page("/x", Answer::redirect(302, "/x/"))
        .page("/x/", Answer::redirect(302, "/x"))
        // A circle.
        .page("/a", Answer::redirect(301, "/b"))
        .page("/b", Answer::redirect(301, "/a"))
        // Nowhere.
        .page("/n", Answer::status(302))
        // Without end.
        .otherwise(|request| {
            let number: usize = request.path[2..]
                .parse()
                .expect("what was linked or follows");
            Answer::redirect(302, &format!("/t{}", number + 1))
        });
    let web = Web::start(vec![site]);
    let seed = web.url(0, "/");
    let crawl = Place::new();
    crawl.crawl(&[&seed]);
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for request in web.requests() {
        *asked.entry(request.path).or_default() += 1;
    }
    let endless = asked.keys().filter(|path| path.starts_with("/t")).count();
    // The first, and `max_redirects` more.
    assert_eq!(endless, 11);
    for path in ["/a", "/b", "/n"] {
        assert_eq!(asked[path], 1, "{path}");
    }
    // Within the hops that are allowed, a form may be asked again; that must end.
    assert!(asked["/x"] + asked["/x/"] <= 11, "{asked:?}");
    assert_eq!(crawl.status().counters.queued, 0);
}

#[test]
fn depth_counts_links_and_not_redirects() {
    let site = || {
        Site::new()
            .page("/", Answer::html(page("zero", &["/moved"])))
            .page("/moved", Answer::redirect(302, "/1"))
            .page("/1", Answer::html(page("one", &["/2", "/"])))
            .page("/2", Answer::html(page("two", &["/3"])))
            .page("/3", Answer::html(page("three", &[])))
    };
    let asked = targets(site(), &["--max-depth", "2"]);
    assert_eq!(asked, ["/", "/moved", "/1", "/2"]);
    assert_eq!(targets(site(), &["--max-depth", "0"]), ["/"]);
    assert_eq!(targets(site(), &[]).len(), 5);
}

/// What is asked of three places by a crawl with a scope: of host 0, of the same address at
/// another port, of another address.
fn check_scope(scope: &[&str], wanted: [&[&str]; 3]) {
    let leaf = |name: &str| Answer::html(page(name, &[]));
    let beside = Web::start(vec![Site::new().page("/port", leaf("port"))]);
    let links = [
        "/dir/in",
        "/dir/deep/in",
        "/out",
        &beside.url(0, "/port"),
        "{host1}/far",
    ];
    let home = page("home", &links);
    let web = Web::start(vec![
        Site::new()
            .page("/dir/", Answer::html(home))
            .otherwise(move |request| leaf(&request.path)),
        Site::new().page("/far", Answer::html(page("far", &["{host0}/from-far"]))),
    ]);
    let seed = web.url(0, "/dir/");
    Place::new().crawl(&[&[&*seed, "--allow-private"], scope].concat());
    let asked = [web.asked(0), beside.asked(0), web.asked(1)];
    let asked = asked.map(BTreeSet::from_iter);
    let wanted = wanted.map(|paths| paths.iter().map(|path| (*path).to_owned()).collect());
    assert_eq!(asked, wanted, "{scope:?}");
}

#[test]
fn each_scope_has_its_bounds() {
    let host = ["/dir/", "/dir/in", "/dir/deep/in", "/out"];
    check_scope(&[], [&host, &[], &[]]);
    check_scope(&["--scope", "host"], [&host, &[], &[]]);
    // An address is its own site, at whatever port.
    check_scope(&["--scope", "domain"], [&host, &["/port"], &[]]);
    check_scope(&["--scope", "prefix"], [&host[..3], &[], &[]]);
    let all = [&host[..], &["/from-far"]].concat();
    check_scope(&["--scope", "any"], [&all, &["/port"], &["/far"]]);
}

#[test]
fn seeds_come_from_files_and_standard_input_too() {
    let web = Web::start(vec![leaves()]);
    let crawl = Place::new();
    let list = format!(
        "# two\n{}\n\n{} # the second\n",
        web.url(0, "/1"),
        web.url(0, "/2")
    );
    let list = crawl.file("list.txt", &list);
    let input = crawl.file("input.txt", &web.url(0, "/3"));
    let mut command = crawl.command(&[&web.url(0, "/0"), "--seeds", &list, "--seeds", "-"]);
    command.stdin(std::fs::File::open(input).expect("just written"));
    crate::run::run(command).expect(0).says(&["seeds: 4 new"]);
    let asked: BTreeSet<String> = web.requests().into_iter().map(|it| it.path).collect();
    let wanted = ["/0", "/1", "/2", "/3", "/robots.txt"].map(str::to_owned);
    assert_eq!(asked, BTreeSet::from(wanted));
}

/// Whoever names `a.example` means the site, wherever on its domain it is by now.
#[test]
fn a_seed_that_moved_within_its_domain_takes_the_scope_along() {
    let redirect = |to: &str| Site::new().page("/", Answer::redirect(301, to));
    let elsewhere = || linking(&["/x"]);
    let at_www = linking(&["/1", "/2", "http://blog.a.example/", "http://b.example/"]);
    let web = Web::start(vec![
        redirect("http://www.a.example/"),
        at_www,
        elsewhere(),
        Site::new().page("/", Answer::redirect(302, "http://b.example/")),
        elsewhere(),
    ]);
    let port = web.port();
    let names = ["a", "www.a", "b", "c", "blog.a"].iter().zip(1..);
    let hosts: Vec<String> = names
        .map(|(name, at)| format!("\"{name}.example\" = [\"127.0.7.{at}:{port}\"]"))
        .collect();
    let hosts = hosts.join("\n");
    let settings = format!("[fetch.hosts]\n{hosts}");
    let crawl = Place::new();
    let agent = ["--user-agent", "x/1 (+http://a.example)"];
    let told = crawl.crawl_by(&settings, &[&["http://a.example/"], &agent[..]].concat());
    told.says(&["the seed http://a.example/ redirects to http://www.a.example/"]);
    let visited: BTreeSet<String> = crawl.log().into_iter().map(|line| line.url).collect();
    for page in ["/", "/1", "/2"] {
        assert!(
            visited.contains(&format!("http://www.a.example{page}")),
            "{visited:?}"
        );
    }
    // What pages link to is no seed.
    assert_eq!(web.asked(4), [] as [&str; 0]);
    assert_eq!(web.asked(2), [] as [&str; 0]);
    // A redirect to another site that may be over tomorrow is not followed, and the next run knows
    // of the first one.
    let other = ["http://c.example/", "http://www.a.example/late"];
    let other = crawl.crawl_with_losses(&settings, &[&other[..], &agent[..]].concat());
    assert!(
        !other.stderr.contains("in scope from now on"),
        "{}",
        other.stderr
    );
    assert_eq!(web.asked(2), [] as [&str; 0]);
}

/// A site that has a new name is one, until the user says otherwise; what a later visit sees does
/// not count.
#[test]
fn a_seed_that_moved_to_another_site_for_good_takes_the_scope_along_until_told_otherwise() {
    let sites = || {
        let old = Site::new()
            .page("/", Answer::redirect(308, "{host1}/"))
            .page("/late", Answer::html(page("late", &["{host1}/unknown"])));
        let new = linking(&["/1", "{host2}/x"]);
        vec![old, new, linking::<&str>(&[])]
    };
    let web = Web::start(sites());
    let crawl = Place::new();
    let seed = web.url(0, "/");
    let told = crawl.crawl(&[&seed, "--allow-private"]);
    told.says(&["is in scope from now on; crawl.moved_seeds = \"domain\" would keep it out"]);
    assert_eq!(web.asked(1), ["/", "/1"]);
    assert_eq!(web.asked(2), [] as [&str; 0]);
    // It is kept, and taken back.
    let unknown = web.url(1, "/unknown");
    let why = || {
        let found = crawl.ask(&["why", "--json", &unknown]).expect(5).json();
        found["admission"]["answer"].as_str().map(str::to_owned)
    };
    assert_eq!(why().as_deref(), Some("admitted"));
    let back = ["--set", "crawl.moved_seeds=domain"];
    let late = web.url(0, "/late");
    crawl.crawl(&[&[&*late, "--allow-private"], &back[..]].concat());
    assert_eq!(why().as_deref(), Some("out-of-scope"));
    assert_eq!(web.asked(1), ["/", "/1"]);

    // Or from the first.
    for arguments in [&["--set", "crawl.moved_seeds=never"][..], &back] {
        let web = Web::start(sites());
        let seed = web.url(0, "/");
        let place = Place::new();
        place.crawl_with_losses("", &[&[&*seed, "--allow-private"], arguments].concat());
        assert_eq!(web.asked(1), [] as [&str; 0]);
    }
}
