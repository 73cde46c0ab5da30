//! Configuration: which layer wins, what is said of a wrong one, and that the help tells the
//! defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use gleaner::config::{self, Config, flatten};
use insta::assert_snapshot;
use serde_json::Value;

use crate::run::{Output, Place, gleaner, linking, page, run};
use crate::web::{Answer, Web};

/// Exit code of wrong arguments and configurations.
const USAGE: i32 = 2;

/// Every flag that sets something, the key that it sets, and a value that is not the default.
pub(crate) const FLAGS: [(&str, &str, &str); 14] = [
    ("--max-depth", "crawl.max_depth", "7"),
    ("--scope", "crawl.scope", "any"),
    ("--extra-hops", "crawl.extra_hops", "7"),
    ("--limit-rate", "fetch.limit_rate", "7MiB"),
    ("--delay", "politeness.delay", "7s"),
    ("--concurrency", "fetch.concurrency", "7"),
    ("--max-rate", "politeness.max_rate", "7"),
    ("--max-memory", "state.max_memory", "7GiB"),
    ("--user-agent", "fetch.user_agent", "7 \"7\" #\\7 'x'"),
    ("--proxy", "fetch.proxy", "http://127.0.0.1:7"),
    ("--robots", "crawl.robots", "ignore"),
    ("--listen", "daemon.listen", "127.0.0.1:7"),
    ("--token-file", "daemon.token_file", "/7"),
    // Takes no value: to give it is to say so.
    ("--allow-private", "fetch.allow_private", "true"),
];

/// Every flag that adds to a list or table, and the key that has it.
pub(crate) const ADDING: [(&str, &str); 7] = [
    ("--include", "crawl.include"),
    ("--exclude", "crawl.exclude"),
    ("--block-list", "crawl.block_lists"),
    ("--cookies", "fetch.cookie_files"),
    ("--header", "fetch.headers"),
    ("--accept", "fetch.accept"),
    ("--reject", "fetch.reject"),
];

/// Flags of `gleaner config show` that set nothing, or anything, or a list of paths.
const OTHER_FLAGS: [&str; 10] = [
    "--since",
    "--config",
    "--data-dir",
    "--reset-settings",
    "--set",
    "--host",
    "--json",
    "--log",
    "--log-format",
    "--help",
];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("the repository has it")
}

/// The command with these variables.
fn with_environment(mut command: Command, variables: &[(&str, &str)]) -> Command {
    command.envs(variables.iter().copied());
    command
}

fn show(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let arguments = [&["config", "show"], arguments].concat();
    run(with_environment(gleaner(&arguments), variables))
}

/// Every flag of [`FLAGS`] with its value.
fn all_flags() -> Vec<&'static str> {
    let mut arguments = Vec::new();
    for (flag, _, value) in FLAGS {
        arguments.push(flag);
        arguments.extend((value != "true").then_some(value));
    }
    arguments
}

/// What `--help` of a command says of each flag, on one line.
fn help(command: &[&str]) -> BTreeMap<String, String> {
    let output = run(gleaner(&[command, &["--help"]].concat())).expect(0);
    let mut flags: BTreeMap<String, String> = BTreeMap::new();
    let mut flag = None;
    for line in output.stdout.lines().map(str::trim) {
        let words = line.split([' ', ',']);
        if let Some(long) = words.into_iter().find(|it| it.starts_with("--"))
            && line.starts_with('-')
        {
            flag = Some(long.to_owned());
        }
        if line.is_empty() || line.ends_with(':') {
            continue;
        }
        if let Some(flag) = &flag {
            let said = flags.entry(flag.clone()).or_default();
            said.push_str(line);
            said.push(' ');
        }
    }
    flags
}

