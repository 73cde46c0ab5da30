//! Hosts of many shards behind one address, as at a hoster: together the shards ask no more of it
//! than one machine would.

use std::time::Duration;

use crate::dns::{Answer as Names, Dns};
use crate::run::page;
use crate::web::{Answer, Site, Web};
use crate::workers::{Size, World};

const HOSTS: usize = 40;
const SHARDS: u16 = 8;
/// Pages of a host, besides its robots.txt.
const PAGES: usize = 3;
/// Time between two requests at an address.
const DELAY: Duration = Duration::from_millis(100);

pub(crate) fn is_asked_no_more_than_by_one_machine() {
    let site = Site::new().otherwise(|request| match request.path.as_str() {
        "/robots.txt" => Answer::status(404),
        "/" => {
            let links: Vec<String> = (1..PAGES).map(|number| format!("/{number}")).collect();
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            Answer::html(page("home", &links))
        }
        path => Answer::html(page(path, &[])),
    });
    let web = Web::start(vec![site]);
    let dns = Dns::start(|_, _| Names::of(&["127.0.7.1"], 3_600));
    let port = web.port();
    let seeds: Vec<String> = (0..HOSTS)
        .map(|number| format!("http://host{number}.example:{port}/"))
        .collect();
    let size = Size {
        shards: SHARDS,
        ..Size::default()
    };
    let settings = format!(
        "[politeness]\ndelay = \"1s\"\naddress_delay = \"{}ms\"\n\
         [fetch]\nallow_private = true\nuser_agent = \"test (+https://example.org)\"\n\
         nameservers = [\"{}\"]\n",
        DELAY.as_millis(),
        dns.address()
    );
    let world = World::over(web, size, &settings, &seeds);
    let address = world.servers.address("crawl");
    let workers = ["a", "b"].map(|name| world.start_at(&address, name, &[]));
    for worker in workers {
        worker.end().expect(0);
    }
    let requests = world.web.requests();
    assert_eq!(requests.len(), HOSTS * (1 + PAGES));
    for (before, request) in requests.iter().enumerate() {
        let since = request.arrived.duration_since(requests[0].arrived);
        let most = since.as_millis() / DELAY.as_millis() + u128::from(SHARDS);
        assert!(
            (before as u128) < most,
            "{before} requests before {since:?}"
        );
    }
    let took = requests[requests.len() - 1].arrived - requests[0].arrived;
    eprintln!("{} requests in {took:?}", requests.len());
}
