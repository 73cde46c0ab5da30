//! Private addresses are contacted only with consent: of the command line, or of a seed for its own
//! host and port. Measured by those that must never be contacted.

use crate::run::{Place, leaves, linking, page};
use crate::web::{Answer, Site, Web};

/// A web that nobody may contact: host 0 at another port, and other hosts.
fn forbidden() -> Web {
    Web::start(vec![leaves(), leaves()])
}

/// A web whose host 0 points to everything that is not its own in each way there is, and whose
/// host 1 must not be contacted either.
fn tempting(forbidden: &Web) -> Web {
    let port = forbidden.port();
    let links = [
        "/own",
        "/moved-to-host",
        "/moved-to-port",
        "{host1}/linked",
        &forbidden.url(0, "/linked"),
        &forbidden.url(1, "/linked"),
        &format!("http://localhost:{port}/linked"),
        &format!("http://2130708225:{port}/an-address-as-a-number"),
        &format!("http://0x7f.0.7.1:{port}/in-hexadecimal"),
        &format!("http://[::ffff:127.0.7.1]:{port}/mapped"),
        &format!("http://[::1]:{port}/six"),
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
    ];
    Web::start(vec![
        Site::new()
            .page("/", Answer::html(page("home", &links)))
            .page("/own", Answer::html(page("own", &["/own/2"])))
            .page("/own/2", Answer::html(page("second", &[])))
            .page("/moved-to-host", Answer::redirect(302, "{host1}/moved"))
            .page(
                "/moved-to-port",
                Answer::redirect(301, &forbidden.url(0, "/moved")),
            ),
        leaves(),
    ])
}

fn asked_of_host_0(web: &Web) -> Vec<String> {
    let requests = web.requests();
    assert!(requests.iter().all(|request| request.host == 0));
    requests.into_iter().map(|request| request.path).collect()
}

/// Short waits: what cannot be contacted is not worth a long one.
const QUICK: &str = "[politeness]\nbackoff = \"1ms\"\n[fetch]\nconnect_timeout = \"1s\"\n";

const OWN: [&str; 6] = [
    "/robots.txt",
    "/",
    "/own",
    "/moved-to-host",
    "/moved-to-port",
    "/own/2",
];

#[test]
fn a_seed_is_consent_for_its_own_host_and_port_only() {
    let forbidden = forbidden();
    let web = tempting(&forbidden);
    let crawl = Place::new();
    crawl.crawl_by(QUICK, &[&web.url(0, "/"), "--scope", "any"]);
    assert_eq!(asked_of_host_0(&web), OWN);
    assert!(
        forbidden.requests().is_empty(),
        "{:?}",
        forbidden.requests()
    );
    // Each is told apart from a host that does not answer.
    let counters = crawl.status().counters;
    assert_eq!(counters.queued, 0);
    assert_eq!(counters.pages, 5);
    assert_eq!(counters.failures.keys().collect::<Vec<_>>(), ["guard"]);
    let log = crawl.log();
    let line = log.iter().find(|line| line.url == web.url(1, "/linked"));
    let annotation = line.and_then(|line| line.annotation.as_deref());
    let annotation = annotation.expect("a line says what became of it");
    assert!(annotation.contains("127.0.7.2"), "{annotation}");
}

#[test]
fn consent_is_kept_and_not_widened_by_resuming() {
    let forbidden = forbidden();
    let web = tempting(&forbidden);
    let crawl = Place::new();
    crawl.crawl_by(
        QUICK,
        &["--scope", "any", "--max-pages", "1", &web.url(0, "/")],
    );
    crawl.crawl_by(QUICK, &["--scope", "any", "--max-pages", "1"]);
    crawl.crawl_by(QUICK, &["--scope", "any"]);
    assert_eq!(asked_of_host_0(&web), OWN);
    assert!(forbidden.requests().is_empty());
}

