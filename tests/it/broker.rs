//! What is promised of the engine of a cluster, of its model; and servers that are refused.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use gleaner::broker::{Error, Memory, Nats};

use crate::contract;

#[test]
fn the_model_keeps_the_contract() {
    for max_message in [200, 1_000] {
        contract::check(&Memory::start(max_message));
    }
}

/// Says that it is a server of this version, and answers what keeps a connection alive.
fn server(version: &'static str, jetstream: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let info = serde_json::json!({
                "version": version, "jetstream": jetstream, "max_payload": 1 << 20,
            });
            let _ = stream.write_all(format!("INFO {info}\r\n").as_bytes());
            let Ok(reader) = stream.try_clone() else {
                continue;
            };
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                if line.starts_with("PING") {
                    let _ = stream.write_all(b"PONG\r\n");
                }
            }
        }
    });
    port
}

#[test]
fn servers_that_lose_what_they_acknowledge_are_refused() {
    let connect = |version, jetstream| {
        let address = format!("nats://127.0.0.1:{}/crawl", server(version, jetstream));
        Nats::connect(&address.parse().expect("it is an address"))
    };
    for version in ["2.9.10", "2.10.25"] {
        match connect(version, true) {
            Err(Error::Refused(reason)) => {
                assert!(
                    reason.contains(version) && reason.contains("2.10.26"),
                    "{reason}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(connect("2.10.26", true).is_ok());
    let without = connect("2.10.26", false);
    assert!(
        matches!(&without, Err(Error::Refused(reason)) if reason.contains("-js")),
        "{without:?}"
    );
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let place = crate::run::Place::new();
    let log = ["--commit-log", "nats://127.0.0.1:1/crawl"];
    let output = crate::run::run(place.command(&[&["http://127.0.0.1:9/"], &log[..]].concat()));
    output
        .expect(1)
        .says(&["cannot use nats://127.0.0.1:1/crawl"]);
    let log = ["--commit-log", "nats://127.0.0.1:1"];
    let output = crate::run::run(place.command(&[&["http://127.0.0.1:9/"], &log[..]].concat()));
    output.expect(2).says(&["nats://SERVER,SERVER/NAME"]);
}
