//! What is promised of an engine, whichever it is.

use gleaner::broker::{Broker, Error};

/// Checks all of it on a log and a row that nobody else uses.
#[track_caller]
pub(crate) fn check(broker: &dyn Broker) {
    let log = "07";
    assert!(matches!(broker.end("none"), Err(Error::Missing(_))));
    broker.create(log).expect("it can be made");
    broker.create(log).expect("it is there");
    assert_eq!(broker.end(log), Ok(0));
    assert_eq!(broker.next(log, 0), Ok(None));

    // Appended where the log ends, and nowhere else.
    assert_eq!(broker.append(log, 0, b"first"), Ok(1));
    assert_eq!(broker.append(log, 0, b"stale"), Err(Error::Moved));
    assert_eq!(broker.append(log, 2, b"ahead"), Err(Error::Moved));
    assert_eq!(broker.append(log, 1, b""), Ok(2));
    assert_eq!(broker.next(log, 0), Ok(Some((1, b"first".to_vec()))));
    assert_eq!(broker.next(log, 1), Ok(Some((2, Vec::new()))));
    assert_eq!(broker.next(log, 2), Ok(None));

    // Longer than a message, in parts of which a reader sees all or nothing.
    let long: Vec<u8> = (0..broker.max_message() * 5 / 2)
        .map(|at| at as u8)
        .collect();
    assert_eq!(broker.append(log, 2, &long), Ok(5));
    assert_eq!(broker.next(log, 2), Ok(Some((5, long.clone()))));
    let part = [&[1][..], &[7; 16], b"begun"].concat();
    assert_eq!(broker.append_message(log, 5, &part), Ok(6));
    assert_eq!(broker.next(log, 5), Ok(None));
    assert_eq!(broker.end(log), Ok(6));
    assert_eq!(broker.append(log, 6, b"last"), Ok(7));
    assert_eq!(broker.next(log, 5), Ok(Some((7, b"last".to_vec()))));

    // What is trimmed is gone, and the end stays.
    let bytes = broker.bytes(log).expect("the log is there");
    assert!(bytes >= long.len() as u64, "{bytes}");
    broker.trim(log, 2).expect("it can be trimmed");
    assert_eq!(broker.next(log, 0), Err(Error::Trimmed { first: 3 }));
    assert_eq!(broker.next(log, 2), Ok(Some((5, long))));
    broker.trim(log, 100).expect("it can be trimmed");
    assert_eq!(broker.end(log), Ok(7));
    assert_eq!(broker.next(log, 6), Ok(Some((7, b"last".to_vec()))));
    assert_eq!(broker.append(log, 6, b"stale"), Err(Error::Moved));
    let left = broker.bytes(log).expect("the log is there");
    assert!(left > 0 && left < bytes, "{left} of {bytes}");
    assert_eq!(broker.append(log, 7, b"more"), Ok(8));

    // What a log has and what comes is sent, in its order.
    let mut tail = broker.tail(log, 6).expect("the log is there");
    assert_eq!(broker.append(log, 8, b"sent"), Ok(9));
    let mut sent = || {
        tail.blocking_recv()
            .map(|(at, message)| (at, message[1..].to_vec()))
    };
    assert_eq!(sent(), Some((7, b"last".to_vec())));
    assert_eq!(sent(), Some((8, b"more".to_vec())));
    assert_eq!(sent(), Some((9, b"sent".to_vec())));
    assert!(matches!(
        broker.tail("none", 0),
        Err(Error::Missing(_) | Error::Away(_))
    ));

    // Rows are replaced by who knows their version.
    assert_eq!(broker.row("shard.07"), Ok(None));
    let first = broker.put_row("shard.07", 0, b"a").expect("there is none");
    assert_eq!(broker.put_row("shard.07", 0, b"b"), Err(Error::Moved));
    assert_eq!(broker.row("shard.07"), Ok(Some((first, b"a".to_vec()))));
    let other = broker.put_row("shard.08", 0, b"c").expect("there is none");
    let second = broker
        .put_row("shard.07", first, b"d")
        .expect("it is that version");
    assert!(second > first);
    assert_eq!(broker.put_row("shard.07", first, b"e"), Err(Error::Moved));
    assert_eq!(broker.row("shard.07"), Ok(Some((second, b"d".to_vec()))));
    assert_eq!(broker.row("shard.08"), Ok(Some((other, b"c".to_vec()))));
}
