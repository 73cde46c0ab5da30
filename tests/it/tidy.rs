//! What the compiler cannot hold about the source: which room may import which, that each file
//! says what it is, that none grows without end, where `unsafe` may stand, what lies in the
//! repository's top directory, and that what docs/architecture.md names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use gleaner::store::Table;

/// Which rooms a room may import, layer by layer: imports go from later rooms to earlier ones,
/// never between neighbours, never back. The docs tell why.
const ROOMS: [(&str, &[&str]); 17] = [
    ("url", &[]),
    ("robots", &[]),
    ("store", &[]),
    ("runs", &[]),
    ("seeds", &["url"]),
    ("frontier", &["url", "robots", "store", "runs"]),
    ("fetch", &["url"]),
    ("page", &["url"]),
    ("dedup", &["url", "store", "runs"]),
    ("archive", &["url"]),
    ("journal", &["url", "fetch", "page", "dedup", "archive"]),
    (
        "rows",
        &["url", "store", "frontier", "dedup", "archive", "journal"],
    ),
    ("engine", &LAYERS_BELOW_ENGINE),
    (
        "config",
        &["url", "frontier", "fetch", "page", "dedup", "engine"],
    ),
    ("control", &["url", "seeds", "fetch", "engine"]),
    ("demo", &["url", "frontier", "fetch", "engine", "config"]),
    (
        "cli",
        &[
            "url", "robots", "store", "runs", "seeds", "frontier", "fetch", "page", "dedup",
            "archive", "engine", "config", "control", "demo",
        ],
    ),
];

const LAYERS_BELOW_ENGINE: [&str; 12] = [
    "url", "robots", "store", "runs", "seeds", "frontier", "fetch", "page", "dedup", "archive",
    "journal", "rows",
];

/// Lines of a file, its tests aside. Most have fewer than half of these.
const MAX_LINES: usize = 600;

/// What may lie in the top directory, besides what .gitignore names.
const TOP: [&str; 20] = [
    ".ci",
    ".git",
    ".config",
    ".dockerignore",
    ".gitattributes",
    ".gitignore",
    "Cargo.lock",
    "Cargo.toml",
    "Dockerfile",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "clippy.toml",
    "config",
    "docs",
    "fuzz",
    "seeds",
    "src",
    "tests",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file under a directory, with its path from there, and its text.
fn sources(directory: &str) -> BTreeMap<String, String> {
    let top = root().join(directory);
    let mut found = BTreeMap::new();
    let mut waiting = vec![top.clone()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path: PathBuf = entry.expect("the source stays").path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let name = path.strip_prefix(&top).expect("it is below");
                let name = name.to_str().expect("names are ASCII").to_owned();
                found.insert(name, fs::read_to_string(path).expect("source is UTF-8"));
            }
        }
    }
    found
}

/// The text without comments, strings and character literals, so that what is left is code.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_string(rest) {
            length
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|letter| {
                let ends = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\\") {
            // The escaped letter may itself be a quote.
            rest[3..].find('\'').map_or(rest.len(), |end| end + 4)
        } else if rest.starts_with("'\"'") {
            3
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        code.push(' ');
        rest = &rest[skipped..];
    }
    code
}

/// The length of the raw string at the beginning of this, if there is one.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.strip_prefix('r').or_else(|| text.strip_prefix("br"))?;
    let count = hashes.bytes().take_while(|byte| *byte == b'#').count();
    let start = text.len() - hashes.len() + count;
    if !text[start..].starts_with('"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(count));
    let length = text[start + 1..].find(&end)?;
    Some(start + 1 + length + end.len())
}

/// The rooms that paths from the crate's root name: `crate::url::…`, `use crate::{a, b::c}`,
/// also where the root is reached as `gleaner`.
fn imports(text: &str) -> BTreeSet<String> {
    let code = code(text);
    let mut rooms = BTreeSet::new();
    for root in ["crate", "gleaner"] {
        for (at, _) in code.match_indices(root) {
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
            if code[..at].ends_with(is_word) {
                continue;
            }
            let Some(path) = code[at + root.len()..].trim_start().strip_prefix("::") else {
                continue;
            };
            rooms.extend(first_segments(path.trim_start()));
        }
    }
    rooms
}

/// The first segment of a path, or of each path of a group.
fn first_segments(path: &str) -> Vec<String> {
    let Some(group) = path.strip_prefix('{') else {
        let end = path
            .find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '*')
            .unwrap_or(path.len());
        return vec![path[..end].to_owned()];
    };
    let mut depth = 0;
    let mut start = 0;
    let mut found = Vec::new();
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let piece = group[start..at].trim();
                if !piece.is_empty() {
                    found.extend(first_segments(piece));
                }
                start = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

