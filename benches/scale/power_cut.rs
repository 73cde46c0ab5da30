//! Power cuts, as a file system on a loop device shows them: the process is stopped at some moment,
//! what the device has by then is copied, and the copy is mounted as after a cut. What the process
//! had acknowledged must be in it; what it had only written to the page cache is not.
//!
//! Needs the right to mount, and `mkfs.ext4`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gleaner::engine::Options;
use gleaner::engine::rehearsal::Rehearsal;
use rustix::process::{Pid, Signal, kill_process};

use crate::queue::GROUP;
use crate::urls::{mix, url};

/// Runs a tool that must succeed.
fn run(tool: &str, arguments: &[&Path]) {
    let status = Command::new(tool).args(arguments).status();
    let status = status.expect("the tool is there");
    assert!(status.success(), "{tool} {arguments:?}");
}

/// A file system in a file, mounted until it is dropped.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn new(image: &Path, at: &'a Path) -> Self {
        fs::create_dir_all(at).expect("the directory is ours");
        run("mount", &["-o".as_ref(), "loop".as_ref(), image, at]);
        Self(at)
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        run("umount", &[self.0]);
    }
}

/// Cuts the power so often while `command` (given the data directory) fills it.
pub(crate) fn power_cut(
    place: &Path,
    options: &Options,
    (cuts, hosts): (u64, u64),
    command: impl Fn(&Path) -> Command,
    say: &dyn Fn(&str),
) {
    fs::create_dir_all(place).expect("the directory is ours");
    let [image, copy] = ["disk", "copy"].map(|name| place.join(name));
    let [disk, after] = ["mounted", "after"].map(|name| place.join(name));
    let file = fs::File::create(&image).expect("the directory is ours");
    file.set_len(8 << 30).expect("files may have holes");
    run("mkfs.ext4", &["-q".as_ref(), &image]);
    let mounted = Mounted::new(&image, &disk);
    let mut child = command(&disk.join("crawl"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the process starts");
    let pid = Pid::from_child(&child);
    let acknowledged = Arc::new(AtomicU64::new(0));
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let reader = thread::spawn({
        let acknowledged = Arc::clone(&acknowledged);
        move || {
            for line in lines.map_while(Result::ok) {
                let number = line.strip_prefix("acknowledged ").map(str::parse);
                if let Some(Ok(number)) = number {
                    acknowledged.store(number, Ordering::Release);
                }
            }
        }
    });
    for cut in 0..cuts {
        // A moment that nothing in the process chooses.
        let wanted = acknowledged.load(Ordering::Acquire) + GROUP * (1 + mix(cut) % 60);
        while acknowledged.load(Ordering::Acquire) < wanted {
            thread::sleep(Duration::from_micros(100 + mix(cut) % 900));
        }
        kill_process(pid, Signal::STOP).expect("it is ours");
        // It is stopped when it is seen to be.
        let state = || fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        while !state().expect("it is there").contains(") T ") {
            thread::sleep(Duration::from_millis(1));
        }
        let promised = acknowledged.load(Ordering::Acquire);
        run("cp", &["--sparse=always".as_ref(), &image, &copy]);
        kill_process(pid, Signal::CONT).expect("it is ours");

        let copied = Mounted::new(&copy, &after);
        let start = Instant::now();
        let directory = after.join("crawl");
        let mut rehearsal = Rehearsal::open(&directory, options).expect("what a cut leaves opens");
        let admitted = rehearsal.admitted();
        assert!(admitted >= promised, "{admitted} of {promised}");
        let opened = start.elapsed().as_secs_f64();
        let audit = rehearsal.audit().expect("rows are read");
        let sound = (audit.queued, audit.doubled, audit.unseen);
        assert_eq!(sound, (admitted, 0, 0));
        for number in (0..admitted).step_by(7) {
            assert!(rehearsal.is_seen(&url(number, hosts)), "{number}");
        }
        say(&format!(
            "cut {cut}: {promised} URLs acknowledged, {admitted} there, each once; opened after {opened:.2} s"
        ));
        drop(rehearsal);
        drop(copied);
    }
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    reader.join().expect("it ends with the process");
    drop(mounted);
    fs::remove_dir_all(place).expect("the directory is ours");
}
