//! That what docs/architecture.md names exists, and that it names every room and table.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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
