//! Power cuts: a crawl is traced, and from a moment of the trace a state of the disk is made as a
//! cut may leave it. What was synced is there. Of what was written since, each sector or block may
//! be there or not, in any order; of the names that changed since, a part.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::control::{Action, CHANGES, Fault};
use super::scene::{KILLED, Scene, Trial, acknowledged};
use super::{Tally, count, trials};
use crate::run::Place;
use crate::web::Random;

/// A change of the content of a file.
#[derive(Debug, Clone)]
enum Change {
    Write { offset: u64, data: Vec<u8> },
    Length(u64),
}

/// A change of names. Files are known by a number of our own.
#[derive(Debug, Clone)]
enum Naming {
    File(PathBuf, usize),
    Folder(PathBuf),
    Moved(PathBuf, PathBuf),
    Removed(PathBuf),
}

#[derive(Debug, Clone)]
enum Event {
    Content(usize, Change),
    Naming(Naming),
    FileSynced(usize),
    FolderSynced(PathBuf),
}

/// What names a file system keeps when it syncs a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Every change before it, and of the later ones those up to some moment: names are journaled
    /// in order, as by ext4 and XFS.
    InOrder,
    /// Those of this file and the folders around it, and of the others any part, as a file system
    /// may that logs each file for itself.
    OfTheFile,
}

/// Takes records of a trace apart.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, length: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn number(&mut self, bytes: usize) -> u64 {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(self.take(bytes));
        u64::from_le_bytes(number)
    }

    fn path(&mut self, length: u64) -> PathBuf {
        let bytes = self.take(length as usize);
        PathBuf::from(std::str::from_utf8(bytes).expect("paths are ASCII"))
    }
}

/// Reads the trace of all runs in a folder.
fn read_trace(trace: &Path, folder: &Path) -> Vec<Event> {
    let bytes = fs::read(trace).expect("it was traced");
    let mut reader = Reader(&bytes);
    let mut events = Vec::new();
    let mut live = Tree::default();
    // Numbers of files are given away again by the file system.
    let (mut files, mut next) = (BTreeMap::<u64, usize>::new(), 0);
    while !reader.0.is_empty() {
        let operation = reader.take(1)[0];
        let [inode, offset, length] = [8, 8, 8].map(|bytes| reader.number(bytes));
        let [path, other] = [2, 2].map(|bytes| reader.number(bytes));
        let data = reader.number(4) as usize;
        let within = |path: PathBuf| path.strip_prefix(folder).map(Path::to_owned);
        let path = within(reader.path(path)).unwrap_or_default();
        let other = within(reader.path(other)).unwrap_or_default();
        let data = reader.take(data).to_vec();
        let known = files.get(&inode).copied();
        // Who renames without the C library is found out when the file is synced: the engine does
        // so with the file that names the list of a table's files.
        if let (b's', Some(file)) = (operation, known)
            && let Some(before) = live.name_of(file).filter(|before| **before != path)
        {
            let moved = Naming::Moved(before.clone(), path.clone());
            live.apply(&moved);
            events.push(Event::Naming(moved));
        }
        let event = match (operation, known) {
            (b'c', _) => {
                files.insert(inode, next);
                next += 1;
                Event::Naming(Naming::File(path, next - 1))
            }
            (b'w', Some(file)) => Event::Content(file, Change::Write { offset, data }),
            (b't', Some(file)) => Event::Content(file, Change::Length(length)),
            (b's', Some(file)) => Event::FileSynced(file),
            (b'D', _) => Event::FolderSynced(path),
            (b'm', _) => Event::Naming(Naming::Folder(path)),
            (b'r', _) => Event::Naming(Naming::Moved(path, other)),
            (b'u', _) => Event::Naming(Naming::Removed(path)),
            _ => panic!("a record of {} that nothing explains", path.display()),
        };
        if let Event::Naming(naming) = &event {
            live.apply(naming);
        }
        events.push(event);
    }
    events
}

/// What has a name at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    File(usize),
    Folder,
}

#[derive(Debug, Default, Clone)]
struct Tree(BTreeMap<PathBuf, Named>);

