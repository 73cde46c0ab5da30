//! The innocent first, then the guilty.

use std::time::Duration;

use super::*;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const READ: Needs = Needs {
    store: false,
    writes: false,
    is_open: false,
};
const WRITE: Needs = Needs {
    writes: true,
    ..READ
};

fn access(hosts: &[&str], token: Option<&str>) -> Access {
    let hosts: Vec<String> = hosts.iter().map(|it| (*it).to_owned()).collect();
    let own = Some("192.0.2.7".parse().unwrap());
    Access::new(own, &hosts, token.map(Token::new)).unwrap()
}

/// The status with which a request is refused; 200 if it passes.
fn status(access: &Access, needs: Needs, headers: &[(&str, &str)]) -> u16 {
    let method = match needs.writes {
        true => Method::POST,
        false => Method::GET,
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    let ends = Ends {
        client: None,
        own: Some("198.51.100.9".parse().unwrap()),
    };
    let uri = "/api/v1/status".parse().unwrap();
    match access.check(needs, (&method, &uri, &map), ends) {
        Ok(()) => 200,
        Err(failed) => axum::response::IntoResponse::into_response(failed)
            .status()
            .as_u16(),
    }
}

const HERE: (&str, &str) = ("host", "127.0.0.1:7979");
const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn who_is_of_this_machine_may_come() {
    let access = access(&["crawl.example.org"], None);
    for host in [
        "127.0.0.1:7979",
        "127.0.0.2",
        "localhost",
        "LOCALHOST:80",
        "localhost.",
        "a.localhost:1",
        "[::1]:7979",
        "192.0.2.7:1",
        "198.51.100.9:7979",
        "crawl.example.org",
        "Crawl.Example.org:8443",
    ] {
        assert_eq!(status(&access, READ, &[("host", host)]), 200, "{host}");
    }
    // curl; a browser's own page; the same behind a proxy that keeps the name, or sets its own.
    assert_eq!(status(&access, WRITE, &[HERE, JSON]), 200);
    let utf8 = ("content-type", "application/json; charset=utf-8");
    assert_eq!(status(&access, WRITE, &[HERE, utf8]), 200);
    for (host, origin) in [
        ("127.0.0.1:7979", "http://127.0.0.1:7979"),
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("crawl.example.org", "https://crawl.example.org"),
        ("127.0.0.1:7979", "https://crawl.example.org"),
    ] {
        let headers = [
            ("host", host),
            JSON,
            ("origin", origin),
            ("sec-fetch-site", "same-origin"),
        ];
        assert_eq!(status(&access, WRITE, &headers), 200, "{host} {origin}");
    }
    // A bookmark, and a link on a page of another site.
    for (site, mode) in [("none", "navigate"), ("cross-site", "navigate")] {
        let headers = [HERE, ("sec-fetch-site", site), ("sec-fetch-mode", mode)];
        assert_eq!(status(&access, READ, &headers), 200, "{site}");
    }
}

#[test]
fn names_that_are_not_ours_are_not_answered() {
    let access = access(&["crawl.example.org:8443"], None);
    for host in [
        "evil.example",
        "evil.example:7979",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.0.2.8",
        "crawl.example.org",
        "crawl.example.org:8444",
        "a.crawl.example.org:8443",
        "0.0.0.0:7979",
    ] {
        assert_eq!(status(&access, READ, &[("host", host)]), 403, "{host}");
        assert_eq!(
            status(&access, WRITE, &[("host", host), JSON]),
            403,
            "{host}"
        );
    }
    for bad in ["", "a b", "127.0.0.1:x", "[::1", "user@localhost"] {
        assert_eq!(status(&access, READ, &[("host", bad)]), 400, "{bad}");
    }
    assert_eq!(status(&access, READ, &[]), 400);
    assert_eq!(status(&access, READ, &[HERE, HERE]), 400);
    let headers = HeaderMap::from_iter([(HOST, "localhost".parse().unwrap())]);
    let uri = "http://evil.example/api/v1/status".parse().unwrap();
    let absolute = access.check(READ, (&Method::GET, &uri, &headers), Ends::default());
    assert!(absolute.is_err(), "the name in the target counts too");
}

#[test]
fn what_another_site_sends_is_refused() {
    let access = access(&[], None);
    for origin in [
        "http://evil.example",
        "null",
        "http://127.0.0.1:7980",
        "http://localhost:7979",
        "https://127.0.0.1",
        "file://",
        "chrome-extension://abc",
        "http://127.0.0.1:7979.evil.example",
    ] {
        for needs in [READ, WRITE] {
            let headers = [HERE, JSON, ("origin", origin)];
            assert_eq!(status(&access, needs, &headers), 403, "{origin}");
        }
    }
    for site in ["cross-site", "same-site", "none", "anything"] {
        let headers = [HERE, JSON, ("sec-fetch-site", site)];
        assert_eq!(status(&access, WRITE, &headers), 403, "{site}");
        let headers = [
            HERE,
            JSON,
            ("sec-fetch-site", site),
            ("sec-fetch-mode", "navigate"),
        ];
        assert_eq!(status(&access, WRITE, &headers), 403, "{site}");
    }
    let image = [
        HERE,
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "no-cors"),
    ];
    assert_eq!(status(&access, READ, &image), 403);
    for kind in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "application/jsonp",
        "",
    ] {
        let headers = [HERE, ("content-type", kind)];
        assert_eq!(status(&access, WRITE, &headers), 415, "{kind}");
    }
    assert_eq!(status(&access, WRITE, &[HERE]), 415);
}

#[test]
fn a_token_opens_all_but_what_says_nothing() {
    let access = access(&[], Some(TOKEN));
    let right = format!("Bearer {TOKEN}");
    for given in [right.clone(), right.replace("Bearer", "bearer")] {
        let headers = [HERE, JSON, ("authorization", given.as_str())];
        assert_eq!(status(&access, READ, &headers), 200);
        assert_eq!(status(&access, WRITE, &headers), 200);
    }
    let longer = format!("{right}x");
    let shorter = &right[..right.len() - 1];
    for wrong in [TOKEN, "Bearer ", "Bearer x", &longer, shorter, "Basic abc"] {
        let headers = [HERE, JSON, ("authorization", wrong)];
        assert_eq!(status(&access, READ, &headers), 401, "{wrong}");
        assert_eq!(status(&access, WRITE, &headers), 401, "{wrong}");
    }
    assert_eq!(status(&access, READ, &[HERE]), 401);
    let open = Needs {
        is_open: true,
        ..READ
    };
    assert_eq!(status(&access, open, &[HERE]), 200);
    assert_eq!(status(&access, open, &[("host", "evil.example")]), 403);
}

#[test]
fn a_client_may_read_so_often_a_second_and_no_other_is_kept_from_it() {
    let reads = Reads::default();
    let now = Instant::now();
    let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|it| it.parse().ok());
    let admitted = |client, at| (0..60).filter(|_| reads.admits_at(client, at)).count();
    assert_eq!(admitted(one, now), 50);
    assert_eq!(admitted(other, now), 50);
    assert_eq!(admitted(one, now + Duration::from_millis(999)), 0);
    assert_eq!(admitted(one, now + Duration::from_secs(1)), 50);
    assert_eq!(admitted(None, now + Duration::from_secs(1)), 50);
}

#[test]
fn names_that_are_none_are_refused_at_the_start() {
    let refused = |host: &str| Access::new(None, &[host.to_owned()], None).is_err();
    for bad in ["", "https://crawl.example.org", "a/b", "a b", "a:x"] {
        assert!(refused(bad), "{bad}");
    }
    assert!(!refused("crawl.example.org:443"));
}
