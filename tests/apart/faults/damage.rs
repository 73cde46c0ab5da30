//! Bits that flip and files that end early, in any file of a directory: harmless, or noticed at the
//! latest when they are read or by `gleaner check`, and never a panic.

use std::fs;
use std::path::{Path, PathBuf};

use super::control::{Action, CHANGES, Fault};
use super::scene::{Scene, Trial, check, copy};
use super::{anywhere, count, trials};
use crate::web::Random;

/// All files below a folder that are not empty.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is read") {
        let entry = entry.expect("an entry");
        let path = entry.path();
        let metadata = entry.metadata().expect("what it is");
        if metadata.is_dir() {
            found.extend(files(&path));
        } else if metadata.is_file() && metadata.len() > 0 {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Damages a file of a data directory, and says how.
fn damage(random: &mut Random, data: &Path) -> String {
    let all = files(data);
    let first = |path: &PathBuf| {
        let name = path.strip_prefix(data).expect("it is within");
        name.components().next().map(|it| it.as_os_str().to_owned())
    };
    // Each part of the directory as often as any other, whatever number of files it has.
    let mut parts: Vec<_> = all.iter().map(first).collect();
    parts.dedup();
    let part = &parts[random.below(parts.len())];
    let own: Vec<_> = all.iter().filter(|path| first(path) == *part).collect();
    let path = own[random.below(own.len())];
    let name = path.strip_prefix(data).expect("it is within").display();
    let mut bytes = fs::read(path).expect("the file is read");
    // Files that were made larger beforehand are mostly damaged where something stands.
    let end = bytes.iter().rposition(|byte| *byte != 0);
    let bound = match random.below(8) {
        0 => bytes.len(),
        _ => end.map_or(bytes.len(), |end| end + 1),
    };
    let at = random.below(bound);
    let how = if random.below(3) == 0 {
        bytes.truncate(at);
        format!("{name} cut at {at}")
    } else {
        let bit = random.below(8);
        bytes[at] ^= 1 << bit;
        format!("{name} flipped at {at}, bit {bit}")
    };
    fs::write(path, bytes).expect("the file is written");
    how
}

pub(crate) fn files_that_are_damaged() {
    let scene = Scene::crawl();
    let calls = scene.calls(CHANGES);
    let mut finished = Trial::new(&scene);
    finished.finish();
    trials("files_that_are_damaged", 3, |random, tally| {
        let mut trial = Trial::new(&scene);
        let data = trial.place.data();
        match random.below(3) {
            0 => copy(&finished.place.data(), &data),
            1 => {
                let pages = random.between(3, 35).to_string();
                trial.run_with(&["--max-pages", &pages], None).expect(0);
            }
            _ => {
                let chosen = anywhere(random, calls * 3 / 4);
                trial.run(Some(Fault {
                    kinds: CHANGES,
                    chosen,
                    action: Action::Kill,
                }));
            }
        }
        let how = damage(random, &data);
        trial.tell(how.clone());
        let checked = check(&data);
        assert!(!checked.stderr.contains("panicked"), "{how}: {checked:#?}");
        let output = trial.run(None);
        assert!(!output.stderr.contains("panicked"), "{how}: {output:#?}");
        let is_told = output.code != 0
            || ["WARN", "ERROR"]
                .iter()
                .any(|it| output.stderr.contains(it));
        count(tally, "damages");
        if checked.code != 0 {
            count(tally, "noticed by check");
        } else if is_told {
            count(tally, "noticed by the next run only");
        } else {
            count(tally, "harmless");
            trial.finish();
        }
    });
}