fn check_imports(text: &str, expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(|room| (*room).to_owned()).collect();
    assert_eq!(imports(text), expected, "{text}");
}

#[test]
fn imports_are_found_however_they_are_written() {
    check_imports("use crate::url::Url;", &["url"]);
    check_imports(
        "use crate::{url, store::{self, Table}, runs::Runs};",
        &["url", "store", "runs"],
    );
    check_imports(
        "use crate::{\n    page::{Page, links::{A, B}},\n    fetch,\n};",
        &["page", "fetch"],
    );
    check_imports(
        "fn f() -> crate::dedup::Kind { crate :: robots :: f() }",
        &["dedup", "robots"],
    );
    check_imports("mod tests { use gleaner::archive; }", &["archive"]);
    check_imports("pub(crate) use super::x; // crate::url", &[]);
    check_imports(
        "/// [`crate::url`]\nlet s = \"crate::store\"; let c = '\"'; crate::runs::f(\"\")",
        &["runs"],
    );
    check_imports(
        "r#\"crate::\"url\"# ; $crate::store!(); mycrate::page::x; crate::*",
        &["*"],
    );
    check_imports("let q = '\\''; use crate::url;", &["url"]);
}

#[test]
fn rooms_import_only_earlier_rooms() {
    let allowed: BTreeMap<&str, &[&str]> = ROOMS.into_iter().collect();
    let mut rooms = BTreeSet::new();
    let mut wrong = Vec::new();
    for (file, text) in sources("src") {
        let imports = imports(&text);
        let Some((room, inner)) = file.split_once('/') else {
            // main.rs and lib.rs: only what a person types leads from there into the rooms.
            let face = BTreeSet::from(["cli".to_owned()]);
            if !imports.is_subset(&face) {
                wrong.push(format!("{file} imports {imports:?}"));
            }
            continue;
        };
        rooms.insert(room.to_owned());
        let Some(allowed) = allowed.get(room) else {
            panic!("src/{room} has no line in the table of rooms");
        };
        for import in imports {
            if import != room && !allowed.contains(&import.as_str()) {
                wrong.push(format!("{file} imports {import}"));
            }
        }
        // From a room's own file, `super` is the root: a door past the table.
        if inner == "mod.rs" {
            let code = code(&text);
            let past = code.lines().find(|line| {
                line.starts_with("use super::") || line.starts_with("pub use super::")
            });
            assert_eq!(past, None, "{file}: say crate");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let table: BTreeSet<String> = ROOMS.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(rooms, table, "the table has the rooms that there are");
}

#[test]
fn the_table_of_rooms_has_no_circle() {
    // Layer by layer: each room imports rooms above its own line only.
    let mut above = BTreeSet::new();
    for (room, imports) in ROOMS {
        for import in imports {
            assert!(
                above.contains(import),
                "{room} imports {import}, which is not above it"
            );
        }
        above.insert(room);
    }
}

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
fn only_the_mapping_of_files_is_unsafe() {
    for (file, text) in sources("src") {
        let code = code(&text);
        let is_allowed = file == "runs/map.rs";
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

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn what_the_architecture_names_exists() {
    let path = root().join("docs/architecture.md");
    let Ok(text) = fs::read_to_string(&path) else {
        return;
    };
    let sources = sources("src");
    let mut wrong = Vec::new();
    for name in quoted(&text) {
        let is_rust = Path::new(name).extension().is_some_and(|it| it == "rs");
        let is_file = is_rust && !name.contains(['*', '{', ' ']);
        let exists = || {
            let inner = name.strip_prefix("src/").unwrap_or(name);
            sources.contains_key(inner)
                || sources
                    .keys()
                    .any(|file| file.ends_with(&format!("/{name}")))
                || root().join(name).exists()
        };
        if is_file && !exists() {
            wrong.push(name);
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/architecture.md names what is not there: {wrong:?}"
    );
    let named: BTreeSet<&str> = quoted(&text).collect();
    let says = |name: &str| named.iter().any(|it| it.trim_end_matches('/') == name);
    for (room, _) in ROOMS {
        assert!(
            says(room),
            "docs/architecture.md does not name the room `{room}`"
        );
    }
    for table in Table::ALL {
        let name = table.name();
        let variant = format!("{table:?}");
        assert!(
            says(name) || says(&variant),
            "docs/architecture.md does not name the table `{name}`"
        );
    }
}
