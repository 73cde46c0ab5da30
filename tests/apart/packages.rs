//! What `packaging/build` makes, from the binary that the tests have: installed as a user would,
//! and run. The Debian package needs a root of its own, and so a mirror: `packaging/try` is for
//! that.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run::{Place, prepared, run};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn archive_and_wheel_run_where_they_are_put() {
    let place = Place::new();
    let packages = place.data();
    fs::create_dir_all(&packages).expect("the disk has room");
    let binary = place.data().with_file_name("gleaner");
    let mut strip = Command::new("strip");
    strip
        .arg("-o")
        .arg(&binary)
        .arg(env!("CARGO_BIN_EXE_gleaner"));
    run(prepared(strip)).expect(0);
    let build = |kinds: &[&str]| {
        let mut command = Command::new(root().join("packaging/build"));
        command.args(kinds);
        command.env("BINARY", &binary).env("PACKAGES", &packages);
        run(prepared(command))
    };
    let made = build(&["archive", "wheel", "sums"]).expect(0).stdout;
    let [archive, wheel, sums] = made.lines().collect::<Vec<_>>()[..] else {
        panic!("it prints the path of each: {made}");
    };
    let sums = fs::read_to_string(sums).expect("it was written");
    assert_eq!(sums.lines().count(), 2, "{sums}");
    let mut check = Command::new("sha256sum");
    check.current_dir(&packages).args(["--check", "SHA256SUMS"]);
    run(prepared(check)).expect(0);
    let mut again = Command::new(root().join("packaging/try"));
    again.args([archive, wheel]);
    let tried = run(prepared(again)).expect(0).stdout;
    assert_eq!(tried.matches("ok: ").count(), 2, "{tried}");

    // What cannot be packed is named, and nothing is written.
    build(&["rpm"])
        .expect(2)
        .says(&["rpm", "archive, deb, wheel"]);
    let mut none = Command::new(root().join("packaging/build"));
    none.arg("wheel").env("PACKAGES", &packages);
    none.env("BINARY", packages.join("nothing"));
    run(prepared(none))
        .expect(2)
        .says(&["nothing is not there"]);
}

pub(crate) fn systemd_understands_the_unit() {
    let unit = fs::read_to_string(root().join("config/gleaner.service")).expect("it is there");
    let program = "ExecStart=/usr/bin/gleaner ";
    assert!(unit.contains(program), "{unit}");
    let built = format!("ExecStart={} ", env!("CARGO_BIN_EXE_gleaner"));
    let place = Place::new();
    let verify = |unit: &str| {
        let file = place.file("gleaner.service", unit);
        let mut command = Command::new("systemd-analyze");
        command.args(["verify", "--man=no", &file]);
        run(prepared(command))
    };
    let unit = unit.replace(program, &built);
    assert_eq!(verify(&unit).expect(0).stderr, "");
    // It would say so.
    let wrong = unit.replace("NoNewPrivileges=yes", "NoNewPrivilege=yes");
    assert!(verify(&wrong).stderr.contains("NoNewPrivilege"));
}
