//! What other programs make of what gleaner writes: warcio, which the Python tools of web archives
//! share, of its archive, and bash of its completions.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

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
    command.arg(script).arg(crawl.warc());
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

/// Lines of indexes are those of `cdxj-indexer`, and keys those of the package that it uses.
pub(crate) fn cdxj_indexer_writes_the_same_lines() {
    let links = [
        "/packed",
        "/copy",
        "/moved",
        "/again",
        "/missing",
        "/%C3%A4?b=2&a=%26",
    ];
    let packed = page("packed", &[]);
    let web = Web::start(vec![
        Site::new()
            .robots("")
            .page("/", Answer::html(page("home", &links)))
            .page("/packed", Answer::gzip(&*packed))
            .page("/copy", Answer::html(page("home", &links)))
            .page("/moved", Answer::redirect(301, "/packed"))
            .page("/again", Answer::redirect(302, "/copy")),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let file = crawl.warc();
    let own = std::fs::read_to_string(file.with_added_extension("cdxj")).expect("it is closed");
    let mut command = Command::new(python());
    command.args(["-m", "cdxj_indexer.main", "-s"]).arg(&file);
    assert_eq!(run(prepared(command)).expect(0).stdout, own);
    assert!(
        own.contains("warc/revisit") && own.contains("\"302\""),
        "{own}"
    );

    let urls = urls_of_all_kinds(100_000);
    let urls_file = crawl.file("urls.txt", &urls.join("\n"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/keys.py");
    let mut command = Command::new(python());
    command.args([script, &urls_file]);
    let keys = run(prepared(command)).expect(0).stdout;
    let mut count = 0;
    for (url, key) in urls.iter().zip(keys.lines()) {
        assert_eq!(gleaner::url::surt(url), key, "{url}");
        count += 1;
    }
    assert_eq!(count, urls.len());
}

/// URLs of pieces that keys treat in ways of their own.
fn urls_of_all_kinds(count: usize) -> Vec<String> {
    const SCHEMES: [&str; 7] = [
        "http://",
        "https://",
        "HTTP://",
        "",
        "ftp://",
        "http:/",
        "http://https://",
    ];
    const HOSTS: [&str; 22] = [
        "example.org",
        "www.example.org",
        "WWW2.Example.ORG",
        "a.b.example.co.uk",
        "example.org.",
        "example..org",
        "192.0.2.7",
        "3221225991",
        "0300.0.02.07",
        "192.519",
        "256.1.1.1",
        "08.1.1.1",
        "[2001:db8::1]",
        "xn--bcher-kva.example",
        "bücher.example",
        "straße.example",
        "例え.テスト",
        "%77ww.example.org",
        "user:secret@example.org",
        "exa_mple.org",
        "www.com",
        "a b.example",
    ];
    const PORTS: [&str; 8] = ["", "", "", ":80", ":443", ":8080", ":", ":x"];
    const SEGMENTS: [&str; 16] = [
        "",
        "/",
        "/a",
        "/B/",
        "/.",
        "/..",
        "//",
        "/%7Ea",
        "/%252F",
        "/%zz",
        "/ä",
        "/a%20b",
        "/c;d=1",
        "/(S(abcdefghij0123456789abcd))",
        "/page.aspx",
        "/%2e%2E",
    ];
    const FIELDS: [&str; 16] = [
        "",
        "b",
        "a=1",
        "A=2",
        "a=",
        "=",
        "c=%26",
        "q=ä",
        "q=%E4",
        "x=a+b",
        "&",
        "?",
        "sid=0123456789abcdef0123456789abcdef",
        "PHPSESSID=0123456789abcdef0123456789ABCDEF",
        "jsessionid=0123456789abcdef0123456789abcdef",
        "cfid=1&cftoken=2",
    ];
    // A linear congruential generator is random enough, and the same everywhere.
    let mut state = 22_u64;
    let mut draw = |among: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % among
    };
    let url = |_| {
        let mut url = String::new();
        let scheme = SCHEMES[draw(SCHEMES.len())];
        url.push_str(scheme);
        url.push_str(HOSTS[draw(HOSTS.len())]);
        let port = PORTS[draw(PORTS.len())];
        // Behind one slash the port is part of the name, and would be written in Punycode.
        url.push_str(if scheme == "http:/" { "" } else { port });
        for _ in 0..draw(5) {
            url.push_str(SEGMENTS[draw(SEGMENTS.len())]);
        }
        for nth in 0..draw(5) {
            url.push_str(if nth == 0 { "?" } else { "&" });
            url.push_str(FIELDS[draw(FIELDS.len())]);
        }
        if draw(8) == 0 {
            url.push_str("#part");
        }
        url
    };
    (0..count).map(url).collect()
}

pub(crate) fn bodies_of_duplicates_are_rebuilt_by_other_hands() {
    let words: Vec<String> = (0..400)
        .map(|it| format!("w{}", it * 7919 % 1_000))
        .collect();
    let article = |end: &str, class: &str| {
        format!(
            "<title>t</title><main><p{class}>{} {end}</p></main>",
            words.join(" ")
        )
    };
    let bodies = [
        ("/near", article("an end", "")),
        ("/packed", article("one more end", "")),
        ("/marked", article("the end", " class=x")),
    ];
    let links: Vec<&str> = bodies.iter().map(|(path, _)| *path).collect();
    let mut site = Site::new()
        .robots("")
        .page("/", Answer::html(page("home", &links)))
        .page("/a", Answer::html(article("the end", "")));
    for (path, body) in &bodies {
        let answer = match *path {
            "/packed" => Answer::gzip(&**body),
            _ => Answer::html(body.clone()),
        };
        site = site.page(path, answer);
    }
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/a")]);
    crawl.crawl(&[&web.url(0, "/")]);

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/rebuild_bodies.py");
    let rebuild = || {
        let mut command = Command::new(python());
        command
            .arg(script)
            .arg(crawl.data())
            .args(["--list", "--fetch"]);
        run(prepared(command))
    };
    let mut told = rebuild().expect(0).json_lines();
    let summary = told.pop().expect("a summary");
    assert_eq!(
        (&summary["deltas"], &summary["missing"]),
        (&3.into(), &0.into())
    );
    for (path, body) in &bodies {
        let url = web.url(0, path);
        let line = told.iter().find(|line| line["url"] == *url);
        let line = line.unwrap_or_else(|| panic!("no {url} in {told:?}"));
        assert_eq!(line["sha256"], hex::encode(Sha256::digest(body)));
    }
    // It finds what is wrong.
    let texts = crawl.texts();
    std::fs::rename(&texts, texts.with_extension("away")).expect("it is moved");
    rebuild().expect(1).says(&["no body of"]);
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

/// A PDF of one page with one line, and the table of its objects.
fn pdf(line: &str) -> Vec<u8> {
    let text = format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{text}\nendstream", text.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut file = "%PDF-1.4\n".to_owned();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in (1..).zip(&objects) {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{:010} 00000 n ", file.len());
        let _ = write!(file, "{number} 0 obj\n{object}\nendobj\n");
    }
    let begin = file.len();
    let size = objects.len() + 1;
    let end = format!("trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{begin}\n%%EOF\n");
    [file, table, end].concat().into_bytes()
}

/// The command of docs/operations.md makes a page of a PDF.
pub(crate) fn pdftotext_finds_the_text_of_a_pdf() {
    let line = "A document of its own about rivers and lakes.";
    let mut answer = Answer::html("");
    answer.body = pdf(line);
    answer.headers = vec![("Content-Type".to_owned(), "application/pdf".to_owned())];
    let web = Web::start(vec![
        Site::new()
            .robots("")
            .page("/", Answer::html(page("home", &["/a.pdf"])))
            .page("/a.pdf", answer),
    ]);
    let crawl = Place::new();
    let settings = "[convert]\n\
        commands = { \"application/pdf\" = [\"pdftotext\", \"-enc\", \"UTF-8\", \"-\", \"-\"] }";
    crawl.crawl_by(settings, &[&web.url(0, "/")]);
    let pages = crawl.told(&[]);
    let found = pages
        .iter()
        .find(|page| page["url"] == *web.url(0, "/a.pdf"));
    let text = found.and_then(|page| page["text"].as_str());
    assert_eq!(text.map(str::trim), Some(line), "{pages:#?}");
}

/// The files for Docker Compose and Kubernetes are what they are to be, and what they give workers
/// is what a worker takes.
pub(crate) fn files_for_clusters_are_yaml_and_start_workers() {
    // As JSON, a document a line; aliases and merges are resolved.
    const SCRIPT: &str = "import json, sys, yaml\n\
                          for document in yaml.safe_load_all(open(sys.argv[1])):\n\
                          \x20   print(json.dumps(document))";
    let read = |name: &str| {
        let path = format!("{}/config/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new(python());
        command.args(["-c", SCRIPT, &path]);
        run(prepared(command)).expect(0).json_lines()
    };
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    // The engine is away, which is noticed behind the arguments.
    let starts = |arguments: &Value| {
        let words = arguments.as_array().expect("a list").iter();
        let words = words.map(|it| it.as_str().expect("a text").to_owned());
        let words: Vec<String> = words
            .map(|word| match word.starts_with("nats://") {
                true => "nats://127.0.0.1:9/crawl".to_owned(),
                false => word
                    .replace("$(POD_NAME)", "w")
                    .replace("$(NODE_NAME)", "m"),
            })
            .collect();
        assert_eq!(words.first().map(String::as_str), Some("worker"));
        let mut command = gleaner(&words);
        command.current_dir(place.path());
        run(command)
            .expect(1)
            .says(&["cannot use nats://127.0.0.1:9/crawl"]);
    };
    let engine = |text: &str| {
        for part in [
            "jetstream {",
            "max_file_store",
            "sync_interval: always",
            "routes",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    };

    let compose = read("compose.yaml");
    let [compose] = &compose[..] else {
        panic!("{compose:?}");
    };
    for worker in ["w1", "w2", "w3"] {
        let service = &compose["services"][worker];
        assert_eq!(service["image"], "gleaner");
        starts(&service["command"]);
    }
    for server in ["n1", "n2", "n3"] {
        let service = &compose["services"][server];
        assert!(service["configs"][0]["target"].is_string(), "{service:#}");
        assert!(compose["volumes"].get(server).is_some());
    }
    engine(
        compose["configs"]["nats"]["content"]
            .as_str()
            .expect("a text"),
    );

    let all = read("statefulset.yaml");
    let of = |kind: &str, name: &str| {
        let found = all
            .iter()
            .find(|it| it["kind"] == kind && it["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}"))
    };
    engine(
        of("ConfigMap", "gleaner-nats")["data"]["nats.conf"]
            .as_str()
            .expect("a text"),
    );
    for name in ["gleaner-nats", "gleaner-worker"] {
        let set = &of("StatefulSet", name)["spec"];
        let labels = &set["template"]["metadata"]["labels"];
        assert_eq!(&set["selector"]["matchLabels"], labels, "{name}");
        let service = set["serviceName"].as_str().expect("a name");
        assert_eq!(
            &of("Service", service)["spec"]["selector"],
            labels,
            "{name}"
        );
    }
    let worker = &of("StatefulSet", "gleaner-worker")["spec"]["template"]["spec"];
    starts(&worker["containers"][0]["args"]);
}
