//! That what docs/architecture.md names exists, and that it names every room and table; that links
//! between documents lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gleaner::store::Table;

use super::rooms::ROOMS;
use super::source::{root, sources};

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

/// The documents that people read: those of the root, and all below `docs`.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root().join("docs")];
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        let paths = entries.map(|entry| entry.expect("the directory stays").path());
        let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
        waiting.extend(folders);
        found.extend(files);
    }
    found.extend(["README.md", "CHANGELOG.md", "SECURITY.md"].map(|it| root().join(it)));
    found.retain(|path| path.extension().is_some_and(|it| it == "md"));
    found.sort();
    found
}

/// The lines of a document outside of its blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// What a heading can be linked to by, as GitHub and others make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    });
    kept.collect::<String>().to_lowercase()
}

/// The anchors of a document.
fn anchors(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let headings = prose(&text).filter(|line| line.starts_with('#'));
    let mut anchors = BTreeSet::new();
    for heading in headings {
        let anchor = anchor(heading.trim_start_matches('#').trim());
        // The second of a name has a number.
        let mut numbered = (0..).map(|number| match number {
            0 => anchor.clone(),
            number => format!("{anchor}-{number}"),
        });
        anchors.extend(numbered.find(|it| !anchors.contains(it)));
    }
    anchors
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut followed = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).expect("it was listed");
        let folder = path.parent().expect("it is in a folder");
        for line in prose(&text) {
            let targets = line.split("](").skip(1);
            for target in targets.filter_map(|it| it.split(')').next()) {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                followed += 1;
                let (file, place) = target.split_once('#').unwrap_or((target, ""));
                let file = match file.is_empty() {
                    true => path.clone(),
                    false => folder.join(file),
                };
                let is_there =
                    file.exists() && (place.is_empty() || anchors(&file).contains(place));
                if !is_there || target == "#" {
                    wrong.push(format!("{}: {target}", path.display()));
                }
            }
        }
    }
    assert!(followed > 100, "{followed} links were found");
    assert!(wrong.is_empty(), "links that lead nowhere: {wrong:#?}");
}

#[test]
fn anchors_are_made_as_where_documents_are_shown() {
    let check = |heading, expected| assert_eq!(anchor(heading), expected);
    check("What was left out", "what-was-left-out");
    check("`gleaner why --json`", "gleaner-why---json");
    check("log/fetch.jsonl", "logfetchjsonl");
    check("Headers, logins, proxies", "headers-logins-proxies");
}
