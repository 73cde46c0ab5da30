//! What each stage of the way of a page costs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use gleaner::archive::{Capture, Digest, Record, WarcOptions};
use gleaner::engine::rehearsal::{Readers, Rehearsal, Taken};
use gleaner::fetch::{self, FetchOptions};
use gleaner::frontier::{SEEN, SeenOptions, SeenSet};
use gleaner::page::charset;
use gleaner::page::steps::Step;
use gleaner::page::{Page, kind};
use gleaner::runs::Catalog;
use jiff::Timestamp;
use libdeflater::{CompressionLvl, Compressor};

use crate::corpus::{Sample, Tools, samples};
use crate::counting::counted;
use crate::instructions::watch;
use crate::measure::{Cost, Repeat, micros_each, process_time};

/// What servers say of the pages.
const CONTENT_TYPE: &str = "text/html";
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nserver: bench\r\n\r\n";

/// A stage: passes its work on a page to whoever measures it.
pub(crate) struct Stage {
    pub(crate) name: String,
    work: Box<Work>,
}

type Work = dyn Fn(&Sample, &mut Repeat<'_>);

/// All stages, and the pages that they are measured on.
pub(crate) struct Stages {
    pub(crate) all: Vec<Stage>,
    samples: Vec<Sample>,
    _rehearsal: Rehearsal,
}

impl Stages {
    /// Prepares the stages for `count` pages; `directory` is for files.
    pub(crate) fn new(count: usize, directory: &Path) -> Self {
        let tools = Tools::new();
        let samples = samples(count, &tools);
        let (rehearsal, taken) = waiting(&samples, &directory.join("rehearsal"));
        let mut all = Vec::new();
        let mut add = |name: &str, work: Box<Work>| {
            let name = name.to_owned();
            all.push(Stage { name, work });
        };
        reading(&mut add);
        signing(&mut add);
        analysts(rehearsal.readers(), taken, &mut add);
        seen(&samples, &directory.join("seen"), &mut add);
        records(&mut add);
        Self {
            all,
            samples,
            _rehearsal: rehearsal,
        }
    }

    /// Bytes of each page.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.samples.iter().map(|it| it.body.len()).collect()
    }

    /// Takes a stage `again` times for each page, and returns the CPU time of all.
    pub(crate) fn take(&self, stage: &Stage, again: u32) -> Duration {
        let mut total = Duration::ZERO;
        for sample in &self.samples {
            (stage.work)(sample, &mut |work| {
                let start = process_time();
                for _ in 0..again {
                    work();
                }
                total += process_time().saturating_sub(start);
            });
        }
        total
    }

    /// Takes a stage for each page where valgrind counts it, after once where it does not.
    pub(crate) fn watch(&self, stage: &Stage) {
        self.take(stage, 1);
        for sample in &self.samples {
            (stage.work)(sample, &mut |work| watch(work));
        }
    }

    /// Measures all stages in turn, round after round.
    pub(crate) fn measure(&self, rounds: usize, again: u32) -> Vec<Cost> {
        let mut costs = vec![Cost::default(); self.all.len()];
        let count = self.samples.len();
        for round in 0..=rounds {
            for (stage, cost) in self.all.iter().zip(&mut costs) {
                let time = self.take(stage, again);
                // The first round fills caches.
                if round > 0 {
                    cost.micros.push(micros_each(time, count * again as usize));
                }
            }
        }
        for (stage, cost) in self.all.iter().zip(&mut costs) {
            for sample in &self.samples {
                (stage.work)(sample, &mut |work| {
                    let (blocks, bytes) = counted(work);
                    cost.blocks += blocks as f64 / count as f64;
                    cost.bytes += bytes as f64 / count as f64;
                });
            }
        }
        costs
    }
}

