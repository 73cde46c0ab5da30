//! README.md and the guide show what the commands really print: every block marked `console` is run
//! against a small web, the blocks of a page one after the other in one directory, and what comes
//! out is compared with what is shown. With `UPDATE_DOCS` set, what differs is written instead.
//!
//! - `page`: the blocks of a page, and what of their output may differ from run to run.
//! - `web`: the web, served from a copy of `tests/fixtures/guide`.
//!
//! A comment `<!-- run ... -->` on a page is run too, and its output is not compared: it prepares
//! what readers have themselves, such as a file of cookies. There, `$WEB` is the directory that is
//! served, with a folder for each host, and `$LATER` has what its pages become a month later.

mod page;
mod web;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::config::{read, root};
use crate::run::{Running, gleaner, prepared};

use page::{Page, Piece};
use web::Web;

#[test]
fn the_readme_shows_what_happens() {
    walk("README.md");
}

#[test]
fn the_page_for_researchers_shows_what_happens() {
    walk("docs/guide/researcher.md");
}

#[test]
fn the_page_for_archivists_shows_what_happens() {
    walk("docs/guide/archivist.md");
}

#[test]
fn the_page_for_corpus_builders_shows_what_happens() {
    walk("docs/guide/corpus-builder.md");
}

#[test]
fn the_page_for_operators_shows_what_happens() {
    walk("docs/guide/operator.md");
}

/// A page without blocks would pass whatever it says, so each must have some.
const MIN_COMMANDS: usize = 3;

/// Does what the page tells, in a directory of its own.
#[track_caller]
fn walk(name: &str) {
    let mut page = Page::parse(&read(name));
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let (served, work) = (place.path().join("web"), place.path().join("work"));
    let fixtures = root().join("tests/fixtures/guide");
    copy(&fixtures.join("now"), &served);
    fs::create_dir(&work).expect("the directory is ours");
    let web = Web::start(&served);
    let shell = |script: &str| {
        let mut command = reader(&web, &work);
        command.env("WEB", &served);
        command.env("LATER", fixtures.join("later"));
        // Both outputs into one, as on a terminal; what runs on in the background has its own.
        command.args(["-c", &format!("exec 1>&2\n{script}")]);
        Running::start(command).end()
    };
    let updates = std::env::var_os("UPDATE_DOCS").is_some();
    let (mut commands, mut differs) = (0, Vec::new());
    for piece in &mut page.pieces {
        match piece {
            Piece::Text(_) => {}
            Piece::Hidden(script) => {
                let output = shell(&format!("set -e\n{script}"));
                assert_eq!(output.code, 0, "{name}: {script}\n{}", output.stderr);
            }
            Piece::Shown(shown) => {
                for step in shown {
                    commands += 1;
                    let output = shell(&step.command);
                    let (code, said) = (output.code, output.stderr);
                    assert_eq!(
                        code, 0,
                        "{name}: {}\nends with {code}\n{said}",
                        step.command
                    );
                    let found = page::printed(&said, &work);
                    if updates {
                        step.update(&found);
                    } else if !step.shows(&found) {
                        let shown = step.output.join("\n");
                        let found = found.join("\n");
                        differs.push(format!(
                            "$ {}\nshown:\n{shown}\nprinted:\n{found}\n",
                            step.command
                        ));
                    }
                }
            }
        }
    }
    assert!(commands >= MIN_COMMANDS, "{name} shows {commands} commands");
    if updates {
        fs::write(root().join(name), page.text()).expect("the page can be written");
    }
    assert!(
        differs.is_empty(),
        "{name} shows what is not so; look at it, then UPDATE_DOCS=1 cargo test --test it guide::\n{}",
        differs.join("\n")
    );
}

/// A shell in which `gleaner` is the binary under test, and names lead to the web.
fn reader(web: &Web, work: &Path) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_gleaner"));
    let folder = program.parent().expect("it is in a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("they came from such a list");
    let mut command = Command::new("sh");
    // Nothing of this process's environment that could change what is printed.
    for (variable, value) in gleaner::<&str>(&[]).get_envs() {
        if value.is_none() {
            command.env_remove(variable);
        }
    }
    for (variable, value) in web.settings() {
        command.env(variable, value);
    }
    command
        .current_dir(work)
        .env("PATH", path)
        .env("HOME", work);
    command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    command.env_remove("COLUMNS").env_remove("LINES");
    prepared(command)
}

/// Copies a directory with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the directory is ours");
    for entry in fs::read_dir(from).expect("the repository has it") {
        let entry = entry.expect("the directory stays");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("it is there").is_dir() {
            true => copy(&entry.path(), &target),
            false => {
                let bytes = fs::read(entry.path()).expect("the repository has it");
                fs::write(target, bytes).expect("the directory is ours");
            }
        }
    }
}
