//! A crawl that something goes wrong with: what it is about, and what it must leave in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gleaner::dedup::Features;
use gleaner::engine::LogLine;
use gleaner::journal::{Acknowledged, current_path, full_path};
use rustix::process::Signal;

use super::control::{Action, CHANGES, Control, Fault, OPEN, READ};
use crate::audit::{Left, canonical, left_by, simhash};
use crate::run::{Output, Place, Running, SEED, gleaner, log, run};
use crate::web::{ClusterOptions, Web, cluster_web};

/// Exit code of a process that SIGKILL ended.
pub(super) const KILLED: i32 = 128 + 9;

/// How long a daemon must ask for nothing to count as done.
const QUIET: Duration = Duration::from_secs(1);
/// How often it is looked whether it has ended meanwhile.
const LOOK: Duration = Duration::from_millis(50);

/// Pages of each host.
const PAGES: usize = 10;

/// Files that rotate, checkpoints at every turn.
const SETTINGS: &str = "[archive]\nmax_file = \"30KB\"\nmax_log = \"6KB\"\n\
     [state]\ncheckpoint_interval = \"20ms\"\n[crawl]\nscope = \"any\"\n\
     [fetch]\nallow_private = true\nconcurrency = 4\n[politeness]\ndelay = \"0s\"\n";

/// A crawl of a web whose duplicates are known.
pub(super) struct Scene {
    pub(super) web: Web,
    /// `crawl` or `daemon`.
    command: &'static str,
    settings: String,
    features: Features,
    arguments: Vec<String>,
    /// What each trial begins with.
    before: Option<Place>,
    /// Whether its store has lost what was acknowledged, so that it may be asked for again.
    is_behind: bool,
    /// What `--known` names.
    earlier: Option<Place>,
    /// What is left if nothing goes wrong.
    undisturbed: Left,
    /// Calls that are made for it, by the bits of their kinds.
    calls: [u64; 5],
}

impl Scene {
    /// A web with so many pages on each of four hosts; what is left is not known yet.
    fn new(pages_per_host: usize) -> Self {
        let options = ClusterOptions {
            hosts: 4,
            pages_per_host,
            seed: 0xfa17,
        };
        let web = Web::start(cluster_web(options, &simhash).0);
        Self {
            arguments: vec![web.url(0, "/")],
            web,
            command: "crawl",
            settings: SETTINGS.to_owned(),
            features: Features::default(),
            before: None,
            is_behind: false,
            earlier: None,
            undisturbed: Left::default(),
            calls: [0; 5],
        }
    }

    /// A crawl from its beginning.
    pub(super) fn crawl() -> Self {
        let mut scene = Self::new(PAGES);
        scene.look();
        scene
    }

    /// The same by a daemon.
    pub(super) fn daemon() -> Self {
        Self {
            command: "daemon",
            ..Self::crawl()
        }
    }

    /// The end of a crawl that is large enough for the store to write and merge sorted files.
    pub(super) fn large() -> Self {
        let mut scene = Self::new(700);
        scene.settings = SETTINGS.replace("30KB", "1MB").replace("6KB", "200KB");
        let small = "[state]\nmax_memory = \"180MB\"\n";
        scene.settings = scene.settings.replace("[state]\n", small);
        let before = Place::new();
        scene.part(&before, 2_600);
        scene.before = Some(before);
        scene.look();
        scene
    }

    /// A crawl of which an earlier one knows some pages.
    pub(super) fn import() -> Self {
        let mut scene = Self::new(PAGES);
        let earlier = Place::new();
        let seed = std::mem::replace(&mut scene.arguments, vec![scene.web.url(1, "/")]);
        let of_one_host = SETTINGS.replace("\"any\"", "\"host\"");
        let settings = std::mem::replace(&mut scene.settings, of_one_host);
        scene.part(&earlier, 1_000);
        scene.settings = settings;
        scene.arguments = seed;
        let folder = earlier.data().to_str().expect("paths are ASCII").to_owned();
        scene.arguments.extend(["--known".to_owned(), folder]);
        scene.earlier = Some(earlier);
        scene.look();
        scene
    }