/// A crawl in which all samples wait, and each as it is taken from its queue.
fn waiting(samples: &[Sample], directory: &Path) -> (Rehearsal, HashMap<String, Taken>) {
    let options = crate::commit::options();
    let mut rehearsal = Rehearsal::open(directory, &options).expect("it begins");
    let urls = samples.iter().map(|it| it.url.as_str());
    rehearsal.enqueue(urls, 1).expect("the disk has room");
    let (hosts, _) = rehearsal.hosts(Vec::new(), 1_000).expect("rows are read");
    let taken = hosts
        .iter()
        .flat_map(|host| rehearsal.take(host, samples.len()).expect("rows are read"));
    let taken = taken.map(|it| (it.url().to_owned(), it)).collect();
    (rehearsal, taken)
}

/// From bytes to a page.
fn reading(add: &mut dyn FnMut(&str, Box<Work>)) {
    let bounds = FetchOptions::new("bench").decode_bounds();
    add(
        "gzip undone, if it came so",
        Box::new(move |sample, repeat| {
            let codings = ["gzip"].into_iter();
            repeat(&mut || {
                drop(black_box(fetch::decode(
                    codings.clone(),
                    &sample.compressed,
                    bounds,
                )));
            });
        }),
    );
    add(
        "bytes to text",
        Box::new(|sample, repeat| {
            repeat(&mut || {
                black_box(kind(Some(CONTENT_TYPE), &sample.body));
                drop(black_box(charset::to_text(
                    &sample.body,
                    Some(CONTENT_TYPE),
                )));
            });
        }),
    );
    let tools = Tools::new();
    add(
        "text to page, all steps",
        Box::new(move |sample, repeat| {
            let Tools {
                identity, options, ..
            } = &tools;
            repeat(&mut || {
                let text = charset::to_text(&sample.body, Some(CONTENT_TYPE));
                let page = Page::parse_html(text, &sample.url, identity, options);
                drop(black_box(page));
            });
        }),
    );
    for step in Step::ALL {
        let tools = Tools::new();
        let name = match step {
            Step::Tree => "- text to tree",
            Step::Outline => "- outline",
            Step::Links => "- links, ids included",
            Step::VisibleText => "- visible text",
            Step::Blocks => "- blocks and their scores",
            Step::Parts => "- parts, line by line",
            Step::MainText => "- main text",
            Step::Language => "- language",
            Step::Facts => "- title, metadata, refusals",
        };
        add(
            name,
            Box::new(move |sample, repeat| {
                let text = charset::to_text(&sample.body, Some(CONTENT_TYPE));
                step.of_page(text, &sample.url, &tools.identity, &tools.options, repeat);
            }),
        );
    }
    let tools = Tools::new();
    add(
        "- ids of the links alone",
        Box::new(move |sample, repeat| {
            repeat(&mut || {
                for link in &sample.links {
                    black_box(tools.identity.id(link));
                }
            });
        }),
    );
}

/// From a page to its signatures.
fn signing(add: &mut dyn FnMut(&str, Box<Work>)) {
    let tools = Tools::new();
    add(
        "normal forms, hashes of words",
        Box::new(move |sample, repeat| {
            let page = &sample.page;
            repeat(&mut || {
                let text = tools.fingerprinter.text(&page.main_text, &page.full_text);
                drop(black_box(text));
            });
        }),
    );
    let tools = Tools::new();
    add(
        "all signatures",
        Box::new(move |sample, repeat| {
            repeat(&mut || {
                drop(black_box(
                    tools.fingerprinter.sign(&sample.body, &sample.text),
                ));
            });
        }),
    );
    let tools = Tools::new();
    add(
        "the same by two seeds, and the SimHash for others",
        Box::new(move |sample, repeat| {
            let page = &sample.page;
            repeat(&mut || {
                let (text, told) = (tools.fingerprinter).text_twice(
                    &tools.others,
                    &page.main_text,
                    &page.full_text,
                );
                black_box(tools.others.simhash(&told));
                drop(black_box(text));
            });
        }),
    );
    add(
        "digest of the body",
        Box::new(|sample, repeat| {
            repeat(&mut || {
                black_box(Digest::of(&sample.body));
            });
        }),
    );
    add(
        "digests of both texts",
        Box::new(|sample, repeat| {
            repeat(&mut || {
                black_box(Digest::of(sample.page.full_text.as_bytes()));
                black_box(Digest::of(sample.page.main_text.as_bytes()));
            });
        }),
    );
}

