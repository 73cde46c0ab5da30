//! What the compiler cannot hold about the source: which room may import which, that no files of a
//! room need one another in a circle, that each file says what it is, that nothing grows without
//! end, where `unsafe` may stand, what lies in the repository's top directory, what the package
//! ships and depends on, and that what docs/architecture.md names exists.

mod circles;
mod docs;
mod modules;
mod package;
mod paths;
mod rooms;
mod sizes;
mod source;

use std::collections::BTreeSet;
use std::fs;

use source::{code, root, sources};

/// What may lie in the top directory, besides what .gitignore names.
const TOP: [&str; 31] = [
    ".cargo",
    ".cargo_vcs_info.json",
    ".ci",
    ".config",
    ".dockerignore",
    ".editorconfig",
    ".git",
    ".gitattributes",
    ".github",
    ".gitignore",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "Dockerfile",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "benches",
    "clippy.toml",
    "config",
    "deny.toml",
    "docs",
    "examples",
    "fuzz",
    "packaging",
    "seeds",
    "src",
    "tests",
    "typos.toml",
];

#[test]
fn every_file_says_what_it_is() {
    for directory in ["src", "tests", "benches", "fuzz"] {
        for (file, text) in sources(directory) {
            let first = text.lines().next().unwrap_or_default();
            let said = first.strip_prefix("//! ").unwrap_or_default();
            assert!(
                said.len() > 10,
                "{directory}/{file} does not open with `//! `"
            );
        }
    }
}

#[test]
fn only_mapping_and_scheduling_are_unsafe() {
    for (file, text) in sources("src") {
        let code = code(&text);
        let is_allowed = ["runs/map.rs", "scheduling.rs"].contains(&&*file);
        assert_eq!(code.contains("unsafe_code"), is_allowed, "{file}");
        let has_block = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let has_block = has_block.into_iter().any(|word| word == "unsafe");
        assert!(is_allowed || !has_block, "{file} is unsafe");
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a package has one");
    assert!(manifest.contains("unsafe_code = \"deny\""));
}

#[test]
fn the_top_directory_holds_what_it_should() {
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap_or_default();
    let ignored: BTreeSet<&str> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    for entry in fs::read_dir(root()).expect("the package is there") {
        let name = entry.expect("the package stays").file_name();
        let name = name.to_str().expect("names are ASCII");
        let known = TOP.contains(&name) || ignored.contains(name);
        assert!(known, "{name} does not belong into the top directory");
    }
}
