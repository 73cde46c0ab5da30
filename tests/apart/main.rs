//! Tests that need more than a thread of a test binary: a process that is killed, a network or a
//! file system of their own, a tool that is not written in Rust. What this machine cannot give is
//! named, and the tests that need it are reported as ignored, never as passed.
//!
//! Without libtest's harness, because that decides what is ignored when it compiles: [`main`] lists
//! the tests and what each needs. `cargo test` and `cargo nextest` both understand the list.
//!
//! - `need`: what a test may need, and whether this machine has it.
//! - `cluster`: a crawl that commits to a log of NATS, and its servers, killed.
//! - `workers`: workers that share a crawl, killed, stopped, cut off and without their disks.
//! - `soak`: the same through minutes of faults of all kinds.
//! - `one_address`: hosts of many shards behind one address.
//! - `acceptance`: what such a crawl costs and what holds it up, measured.
//! - `child`: this binary again, as the process that a test kills.
//! - `console`, `console_states`: the page of the console, in a browser.
//! - `guard`, `hostile`: which addresses are contacted, in a network of their own.
//! - `faults`: I/O calls that fail, power cuts, damaged files, clocks that jump.
//! - `full_disk`: a file system that fills up.
//! - `packages`: what installs gleaner elsewhere, installed and run.
//! - `scale`, `documents`: the benches with kills, small.
//! - `tools`, `tables`: what other programs make of what gleaner writes.

mod child;
mod need;

mod acceptance;
mod cluster;
mod console;
mod console_states;
mod documents;
mod faults;
mod full_disk;
mod guard;
mod hostile;
mod one_address;
mod packages;
mod scale;
mod soak;
mod tables;
mod tools;
mod workers;

#[path = "../support/audit.rs"]
mod audit;

#[path = "../support/browser.rs"]
mod browser;

#[path = "../support/dns.rs"]
mod dns;

#[path = "../support/hostile/mod.rs"]
mod hostile_hosts;

#[path = "../support/contract.rs"]
mod contract;

#[path = "../support/kills.rs"]
mod kills;

#[path = "../support/nats.rs"]
mod nats;

#[path = "../support/proxy.rs"]
mod proxy;

#[path = "../support/run.rs"]
mod run;

#[path = "../support/tls.rs"]
mod tls;

#[path = "../support/web/mod.rs"]
mod web;

// The parts of the benches that are tested here.

#[path = "../../benches/scale/commit.rs"]
mod commit;
#[path = "../../benches/scale/measure.rs"]
mod measure;
#[path = "../../benches/scale/queue.rs"]
mod queue;
#[path = "../../benches/documents/rehearsal.rs"]
mod rehearsal;
#[path = "../../benches/scale/restart.rs"]
mod restart;
#[path = "../../benches/scale/seen.rs"]
mod seen;
#[path = "../../benches/scale/urls.rs"]
mod urls;

use std::collections::BTreeMap;

use libtest_mimic::{Arguments, Trial};

use need::Need;

/// A test by its name, with what it needs.
struct Test {
    name: &'static str,
    need: Need,
    run: fn(),
}

macro_rules! tests {
    ($($room:ident::$test:ident: $need:expr),+ $(,)?) => {
        vec![$(Test {
            name: concat!(stringify!($room), "::", stringify!($test)),
            need: $need,
            run: $room::$test,
        }),+]
    };
}