/// All that an analyst does.
fn analysts(readers: Readers, taken: HashMap<String, Taken>, add: &mut dyn FnMut(&str, Box<Work>)) {
    add(
        "an analyst, all of it",
        Box::new(move |sample, repeat| {
            let taken = &taken[sample.url.as_str()];
            repeat(&mut || {
                let read = readers.prepare(taken.clone(), sample.body.clone(), None);
                drop(black_box(read));
            });
        }),
    );
}

/// Whether the links of a page were seen; all were.
fn seen(samples: &[Sample], directory: &Path, add: &mut dyn FnMut(&str, Box<Work>)) {
    let structures = [(SEEN, gleaner::runs::Options::default())];
    let (mut catalog, _) = Catalog::open(directory, &structures).expect("the disk works");
    let options = SeenOptions {
        expected_urls: 10_000_000,
    };
    let mut set = SeenSet::open(&options, &catalog[0], &directory.join("seen.filter"), 1);
    let tools = Tools::new();
    let mut ids = HashMap::new();
    for sample in samples {
        let links = sample.links.iter().map(|it| tools.identity.id(it));
        let links: Vec<_> = links.collect();
        for id in &links {
            set.insert(*id, &mut catalog[0]);
        }
        ids.insert(sample.url.clone(), links);
    }
    let seen = RefCell::new((set, catalog));
    add(
        "links looked up among those seen",
        Box::new(move |sample, repeat| {
            let (set, catalog) = &mut *seen.borrow_mut();
            let ids = &ids[&sample.url];
            repeat(&mut || {
                for id in ids {
                    black_box(set.contains(*id, &catalog[0]));
                }
            });
        }),
    );
}

/// From a response to what is written of it.
fn records(add: &mut dyn FnMut(&str, Box<Work>)) {
    let make = |sample: &Sample| {
        let capture = Capture {
            target: sample.url.as_str(),
            date: Timestamp::UNIX_EPOCH,
            ip: None,
            protocols: &["http/1.1"],
        };
        let digest = Digest::from_bytes([7; 32]);
        let body = sample.body.clone();
        let response = Record::response(&capture, HEAD.to_vec(), body, digest, None);
        let request = Record::request(&capture, b"GET / HTTP/1.1".to_vec(), response.id());
        [request, response]
    };
    add(
        "records made",
        Box::new(move |sample, repeat| {
            repeat(&mut || drop(black_box(make(sample))));
        }),
    );
    add(
        "headers of records, digests of blocks",
        Box::new(move |sample, repeat| {
            let records = make(sample);
            repeat(&mut || {
                for record in &records {
                    drop(black_box(record.header(None)));
                }
            });
        }),
    );
    let level = WarcOptions::new("").compression;
    let level = i32::try_from(level).map(CompressionLvl::new);
    let level = level.ok().and_then(Result::ok).unwrap_or_default();
    let compressor = RefCell::new((Compressor::new(level), Vec::new()));
    add(
        "response record compressed",
        Box::new(move |sample, repeat| {
            let (compressor, member) = &mut *compressor.borrow_mut();
            let [_, record] = make(sample);
            let header = record.header(None);
            let [head, payload] = record.block();
            let bytes = [header.as_bytes(), head, payload, b"\r\n\r\n"].concat();
            member.resize(compressor.gzip_compress_bound(bytes.len()), 0);
            repeat(&mut || {
                let length = compressor.gzip_compress(&bytes, member);
                black_box(length.expect("the member has room"));
            });
        }),
    );
}
