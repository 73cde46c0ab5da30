//! README.md shows what the binary prints for `--help`.

use std::fs;
use std::path::Path;

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

/// With `UPDATE_DOCS` set, writes what it would compare.
#[test]
fn the_usage_in_the_readme_is_that_of_the_binary() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).expect("the README is there");
    let (before, section) = readme
        .split_once("\n## Usage\n\n```text\n")
        .expect("README.md has a section on usage that begins with a block of text");
    let (shown, after) = section.split_once("```\n").expect("the block ends");
    // The width is that of no terminal, whatever the test runs in.
    let mut command = gleaner(&["--help"]);
    command.env_remove("COLUMNS").env_remove("LINES");
    let help = run(command).expect(0).stdout;
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let help = lines.join("\n") + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let written = format!("{before}\n## Usage\n\n```text\n{help}```\n{after}");
        fs::write(&path, written).expect("the README can be written");
    } else {
        assert_eq!(
            shown, help,
            "README.md differs from `gleaner --help`: UPDATE_DOCS=1 cargo test --test it readme"
        );
    }
}
