//! What packagers take: completions, man pages, the Dockerfile. That they name what exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::run::{Place, gleaner, run};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("the repository has it")
}

/// The commands that `--help` lists, with those below them, as `config show`.
fn commands() -> BTreeSet<String> {
    fn below(path: &[&str], found: &mut BTreeSet<String>) {
        let help = run(gleaner(&[path, &["--help"]].concat())).expect(0).stdout;
        // Under one heading or several, before the options.
        let list = help.split("Options:\n").next();
        let list = list.filter(|list| list.contains("<COMMAND>"));
        let lines = list.unwrap_or_default().lines();
        for name in lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()) {
            // A description may go on in the next line.
            if name.is_empty() || name == "help" {
                continue;
            }
            let path = [path, &[name]].concat();
            found.insert(path.join(" "));
            below(&path, found);
        }
    }
    let mut found = BTreeSet::new();
    below(&[], &mut found);
    found
}

#[test]
fn every_shell_gets_completions_of_every_command() {
    let commands = commands();
    assert!(commands.contains("config show"), "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(gleaner(&["completions", shell])).expect(0);
        assert_eq!(output.stderr, "");
        for word in commands.iter().flat_map(|it| it.split(' ')) {
            assert!(output.stdout.contains(word), "{shell} lacks {word}");
        }
        assert!(output.stdout.contains("data-dir"), "{shell}");
        assert!(!output.stdout.contains("failpoint"), "{shell}");
    }
    run(gleaner(&["completions", "tcsh"]))
        .expect(2)
        .says(&["tcsh", "bash"]);
}

#[test]
fn every_command_has_a_man_page() {
    let place = Place::new();
    let directory = place.data().join("share/man1");
    let text = directory.to_str().expect("an ASCII path");
    for _ in 0..2 {
        let output = run(gleaner(&["man", "--dir", text])).expect(0);
        assert_eq!((&*output.stdout, &*output.stderr), ("", ""));
    }
    let written: BTreeSet<String> = fs::read_dir(&directory)
        .expect("it was created")
        .map(|entry| entry.expect("it stays").file_name())
        .map(|name| name.to_str().expect("names are ASCII").to_owned())
        .collect();
    let names = commands()
        .into_iter()
        .map(|command| format!("gleaner-{}.1", command.replace(' ', "-")));
    assert_eq!(written, names.chain(["gleaner.1".to_owned()]).collect());
    for name in &written {
        let page = fs::read_to_string(directory.join(name)).expect("it was written");
        assert!(page.contains("\n.TH gleaner"), "{name}: {page}");
        assert!(page.contains(env!("CARGO_PKG_VERSION")), "{name}: {page}");
        assert!(!page.contains("failpoint"), "{name}");
    }
    let page = fs::read_to_string(directory.join("gleaner-crawl.1")).expect("it was written");
    assert!(
        page.contains("Examples:") && page.contains("data\\-dir"),
        "{page}"
    );

    let output = run(gleaner(&["man"])).expect(0);
    assert!(output.stdout.contains("\n.TH gleaner 1"), "{output:?}");
    let file = place.file("file", "");
    run(gleaner(&["man", "--dir", &format!("{file}/below")]))
        .expect(1)
        .says(&["cannot create the directory", &file]);
}

/// The arguments of an instruction, each time that it stands there.
fn instructions<'a>(dockerfile: &'a str, name: &str) -> Vec<Vec<&'a str>> {
    dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        .map(|rest| rest.split_whitespace().collect())
        .collect()
}

#[test]
fn the_dockerfile_names_what_exists() {
    let dockerfile = read("Dockerfile");
    let manifest = read("Cargo.toml");
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .expect("the package says which Rust it needs");
    let from = instructions(&dockerfile, "FROM");
    let expected = format!("rust:{}-", version.trim_matches('"'));
    assert!(from[0][0].starts_with(&expected), "{:?}", from[0]);
    // The build takes a glibc that the second image has.
    let debian = |image: &str| image.split([':', '-']).any(|it| it == "bookworm");
    assert!(from.iter().all(|it| debian(it[0])), "{from:?}");

    let ignored = read(".dockerignore");
    let mut lines = ignored.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(lines.next(), Some("*"), "a crawl may lie in the checkout");
    let sent: BTreeSet<&str> = lines.filter_map(|line| line.strip_prefix("!/")).collect();
    for name in &sent {
        assert!(root().join(name).exists(), "{name} is not there");
    }
    for arguments in instructions(&dockerfile, "COPY") {
        let (_, sources) = arguments.split_last().expect("a target");
        if sources[0] == "--from=build" {
            let built = ["/build/target/dist/gleaner", "/build/target/dist/notices"];
            assert!(built.contains(&sources[1]), "{sources:?}");
            continue;
        }
        for source in sources {
            assert!(sent.contains(source), "{source} is not sent");
        }
    }
    // What a build from the sent files alone needs; the lock file with it.
    for needed in ["Cargo.toml", "Cargo.lock", "src", "config"] {
        assert!(sent.contains(needed), "{needed}");
    }
    // cargo refuses a manifest that names a target whose file was not sent.
    for (section, directory) in [
        ("bench", "benches"),
        ("test", "tests"),
        ("example", "examples"),
    ] {
        let is_named = manifest.contains(&format!("[[{section}]]"));
        assert!(!is_named || sent.contains(directory), "send {directory}");
    }
    assert!(dockerfile.contains("--locked"));
    let last_of = |name| instructions(&dockerfile, name).pop().unwrap_or_default();
    assert_eq!(last_of("USER"), ["10001"], "not root");
    assert!(dockerfile.contains("--uid 10001 "), "the user is there");
    assert_eq!(last_of("VOLUME"), ["/data"]);
    assert_eq!(last_of("ENTRYPOINT"), ["[\"gleaner\"]"]);
}

