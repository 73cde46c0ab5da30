//! Honest sites: every page differs, and none may be lost.

use super::*;

/// Crawls a site over several seeds and compares what was found with what there is. At most
/// `dearest` requests per good page, in percent.
#[track_caller]
fn check(
    name: &str,
    (seeds, sitemap): (&[&str], &[String]),
    good: &BTreeSet<String>,
    dearest: usize,
    site: &dyn Fn(&Asked<'_>) -> Page,
) {
    for seed in 0..SEEDS.get() {
        let mut answer = |url: &Url| site(&Asked::of(url));
        let crawled = crawl(seeds, sitemap, 400_000, seed, &mut answer);
        let lost: Vec<&String> = good.iter().filter(|about| !crawled.has(about)).collect();
        let (count, requests) = (good.len(), crawled.requests);
        if seed == 0 {
            println!(
                "{name}: {requests} requests for {count} pages, {} left",
                crawled.left
            );
        }
        if !lost.is_empty() || requests * 100 > count * dearest {
            for ledger in crawled
                .ledgers
                .iter()
                .filter(|it| it.is_closed || it.times > 0)
            {
                println!(
                    "    {}: closed {} times {} deferred {} left {:?} sampled {} found {} quiet {:?}",
                    ledger.name,
                    ledger.is_closed,
                    ledger.times,
                    ledger.deferred,
                    ledger.left,
                    ledger.sampled,
                    ledger.found,
                    ledger.quiet
                );
            }
        }
        assert!(
            lost.is_empty(),
            "{name}, seed {seed}: {} of {count} lost, {:?}",
            lost.len(),
            &lost[..lost.len().min(5)]
        );
        assert!(
            requests * 100 <= count * dearest,
            "{name}, seed {seed}: {requests} requests for {count} pages"
        );
        assert!(crawled.ended, "{name}, seed {seed}");
    }
}

const HOME: (&[&str], &[String]) = (&["http://a.example/"], &[]);

fn names(prefix: &str, range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|n| format!("{prefix}{n}")).collect()
}

fn all(lists: &[Vec<String>]) -> BTreeSet<String> {
    lists.iter().flatten().cloned().collect()
}

#[test]
fn a_board_whose_threads_are_linked_by_their_first_page() {
    // 30 forums of 10 pages of 10 threads; each third thread has three pages.
    let pages = |thread: u64| if thread.is_multiple_of(3) { 3 } else { 1 };
    let site = |asked: &Asked<'_>| match asked.path {
        "/" => says("home", names("/forum?f=", 0..30)),
        "/forum" => {
            let (forum, page) = (
                asked.number("f").unwrap(),
                asked.number("page").unwrap_or(1),
            );
            let threads = (0..10).map(|n| forum * 100 + (page - 1) * 10 + n);
            let links = threads.flat_map(|it| {
                let more = (1..=pages(it)).map(move |page| format!("/thread?t={it}&page={page}"));
                [format!("/thread?t={it}")].into_iter().chain(more)
            });
            let next = (1..=10).map(|page| format!("/forum?f={forum}&page={page}"));
            says(
                &format!("forum {forum} {page}"),
                links.chain(next).collect(),
            )
        }
        _ => {
            let (thread, page) = (
                asked.number("t").unwrap(),
                asked.number("page").unwrap_or(1),
            );
            let links = (1..=pages(thread)).map(|page| format!("/thread?t={thread}&page={page}"));
            says(&format!("thread {thread} {page}"), links.collect())
        }
    };
    let threads =
        (0..3_000).flat_map(|it| (1..=pages(it)).map(move |page| format!("thread {it} {page}")));
    let forums = (0..30).flat_map(|it| (1..=10).map(move |page| format!("forum {it} {page}")));
    check("board", HOME, &threads.chain(forums).collect(), 115, &site);
}

#[test]
fn a_comic_with_previous_and_next() {
    let site = |asked: &Asked<'_>| {
        let day = asked
            .segments
            .iter()
            .fold(0, |sum, it| sum * 31 + it.parse::<u64>().unwrap_or(0));
        if asked.path == "/" {
            return says("home", vec!["/comic/2015/1/1".into()]);
        }
        let day = day - 2_015 * 961 - 32;
        let link = |day: u64| {
            format!(
                "/comic/{}/{}/{}",
                2_015 + day / 360,
                day / 30 % 12 + 1,
                day % 30 + 1
            )
        };
        let at = (day / 961) * 360 + (day % 961) / 31 * 30 + day % 31;
        let mut links = Vec::new();
        if at + 1 < 2_000 {
            links.push(link(at + 1));
        }
        if at > 0 {
            links.push(link(at - 1));
        }
        says(&format!("day {at}"), links)
    };
    check("comic", HOME, &all(&[names("day ", 0..2_000)]), 102, &site);
}

