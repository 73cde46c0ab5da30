//! A crawl that is killed with SIGKILL, again and again, at every step of the commit and at moments
//! of the server's choosing.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use gleaner::engine::Step;
use rustix::process::Signal;

use crate::audit::{Left, canonical, left, rows, simhash};
use crate::run::{Follower, PATIENCE, Place, Running, text};
use crate::web::{ClusterOptions, Random, Web, cluster_web};

/// Number of kills.
pub(crate) fn kills() -> usize {
    std::env::var("GLEANER_CRASH_KILLS")
        .map_or(27, |kills| kills.parse().expect("a number of kills"))
}

/// The steps that each crawl reaches.
pub(crate) fn steps() -> &'static [Step] {
    &Step::ALL[..Step::ALL.len() - 10]
}

/// Crawls a web undisturbed, then again with kills, and with these arguments beside.
pub(crate) fn crawl_twice(store: &str, seed: u64, beside: &[&str]) -> (Left, Left) {
    let kills = kills();
    let options = ClusterOptions {
        hosts: 6,
        // A run between two kills gets some ten pages on.
        pages_per_host: 30 + 3 * kills,
        seed,
    };
    let (sites, _) = cluster_web(options, &simhash);
    let web = Web::start(sites);
    // Checkpoints at every turn, and segments small enough to rotate.
    let settings = format!(
        "[archive]\nstore = \"{store}\"\nmax_file = \"60KB\"\nmax_log = \"20KB\"\n\
         [state]\ncheckpoint_interval = \"20ms\"\n[crawl]\nscope = \"any\"\n\
         [fetch]\nallow_private = true\nconcurrency = 4\n"
    );
    let seed_url = web.url(0, "/");
    let undisturbed = Place::new();
    undisturbed.crawl_by(&settings, &[&seed_url]);

    web.clear_log();
    let disturbed = Place::new();
    let data = disturbed.data();
    let config = disturbed.file("settings.toml", &settings);
    let start = |more: &[&str]| {
        let mut command =
            disturbed.command(&[&[&*seed_url, "--config", &config], beside, more].concat());
        command.stdout(Stdio::null());
        Running::start(command)
    };
    let (mut done, mut again) = (BTreeSet::new(), BTreeSet::new());
    let mut follower = None;
    let mut steps = steps().to_vec();
    if beside.contains(&"--commit-log") {
        steps.push(Step::LogAppended);
    }
    kill_often(
        (kills, seed, &steps),
        &web,
        &start,
        &mut |requests_before| {
            again.extend(asked_again(&web, requests_before, &done));
            if data.join("store").exists() {
                done.extend(rows(&data).values().map(|page| canonical(&page.url)));
            }
            if follower.is_none() && data.join("version").exists() {
                let Follower { running, lines } = disturbed.follow(&["--no-text"]);
                let read = || lines.map_while(Result::ok).collect::<Vec<_>>();
                follower = Some((running, std::thread::spawn(read)));
            }
        },
    );
    assert!(
        done.len() > kills / 2,
        "the kills must be spread over the crawl"
    );
    let requests_before = web.requests().len();
    start(&[]).end().expect(0);
    again.extend(asked_again(&web, requests_before, &done));
    let left_by_kills = left(&data);
    let segments = std::fs::read_dir(data.join("warc")).expect("there is an archive");
    assert!(segments.count() > 1, "the archive rotates in this test");

    // Whoever followed over all kills has read each page once, and whoever reads now reads the
    // same.
    let (running, reader) = follower.expect("the first run was killed");
    let followed = reader.join().expect("it only reads");
    running.end().expect(0);
    let told = disturbed.ask(&["pages", "--no-text"]).expect(0);
    assert!(told.stdout.lines().eq(followed.iter().map(String::as_str)));
    let mut visits: BTreeMap<String, usize> = BTreeMap::new();
    for page in told.json_lines() {
        *visits
            .entry(text(&page, "canonical").to_owned())
            .or_default() += 1;
    }
    assert!(visits.keys().eq(&left_by_kills.answered));
    // What was acknowledged is asked for again only to be judged again, or to see which of its
    // lines change, and has a line for each visit then.
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for line in crate::run::log(&data) {
        *lines.entry(canonical(&line.url)).or_default() += 1;
    }
    for url in &again {
        assert!(
            lines.get(url).is_some_and(|lines| *lines > 1),
            "{url} was fetched again"
        );
    }
    (left(&undisturbed.data()), left_by_kills)
}

/// Starts a crawl and kills it, again and again: at steps of the commit, and at moments of the
/// server's choosing. After each kill, tells how many requests were made before that start.
pub(crate) fn kill_often(
    (kills, seed, steps): (usize, u64, &[Step]),
    web: &Web,
    start: &dyn Fn(&[&str]) -> Running,
    after: &mut dyn FnMut(usize),
) {
    let mut random = Random::new(seed);
    for round in 1..=kills {
        let requests_before = web.requests().len();
        let chance = random.next_bits();
        let output = if round % 2 == 0 {
            let step = steps[(round / 2) % steps.len()].name();
            start(&["--failpoint", &format!("{step}:{}", 1 + chance % 3)]).end()
        } else {
            let running = start(&[]);
            let enough = requests_before + 1 + (chance % 9) as usize;
            let is_on = web.wait_for_requests(enough, PATIENCE);
            assert!(is_on, "no progress in round {round}");
            running.signal(Signal::KILL);
            running.end()
        };
        assert_eq!(output.code, 128 + 9, "round {round}: {output:#?}");
        after(requests_before);
    }
}

/// Of the requests after the first `before`, those for what was done then.
fn asked_again(web: &Web, before: usize, done: &BTreeSet<String>) -> Vec<String> {
    let requests = web.requests().into_iter().skip(before);
    let urls = requests.map(|it| canonical(&web.url(it.host, &it.path)));
    urls.filter(|url| done.contains(url)).collect()
}
