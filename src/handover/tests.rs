//! Files that leave, by commands.

use std::fs;

use super::*;
use crate::archive::FileNames;

/// Lets files leave by a command until the crawl is over.
struct World {
    place: tempfile::TempDir,
    closed: watch::Sender<Closed>,
    state: watch::Sender<Vec<HandoverState>>,
}

impl World {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        for directory in ["warc", "texts"] {
            fs::create_dir(place.path().join(directory)).unwrap();
        }
        Self {
            place,
            closed: watch::Sender::new(Closed::default()),
            state: watch::Sender::default(),
        }
    }

    fn files(&self) -> Files {
        let names = FileNames::plain;
        Files {
            pages: WarcOptions::pages_of(self.place.path(), names("gleaner")),
            texts: WarcOptions::texts_of(self.place.path(), names("texts")),
        }
    }

    fn close(&self, pages: u32, texts: u32) {
        let files = self.files();
        let of_pages = (0..pages).map(|number| files.pages.segment_path(number));
        let of_texts = (0..texts).map(|number| files.texts.segment_path(number));
        for path in of_pages.chain(of_texts) {
            if !path.exists() {
                fs::write(path, "closed").unwrap();
            }
        }
        self.closed.send_replace(Closed { pages, texts });
    }

    fn start(&self, script: &str, seconds: u64) -> Handover {
        self.start_until(script, seconds, std::future::pending())
    }

    fn start_until(
        &self,
        script: &str,
        seconds: u64,
        stopped: impl Future<Output = ()> + Send + 'static,
    ) -> Handover {
        let command = ["sh", "-c", script, "hook"].map(str::to_owned);
        let options = HandoverOptions {
            command: command.to_vec(),
            max_duration: Duration::from_secs(seconds),
            upload: None,
        };
        let (data, files) = (self.place.path(), self.files());
        let (closed, state) = (self.closed.subscribe(), &self.state);
        Handover::start(&options, data, &files, &closed, state, stopped)
            .unwrap()
            .unwrap()
    }

    /// The script that notes the file that it is given.
    fn note(&self) -> String {
        format!(
            "basename $1 >> {}",
            self.place.path().join("noted").display()
        )
    }

    fn noted(&self) -> Vec<String> {
        let noted = fs::read_to_string(self.place.path().join("noted")).unwrap_or_default();
        noted.lines().map(str::to_owned).collect()
    }

    fn last(&self) -> HandoverState {
        self.state.borrow().first().cloned().unwrap_or_default()
    }

    fn wait_for(&self, until: impl Fn(&HandoverState) -> bool) {
        let mut state = self.state.subscribe();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let is_so = |states: &Vec<HandoverState>| states.first().is_some_and(&until);
        runtime
            .block_on(async { state.wait_for(is_so).await.map(drop) })
            .unwrap();
    }
}

fn page(number: u32) -> String {
    format!("gleaner-{number:08}.warc.gz")
}

fn text(number: u32) -> String {
    format!("texts-{number:08}.warc.gz")
}

#[test]
fn each_closed_file_leaves_once_and_in_order() {
    let world = World::new();
    world.close(1, 0);
    let handover = world.start(&world.note(), 60);
    world.wait_for(|state| state.file.ends_with(&page(0)) && state.waiting == 0);
    world.close(3, 1);
    handover.finish();
    assert_eq!(world.noted(), [page(0), page(1), page(2), text(0)]);
    // The next run goes on.
    world.close(4, 1);
    world.start(&world.note(), 60).finish();
    assert_eq!(world.noted().last(), Some(&page(3)));
    assert_eq!(world.noted().len(), 5);
}

#[test]
fn what_fails_is_told_and_tried_again_before_others() {
    let world = World::new();
    world.close(2, 0);
    let gate = world.place.path().join("gate");
    let script = format!(
        "if [ -e {} ]; then {}; else echo no room left >&2; exit 3; fi",
        gate.display(),
        world.note()
    );
    let handover = world.start(&script, 60);
    world.wait_for(|state| state.failures > 0);
    let told = world.last();
    assert!(
        told.error.contains("no room left") && told.error.contains('3'),
        "{told:?}"
    );
    assert!(
        told.file.ends_with(&page(0)) && told.waiting == 2,
        "{told:?}"
    );
    assert_eq!(world.noted(), [] as [String; 0]);
    fs::write(&gate, "open").unwrap();
    handover.finish();
    assert_eq!(world.noted(), [page(0), page(1)]);
}

#[test]
fn at_the_end_a_failure_leaves_the_rest_for_the_next_run() {
    let world = World::new();
    world.close(2, 2);
    world.start("exit 1", 60).finish();
    assert_eq!(world.last().waiting, 4);
    world.start("/nowhere/at/all $1", 60).finish();
    world.start(&world.note(), 60).finish();
    assert_eq!(world.noted().len(), 4);
}

#[test]
fn a_command_that_hangs_is_killed_with_what_it_started() {
    let world = World::new();
    world.close(1, 0);
    let started = world.place.path().join("started");
    let script = format!("sleep 1000 & echo $! > {}; wait", started.display());
    // Long enough for a shell to begin.
    world.start(&script, 10).finish();
    let told = world.last();
    assert!(told.error.contains("on_close_timeout"), "{told:?}");
    let id = fs::read_to_string(started).unwrap();
    let id = id
        .trim()
        .parse()
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .unwrap();
    // If it is not gone already, it ends at once.
    if let Ok(process) = rustix::process::pidfd_open(id, rustix::process::PidfdFlags::empty()) {
        let mut ends = [rustix::event::PollFd::new(
            &process,
            rustix::event::PollFlags::IN,
        )];
        let patience = rustix::event::Timespec {
            tv_sec: 60,
            tv_nsec: 0,
        };
        assert_eq!(rustix::event::poll(&mut ends, Some(&patience)), Ok(1));
    }
}

#[test]
fn a_stop_ends_what_waits() {
    let world = World::new();
    world.close(2, 0);
    let handover = world.start_until(&world.note(), 60, std::future::ready(()));
    handover.finish();
    let noted = world.noted().len();
    assert!(noted <= 1, "{noted}");
    world.start(&world.note(), 60).finish();
    assert_eq!(world.noted().len(), 2);
}

#[test]
fn a_file_that_was_moved_leaves_from_there_and_one_that_is_gone_keeps_none_waiting() {
    let world = World::new();
    world.close(3, 0);
    let (warc, cold) = (
        world.place.path().join("warc"),
        world.place.path().join("cold"),
    );
    fs::create_dir(&cold).unwrap();
    fs::rename(warc.join(page(1)), cold.join(page(1))).unwrap();
    fs::remove_file(warc.join(page(0))).unwrap();
    crate::archive::set_elsewhere(&warc, &world.files().pages.names, &[cold]).unwrap();
    world.start(&world.note(), 60).finish();
    assert_eq!(world.noted(), [page(1), page(2)]);
}

#[test]
fn what_has_left_is_not_guessed() {
    let world = World::new();
    fs::create_dir(world.place.path().join("handed")).unwrap();
    fs::write(world.place.path().join("handed/on_close.json"), "{").unwrap();
    let options = HandoverOptions {
        command: vec!["true".to_owned()],
        max_duration: Duration::from_secs(1),
        upload: None,
    };
    let (closed, state) = (world.closed.subscribe(), &world.state);
    let data = world.place.path();
    let refused = Handover::start(&options, data, &world.files(), &closed, state, async {});
    let refused = refused
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(
        refused.contains("on_close.json") && refused.contains("remove it"),
        "{refused}"
    );
}