#[test]
fn a_reader_with_book_chapter_and_page() {
    let site = |asked: &Asked<'_>| {
        if asked.path == "/" {
            return says("home", names("/read.php?b=", 0..20));
        }
        let (b, ch, p) = (
            asked.number("b").unwrap(),
            asked.number("ch"),
            asked.number("p"),
        );
        let Some(ch) = ch else {
            let links = (0..30).map(|ch| format!("/read.php?b={b}&ch={ch}"));
            return says(&format!("book {b}"), links.collect());
        };
        let p = p.unwrap_or(0);
        let mut links = vec![];
        if p < 9 {
            links.push(format!("/read.php?b={b}&ch={ch}&p={}", p + 1));
        }
        says(&format!("text {b} {ch} {p}"), links)
    };
    let texts =
        (0..20).flat_map(|b| (0..300).map(move |n| format!("text {b} {} {}", n / 10, n % 10)));
    check("reader", HOME, &texts.collect(), 102, &site);
}

#[test]
fn archives_by_date() {
    let dates = |count: u64| (0..count).map(|n| (2_000 + n / 360, n / 30 % 12 + 1, n % 30 + 1));
    let articles: Vec<String> = dates(5_000)
        .map(|(y, m, d)| format!("http://a.example/{y}/{m:02}/{d:02}/news.html"))
        .collect();
    let site = |asked: &Asked<'_>| says(asked.path, vec!["/".into()]);
    let good = articles
        .iter()
        .map(|it| it.trim_start_matches("http://a.example").to_owned())
        .collect();
    check(
        "sitemap of dated articles",
        (HOME.0, &articles),
        &good,
        102,
        &site,
    );

    // By year, month and day; the lists say nothing of their own.
    let site = |asked: &Asked<'_>| match asked.segments.len() {
        0 => says("home", names("/archive/", 2_000..2_018)),
        2 => silent((1..=12).map(|m| format!("{}/{m:02}", asked.path)).collect()),
        3 => silent((1..=28).map(|d| format!("{}/{d:02}", asked.path)).collect()),
        _ => says(asked.path, vec![]),
    };
    let good = dates(18 * 360)
        .filter(|it| it.2 <= 28)
        .map(|(y, m, d)| format!("/archive/{y}/{m:02}/{d:02}"))
        .collect();
    check("newspaper", HOME, &good, 112, &site);

    // A blog with one page that lists everything.
    let all: Vec<String> = dates(3_000)
        .map(|(y, m, d)| format!("/{y}/{m:02}/{d:02}/post"))
        .collect();
    let good = all.iter().cloned().collect();
    let site = |asked: &Asked<'_>| match asked.path {
        "/" => silent(all.clone()),
        _ => says(asked.path, vec!["/".into()]),
    };
    check("blog", HOME, &good, 102, &site);
}

#[test]
fn a_shop_whose_sold_out_items_are_linked_first() {
    let site = |asked: &Asked<'_>| match asked.path {
        "/" => says(
            "home",
            names("/item/", 0..150)
                .into_iter()
                .chain(names("/list?page=", 1..51))
                .collect(),
        ),
        "/list" => {
            let page = asked.number("page").unwrap();
            says(
                &format!("list {page}"),
                names("/item/", 50 + page * 100..150 + page * 100),
            )
        }
        path => match numbered(path) {
            Some(n) if n < 150 => silent(vec!["/".into()]),
            _ => says(path, vec!["/".into()]),
        },
    };
    check(
        "shop",
        HOME,
        &all(&[names("/item/", 150..5_150), names("list ", 1..51)]),
        108,
        &site,
    );
}

