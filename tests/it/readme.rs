//! README.md is short, and docs/commands.md shows what the binary prints for `--help`.

use std::fs;

use crate::config::{read, root};
use crate::run::{gleaner, run};

/// Which options a crawl has, the common ones first, with one line about each.
#[test]
fn options_of_a_crawl_are_grouped() {
    let mut command = gleaner(&["crawl", "-h"]);
    command.env_remove("COLUMNS").env_remove("LINES");
    let help = run(command).expect(0).stdout;
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    insta::assert_snapshot!("options_of_a_crawl", lines.join("\n"));
}

/// Lines of README.md: it is read before anything is known, so it says little, and links.
const MAX_LINES: usize = 150;

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(
        lines <= MAX_LINES,
        "README.md has {lines} lines: move some to docs/"
    );
}

/// With `UPDATE_DOCS` set, writes what it would compare.
#[test]
fn the_commands_are_those_of_the_binary() {
    let page = read("docs/commands.md");
    let (before, section) = page
        .split_once("\n## Usage\n\n```text\n")
        .expect("docs/commands.md has a section on usage that begins with a block of text");
    let (shown, after) = section.split_once("```\n").expect("the block ends");
    // The width is that of no terminal, whatever the test runs in.
    let mut command = gleaner(&["--help"]);
    command.env_remove("COLUMNS").env_remove("LINES");
    let help = run(command).expect(0).stdout;
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let help = lines.join("\n") + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let written = format!("{before}\n## Usage\n\n```text\n{help}```\n{after}");
        fs::write(root().join("docs/commands.md"), written).expect("the page can be written");
    } else {
        assert_eq!(
            shown, help,
            "docs/commands.md differs from `gleaner --help`: \
             UPDATE_DOCS=1 cargo test --test it readme"
        );
    }
}