#[test]
fn a_crawl_takes_file_environment_and_flags_in_this_order() {
    let web = Web::start(vec![
        linking(&["/1"])
            .page("/1", Answer::html(page("one", &["/2"])))
            .page("/2", Answer::html(page("two", &["/3"]))),
    ]);
    let check = |variables: &[(&str, &str)], flags: &[&str], pages: usize| {
        let place = Place::new();
        let file = place.file("config.toml", "[crawl]\nmax_depth = 0\n");
        let seed = web.url(0, "/");
        let arguments = [&[&*seed, "--config", &file], flags].concat();
        run(with_environment(place.command(&arguments), variables)).expect(0);
        assert_eq!(place.pages().len(), pages, "{variables:?} {flags:?}");
    };
    check(&[], &[], 1);
    check(&[("GLEANER_CRAWL_MAX_DEPTH", "1")], &[], 2);
    check(
        &[("GLEANER_CRAWL_MAX_DEPTH", "1")],
        &["--max-depth", "2"],
        3,
    );
    check(&[("GLEANER_CRAWL_MAX_DEPTH", "none")], &[], 4);
}

#[test]
fn show_says_who_set_what() {
    let place = Place::new();
    let text = "[politeness]\ndelay = \"2s\"\nbackoff = \"60s\"\nattempts = 9\n";
    let file = place.file("my\nown.toml", text);
    let variables = [
        ("GLEANER_POLITENESS_DELAY", "3s"),
        ("GLEANER_POLITENESS_ATTEMPTS", "4"),
    ];
    let arguments = ["--config", &file, "--delay", "4s"];
    let output = show(&arguments, &variables).expect(0);
    assert_eq!(output.stderr, "");
    let file_shown = file.replace('\n', "\\n");
    for line in [
        "politeness.delay = \"4s\"  # --delay",
        "politeness.attempts = 4  # GLEANER_POLITENESS_ATTEMPTS",
        &format!("politeness.backoff = \"1m\"  # {file_shown}"),
        "archive.store = \"unique\"  # default",
        "# crawl.max_depth = none  # default",
    ] {
        let found = output.stdout.lines().any(|it| it == line);
        assert!(found, "no line {line:?} in {}", output.stdout);
    }
    let lines = output.stdout.lines().count();
    assert_eq!(lines, flatten(&Config::default()).len());

    let arguments = [&["--json"][..], &arguments].concat();
    let output = show(&arguments, &variables).expect(0);
    let shown = output.json();
    let expected = serde_json::json!({"value": "4s", "layer": "flag", "from": "--delay"});
    assert_eq!(shown["politeness.delay"], expected);
    assert_eq!(shown["politeness.backoff"]["layer"], "file");
    assert_eq!(shown["politeness.backoff"]["from"], *file);
    assert_eq!(shown["politeness.attempts"]["layer"], "environment");
    assert_eq!(shown["crawl.max_depth"]["value"], Value::Null);
    assert_eq!(shown.as_object().map(serde_json::Map::len), Some(lines));
}

#[test]
fn what_show_prints_is_a_configuration_file() {
    let hosts = "{ 'wiki.example' = ['10.0.0.5', 'fd00::5'], other = ['10.0.0.6:81'] }";
    let variables = [("GLEANER_FETCH_HOSTS", hosts)];
    let shown = show(&all_flags(), &variables).expect(0).stdout;
    let place = Place::new();
    let file = place.file("shown.toml", &shown);
    let again = show(&["--config", &file], &[]).expect(0).stdout;
    let values = |text: &str| -> Vec<String> {
        let value = |line: &str| line.rsplit_once("  # ").map(|(value, _)| value.to_owned());
        text.lines().filter_map(value).collect()
    };
    assert_eq!(values(&shown), values(&again));
    let loaded = config::load(config::Sources::of(&file), [], []).expect("it was shown");
    assert_eq!(loaded.config.fetch.user_agent, "7 \"7\" #\\7 'x'");
    assert_eq!(loaded.config.politeness.delay.to_string(), "7s");
    let addresses = loaded.config.fetch.hosts.addresses("wiki.example");
    assert_eq!(addresses.map(<[_]>::len), Some(2));
}

/// Two entries, the second for a name below one of the first's.
const DOMAINS: &str = r#"
politeness.delay = "2s"

[[domain]]
name = "slow \n ones"
match = ["example.org", "*.example.net"]
politeness.delay = "5s"
crawl.robots = "ignore"

[[domain]]
match = ["www.example.org"]
[domain.politeness]
delay = "9s"
attempts = 1
"#;

