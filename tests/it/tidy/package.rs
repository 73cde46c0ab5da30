//! What cargo knows of the package: what its dependencies bring along, and which files it ships.
//! `deny.toml` has the lists; cargo-deny reads them too, where it is installed.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::source::root;

fn toml(name: &str) -> toml::Table {
    let text = fs::read_to_string(root().join(name)).expect("the repository has it");
    text.parse().expect("it is TOML")
}

/// The strings of a list in `deny.toml`; of tables those under `crate`.
fn denied_or_allowed(section: &str, key: &str) -> Vec<String> {
    let list = toml("deny.toml")[section][key].clone();
    let list = list.as_array().expect("it is a list").clone();
    let string = |it: &toml::Value| it.get("crate").unwrap_or(it).as_str().map(str::to_owned);
    list.iter().filter_map(string).collect()
}

/// Licences of single packages: name and licence.
fn exceptions() -> Vec<(String, String)> {
    let list = toml("deny.toml")["licenses"]["exceptions"].clone();
    let list: Vec<toml::Table> = list.try_into().expect("it is a list of tables");
    let mut found = Vec::new();
    for exception in list {
        let name = exception["crate"].as_str().expect("it names a package");
        let allowed = exception["allow"].as_array().expect("it is a list");
        let allowed = allowed.iter().filter_map(toml::Value::as_str);
        found.extend(allowed.map(|licence| (name.to_owned(), licence.to_owned())));
    }
    found
}

/// What cargo prints, without asking the network.
fn cargo(arguments: &[&str]) -> String {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(program)
        .args(arguments)
        .arg("--offline")
        .current_dir(root())
        .output()
        .expect("cargo runs this test");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "cargo {arguments:?}: {said}");
    String::from_utf8(done.stdout).expect("cargo writes UTF-8")
}

/// The packages that are built for this machine.
fn packages() -> Vec<Value> {
    let host = cargo_host();
    let metadata = cargo(&[
        "metadata",
        "--locked",
        "--format-version=1",
        &format!("--filter-platform={host}"),
    ]);
    let mut metadata: Value = serde_json::from_str(&metadata).expect("it is JSON");
    let Value::Array(packages) = metadata["packages"].take() else {
        panic!("cargo metadata has packages");
    };
    packages
}

fn cargo_host() -> String {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let version = Command::new(program).arg("-vV").output();
    let version = String::from_utf8(version.expect("cargo runs this test").stdout);
    let version = version.expect("cargo writes UTF-8");
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("cargo says for what it was built").to_owned()
}

#[test]
fn dependencies_come_from_the_registry() {
    let allowed = denied_or_allowed("sources", "allow-registry");
    let denied = denied_or_allowed("bans", "deny");
    assert!(denied.iter().any(|name| name == "openssl-sys"));
    let lock = toml("Cargo.lock");
    let packages = lock["package"].as_array().expect("there are packages");
    for package in packages {
        let name = package["name"].as_str().expect("a package has a name");
        assert!(!denied.iter().any(|it| it == name), "deny.toml bans {name}");
        if name == "gleaner" {
            continue;
        }
        let source = package.get("source").and_then(toml::Value::as_str);
        let registry = source.and_then(|it| it.strip_prefix("registry+"));
        let is_known = registry.is_some_and(|it| allowed.iter().any(|known| known == it));
        assert!(is_known, "{name} comes from {source:?}");
    }
}

#[test]
fn licences_of_dependencies_allow_ours() {
    let allowed = denied_or_allowed("licenses", "allow");
    let exceptions = exceptions();
    let mut wrong = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap_or_default();
        let license = package["license"].as_str().unwrap_or_default();
        let own = exceptions.iter().filter(|it| it.0 == name);
        let allowed: Vec<String> = own.map(|it| it.1.clone()).chain(allowed.clone()).collect();
        if !is_met(license, &allowed) {
            wrong.push(format!("{name}: {license:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "licences outside of deny.toml: {wrong:#?}"
    );
}

/// Whether a licence expression (SPDX) can be met with these licences alone. An exception only adds
/// to what a licence permits.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    let spaced = spaced.replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any_of(&mut words, allowed);
    met && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut met = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= all_of(words, allowed);
    }
    met
}

fn all_of(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words<'_>, allowed: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let met = any_of(words, allowed);
        return met && words.next() == Some(")");
    }
    let met = words
        .next()
        .is_some_and(|it| allowed.iter().any(|known| known == it));
    if words.next_if_eq(&"WITH").is_some() {
        words.next();
    }
    met
}

#[test]
fn licence_expressions_are_read() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned()];
    let check = |expression, expected| {
        assert_eq!(is_met(expression, &allowed), expected, "{expression}");
    };
    check("MIT", true);
    check("GPL-3.0-only", false);
    check("GPL-3.0-only OR MIT", true);
    check("Zlib/MIT", true);
    check("MIT AND Zlib", false);
    check("(Zlib OR MIT) AND ISC", true);
    check("Zlib OR MIT AND ISC", true);
    check("MIT WITH LLVM-exception", true);
    check("Zlib WITH LLVM-exception OR Zlib", false);
    check("", false);
}

/// `1.91` or `1.91.0` as numbers.
fn version(text: &str) -> Vec<u32> {
    text.split('.')
        .filter_map(|part| part.parse().ok())
        .collect()
}

#[test]
fn dependencies_need_no_newer_rust() {
    let ours = toml("Cargo.toml");
    let ours = ours["package"]["rust-version"]
        .as_str()
        .expect("it is stated");
    for package in packages() {
        if let Some(theirs) = package["rust_version"].as_str() {
            let name = &package["name"];
            let is_older = version(theirs)[..2] <= version(ours)[..2];
            assert!(
                is_older,
                "{name} needs Rust {theirs}, gleaner states {ours}"
            );
        }
    }
}

#[test]
fn the_package_ships_what_its_tests_need_and_no_corpora() {
    /// What stands before the path of a file that another one needs to compile.
    const NEEDS: [&str; 4] = [
        "#[path = \"",
        "include!(\"",
        "include_bytes!(\"",
        "include_str!(\"",
    ];

    let list = cargo(&["package", "--list", "--allow-dirty"]);
    let shipped: Vec<&str> = list.lines().collect();
    for needed in ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        assert!(shipped.contains(&needed), "{needed} is not in the package");
    }
    let unwanted = [".cargo/", ".ci/", ".github/", "fuzz/", "target/"];
    for file in &shipped {
        let is_wanted = !unwanted.iter().any(|it| file.starts_with(it));
        assert!(is_wanted, "the package ships {file}");
        let is_small = fs::metadata(root().join(file)).is_ok_and(|it| it.len() < 500_000);
        assert!(is_small || !root().join(file).exists(), "{file} is large");
    }
    let mut needed = 0;
    let is_rust = |file: &&&str| Path::new(file).extension().is_some_and(|it| it == "rs");
    for file in shipped.iter().filter(is_rust) {
        let text = fs::read_to_string(root().join(file)).expect("it is shipped");
        let paths = NEEDS.iter().flat_map(|it| text.split(it).skip(1));
        let paths = paths.filter_map(|rest| rest.split('"').next());
        for path in paths.filter(|it| !it.is_empty()) {
            needed += 1;
            let from = Path::new(file).parent().unwrap_or(Path::new(""));
            let path = without_dots(&from.join(path));
            let is_there = shipped.iter().any(|it| Path::new(it) == path);
            assert!(
                is_there,
                "{file} needs {}, which is not shipped",
                path.display()
            );
        }
    }
    assert!(needed > 30, "{needed} files that others need were found");
}

fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}