/// The crates that the binary is built from are named with their licences, and those for tests are
/// not.
#[test]
fn notices_name_what_the_binary_is_built_from() {
    let place = Place::new();
    let directory = place.data();
    let script = root().join("packaging/notices");
    let done = std::process::Command::new(script).arg(&directory).output();
    let done = done.expect("Python is there");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let written = |name| fs::read_to_string(directory.join(name)).expect("it was written");
    let notices = written("THIRD-PARTY-NOTICES.txt");
    let sbom: serde_json::Value =
        serde_json::from_str(&written("gleaner.cdx.json")).expect("it is JSON");
    let components = sbom["components"].as_array().expect("a list");
    for (name, licence) in [("reqwest", "MIT OR Apache-2.0"), ("cssparser", "MPL-2.0")] {
        let known = components.iter().find(|it| it["name"] == name);
        let known = known.unwrap_or_else(|| panic!("{name} is not in the list"));
        assert_eq!(known["licenses"][0]["expression"], licence);
        assert!(notices.contains(&format!("\n{name} ")), "{name}");
    }
    assert!(components.iter().all(|it| it["name"] != "insta"));
    assert!(notices.contains("Mozilla Public License"));
}

/// The files that the Debian package takes from here exist, and those that the unit names are where
/// the package puts them.
#[test]
fn the_debian_package_has_what_its_unit_names() {
    let manifest: toml::Table = read("Cargo.toml").parse().expect("it is TOML");
    let package = &manifest["package"]["metadata"]["deb"];
    let assets = package["assets"].as_array().expect("a list");
    let mut installed = BTreeSet::new();
    for asset in assets {
        let [from, to] = [0, 1].map(|at| asset[at].as_str().expect("a path"));
        let (directory, name) = from.rsplit_once('/').unwrap_or((".", from));
        let is_staged = from.starts_with("target/packages/stage/");
        if !is_staged && !name.contains('*') {
            assert!(root().join(from).exists(), "{from}");
        } else if !is_staged {
            assert!(root().join(directory).is_dir(), "{from}");
        }
        installed.insert(format!("/{to}{name}"));
    }
    let unit = read("config/gleaner.service");
    for named in ["/usr/bin/gleaner", "/etc/gleaner/gleaner.toml"] {
        assert!(unit.contains(&format!("{named} ")), "{named}");
        assert!(installed.contains(named), "{named} of {installed:?}");
    }
    let kept = package["conf-files"].as_array().expect("a list");
    assert_eq!(kept[0].as_str(), Some("/etc/gleaner/gleaner.toml"));
    let scripts = read("packaging/deb/postinst");
    assert!(unit.contains("\nUser=gleaner\n") && scripts.contains("--system"));
    // The settings that it brings are valid, and its example is too.
    let settings = read("packaging/deb/gleaner.toml");
    let place = Place::new();
    for text in [
        settings.clone(),
        settings.replace("# user_agent", "user_agent"),
    ] {
        let file = place.file("gleaner.toml", &text);
        run(gleaner(&["config", "check", "--config", &file])).expect(0);
    }
}

/// The workflow of releases has no commands of its own: it calls those that the documents name.
#[test]
fn a_release_is_built_by_what_is_documented() {
    // What the registry has of the package is without it.
    let Ok(workflow) = fs::read_to_string(root().join(".github/workflows/release.yml")) else {
        return;
    };
    let documents = read("docs/operations.md");
    for command in [
        "packaging/build archive deb wheel",
        "packaging/build image",
        "packaging/try",
    ] {
        assert!(workflow.contains(command), "{command}");
        assert!(documents.contains(command), "{command}");
    }
    for target in ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"] {
        assert!(
            workflow.contains(target) && documents.contains(target),
            "{target}"
        );
    }
}

#[test]
fn the_unit_bounds_what_a_page_could_take() {
    let unit = read("config/gleaner.service");
    for setting in [
        "MemoryMax=",
        "UMask=0027",
        "StateDirectoryMode=0750",
        "NoNewPrivileges=yes",
    ] {
        assert!(
            unit.lines().any(|line| line.starts_with(setting)),
            "{setting}"
        );
    }
}
