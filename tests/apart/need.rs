//! What a test may need that not every machine has.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::{browser, faults, nats};

/// Tells the process inside a network that it is.
const INSIDE: &str = "TEST_IN_A_NETWORK_OF_ITS_OWN";

/// The variable that says for how many minutes workers go through faults.
pub(crate) const SOAK: &str = "CLUSTER_SOAK";

/// What a test needs.
#[derive(Clone, Copy)]
pub(crate) enum Need {
    /// Nothing but this binary and `gleaner`.
    Nothing,
    /// A network of its own: loopback and nothing else, with these addresses on it, public and
    /// private. Even what goes wrong there reaches nobody.
    Network(&'static [&'static str]),
    /// The right to mount file systems in a name space of its own.
    FileSystem,
    /// A library that is loaded before a process, and so a C compiler.
    Faults,
    /// The same, and the time that a long run takes: `FAULT_TRIALS` asks for one.
    ManyFaults,
    /// A program.
    Program(&'static str),
    /// A browser that understands the protocol of Chromium.
    Browser,
    /// The same, and the rules by which pages are checked for accessibility, installed by
    /// `tests/tools/install`.
    Axe,
    /// A nats-server, installed by `tests/tools/install`.
    Nats,
    /// The same, and the minutes that `CLUSTER_SOAK` asks for.
    Soak,
    /// Both of these.
    NatsAndBrowser,
    /// A module of Python, installed by `tests/tools/install`.
    Python(&'static str),
}

impl Need {
    /// What stands beside the name of a test that is ignored for the lack of it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Network(_) | Self::FileSystem => "needs unshare".to_owned(),
            Self::Faults => "needs a C compiler".to_owned(),
            Self::ManyFaults => "needs FAULT_TRIALS".to_owned(),
            Self::Browser => "needs Chromium".to_owned(),
            Self::Axe => "needs Chromium and axe-core".to_owned(),
            Self::Nats => "needs nats-server".to_owned(),
            Self::Soak => "needs CLUSTER_SOAK".to_owned(),
            Self::NatsAndBrowser => "needs nats-server and Chromium".to_owned(),
            Self::Program(name) | Self::Python(name) => format!("needs {name}"),
        }
    }

    /// Why it cannot be given here; nothing if it can.
    pub(crate) fn missing(self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Network(_) => {
                static CAN: OnceLock<bool> = OnceLock::new();
                let can = || *CAN.get_or_init(|| succeeds(&mut isolated("ip link set lo up")));
                (!is_inside() && !can()).then(|| {
                    "a network of their own needs `unshare` (util-linux), `ip` (iproute2) and the \
                     right to user namespaces"
                        .to_owned()
                })
            }
            Self::FileSystem => name_space().is_none().then(|| {
                "a file system of their own needs `unshare` (util-linux) and the right to mount in \
                 a user namespace"
                    .to_owned()
            }),
            Self::Faults => faults::missing(),
            Self::ManyFaults => match std::env::var_os("FAULT_TRIALS") {
                Some(_) => faults::missing(),
                None => Some("a long run is asked for by FAULT_TRIALS".to_owned()),
            },
            Self::Browser => browser::found().is_none().then(|| {
                format!(
                    "there is no Chromium in the path, and {} names none",
                    browser::VARIABLE
                )
            }),
            Self::Axe => Self::Browser.missing().or_else(|| {
                (!axe().is_file())
                    .then(|| "axe-core is not installed: run tests/tools/install".to_owned())
            }),
            Self::Nats => nats::missing(&tools()),
            Self::Soak => match std::env::var_os(SOAK) {
                Some(_) => nats::missing(&tools()),
                None => Some(format!("minutes of faults are asked for by {SOAK}")),
            },
            Self::NatsAndBrowser => Self::Nats.missing().or_else(|| Self::Browser.missing()),
            // Some know one of the two.
            Self::Program(name) => (!succeeds(Command::new(name).arg("--version"))
                && !succeeds(Command::new(name).arg("-v")))
            .then(|| format!("there is no {name}")),
            Self::Python(module) => {
                let mut import = Command::new(python());
                import.args(["-c", &format!("import {module}")]);
                (!succeeds(&mut import)).then(|| {
                    format!("the Python module {module} is not installed: run tests/tools/install")
                })
            }
        }
    }

    /// Runs a test where it has what it needs.
    pub(crate) fn give(self, name: &str, test: fn()) {
        match self {
            Self::Network(addresses) if !is_inside() => in_a_network(name, addresses),
            _ => test(),
        }
    }
}

fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// A script in a network of its own.
fn isolated(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "sh", "-euc", script]);
    command
}

/// Runs the test of this name again, in a network that has these addresses.
fn in_a_network(test: &str, addresses: &[&str]) {
    let mut script = "ip link set lo up\n".to_owned();
    for address in addresses {
        // `nodad`: an address that waits for duplicates to be detected cannot be bound.
        let (bits, nodad) = match address.contains(':') {
            true => ("/128", " nodad"),
            false => ("/32", ""),
        };
        script.extend(["ip addr add ", address, bits, " dev lo", nodad, "\n"]);
    }
    script.push_str("exec \"$0\" \"$@\"\n");
    let output = isolated(&script)
        .arg(std::env::current_exe().expect("this process has a file"))
        .args(["--exact", test])
        .env(INSIDE, "1")
        .output()
        .expect("it ran a moment ago");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("1 passed"), "no test {test:?}: {said}");
}

/// The arguments that `unshare` gives a name space in which file systems can be mounted, if it can.
pub(crate) fn name_space() -> Option<&'static [&'static str]> {
    const WAYS: [&[&str]; 2] = [
        &["--user", "--map-root-user", "--mount"],
        // For root where users may not.
        &["--mount"],
    ];
    static WAY: OnceLock<Option<&[&str]>> = OnceLock::new();
    let can = |way: &&&[&str]| {
        let script = "mount -t tmpfs -o size=64k tmpfs /tmp";
        succeeds(
            Command::new("unshare")
                .args(**way)
                .args(["sh", "-c", script]),
        )
    };
    *WAY.get_or_init(|| WAYS.iter().find(can).copied())
}

/// Where `tests/tools/install` installs.
pub(crate) fn tools() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    target.with_file_name("test-tools")
}

/// The Python into which `tests/tools/install` installs.
pub(crate) fn python() -> PathBuf {
    tools().join("bin/python3")
}

/// The rules by which pages are checked for accessibility.
pub(crate) fn axe() -> PathBuf {
    tools().join("axe.min.js")
}
