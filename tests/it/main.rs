//! Tests of the real binary against a real web on loopback: what the two together do, read from the
//! web's log, from the archive and from the fetch log. What one room does alone is tested beside
//! its code.
//!
//! - `readme`: that the README is short, and docs/commands.md shows what `--help` prints.
//! - `demo`: the demo, against what docs/demo.md shows.
//! - `guide`: every command that README.md and the guide show, with its output.
//! - `crawl`, `resume`, `archive`, `robots`: what is fetched, how often, and what is kept.
//! - `archive_files`, `upload`: the life of the archive's files, and how they leave.
//! - `requisites`: files that pages need to be shown.
//! - `reach`: links out of the scope, block lists, the rate of what is received.
//! - `seeds`: names without a scheme, and what single seeds have of their own.
//! - `sitemaps`: which are asked for, and what becomes of what they list.
//! - `urls`: which URLs are one, by settings.
//! - `politeness`, `guard`: who is asked, and when, from the servers' side.
//! - `client`, `names`, `tls`, `conditional`: what is sent, to which address, over what, on which
//!   condition.
//! - `login`: cookies of a file.
//! - `config`, `config_documents`: what holds when a file, the environment and flags disagree; its
//!   documents.
//! - `convert`: text that commands of the user's find.
//! - `daemon`: a crawl that is left running, and what it is told.
//! - `extract`: pages without a crawl.
//! - `stop`, `bad_input`, `recovery`, `crash`: ends that nobody wished for.
//! - `kills`: a crawl that is killed again and again.
//! - `check`: what they leave.
//! - `forget`, `takedown`: takedowns, in a crawl of one machine and of several workers.
//! - `formats`: data directories that earlier versions wrote.
//! - `broker`: what is promised of the engine of a cluster, of its model.
//! - `following`, `workers`, `copies`: crawls that are followed and taken over, shared, and copied.
//! - `library`: what a program does with gleaner that is not the command.
//! - `mark`: what a person says of verdicts, and what was not fetched.
//! - `memory`: what does not grow.
//! - `show`: bodies that are given back, and verdicts that are undone.
//! - `pages`, `why`: what is told of pages and URLs, while a crawl runs and after.
//! - `export`: the same in files for other tools.
//! - `trust`: small versions of the suites of `benches/trust.rs`, whose sites are `made_up`.
//! - `hostile`: hostile sites beside good ones, whose pages and names stay what they are.
//! - `hearsay`: what one site says of another.
//! - `shards`: a crawl of several shards, against one on a single machine.
//! - `traps`, `learn`: webs without end, and what a crawl learns of hosts.
//! - `clusters`: the duplicates of a crawl, beside it and after it. `mirrors`: of one that workers
//!   share.
//! - `dedup`, `dedup_kept`, `weights`: corpora that others crawled.
//! - `widening`: settings that let a crawl go further than before.
//! - `known`: what earlier crawls know.
//! - `since`: crawls of the same sites, one after the other.
//! - `left_out`: what a crawl says that it left out, and the seeds that it lost.
//! - `retry`: failed URLs that are tried again.
//! - `rules`: what a crawl calls a duplicate, and what no page.
//! - `offline`: commands that read files and fetch nothing.
//! - `fuzz`: the fuzz targets, on inputs that come again.
//! - `progress`: what is said while a crawl runs, on a terminal and elsewhere, and at its end.
//! - `tidy`: what the compiler cannot hold about the source.
//! - `audit`: what a crawl left, to be compared with an undisturbed one.
//! - `run`: how a test runs gleaner and reads what it wrote.
//! - `corpus`: texts, and archives of other crawls.
//! - `steady`: what it told, for snapshots (`snapshots/`; docs/CONTRIBUTING.md says how they are
//!   changed).
//! - `bucket`: a store for files.
//! - `web`, `smoke`: the web, and its own tests. `dns`, `tls_servers`: what it does not have.

mod demo;
mod guide;
mod readme;

mod crawl;
mod reach;
mod resume;
mod retry;

mod archive;
mod archive_files;
mod languages;
mod requisites;
mod robots;
mod sitemaps;
mod upload;
mod urls;

mod client;
mod conditional;
mod guard;
mod login;
mod mark;
mod names;
mod politeness;
mod tls;

mod config;
mod config_documents;
mod console;
mod console_lasts;
mod convert;
mod daemon;
mod packaging;

mod extract;

mod bad_input;
mod broker;
mod check;
mod copies;
mod following;
mod forget;
mod formats;
mod mirrors;
mod recovery;
mod stop;
mod workers;

mod crash;

mod memory;

mod clusters;
mod dedup;
mod dedup_kept;
mod export;
mod hearsay;
mod hold;
mod hostile;
mod known;
mod learn;
mod left_out;
mod library;
mod pages;
mod rules;
mod seeds;
mod shards;
mod show;
mod since;
mod tables;
mod takedown;
mod traps;
mod trust;
mod wacz;
mod warc;
mod weights;
mod why;
mod widening;

mod offline;

mod fuzz;

#[path = "../support/fuzz_targets.rs"]
mod fuzz_targets;

#[path = "../support/kills.rs"]
mod kills;

#[path = "../support/contract.rs"]
mod contract;

mod progress;

mod tidy;

#[path = "../support/audit.rs"]
mod audit;

#[path = "../support/bucket.rs"]
mod bucket;

#[path = "../support/corpus.rs"]
mod corpus;

#[path = "../support/dns.rs"]
mod dns;

#[path = "../support/run.rs"]
mod run;

#[path = "../support/steady.rs"]
mod steady;

#[path = "../support/tls.rs"]
mod tls_servers;

#[path = "../../benches/trust/mod.rs"]
mod made_up;

#[path = "../support/web/mod.rs"]
mod web;

#[path = "../support/web/smoke.rs"]
mod smoke;