    /// The repair of a store that was put back, and the crawl after it.
    pub(super) fn repair() -> Self {
        let mut scene = Self::crawl();
        let before = Place::new();
        scene.part(&before, 12);
        let older = Place::new();
        let store = before.data().join("store");
        copy(&store, &older.data());
        scene.part(&before, 12);
        fs::remove_dir_all(&store).expect("it is ours");
        copy(&older.data(), &store);
        scene.arguments.push("--repair".to_owned());
        scene.before = Some(before);
        scene.is_behind = true;
        let calls = scene.counted(&mut Trial::new(&scene));
        scene.calls = calls;
        scene
    }

    /// Fingerprints that are made again, and the crawl after it.
    pub(super) fn rewriting() -> Self {
        let mut scene = Self::new(PAGES);
        let before = Place::new();
        scene.part(&before, 25);
        scene.settings.push_str("[dedup]\nmethod = \"minhash\"\n");
        scene.features.method = gleaner::dedup::Finder::Minhash;
        scene.before = Some(before);
        scene.look();
        scene
    }

    /// Crawls some pages.
    fn part(&self, place: &Place, pages: usize) {
        let mut command = self.command_at(place, "crawl");
        command.args(["--max-pages", &pages.to_string()]);
        run(command).expect(0);
    }

    /// Sees what is left if nothing goes wrong.
    fn look(&mut self) {
        let mut trial = Trial::new(self);
        let calls = self.counted(&mut trial);
        trial.ask_for_one_more();
        let left = self.left(&trial.place);
        drop(trial);
        self.undisturbed = left;
        self.calls = calls;
    }

    /// Runs a crawl of the scene, in which nothing goes wrong, and counts its calls.
    fn counted(&self, trial: &mut Trial<'_>) -> [u64; 5] {
        let counting = Fault {
            kinds: CHANGES | READ | OPEN,
            chosen: 0,
            action: Action::Nothing,
        };
        let command = self.command_at(&trial.place, "crawl");
        trial.run_command(command, Some(counting)).expect(0);
        let calls = trial.control.as_ref().map(Control::calls);
        let calls = calls.expect("they were counted");
        assert!(calls.iter().all(|calls| *calls > 50), "{calls:?}");
        calls
    }

    fn left(&self, place: &Place) -> Left {
        let earlier = self.earlier.as_ref().map(Place::data);
        left_by(&place.data(), &self.features, earlier.as_deref())
    }

    fn command_at(&self, place: &Place, command: &str) -> Command {
        let mut command = gleaner(&[command]);
        let settings = place.file("settings.toml", &self.settings);
        command
            .args(&self.arguments)
            .args(["--config", &settings])
            .arg("--data-dir")
            .arg(place.data())
            .stdout(Stdio::null())
            .env(SEED, "0");
        command
    }

    /// Number of pages that are answered.
    pub(super) fn pages(&self) -> usize {
        self.undisturbed.answered.len()
    }

    /// Number of calls of these kinds, if nothing goes wrong. Those of two kinds count twice.
    pub(super) fn calls(&self, kinds: u32) -> u64 {
        let of_kinds = (0..).zip(self.calls);
        let chosen = of_kinds.filter(|(bit, _)| kinds >> bit & 1 == 1);
        chosen.map(|(_, calls)| calls).sum()
    }
}

/// One crawl that something goes wrong with.
pub(super) struct Trial<'a> {
    pub(super) scene: &'a Scene,
    pub(super) place: Place,
    /// Of the last run.
    control: Option<Control>,
    /// Requests that a daemon makes before it is done.
    expected: usize,
    /// Where its changes are recorded.
    pub(super) trace: Option<PathBuf>,
    /// What went wrong, and how the runs ended.
    history: Vec<String>,
    /// URLs that were acknowledged.
    done: BTreeSet<String>,
    /// Those of them that were asked for again.
    again: BTreeSet<String>,
}

