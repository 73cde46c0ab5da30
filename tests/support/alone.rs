//! Tests in a network of their own: loopback and nothing else, with whatever addresses the test
//! puts on it, public and private. Even what goes wrong there reaches nobody.

// Each test binary uses its part of it.
#![allow(dead_code, unreachable_pub)]

use std::process::Command;

/// Tells the inner process that it is.
const INSIDE: &str = "TEST_IN_A_NETWORK_OF_ITS_OWN";

/// Runs the test of this name again, in a network that has these addresses; true in that network,
/// where the test does its work. Where the system allows no such network (user namespaces may be
/// forbidden), the test says so and does nothing.
pub fn alone(test: &str, addresses: &[&str]) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let isolated = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "sh", "-euc", script]);
        command
    };
    let mut script = "ip link set lo up\n".to_owned();
    for address in addresses {
        // `nodad`: an address that waits for duplicates to be detected cannot be bound.
        let (bits, nodad) = match address.contains(':') {
            true => ("/128", " nodad"),
            false => ("/32", ""),
        };
        script.extend(["ip addr add ", address, bits, " dev lo", nodad, "\n"]);
    }
    let can = isolated(&script).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("{test}: this system allows no network of its own; nothing was tested");
        return false;
    }
    script.push_str("exec \"$0\" \"$@\"\n");
    let output = isolated(&script)
        .arg(std::env::current_exe().expect("this process has a file"))
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("it ran a moment ago");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("1 passed"), "no test {test:?}: {said}");
    false
}