#[test]
fn a_manual_in_many_versions() {
    // 20 versions of 500 pages; all but the newest two are one.
    let site = |asked: &Asked<'_>| {
        if asked.path == "/" {
            return says("home", (1..=20).map(|v| format!("/v{v}/")).collect());
        }
        let version = numbered(asked.segments[0]).unwrap();
        match asked.segments.get(1) {
            None => says(
                &format!("version {version}"),
                names(&format!("/v{version}/page"), 0..500),
            ),
            Some(page) if version > 18 => says(&format!("{version} {page}"), vec![]),
            Some(page) => says(page, vec![]),
        }
    };
    let newest = [19, 20].map(|v| (0..500).map(move |n| format!("{v} page{n}")));
    check(
        "manual",
        HOME,
        &newest
            .into_iter()
            .flatten()
            .chain(names("page", 0..500))
            .collect(),
        800,
        &site,
    );
}

#[test]
fn a_manual_in_languages_into_which_little_is_translated() {
    // 11 languages beside the original, 5 directories of 40 pages; what nobody has translated is
    // the original. Half of the languages have a few pages of their own, in some directories.
    const PAGES: u64 = 40;
    let folders = ["", "mod/", "programs/", "howto/", "platform/"];
    let is_own = |language: u64, folder: usize, page: u64| {
        let every = [0, 40, 0, 20, 0, 10, 0, 5, 0, 3, 0, 2][language as usize];
        let is_folder = (folder as u64 + language).is_multiple_of(2);
        language == 0 || every > 0 && is_folder && (page + language).is_multiple_of(every)
    };
    let site = |asked: &Asked<'_>| {
        if asked.path == "/" {
            return says("home", (0..12).map(|it| format!("/l{it}/index")).collect());
        }
        let language = numbered(asked.segments[0]).unwrap();
        let (name, folder) = match asked.segments[1..] {
            [name] => (name, ""),
            [folder, name] => (name, folder),
            _ => return silent(vec![]),
        };
        let of = |it: &&str| it.trim_end_matches('/') == folder;
        let folder = folders.iter().position(of).unwrap();
        let here = format!("{}{name}", folders[folder]);
        let mut links: Vec<String> = (0..12).map(|it| format!("/l{it}/{here}")).collect();
        links.extend(folders.map(|it| format!("/l{language}/{it}index")));
        let Some(page) = numbered(name) else {
            let pages = names(&format!("/l{language}/{}page", folders[folder]), 0..PAGES);
            links.extend(pages);
            return says(&here, links);
        };
        match is_own(language, folder, page) {
            true => says(&format!("{language} {here}"), links),
            false => says(&format!("0 {here}"), links),
        }
    };
    let mut good = BTreeSet::new();
    for (language, folder) in (0..12).flat_map(|it| (0..5).map(move |folder| (it, folder))) {
        let own = (0..PAGES).filter(|page| is_own(language, folder, *page));
        good.extend(own.map(|page| format!("{language} {}page{page}", folders[folder])));
    }
    check("languages", HOME, &good, 900, &site);
    let mut answer = |url: &Url| site(&Asked::of(url));
    let crawled = crawl(HOME.0, HOME.1, 400_000, 0, &mut answer);
    assert_eq!(crawled.left, 0, "of {} requests", crawled.requests);
}

#[test]
fn a_calendar_of_thirty_years_with_few_events() {
    let has_event = |month: u64| month.is_multiple_of(13) || (100..140).contains(&month);
    let site = |asked: &Asked<'_>| match asked.path {
        "/" => says("home", vec!["/calendar?year=2000&month=1".into()]),
        "/calendar" => {
            let month =
                (asked.number("year").unwrap() - 2_000) * 12 + asked.number("month").unwrap() - 1;
            let link = |month: u64| {
                format!(
                    "/calendar?year={}&month={}",
                    2_000 + month / 12,
                    month % 12 + 1
                )
            };
            let mut links = vec![];
            if month < 359 {
                links.push(link(month + 1));
            }
            if month > 0 {
                links.push(link(month - 1));
            }
            if has_event(month) {
                links.push(format!("/event/{month}"));
            }
            silent(links)
        }
        path => says(path, vec![]),
    };
    let good = (0..360)
        .filter(|it| has_event(*it))
        .map(|it| format!("/event/{it}"))
        .collect();
    check("calendar", HOME, &good, 800, &site);
}