impl<'a> Trial<'a> {
    pub(super) fn new(scene: &'a Scene) -> Self {
        scene.web.clear_log();
        let place = Place::new();
        if let Some(before) = &scene.before {
            copy(&before.data(), &place.data());
        }
        let done = match scene.is_behind {
            true => BTreeSet::new(),
            false => acknowledged(&place.data()),
        };
        Self {
            scene,
            place,
            control: None,
            expected: 0,
            trace: None,
            history: Vec::new(),
            done,
            again: BTreeSet::new(),
        }
    }

    /// Runs the scene's command, until it ends by itself or by a fault.
    pub(super) fn run(&mut self, fault: Option<Fault>) -> Output {
        self.run_with(&[], fault)
    }

    /// Runs it with more arguments.
    pub(super) fn run_with(&mut self, more: &[&str], fault: Option<Fault>) -> Output {
        let mut command = self.scene.command_at(&self.place, self.scene.command);
        command.args(more);
        self.run_command(command, fault)
    }

    pub(super) fn run_command(&mut self, mut command: Command, fault: Option<Fault>) -> Output {
        let data = self.place.data();
        self.control = fault.map(|fault| {
            let path = data.with_extension("control");
            Control::put(fault, &mut command, &data, path)
        });
        if let Some(trace) = &self.trace {
            command.env("FAULTS_TRACE", trace);
        }
        let before = self.scene.web.requests().len();
        let is_daemon = command.get_args().next() == Some("daemon".as_ref());
        let mut running = Running::start(command);
        if is_daemon && running.says_before_its_end("accepting seed lists") {
            self.wait_for_quiet(&mut running, before + self.expected);
        }
        let output = running.end();
        let at = self.struck().unwrap_or_default();
        self.tell(format!(
            "{fault:?} {at}: exit {}, {}",
            output.code,
            output.stderr.trim_end()
        ));
        assert!(!output.stderr.contains("panicked"), "it panicked");
        self.look(before);
        output
    }

    /// Takes a note for the case that the trial fails.
    pub(super) fn tell(&mut self, what: String) {
        self.history.push(what);
    }

    /// URLs that are known to have been acknowledged.
    pub(super) fn expect_done(&mut self, urls: BTreeSet<String>) {
        self.done = urls;
    }

    /// Takes note of what was asked for again, and of what is acknowledged by now.
    fn look(&mut self, before: usize) {
        let web = &self.scene.web;
        let urls = web.requests().into_iter().skip(before);
        let urls = urls.map(|it| canonical(&web.url(it.host, &it.path)));
        self.again
            .extend(urls.filter(|url| self.done.contains(url)));
        if !self.scene.is_behind {
            self.done.extend(acknowledged(&self.place.data()));
        }
    }

    /// Ends a daemon that has made the expected requests and has nothing left to ask for.
    fn wait_for_quiet(&self, running: &mut Running, expected: usize) {
        let web = &self.scene.web;
        let (mut last, mut since) = (0, Instant::now());
        while !running.is_over() {
            web.wait_for_requests(last + 1, LOOK);
            let requests = web.requests().len();
            if requests > last || requests < expected {
                (last, since) = (requests, Instant::now());
            } else if since.elapsed() > QUIET {
                running.signal(Signal::TERM);
                return;
            }
        }
    }

    /// The call at which the last run had its fault.
    pub(super) fn struck(&self) -> Option<String> {
        self.control.as_ref()?.struck()
    }

    /// Crawls one more page, so that the last run ends with a checkpoint, whatever was left to do.
    fn ask_for_one_more(&mut self) {
        let mut last = self.scene.command_at(&self.place, "crawl");
        last.arg(self.scene.web.url(0, "/no-such-page"));
        self.run_command(last, None).expect(0);
    }