fn tests() -> Vec<Test> {
    let network = || Need::Network(guard::ADDRESSES);
    let hosts = || Need::Network(&hostile_hosts::PRIVATE);
    tests![
        acceptance::an_engine_that_is_away_and_put_back: Need::Soak,
        acceptance::what_a_cluster_costs: Need::Soak,
        acceptance::who_wakes_up_asks_for_nothing: Need::Soak,
        acceptance::workers_come_and_go: Need::Soak,
        cluster::a_connection_that_dies_in_silence_is_made_anew: Need::Nats,
        cluster::a_crawl_over_a_log_is_killed_and_resumed: Need::Nats,
        cluster::a_crawl_that_has_enough_stops: Need::Nats,
        cluster::a_person_creates_watches_and_steers_a_cluster: Need::Nats,
        cluster::a_worker_shows_its_cluster: Need::Nats,
        cluster::a_worker_that_was_taken_over_commits_nothing: Need::Nats,
        cluster::an_engine_that_goes_away_and_loses_its_end: Need::Nats,
        cluster::nats_keeps_the_contract: Need::Nats,
        cluster::nats_is_reached_by_tls_or_not_at_all: Need::Nats,
        cluster::of_writers_that_race_one_wins: Need::Nats,
        cluster::the_demo_loses_a_worker_and_no_page: Need::Nats,
        cluster::the_page_of_a_worker_shows_its_cluster: Need::NatsAndBrowser,
        cluster::three_servers_of_which_one_is_killed: Need::Nats,
        console::a_host_that_is_held_gets_no_requests: Need::Browser,
        console::a_report_opens_from_disk: Need::Browser,
        console::it_fits_a_phone_and_the_dark: Need::Browser,
        console::the_page_shows_a_crawl_and_steers_it: Need::Browser,
        console::what_pages_say_stays_text: Need::Browser,
        console_states::a_day_of_events_takes_little_memory: Need::Browser,
        console_states::a_page_that_slept_has_missed_nothing: Need::Browser,
        console_states::axe_finds_no_serious_fault: Need::Axe,
        console_states::it_says_what_is_the_matter_and_what_to_do: Need::Browser,
        console_states::the_keyboard_reaches_everything: Need::Browser,
        documents::killed_and_lost: Need::Nothing,
        faults::clocks_that_jump: Need::Faults,
        faults::daemons_whose_clock_was_ahead: Need::Faults,
        faults::disks_that_fail_in_a_crawl: Need::Faults,
        faults::disks_that_fail_in_an_import: Need::Faults,
        faults::disks_that_fail_while_fingerprints_are_made_again: Need::Faults,
        faults::files_that_are_damaged: Need::Faults,
        faults::killed_at_starts: Need::Faults,
        faults::killed_in_a_crawl: Need::Faults,
        faults::killed_in_a_daemon: Need::Faults,
        faults::killed_in_a_large_crawl: Need::ManyFaults,
        faults::killed_in_a_repair: Need::Faults,
        faults::killed_in_an_import: Need::Faults,
        faults::killed_while_fingerprints_are_made_again: Need::Faults,
        faults::power_cuts: Need::Faults,
        faults::power_cuts_where_names_are_lost_too: Need::Faults,
        full_disk::a_full_disk_ends_the_run_and_nothing_stored_is_lost: Need::FileSystem,
        full_disk::a_crawl_that_had_no_room_to_begin_begins_when_there_is_room: Need::FileSystem,
        full_disk::below_the_reserve_no_visit_is_made_until_there_is_room: Need::FileSystem,
        guard::names_lead_to_public_addresses_only: network(),
        guard::a_name_that_changes_between_two_questions_gains_nothing: network(),
        guard::networks_that_are_allowed_are_open_and_no_others: network(),
        guard::a_seed_with_a_name_is_no_consent_for_a_private_address: network(),
        hostile::hosts_that_misbehave_harm_nobody_but_themselves: hosts(),
        hostile::hosts_that_misbehave_do_not_keep_a_crawl_from_stopping: Need::Nothing,
        one_address::is_asked_no_more_than_by_one_machine: Need::Nats,
        packages::archive_and_wheel_run_where_they_are_put: Need::Program("strip"),
        packages::systemd_understands_the_unit: Need::Program("systemd-analyze"),
        soak::through_faults_of_all_kinds: Need::Soak,
        scale::every_answer_about_urls_seen_is_right: Need::Nothing,
        scale::what_enters_queues_leaves_them: Need::Nothing,
        scale::pages_admit_what_is_new: Need::Nothing,
        scale::nothing_is_lost_or_doubled_over_kills: Need::Nothing,
        tables::an_index_leads_others_to_records: Need::Python("fastwarc"),
        tables::documents_are_the_unique_pages: Need::Python("datatrove"),
        tables::tables_are_read_by_others: Need::Python("duckdb"),
        tools::bash_takes_the_completions: Need::Program("bash"),
        tools::bodies_of_duplicates_are_rebuilt_by_other_hands: Need::Python("zstandard"),
        tools::cdxj_indexer_writes_the_same_lines: Need::Python("cdxj_indexer"),
        tools::files_for_clusters_are_yaml_and_start_workers: Need::Python("yaml"),
        tools::pdftotext_finds_the_text_of_a_pdf: Need::Program("pdftotext"),
        tools::warcio_reads_every_record_and_its_digests: Need::Python("warcio"),
        workers::of_which_one_is_killed: Need::Nats,
        workers::that_are_interrupted_while_they_copy_and_lose_a_disk: Need::Nats,
        workers::of_which_one_comes_when_what_was_told_is_gone: Need::Nats,
        workers::that_are_stopped_and_cut_off: Need::Nats,
    ]
}

/// What takes the place of tests whose need is not met, and says less.
fn substitutes() -> Vec<Test> {
    let mut substitutes = Vec::new();
    if Need::FileSystem.missing().is_some() {
        substitutes.extend(tests![
            full_disk::a_limit_on_files_ends_the_run_and_nothing_stored_is_lost: Need::Nothing,
        ]);
    }
    if Need::Network(&[]).missing().is_some() {
        substitutes.push(Test {
            name: "hostile::hosts_that_misbehave_harm_nobody_on_loopback",
            need: Need::Nothing,
            run: hostile::hosts_that_misbehave_harm_nobody_but_themselves,
        });
    }
    substitutes
}

fn main() {
    if child::run() {
        return;
    }
    let mut arguments = Arguments::from_args();
    // As libtest does it.
    let threads = std::env::var("RUST_TEST_THREADS").ok();
    let threads = threads.and_then(|number| number.parse().ok());
    arguments.test_threads = arguments.test_threads.or(threads);
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    let tests = tests().into_iter().chain(substitutes());
    let trials = tests.map(|test| {
        let missing = test.need.missing();
        let trial = Trial::test(test.name, move || {
            test.need.give(test.name, test.run);
            Ok(())
        });
        match missing {
            None => trial,
            Some(missing) => {
                *left_out.entry(missing).or_default() += 1;
                trial.with_kind(test.need.name()).with_ignored_flag(true)
            }
        }
    });
    let trials = trials.collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        for (missing, count) in left_out {
            eprintln!("left out: {count} tests, because {missing}");
        }
    }
    conclusion.exit();
}
