//! Made-up pages through the index as a crawl's committer sends them, and the process killed over
//! and over: shared by `benches/documents.rs` and `tests/apart/documents.rs`.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gleaner::config::Config;
use gleaner::dedup::{Finder, Fingerprinter, Fingerprints};
use gleaner::engine::Options;
use gleaner::engine::study::{MadeUp, Study};
use gleaner::url::UrlId;

/// Words of a page's main text.
const WORDS: u64 = 60;

/// `SplitMix64` of a number.
pub(crate) fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The page that page `number` is almost the same as: every tenth is a copy of an earlier one.
pub(crate) fn original_of(number: u64) -> Option<u64> {
    (number % 10 == 9).then(|| mix(number) % number / 10 * 10)
}

/// The identity of page `number`.
pub(crate) fn id(number: u64) -> UrlId {
    let halves = [mix(number), mix(!number)];
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&halves[0].to_be_bytes());
    bytes[8..].copy_from_slice(&halves[1].to_be_bytes());
    UrlId::from_bytes(bytes)
}

/// What is left after kills.
#[derive(Debug, Default)]
pub(crate) struct Killed {
    /// No page before this one may be lost.
    pub(crate) acknowledged: u64,
    /// The longest that opening took after a kill.
    pub(crate) opening: Duration,
}

/// A crawl of made-up pages: its settings, and what signs them.
pub(crate) struct Rehearsal {
    options: Options,
    signer: Fingerprinter,
}

impl Rehearsal {
    /// With the defaults of a crawl, but for what finds near duplicates.
    pub(crate) fn new(method: Finder) -> Self {
        let mut config = Config::default();
        config.dedup.method = method;
        let options = config.options().expect("the defaults are sound");
        Self {
            signer: Fingerprinter::new(options.features.clone()),
            options,
        }
    }

    /// Opens its directory, or begins one; a time lies between checkpoints.
    pub(crate) fn open(&self, directory: &Path, checkpoints: Duration) -> Study {
        let mut options = self.options.clone();
        options.checkpoint_interval = checkpoints;
        Study::open(directory, &options).expect("the directory opens")
    }

    /// Signatures of page `number`.
    pub(crate) fn fingerprints(&self, number: u64) -> Fingerprints {
        let source = original_of(number).unwrap_or(number);
        let mut main = String::new();
        for at in 0..WORDS {
            let word = mix(source << 8 | at) % 50_000;
            let _ = write!(main, "word{word} ");
        }
        if source != number {
            let _ = write!(main, "copy{number}");
        }
        let visible = format!("Home About Contact {main} Imprint {number}");
        let text = self.signer.text(&main, &visible);
        self.signer.sign(visible.as_bytes(), &text)
    }

    /// Page `number`.
    pub(crate) fn page(&self, number: u64) -> MadeUp {
        let mut payload = [0; 32];
        for (at, bytes) in payload.chunks_exact_mut(8).enumerate() {
            bytes.copy_from_slice(&mix(number << 3 | at as u64).to_be_bytes());
        }
        let host = mix(number) % 100_000;
        MadeUp {
            id: id(number),
            url: format!(
                "https://www.host{host}.example/articles/2026/{number}/a-title-of-some-words.html"
            ),
            payload,
            fingerprints: self.fingerprints(number),
        }
    }

    /// Commits pages from `from` on, `group` at a time, without end; says on standard output how
    /// far it is each time that a group is acknowledged. This is the process that is killed.
    pub(crate) fn commit_until_killed(&self, directory: &Path, from: u64, group: u64) {
        let mut study = self.open(directory, Duration::from_millis(100));
        let mut out = std::io::stdout().lock();
        let mut next = from;
        loop {
            writeln!(out, "acknowledged {next}").expect("somebody listens");
            out.flush().expect("somebody listens");
            study
                .commit(
                    (next..next + group)
                        .map(|number| self.page(number))
                        .collect(),
                )
                .expect("pages are committed");
            next += group;
        }
    }

    /// Starts `command` (given the next page), kills it with SIGKILL at a moment that the seed
    /// chooses, looks whether all that it acknowledged is there, and begins again.
    pub(crate) fn kill(
        &self,
        directory: &Path,
        from: u64,
        kills: u64,
        command: impl Fn(u64) -> Command,
    ) -> Killed {
        let mut killed = Killed {
            acknowledged: from,
            ..Killed::default()
        };
        for round in 0..kills {
            let before = killed.acknowledged;
            let mut child = command(before)
                .stdout(Stdio::piped())
                .spawn()
                .expect("the process starts");
            let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
            // In every fourth round in the midst of opening, or just after.
            let patience = if round % 4 == 3 { 0 } else { mix(round) % 40 };
            let mut acknowledge = |line: &str| {
                let number = line.strip_prefix("acknowledged ");
                if let Some(number) = number.and_then(|number| number.parse().ok()) {
                    killed.acknowledged = number;
                }
            };
            let mut heard = 0;
            while heard < patience {
                let line = lines.next().expect("it goes on until it is killed");
                let line = line.expect("it says numbers");
                heard += u64::from(line.starts_with("acknowledged "));
                acknowledge(&line);
            }
            child.kill().expect("SIGKILL is sent");
            // What it had said before counts too; a line that was cut off does not.
            for line in lines.map_while(Result::ok) {
                acknowledge(&line);
            }
            child.wait().expect("it is ours");
            let start = Instant::now();
            let study = self.open(directory, Duration::from_secs(30));
            killed.opening = killed.opening.max(start.elapsed());
            self.check(&study, before..killed.acknowledged);
        }
        killed
    }

    /// All of the pages are there, and found again.
    pub(crate) fn check(&self, study: &Study, pages: impl IntoIterator<Item = u64>) {
        for number in pages {
            let lacks = study.lacks(id(number)).expect("the store is read");
            assert_eq!(lacks, None, "page {number} was acknowledged");
            if number % 64 == 0 {
                let found = study.original_of(id(!number), &self.fingerprints(number));
                assert!(found.expect("the index is read").is_some(), "page {number}");
            }
        }
    }
}
