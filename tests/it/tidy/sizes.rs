//! That nothing grows without end: files, types, folders, lines of comments.

use std::collections::BTreeMap;
use std::path::Path;

use super::paths::Crate;
use super::source::sources;

/// Lines of a file, its tests aside. Most have fewer than half of these.
const MAX_LINES: usize = 600;

/// Lines of all `impl` blocks of a type, whatever files they stand in.
const MAX_TYPE_LINES: usize = 800;

/// Types that are larger still. This list only shrinks.
const LARGE_TYPES: [&str; 0] = [];

/// Files of a folder, those of tests aside.
const MAX_FILES: usize = 20;

/// Folders that are larger still. This list only shrinks.
const LARGE_FOLDERS: [&str; 0] = [];

/// Columns of a comment; rustfmt holds the code itself.
const MAX_COLUMNS: usize = 100;

#[test]
fn no_file_grows_without_end() {
    let mut wrong = Vec::new();
    for (file, text) in sources("src") {
        let code = text
            .find("\n#[cfg(test)]\nmod tests {")
            .unwrap_or(text.len());
        let lines = text[..code].lines().count();
        if !file.ends_with("/tests.rs") && lines > MAX_LINES {
            wrong.push(format!("{file}: {lines} lines"));
        }
    }
    assert!(wrong.is_empty(), "split by subject: {wrong:?}");
}

#[test]
fn no_type_grows_without_end() {
    let read = Crate::read();
    let mut wrong = Vec::new();
    let types = read.lines_of_types();
    let large = types.iter().filter(|(_, it)| it.0 > MAX_TYPE_LINES);
    for (name, (lines, files)) in large.clone() {
        if !LARGE_TYPES.contains(&name.as_str()) {
            wrong.push(format!("{name}: {lines} lines of impl in {files:?}"));
        }
    }
    for listed in LARGE_TYPES {
        if !large.clone().any(|(name, _)| name == listed) {
            wrong.push(format!("{listed} is large no more: take it off the list"));
        }
    }
    assert!(wrong.is_empty(), "part by what it owns: {wrong:#?}");
}

#[test]
fn no_folder_grows_without_end() {
    let read = Crate::read();
    let mut folders = BTreeMap::<&str, usize>::new();
    for file in read.files() {
        let folder = Path::new(file).parent().and_then(Path::to_str);
        *folders.entry(folder.unwrap_or_default()).or_default() += 1;
    }
    let mut wrong = Vec::new();
    for (folder, files) in &folders {
        if *files > MAX_FILES && !LARGE_FOLDERS.contains(folder) {
            wrong.push(format!("{folder}: {files} files"));
        }
    }
    for listed in LARGE_FOLDERS {
        if folders.get(listed).is_none_or(|files| *files <= MAX_FILES) {
            wrong.push(format!("{listed} is large no more: take it off the list"));
        }
    }
    assert!(wrong.is_empty(), "part by subject: {wrong:#?}");
}

#[test]
fn no_comment_is_too_wide() {
    let mut wrong = Vec::new();
    for directory in ["src", "tests", "benches", "fuzz", "examples"] {
        for (file, text) in sources(directory) {
            let wide = text.lines().enumerate().filter(|(_, line)| {
                let comment = line.trim_start();
                // A row of a table cannot be wrapped.
                let is_table = comment.starts_with("//! |") || comment.starts_with("/// |");
                comment.starts_with("//") && !is_table && line.chars().count() > MAX_COLUMNS
            });
            wrong.extend(wide.map(|(at, _)| format!("{directory}/{file}:{}", at + 1)));
        }
    }
    assert!(
        wrong.is_empty(),
        "wrap at {MAX_COLUMNS} columns: {wrong:#?}"
    );
}