#[test]
fn show_tells_what_differs_at_some_hosts() {
    let place = Place::new();
    let file = place.file("own.toml", DOMAINS);
    let shown = show(&["--config", &file], &[]).expect(0).stdout;
    let entries: String = shown
        .lines()
        .skip_while(|it| !it.is_empty())
        .fold(String::new(), |text, line| {
            text + line.trim_end_matches(&format!("  # {file}")) + "\n"
        });
    let expected = "\n[[domain]]\nname = \"slow \\n ones\"\n\
        match = [\"example.org\",\"*.example.net\"]\n\
        crawl.robots = \"ignore\"\npoliteness.delay = \"5s\"\n\
        \n[[domain]]\nmatch = [\"www.example.org\"]\n\
        politeness.attempts = 1\npoliteness.delay = \"9s\"\n";
    assert_eq!(entries, expected);
    // It is a configuration file again.
    let load = |file: &str| config::load(config::Sources::of(file), [], []).expect("it is one");
    let again = place.file("again.toml", &shown);
    assert_eq!(load(&again).config, load(&file).config);

    let shown = show(&["--config", &file, "--json"], &[]).expect(0).json();
    assert_eq!(shown["domain"]["from"], *file);
    let entry = &shown["domain"]["value"][1];
    assert_eq!(entry["match"][0], "www.example.org");
    assert_eq!(entry["settings"]["politeness.delay"], "9s");
    run(gleaner(&["config", "check", "--config", &file]))
        .expect(0)
        .says(&["keys set: 1", "[[domain]]: 2"]);
}

#[test]
fn show_tells_what_holds_at_one_host() {
    let place = Place::new();
    let file = place.file("own.toml", DOMAINS);
    let check = |host: &str, lines: &[&str]| {
        // A flag sets what holds for the whole crawl, and no more.
        let arguments = ["--config", &file, "--delay", "3s", "--host", host];
        let shown = show(&arguments, &[]).expect(0).stdout;
        for line in lines {
            let found = shown.lines().any(|it| it == *line);
            assert!(found, "{host}: no line {line:?} in {shown}");
        }
        assert_eq!(shown.lines().count(), flatten(&Config::default()).len());
    };
    check("example.com", &["politeness.delay = \"3s\"  # --delay"]);
    let first = format!("{file}, [[domain]] 1 (slow \\n ones)");
    let second = format!("{file}, [[domain]] 2, www.example.org");
    check(
        "http://www.example.org/a",
        &[
            &format!("politeness.delay = \"9s\"  # {second}"),
            &format!("politeness.attempts = 1  # {second}"),
            &format!("crawl.robots = \"ignore\"  # {first}, example.org"),
            "politeness.backoff = \"5s\"  # default",
        ],
    );
    check(
        "a.example.net:81",
        &[&format!(
            "politeness.delay = \"5s\"  # {first}, *.example.net"
        )],
    );
    check("example.net", &["politeness.delay = \"3s\"  # --delay"]);
    show(&["--host", "a b"], &[])
        .expect(USAGE)
        .says(&["--host", "a b", "give a name"]);
}

/// What `gleaner config check` says of files that it must refuse, each with this before it.
fn refusals(before: &str, files: &[&str]) -> String {
    let place = Place::new();
    let mut said = String::new();
    for text in files {
        let file = place.file("bad.toml", &format!("{before}{text}\n"));
        let output = run(gleaner(&["config", "check", "--config", &file])).expect(USAGE);
        assert!(output.stderr.contains(&file), "{output:?}");
        let refusal = output.stderr.replace(&file, "FILE");
        let _ = writeln!(said, "{text}\n=> {refusal}");
    }
    said
}

#[test]
fn wrong_entries_of_domains_are_refused_with_their_place() {
    let entry = "[[domain]]\nmatch = [\"b.example\"]\n";
    let sound =
        "crawl.max_depth = 3\n\n[[domain]]\nmatch = [\"a.example\"]\npoliteness.attempts = 1\n\n";
    let keys = [
        "politeness.dellay = \"1s\"",
        "fetch.max_header = \"1MiB\"",
        "",
        "[politeness]\ndelay = \"1s\"",
        "politeness.attempts = 0",
        "politeness.delay = 5",
    ];
    assert_snapshot!(
        "wrong_keys_of_domains",
        refusals(&format!("{sound}{entry}"), &keys)
    );
    let entries = [
        "[[domain]]\nmatch = [\"A.example.\"]\ncrawl.max_depth = 1",
        "[[domain]]\nmatch = [\"http://b.example/\"]",
    ];
    assert_snapshot!("wrong_domains", refusals(sound, &entries));
    let files = [
        "[fetch.hosts]\n\"a.example\" = []",
        "[domain]\nmatch = [\"b.example\"]",
    ];
    assert_snapshot!("wrong_hosts", refusals("", &files));
}

