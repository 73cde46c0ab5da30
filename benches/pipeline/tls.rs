//! Crawls of many hosts with the default politeness, over TLS and without: what secure connections
//! cost, and how many of their handshakes resume a session.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::child::{self, Usage, spawn_on};
use crate::crawl::Plan;
use crate::secure::{Asked, Serving, address, name};

/// Hosts of the web.
pub(crate) const HOSTS: usize = 2_000;

/// Crawls the web as it is served in each way.
pub(crate) fn crawl(plan: &Plan, directory: &Path) {
    crate::say(
        "| served as | pages | missed | again | CPU s | wall s | pages per CPU s | sessions begun \
         | resumed | us of CPU time a page | peak MB |",
    );
    crate::say("|---|---|---|---|---|---|---|---|---|---|---|");
    for _ in 0..plan.rounds {
        for serving in Serving::ALL {
            let (usage, asked) = run(plan, serving, directory);
            crate::say(&row(serving, &usage, asked));
        }
    }
}

fn row(serving: Serving, usage: &Usage, asked: Asked) -> String {
    let pages = asked.pages.max(1) as f64;
    format!(
        "| {} | {} | {} | {} | {:.2} | {:.1} | {:.0} | {} | {} | {:.0} | {:.0} |",
        serving.name,
        asked.pages,
        asked.missed,
        asked.again,
        usage.cpu,
        usage.wall,
        pages / usage.cpu.max(0.01),
        asked.begun,
        asked.resumed,
        1e6 * usage.cpu / pages,
        usage.peak,
    )
}

fn run(plan: &Plan, serving: Serving, directory: &Path) -> (Usage, Asked) {
    let core = |number| plan.pin.then_some(number);
    let authority = directory.join("ca.pem");
    let mut command = Command::new(std::env::current_exe().expect("this bench runs"));
    command.args(["secure", serving.name, &plan.pages.to_string()]);
    command.arg(&authority);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut web = spawn_on(&mut command, core(1));
    let mut orders = web.stdin.take().expect("it is piped");
    let mut replies = BufReader::new(web.stdout.take().expect("it is piped")).lines();
    let mut reply = || replies.next().expect("it serves").expect("it says text");
    let port = reply();
    let (mut seeds, mut config) = (String::new(), String::new());
    if serving.scheme() == "https" {
        let _ = writeln!(
            config,
            "[fetch]\nca_files = [{:?}]",
            authority.display().to_string()
        );
    }
    config.push_str("[fetch.hosts]\n");
    for host in 0..HOSTS {
        let _ = writeln!(seeds, "{}://{}:{port}/", serving.scheme(), name(host));
        let _ = writeln!(config, "{:?} = [\"{}\"]", name(host), address(host));
    }
    let (seeds_file, config_file) = (directory.join("seeds.txt"), directory.join("config.toml"));
    fs::write(&seeds_file, seeds).expect("the directory is ours");
    fs::write(&config_file, config).expect("the directory is ours");
    let data = directory.join("crawl");
    let mut gleaner = Command::new(&plan.gleaner);
    gleaner.arg("crawl").arg("--seeds").arg(&seeds_file);
    gleaner.arg("--config").arg(&config_file);
    gleaner.arg("--data-dir").arg(&data);
    gleaner
        .args(["--allow-private", "--quiet"])
        .stdout(Stdio::null());
    let usage = child::run(&mut gleaner, core(0));
    writeln!(orders, "asked").expect("it serves");
    let asked = Asked::parse(&reply());
    drop(orders);
    let _ = web.kill();
    let _ = web.wait();
    fs::remove_dir_all(&data).expect("the directory is ours");
    (usage, asked)
}