    /// Runs it until it has made so many requests, and returns how many of the pages that an
    /// undisturbed crawl has are asked for.
    pub(super) fn visits(&mut self, expected: usize, fault: Option<Fault>) -> usize {
        let before = self.scene.web.requests().len();
        self.expected = expected;
        self.run(fault).expect(0);
        let web = &self.scene.web;
        let urls = web.requests().into_iter().skip(before);
        let urls: BTreeSet<String> = urls
            .map(|it| canonical(&web.url(it.host, &it.path)))
            .collect();
        urls.intersection(&self.scene.undisturbed.answered).count()
    }

    /// What a kill leaves is sound, unless it has left no crawl.
    pub(super) fn check_what_a_kill_has_left(&self) {
        let checked = check(&self.place.data());
        if !self.scene.is_behind && !checked.stderr.contains("no crawl") {
            checked.expect(0);
        }
    }

    /// Crawls to the end without a fault: nothing may be lost, doubled or judged in another way,
    /// and all that is kept must be sound.
    pub(super) fn finish(&mut self) {
        let rest = self.scene.command_at(&self.place, "crawl");
        self.run_command(rest, None).expect(0);
        self.ask_for_one_more();
        let data = self.place.data();
        let left = self.scene.left(&self.place);
        let undisturbed = &self.scene.undisturbed;
        assert_eq!(left.pages, undisturbed.pages);
        assert_eq!(left.clusters, undisturbed.clusters);
        assert_eq!(left.answered, undisturbed.answered);
        left.check_payloads();
        // A page that was judged again has a line for each visit.
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        for line in log(&data) {
            *lines.entry(canonical(&line.url)).or_default() += 1;
        }
        for url in &self.again {
            let times = lines.get(url).copied().unwrap_or_default();
            assert!(times > 1, "{url} was acknowledged, and asked for again");
        }
        check(&data).expect(0);
    }
}

impl Drop for Trial<'_> {
    /// Shows how a trial came to fail, and keeps the directory of one that was asked for.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.history.join("\n"));
            if std::env::var_os("FAULT_SEED").is_some() {
                let kept = std::env::temp_dir().join(format!("faults-{}", std::process::id()));
                copy(&self.place.data(), &kept);
                eprintln!("kept: {}", kept.display());
            }
        }
    }
}

/// What `gleaner check` says.
pub(super) fn check(data: &Path) -> Output {
    let mut command = gleaner(&["check"]);
    command.arg("--data-dir").arg(data);
    run(command)
}

/// URLs whose lines are acknowledged, as a reader of the log sees it; each has its answer, or has
/// failed for good.
pub(super) fn acknowledged(data: &Path) -> BTreeSet<String> {
    let log = data.join("log");
    let Ok(Some(Acknowledged { tail, .. })) = Acknowledged::read(&log) else {
        return BTreeSet::new();
    };
    let mut urls = BTreeSet::new();
    for number in 0..=tail.rotated {
        let full = full_path(&log, number);
        let path = match full.exists() {
            true => full,
            false => current_path(&log),
        };
        let mut bytes = fs::read(path).unwrap_or_default();
        if number == tail.rotated {
            bytes.truncate(tail.bytes as usize);
        }
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<LogLine>(line) else {
                continue;
            };
            if !["robots", "sitemap", "retry", "failed"].contains(&line.verdict.name()) {
                urls.insert(canonical(&line.url));
            }
        }
    }
    urls
}

/// Copies a folder; what is zero in a file is a hole in the copy.
pub(super) fn copy(from: &Path, to: &Path) {
    const BLOCK: usize = 4_096;
    fs::create_dir_all(to).expect("the folder is ours");
    for entry in fs::read_dir(from).expect("the folder is read") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("its kind");
        if kind.is_dir() {
            copy(&from, &to);
        } else if kind.is_file() {
            let bytes = fs::read(&from).expect("the file is read");
            let file = fs::File::create(&to).expect("the folder is ours");
            file.set_len(bytes.len() as u64)
                .expect("files may have holes");
            for (number, block) in bytes.chunks(BLOCK).enumerate() {
                if block.iter().any(|byte| *byte != 0) {
                    file.write_all_at(block, (number * BLOCK) as u64)
                        .expect("there is room");
                }
            }
        }
    }
}
