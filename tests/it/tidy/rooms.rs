//! Which room may import which.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{code, sources};

/// Which rooms a room may import, layer by layer: imports go from later rooms to earlier ones,
/// never between neighbours, never back. The docs tell why.
pub(super) const ROOMS: [(&str, &[&str]); 30] = [
    ("units", &[]),
    ("unicode", &[]),
    ("url", &[]),
    ("robots", &[]),
    ("store", &[]),
    ("runs", &[]),
    ("broker", &[]),
    ("lock", &[]),
    ("archive", &["url"]),
    ("fetch", &["units", "url"]),
    ("page", &["unicode", "url"]),
    ("quality", &[]),
    ("learn", &["units", "url"]),
    (
        "frontier",
        &["units", "url", "robots", "store", "runs", "learn"],
    ),
    ("seeds", &["url", "frontier"]),
    ("dedup", &["units", "unicode", "url", "store", "runs"]),
    (
        "rows",
        &["url", "store", "archive", "fetch", "frontier", "dedup"],
    ),
    (
        "journal",
        &["url", "archive", "fetch", "page", "dedup", "rows"],
    ),
    ("sites", &["url", "page", "learn", "dedup"]),
    ("handover", &["fetch", "archive"]),
    ("engine", ALL_ABOVE),
    (
        "inspect",
        &[
            "url", "robots", "store", "runs", "archive", "learn", "frontier", "dedup", "rows",
            "journal", "engine",
        ],
    ),
    (
        "config",
        &[
            "units", "url", "learn", "frontier", "fetch", "page", "dedup", "engine",
        ],
    ),
    ("control", &["url", "seeds", "fetch", "engine", "inspect"]),
    (
        "cluster",
        &[
            "units", "broker", "lock", "url", "store", "frontier", "seeds", "engine", "control",
        ],
    ),
    ("demo", &["url", "frontier", "fetch", "engine", "config"]),
    (
        "corpus",
        &[
            "lock", "url", "fetch", "page", "learn", "dedup", "sites", "archive",
        ],
    ),
    (
        "export",
        &[
            "url", "page", "quality", "dedup", "archive", "engine", "inspect", "corpus",
        ],
    ),
    (
        "console",
        &[
            "url", "page", "dedup", "frontier", "engine", "inspect", "control", "cluster", "export",
        ],
    ),
    (
        "cli",
        &[
            "broker", "cluster", "console", "units", "url", "robots", "seeds", "fetch", "page",
            "learn", "frontier", "dedup", "engine", "inspect", "config", "control", "demo",
            "corpus", "export", "quality",
        ],
    ),
];

/// Every room whose line stands above.
const ALL_ABOVE: &[&str] = &["*"];

/// The rooms that each room may import.
fn allowed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut allowed = BTreeMap::new();
    for (room, imports) in ROOMS {
        let imports = match imports {
            ALL_ABOVE => allowed.keys().copied().collect(),
            listed => listed.iter().copied().collect(),
        };
        allowed.insert(room, imports);
    }
    allowed
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
        "fn f() -> crate::dedup::Tier { crate :: robots :: f() }",
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
    let allowed = allowed();
    let mut rooms = BTreeSet::new();
    let mut wrong = Vec::new();
    for (file, text) in sources("src") {
        let imports = imports(&text);
        let Some((room, _)) = file.split_once('/') else {
            // main.rs, what belongs to it, and lib.rs: only what a person types leads from there
            // into the rooms.
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
            if import != room && !allowed.contains(import.as_str()) {
                wrong.push(format!("{file} imports {import}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let table: BTreeSet<String> = ROOMS.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(rooms, table, "the table has the rooms that there are");
}

#[test]
fn the_table_of_rooms_has_no_circle() {
    // Layer by layer: each room imports rooms above its own line only.
    let allowed = allowed();
    let mut above = BTreeSet::new();
    for (room, _) in ROOMS {
        for import in &allowed[room] {
            assert!(
                above.contains(import),
                "{room} imports {import}, which is not above it"
            );
        }
        above.insert(room);
    }
}