#[test]
fn rules_of_deduplication_are_shown() {
    let place = Place::new();
    let text = "[dedup]\nmethod = \"minhash\"\n\n[[dedup.rule]]\nname = \"print\"\n\
        match = [\"/print/\", \"a.example\"]\ntiers = [\"raw\"]\nsimilarity = 0.95\n";
    let file = place.file("rules.toml", text);
    let shown = show(&["--config", &file], &[]).expect(0).stdout;
    for line in [
        "dedup.method = \"minhash\"",
        "[[dedup.rule]]",
        "match = [\"/print/\",\"a.example\"]",
        "tiers = [\"raw\"]",
        "similarity = 0.95",
    ] {
        let found = shown.lines().any(|it| it.starts_with(line));
        assert!(found, "no line {line:?} in {shown}");
    }
    let load = |file: &str| config::load(config::Sources::of(file), [], []).expect("it is one");
    let again = place.file("again.toml", &shown);
    assert_eq!(load(&again).config, load(&file).config);
    let shown = show(&["--config", &file, "--json"], &[]).expect(0).json();
    assert_eq!(
        shown["dedup.rule"]["value"][0]["settings"]["similarity"],
        0.95
    );
    let arguments = ["--config", &file, "--host", "www.a.example"];
    let shown = show(&arguments, &[]).expect(0).stdout;
    let line = format!("dedup.similarity = 0.95  # {file}, [[dedup.rule]] 1 (print), a.example");
    assert!(shown.lines().any(|it| it == line), "no {line} in {shown}");
    run(gleaner(&["config", "check", "--config", &file]))
        .expect(0)
        .says(&["keys set: 1", "[[dedup.rule]]: 1"]);
    let lists = [
        ("GLEANER_DEDUP_TIERS", "raw, near"),
        ("GLEANER_DEDUP_MASKS", "dates"),
    ];
    let shown = show(&[], &lists).expect(0).stdout;
    assert!(
        shown.contains("dedup.tiers = [\"raw\",\"near\"]  # GLEANER_DEDUP_TIERS"),
        "{shown}"
    );
}

#[test]
fn wrong_rules_of_deduplication_are_refused_with_their_place() {
    let entry = "[[dedup.rule]]\nmatch = [\"/print/\"]\n";
    let sound = "crawl.max_depth = 3\n\n[[dedup.rule]]\nmatch = [\"b.example\"]\nhamming = 3\n\n";
    let keys = [
        "similarity = 0.5",
        "hamming = 11",
        "method = \"minhash\"",
        "similarty = 0.9",
        "masks = []",
        "",
    ];
    assert_snapshot!(
        "wrong_keys_of_rules",
        refusals(&format!("{sound}{entry}"), &keys)
    );
    let rules = [
        "[[dedup.rule]]\nhamming = 1",
        "[[dedup.rule]]\nmatch = [\"B.example.\"]\nhamming = 1",
        "[[dedup.rule]]\nmatch = [\"http://b.example/\"]\nhamming = 1",
        "[[dedup.rule]]\nmatch = [\"c.example\"]\ntiers = [\"fuzzy\"]",
    ];
    assert_snapshot!("wrong_rules", refusals(sound, &rules));
    let files = [
        "[dedup]\nsimilarity = 0.7",
        "[dedup]\nbands = 30",
        "[dedup]\nsimhash_shingle = \"letters\"",
        "[dedup.rule]\nhamming = 1",
    ];
    assert_snapshot!("wrong_dedup", refusals("", &files));
}