#[test]
fn a_parameter_that_matters_rarely_or_late() {
    let home = |count| says("home", names("/list", 0..count));
    // On one page in fifty.
    let site = |asked: &Asked<'_>| match asked.path {
        "/" => home(30),
        path if path.starts_with("/list") => {
            let list = numbered(path).unwrap();
            says(
                path,
                (0..100)
                    .flat_map(|n| {
                        let at = list * 100 + n;
                        [format!("/p{at}"), format!("/p{at}?view=full")]
                    })
                    .collect(),
            )
        }
        path => match (asked.get("view"), numbered(path).unwrap() % 50) {
            (Some(_), 7) => says(&format!("{path} full"), vec![]),
            _ => says(path, vec![]),
        },
    };
    let full = (0..3_000)
        .filter(|n| n % 50 == 7)
        .map(|n| format!("/p{n} full"));
    check(
        "parameter, rarely",
        HOME,
        &full.chain(names("/p", 0..3_000)).collect(),
        200,
        &site,
    );

    // From page 2,500 on.
    let site = |asked: &Asked<'_>| match asked.path {
        "/" => home(50),
        path if path.starts_with("/list") => {
            let list = numbered(path).unwrap();
            says(
                path,
                (0..100)
                    .map(|n| {
                        let at = list * 100 + n;
                        format!("/p?id={}&lang={}", at / 2, ["de", "en"][(at % 2) as usize])
                    })
                    .collect(),
            )
        }
        _ => {
            let (id, lang) = (asked.number("id").unwrap(), asked.get("lang").unwrap());
            match id < 1_250 {
                true => says(&format!("{id}"), vec![]),
                false => says(&format!("{id} {lang}"), vec![]),
            }
        }
    };
    let late = (1_250..2_500).flat_map(|id| ["de", "en"].map(|lang| format!("{id} {lang}")));
    check(
        "parameter, late",
        HOME,
        &late.chain(names("", 0..1_250)).collect(),
        140,
        &site,
    );
}

#[test]
fn an_alias_that_goes_on_otherwise() {
    let site = |asked: &Asked<'_>| match asked.path {
        "/" => says("home", names("/m", 0..1_000)),
        path => match numbered(path).unwrap() < 400 {
            true => says(path, vec!["/".into()]),
            false => says(&format!("{} {path}", asked.host), vec!["/".into()]),
        },
    };
    let seeds = ["http://a.example/", "http://www.a.example/"];
    let own = (400..1_000)
        .flat_map(|n| ["a.example", "www.a.example"].map(|host| format!("{host} /m{n}")));
    check(
        "alias",
        (&seeds, &[]),
        &own.chain(names("/m", 0..400)).collect(),
        135,
        &site,
    );
}

#[test]
fn a_gallery() {
    let site = |asked: &Asked<'_>| match asked.segments.len() {
        0 => says("home", names("/album", 0..152)),
        1 => says(
            asked.path,
            (0..40)
                .flat_map(|n| {
                    let photo = format!("{}/photo{n}", asked.path);
                    [
                        photo.clone(),
                        format!("{photo}?size=large"),
                        format!("{photo}?size=small"),
                    ]
                })
                .collect(),
        ),
        _ => says(asked.path, vec![]),
    };
    let photos = (0..152).flat_map(|album| (0..40).map(move |n| format!("/album{album}/photo{n}")));
    check("gallery", HOME, &photos.collect(), 125, &site);
}

#[test]
fn a_tree_of_sections() {
    tree(100);
}

fn tree(sections: u64) {
    let site = |asked: &Asked<'_>| match asked.segments.len() {
        0 => silent(names("/section", 0..sections)),
        1 => silent(
            (0..100)
                .map(|n| format!("{}/page{n}", asked.path))
                .collect(),
        ),
        _ => says(asked.path, vec!["/".into()]),
    };
    let pages = (0..sections)
        .flat_map(|section| (0..100).map(move |n| format!("/section{section}/page{n}")));
    check("tree", HOME, &pages.collect(), 103, &site);
}

/// All of them with more seeds and larger, which takes a minute.
#[test]
#[ignore = "takes a minute; run it after changes to the rules"]
fn each_honest_site_with_more_seeds() {
    SEEDS.set(5);
    a_board_whose_threads_are_linked_by_their_first_page();
    a_comic_with_previous_and_next();
    a_reader_with_book_chapter_and_page();
    archives_by_date();
    a_shop_whose_sold_out_items_are_linked_first();
    a_manual_in_many_versions();
    a_manual_in_languages_into_which_little_is_translated();
    a_calendar_of_thirty_years_with_few_events();
    a_parameter_that_matters_rarely_or_late();
    an_alias_that_goes_on_otherwise();
    a_gallery();
    tree(500);
}