impl Tree {
    /// Changes names; what a change needs may not be there, if changes before it were lost.
    fn apply(&mut self, naming: &Naming) {
        let has_folder = |tree: &Self, path: &Path| {
            let folder = path.parent().unwrap_or(Path::new(""));
            folder.as_os_str().is_empty() || tree.0.get(folder) == Some(&Named::Folder)
        };
        match naming {
            Naming::File(path, file) if has_folder(self, path) => {
                self.0.insert(path.clone(), Named::File(*file));
            }
            Naming::Folder(path) if has_folder(self, path) => {
                self.0.insert(path.clone(), Named::Folder);
            }
            Naming::Moved(from, to) if has_folder(self, to) && self.0.contains_key(from) => {
                self.remove(to);
                let moved = self.below(from);
                for path in moved {
                    let named = self.0.remove(&path).expect("it was listed");
                    let rest = path.strip_prefix(from).expect("it is below");
                    let to = match rest.as_os_str().is_empty() {
                        true => to.clone(),
                        false => to.join(rest),
                    };
                    self.0.insert(to, named);
                }
            }
            Naming::Removed(path) => self.remove(path),
            _ => {}
        }
    }

    fn below(&self, path: &Path) -> Vec<PathBuf> {
        let paths = self.0.keys().filter(|it| it.starts_with(path));
        paths.cloned().collect()
    }

    fn remove(&mut self, path: &Path) {
        for path in self.below(path) {
            self.0.remove(&path);
        }
    }

    fn name_of(&self, file: usize) -> Option<&PathBuf> {
        let found = self.0.iter().find(|(_, it)| **it == Named::File(file));
        found.map(|(path, _)| path)
    }
}

/// A disk at the moment of a cut: what was done, and what of it is sure to be there.
#[derive(Default)]
struct Disk {
    live: Tree,
    names: Vec<(Naming, bool)>,
    contents: BTreeMap<usize, Vec<(Change, bool)>>,
}

impl Disk {
    fn at(events: &[Event], model: Names) -> Self {
        let mut disk = Self::default();
        for event in events {
            match event {
                Event::Content(file, change) => {
                    let changes = disk.contents.entry(*file).or_default();
                    changes.push((change.clone(), false));
                }
                Event::Naming(naming) => {
                    disk.live.apply(naming);
                    disk.names.push((naming.clone(), false));
                }
                Event::FileSynced(file) => {
                    for (_, is_sure) in disk.contents.entry(*file).or_default() {
                        *is_sure = true;
                    }
                    disk.sync_names(model, |disk| {
                        disk.live.name_of(*file).cloned().into_iter().collect()
                    });
                }
                Event::FolderSynced(folder) => disk.sync_names(model, |disk| {
                    let names = disk.names.iter().flat_map(|(naming, _)| named(naming));
                    let own = names.filter(|path| path.parent() == Some(folder.as_path()));
                    own.chain([folder]).cloned().collect()
                }),
            }
        }
        disk
    }

    /// Makes names sure: all, or those that lead to these paths.
    fn sync_names(&mut self, model: Names, which: impl Fn(&Self) -> BTreeSet<PathBuf>) {
        if model == Names::InOrder {
            for (_, is_sure) in &mut self.names {
                *is_sure = true;
            }
            return;
        }
        let mut wanted = which(self);
        // The last first: where a file was moved from is wanted too.
        for (naming, is_sure) in self.names.iter_mut().rev() {
            let is_wanted = named(naming).any(|path| {
                wanted.contains(path) || {
                    let leads = matches!(naming, Naming::Folder(_) | Naming::Moved(..));
                    leads && wanted.iter().any(|it| it.starts_with(path))
                }
            });
            if is_wanted {
                *is_sure = true;
                wanted.extend(named(naming).cloned());
            }
        }
    }