#[test]
fn wrong_variables_are_refused_before_anything_begins() {
    let place = Place::new();
    for (name, value, says) in [
        ("POLITNESS_DELAY", "2s", "GLEANER_POLITENESS_DELAY?"),
        ("DATA_DIR", "/tmp", "no setting"),
        ("POLITENESS_DELAY", "soon", "\"soon\""),
        ("FETCH_CONCURRENCY", "0", "at least 1"),
    ] {
        let name = format!("GLEANER_{name}");
        let variables = [(&*name, value)];
        let crawl = place.command(&["http://127.0.0.1:9/"]);
        for command in [crawl, gleaner(&["config", "show"])] {
            let output = run(with_environment(command, &variables));
            let output = output.expect(USAGE).says(&["error: ", &name, says]);
            assert_eq!(output.stdout, "");
        }
        assert!(!place.data().exists());
    }
    // The names that are none of ours, or set nothing.
    let others = [
        ("GLEANER_CRASH_KILLS", "27"),
        ("GLEANER_SERVICE_HOST", "10.0.0.1"),
        ("GLEANER", "1"),
        ("GLEANERS_DELAY", "1s"),
    ];
    let output = show(&[], &others).expect(0);
    assert!(output.stdout.lines().all(|it| it.ends_with("  # default")));
}

#[test]
fn check_looks_at_the_file_alone() {
    let place = Place::new();
    let good = place.file(
        "good.toml",
        "politeness.delay = \"2s\"\nfetch.max_body = \"1MiB\"\n",
    );
    let bad = place.file("bad.toml", "[fetch]\nconcurrency = 0\n");
    let check = |file: &str| {
        let command = gleaner(&["config", "check", "--config", file]);
        run(with_environment(
            command,
            &[("GLEANER_FETCH_CONCURRENCY", "1"), ("GLEANER_NONSENSE", "")],
        ))
    };
    check(&good).expect(0).says(&[&good, "keys set: 2"]);
    check(&bad)
        .expect(USAGE)
        .says(&[&bad, "fetch.concurrency", "at least 1"]);
    let missing = place.data();
    check(missing.to_str().expect("an ASCII path"))
        .expect(USAGE)
        .says(&["cannot read", "--config"]);
    run(gleaner(&["config"]))
        .expect(USAGE)
        .says(&["show", "check"]);
    run(gleaner(&["config", "check"]))
        .expect(USAGE)
        .says(&["--config"]);
}

#[test]
fn flags_set_their_keys_and_name_their_defaults() {
    let output = show(&[&["--json"][..], &all_flags()].concat(), &[]).expect(0);
    let shown = output.json();
    let mut by_flag = BTreeMap::new();
    for (key, setting) in shown.as_object().expect("an object") {
        if setting["layer"] == "flag" {
            let flag = setting["from"].as_str().expect("a name");
            let value = match &setting["value"] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            by_flag.insert(flag.to_owned(), (key.clone(), value));
        }
    }
    let expected: BTreeMap<_, _> = FLAGS
        .into_iter()
        .map(|(flag, key, value)| (flag.to_owned(), (key.to_owned(), value.to_owned())))
        .collect();
    assert_eq!(by_flag, expected);

    let (of_show, of_crawl) = (help(&["config", "show"]), help(&["crawl"]));
    let setting: BTreeSet<&str> = of_show
        .keys()
        .map(String::as_str)
        .filter(|flag| !OTHER_FLAGS.contains(flag))
        .collect();
    let setting_flags = FLAGS.iter().map(|(flag, ..)| *flag);
    let adding = ADDING.iter().map(|(flag, _)| *flag);
    assert_eq!(setting, setting_flags.chain(adding).collect());
    for (flag, key) in ADDING {
        let help = &of_crawl[flag];
        assert!(help.contains(&format!("added to {key}")), "{help}");
    }
    let defaults = flatten(&Config::default());
    for (flag, key, value) in FLAGS {
        assert_ne!(defaults[key], value, "{flag}: the test says nothing");
        let default = format!("[default: {}]", defaults[key]);
        for help in [&of_show, &of_crawl] {
            // A flag without a value turns on what is off.
            let is_told = match value {
                "true" => defaults[key] == "false",
                _ => help[flag].contains(&default),
            };
            assert!(is_told, "no {default} in {:?}", help[flag]);
        }
    }
}
