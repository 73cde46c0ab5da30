//! What requisites may not cost: so many of a page, of a host, at a time.

use super::{CDN, asked, by_mode, crawl, css, image, tags, with};
use crate::run::{Place, anchors, leaves};
use crate::web::{Request, Site, Web};

#[test]
fn a_page_has_so_many_and_no_more() {
    let names = |from, to| tags("<img src=/", from..to, ".png>");
    let settings = by_mode("all") + "max_requisites = 4\n";
    let home = "<link rel=icon href=/0.png>".to_owned() + &names(1, 7);
    let all_images = |request: &Request| image(&request.path);
    let web = Web::start(vec![
        Site::new()
            .page("/", with("home", &home))
            .otherwise(all_images),
    ]);
    let (place, output) = crawl(&web, &settings);
    assert_eq!(
        asked(&web, 0),
        ["/", "/0.png", "/1.png", "/2.png", "/3.png"]
    );
    assert_eq!(
        place.status().counters.requisites.named["too-many-requisites"],
        3
    );
    assert!(
        output
            .stdout
            .contains("3  files: too many for a page (crawl.max_requisites)"),
        "{output:#?}"
    );

    // What its style sheets and frames need is the page's.
    let home =
        "<link rel=icon href=/0.png><link rel=stylesheet href=/s.css><iframe src='{host1}/f'>";
    let of_css = tags("p { background: url(/", 1..5, ".png) }");
    let web = Web::start(vec![
        Site::new()
            .page("/", with("home", home))
            .page("/s.css", css(&of_css))
            .otherwise(all_images),
        Site::new()
            .page("/f", with("frame", &names(5, 9)))
            .otherwise(all_images),
    ]);
    let (place, _) = crawl(&web, &settings);
    let counters = place.status().counters.requisites;
    assert_eq!((counters.fetched, counters.named["admitted"]), (4, 4));
    assert_eq!(counters.named["too-many-requisites"], 7);
    // Another page has as many again.
    let home = "<link rel=icon href=/0.png>".to_owned() + &names(1, 4) + &anchors(["/more"]);
    let more = "<link rel=icon href=/0.png>".to_owned() + &names(4, 8);
    let web = Web::start(vec![
        Site::new()
            .page("/", with("home", &home))
            .page("/more", with("more", &more))
            .otherwise(all_images),
    ]);
    let (place, _) = crawl(&web, &settings);
    assert_eq!(place.status().counters.requisites.fetched, 8);
}

/// Style sheets that import others without end, and frames in frames.
#[test]
fn what_needs_more_and_more_ends() {
    let endless = |request: &Request| {
        let number: u64 = request
            .path
            .trim_matches(|c: char| !c.is_ascii_digit())
            .parse()
            .unwrap_or(0);
        let next = number + 1;
        match request.path.contains("css") {
            true => css(&format!("@import '/css/{next}';")),
            false => with("frame", &format!("<iframe src='/frame/{next}'></iframe>")),
        }
    };
    let home = "<link rel=icon href=/css/0><link rel=stylesheet href=/css/1><iframe src='{host1}/frame/1'>";
    let web = Web::start(vec![
        Site::new().page("/", with("home", home)).otherwise(endless),
        Site::new().otherwise(endless),
    ]);
    let (place, _) = crawl(&web, &by_mode("all"));
    let counters = place.status().counters;
    assert_eq!((counters.pages, counters.queued), (1, 0));
    assert_eq!(counters.requisites.fetched, 1 + 9 + 9);
    assert_eq!(counters.requisites.named["too-many-requisites"], 2);
}

#[test]
fn patterns_and_budgets_hold_for_files_too() {
    let start = |images| {
        let images = tags("<img src='{host1}/", 0..images, ".png'>");
        let home = "<link rel=icon href=/i.png>".to_owned() + &images;
        let all_images = |request: &Request| image(&request.path);
        Web::start(vec![
            Site::new()
                .page("/", with("home", &home))
                .otherwise(all_images),
            Site::new().otherwise(all_images),
        ])
    };
    let web = start(6);
    let settings = by_mode("all") + "exclude = [\"*/3.png\"]\n[traps]\nmax_pages_per_host = 2\n";
    let (place, output) = crawl(&web, &settings);
    assert_eq!(asked(&web, CDN), ["/0.png", "/1.png"]);
    let named = place.status().counters.requisites.named;
    assert_eq!((named["excluded"], named["host-budget"]), (1, 3));
    assert!(
        output
            .stdout
            .contains("3  files: budget traps.max_pages_per_host used up"),
        "{output:#?}"
    );
    // Bytes are those of the host, whatever they are of. They count once they are committed, before
    // which a few dozen more may be fetched.
    let web = start(100);
    let settings = by_mode("all") + "[fetch]\nconcurrency = 1\n[traps]\nmax_bytes_per_host = 1\n";
    let (place, _) = crawl(&web, &settings);
    let counters = place.status().counters;
    assert!(asked(&web, CDN).len() < 100, "{:?}", asked(&web, CDN));
    assert!(counters.requisites.failures["budget"] > 0, "{counters:#?}");
    assert_eq!((counters.failed, counters.queued), (0, 0));
}

/// A delay of its own makes nothing parallel: a host is asked for one thing at a time.
#[test]
fn nothing_of_a_host_is_fetched_at_once_with_something_else() {
    let web = Web::start(vec![leaves().page(
        "/",
        with("home", "<img src=/1.png><img src=/2.png><a href=/a>a</a>"),
    )]);
    let place = Place::new();
    let settings = by_mode("all") + "[politeness]\nrequisite_delay = \"1ms\"\n";
    place.crawl_by(&settings, &[&web.url(0, "/"), "--delay", "20ms"]);
    assert_eq!(web.max_concurrent(0), 1);
    assert_eq!(place.status().counters.requisites.fetched, 3);
}