    /// Writes what a cut leaves.
    fn leave(&self, random: &mut Random, model: Names, to: &Path) {
        // How much of what is not sure is there, in sixteenths; how much is written at once.
        let share = [0, 4, 8, 12, 15, 16][random.below(6)];
        let piece = [512, 4_096][random.below(2)];
        let is_there = |random: &mut Random| random.below(16) < share;
        let mut tree = Tree::default();
        let unsure = self.names.iter().filter(|(_, is_sure)| !is_sure).count();
        let mut in_order = random.below(unsure + 1);
        for (naming, is_sure) in &self.names {
            let stays = *is_sure
                || match model {
                    Names::InOrder => {
                        let stays = in_order > 0;
                        in_order = in_order.saturating_sub(1);
                        stays
                    }
                    Names::OfTheFile => is_there(random),
                };
            if stays {
                tree.apply(naming);
            }
        }
        fs::create_dir_all(to).expect("the folder is ours");
        for (path, named) in &tree.0 {
            let path = to.join(path);
            let Named::File(file) = named else {
                fs::create_dir_all(path).expect("the folder is ours");
                continue;
            };
            let disk = File::create(path).expect("the folder is ours");
            for (change, is_sure) in self.contents.get(file).into_iter().flatten() {
                match change {
                    Change::Length(length) if *is_sure || is_there(random) => {
                        disk.set_len(*length).expect("files may have holes");
                    }
                    Change::Length(_) => {}
                    Change::Write { offset, data } => {
                        let mut at = 0;
                        while at < data.len() {
                            let from = offset + at as u64;
                            let end = data.len().min(at + piece - from as usize % piece);
                            if *is_sure || is_there(random) {
                                let written = disk.write_all_at(&data[at..end], from);
                                written.expect("there is room");
                            }
                            at = end;
                        }
                    }
                }
            }
        }
    }

    /// What had been acknowledged, as the process saw it: its log, written out whole.
    fn acknowledged(&self, scratch: &Path) -> BTreeSet<String> {
        fs::create_dir_all(scratch.join("log")).expect("the folder is ours");
        let files = self
            .live
            .0
            .iter()
            .filter(|(path, _)| path.starts_with("log"));
        for (path, named) in files {
            let Named::File(file) = named else { continue };
            let file_on_disk = File::create(scratch.join(path)).expect("the folder is ours");
            for (change, _) in self.contents.get(file).into_iter().flatten() {
                match change {
                    Change::Length(length) => file_on_disk.set_len(*length),
                    Change::Write { offset, data } => file_on_disk.write_all_at(data, *offset),
                }
                .expect("there is room");
            }
        }
        acknowledged(scratch)
    }
}

fn named(naming: &Naming) -> impl Iterator<Item = &PathBuf> {
    let (one, other) = match naming {
        Naming::File(path, _) | Naming::Folder(path) | Naming::Removed(path) => (path, None),
        Naming::Moved(from, to) => (from, Some(to)),
    };
    [one].into_iter().chain(other)
}

/// Traces a crawl that is stopped, killed, and comes to its end.
fn trace(scene: &Scene, calls: u64) -> Vec<Event> {
    let mut trial = Trial::new(scene);
    let trace = trial.place.data().with_extension("trace");
    trial.trace = Some(trace.clone());
    let unfaulty = Fault {
        kinds: CHANGES,
        chosen: 0,
        action: Action::Nothing,
    };
    let few = ["--max-pages", "14"];
    trial.run_with(&few, Some(unfaulty)).expect(0);
    let killed = Fault {
        chosen: calls / 4,
        action: Action::Kill,
        ..unfaulty
    };
    trial.run(Some(killed)).expect(KILLED);
    trial.run(Some(unfaulty)).expect(0);
    read_trace(&trace, &trial.place.data())
}

fn cut(name: &str, usual: u64, model: Names) {
    let scene = Scene::crawl();
    let calls = scene.calls(CHANGES);
    // Another one from time to time.
    let traced = RefCell::new((0, trace(&scene, calls)));
    trials(name, usual, |random: &mut Random, tally: &mut Tally| {
        let (used, events) = &mut *traced.borrow_mut();
        *used += 1;
        if *used % 25 == 0 {
            *events = trace(&scene, calls);
        }
        let moment = random.below(events.len() + 1);
        let disk = Disk::at(&events[..moment], model);
        let scratch = Place::new();
        let mut trial = Trial::new(&scene);
        disk.leave(random, model, &trial.place.data());
        trial.expect_done(disk.acknowledged(&scratch.data()));
        trial.finish();
        count(tally, "cuts");
    });
}

pub(crate) fn power_cuts() {
    cut("power_cuts", 3, Names::InOrder);
}

pub(crate) fn power_cuts_where_names_are_lost_too() {
    cut("power_cuts_where_names_are_lost_too", 2, Names::OfTheFile);
}