#[test]
fn what_was_refused_is_fetched_when_a_person_names_it() {
    let forbidden = forbidden();
    let web = Web::start(vec![linking(&[
        &forbidden.url(0, "/"),
        &forbidden.url(1, "/"),
    ])]);
    let crawl = Place::new();
    crawl.crawl_by(QUICK, &["--scope", "any", &web.url(0, "/")]);
    assert!(forbidden.requests().is_empty());
    let seeds = [&*web.url(0, "/"), &forbidden.url(0, "/")];
    let again = crawl.crawl_by(QUICK, &[&["--scope", "any"], &seeds[..]].concat());
    again.says(&["seeds: 1 new, 1 known"]);
    let asked: Vec<_> = forbidden.requests();
    assert!(asked.iter().any(|it| it.path == "/"), "{asked:?}");
    assert!(asked.iter().all(|it| it.host == 0), "{asked:?}");
    let failures = crawl.status().counters.failures;
    assert_eq!(failures.get("guard"), Some(&1), "the other stays refused");
}

#[test]
fn a_seed_from_a_file_is_consent_too() {
    let web = Web::start(vec![leaves()]);
    let crawl = Place::new();
    let list = crawl.file("seeds.txt", &web.url(0, "/"));
    crawl.crawl(&["--seeds", &list]);
    assert_eq!(asked_of_host_0(&web), ["/robots.txt", "/"]);
}

#[test]
fn robots_txt_is_not_followed_to_where_pages_may_not_be() {
    let forbidden = forbidden();
    let elsewhere = forbidden.url(0, "/robots.txt");
    let web = Web::start(vec![
        leaves().page("/robots.txt", Answer::redirect(302, &elsewhere)),
    ]);
    Place::new().crawl_by(QUICK, &[&web.url(0, "/")]);
    assert!(forbidden.requests().is_empty());
    assert_eq!(asked_of_host_0(&web)[0], "/robots.txt");
}

#[test]
fn localhost_as_a_seed_is_consent_for_that_name_and_port() {
    let forbidden = forbidden();
    // 127.0.0.1, which is what the name stands for.
    let links = ["/own", "{host0}/by-address", &forbidden.url(0, "/")];
    let web = Web::start_at(0, vec![linking(&links)]);
    let seed = format!("http://localhost:{}/", web.port());
    Place::new().crawl_by(QUICK, &[&seed, "--scope", "any"]);
    // The address is another host: nobody consented to it.
    assert_eq!(asked_of_host_0(&web), ["/robots.txt", "/", "/own"]);
    let host = web.requests()[1].header("Host");
    assert_eq!(host, Some(format!("localhost:{}", web.port())));
    assert!(forbidden.requests().is_empty());
}

#[test]
fn with_the_option_private_addresses_are_hosts_as_any() {
    let web = Web::start(vec![linking(&["{host1}/"]), leaves()]);
    let seed = web.url(0, "/");
    Place::new().crawl(&[&seed, "--scope", "any", "--allow-private"]);
    assert_eq!(web.requests().len(), 4);
}

#[test]
fn a_name_is_asked_at_the_address_that_the_configuration_gives_it() {
    let web = Web::start(vec![linking(&["/a", "http://other.example/"]), leaves()]);
    let crawl = Place::new();
    let port = web.port();
    // The second has no port, and so is judged as if the DNS had said it.
    let hosts = format!(
        "[fetch.hosts]\n\"Wiki.example\" = [\"127.0.7.1:{port}\"]\n\"other.example\" = [\"127.0.7.2\"]\n"
    );
    // On one's own network nobody needs a contact.
    let arguments = ["http://wiki.example/", "--scope", "any"];
    crawl.crawl_by(&format!("{QUICK}{hosts}"), &arguments);
    assert_eq!(asked_of_host_0(&web), ["/robots.txt", "/", "/a"]);
    let log = crawl.log();
    assert!(log.iter().any(|line| line.url == "http://wiki.example/a"));
}
