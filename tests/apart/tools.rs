//! What other programs make of what gleaner writes: warcio, which the Python tools of web archives
//! share, of its archive, and bash of its completions.

use std::process::Command;

use serde_json::Value;

use crate::need::python;
use crate::run::{Place, gleaner, kind, page, prepared, run};
use crate::web::{Answer, Site, Web};

pub(crate) fn warcio_reads_every_record_and_its_digests() {
    let links = ["/packed", "/copy", "/moved", "/missing"];
    let packed = page("packed", &[]);
    let web = Web::start(vec![
        Site::new()
            .robots("")
            .page("/", Answer::html(page("home", &links)))
            .page("/packed", Answer::gzip(&*packed))
            .page("/copy", Answer::html(page("home", &links)))
            .page("/moved", Answer::redirect(301, "/packed")),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/read_warc.py");
    let mut command = Command::new(python());
    command
        .arg(script)
        .arg(crawl.data().join("warc/gleaner-00000000.warc.gz"));
    let read = run(prepared(command)).expect(0).json_lines();
    let told =
        |line: &Value| ["id", "type", "target"].map(|key| line[key].as_str().map(str::to_owned));
    let records = crawl.records();
    let written = records.iter().map(|record| {
        let header = |name| record.header(name).map(str::to_owned);
        [
            header("WARC-Record-ID"),
            Some(kind(record).to_owned()),
            header("WARC-Target-URI"),
        ]
    });
    assert_eq!(
        read.iter().map(told).collect::<Vec<_>>(),
        written.collect::<Vec<_>>()
    );
    let of = |kind: &str, path: &str| {
        let target = web.url(0, path);
        let is_it = |line: &&Value| line["type"] == kind && line["target"] == *target;
        let found = read.iter().find(is_it);
        found.unwrap_or_else(|| panic!("no {kind} of {path} in {read:#?}"))
    };
    assert_eq!(of("response", "/packed")["text"], packed);
    assert_eq!(of("response", "/moved")["status"], "301");
    assert_eq!(of("response", "/missing")["status"], "404");
    assert_eq!(of("revisit", "/copy")["status"], "200");
}

pub(crate) fn bash_takes_the_completions() {
    let output = run(gleaner(&["completions", "bash"])).expect(0);
    let place = Place::new();
    let script = place.file("gleaner.bash", &output.stdout);
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(format!(
        "source {script:?} && COMP_WORDS=(gleaner conf) COMP_CWORD=1 \
         && _gleaner gleaner conf gleaner && echo \"${{COMPREPLY[@]}}\""
    ));
    let completed = run(prepared(bash)).expect(0).stdout;
    assert_eq!(completed.trim(), "config");
}
