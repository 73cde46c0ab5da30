//! Misbehaviour up to the end of the head: connections, status lines, headers.

use super::{Behaviour, Comes, Wire};
use Comes::{Fails, Leads, Nothing, Titled, Whole};

const PAGE: &str = "<!doctype html><title>it came</title><p>It came after all. <a href=/led>on</a>";

/// A head without its status line, for a body of that length.
const REST: &str = "Content-Type: text/html\r\nContent-Length: 78\r\n\r\n";

pub(super) const ALL: &[Behaviour] = rows! {
    // Connections. What cannot be asked for its robots.txt is asked for nothing else.
    Refused "refused", Nothing, |_| Ok(());
    NeverAccepts "never-accepts", Nothing, |_| Ok(());
    Connection "never-reads", Nothing, Wire::hang;
    Connection "hangs-up", Nothing, Wire::close;
    Connection "resets", Nothing, Wire::reset;
    Connection "greets", Nothing, |wire| {
        wire.send("220 mail.example ESMTP\r\n")?;
        wire.hang()
    };
    Connection "answers-unasked", Nothing, |wire| {
        wire.html("<title>unasked</title>")?;
        wire.hang()
    };
    Page "no-byte", Fails("disconnect"), Wire::close;
    Page "reset-at-once", Fails("disconnect"), Wire::reset;
    Page "reset-in-status", Fails("disconnect"), |wire| {
        wire.send("HTTP/1.")?;
        wire.reset()
    };
    Page "closed-in-status", Fails("disconnect"), |wire| {
        wire.send("HTTP/1.1 20")?;
        wire.close()
    };
    Page "reset-in-headers", Fails("disconnect"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/ht")?;
        wire.reset()
    };
    Page "closed-in-headers", Fails("disconnect"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")?;
        wire.close()
    };
    GoodOnce "reset-once", Nothing, Wire::reset;
    GoodOnce "closed-once", Nothing, Wire::close;
    GoodOnce "busy-once", Nothing, |wire| {
        wire.answer("503 Service Unavailable", "Retry-After: 0", "busy")
    };
    // Slowness.
    Page "never-answers", Fails("timeout"), Wire::hang;
    Page "slow-status", Fails("timeout"), |wire| wire.slowly("HTTP/1.1 200 OK\r\n");
    Page "slow-headers", Fails("timeout"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\n")?;
        wire.drip("X-More: to come\r\n")
    };
    Page "slow-header", Fails("timeout"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\nX-Long: ")?;
        wire.drip("x")
    };
    Page "slow-line-ends", Fails("timeout"), |wire| wire.drip("\r\n");
    Page "stops-in-headers", Fails("timeout"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")?;
        wire.hang()
    };
    // Floods.
    Page "endless-status", Fails("protocol"), |wire| {
        wire.send("HTTP/1.1 200 ")?;
        wire.forever("OK ")
    };
    Page "endless-header", Fails("protocol"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\nX-Long: ")?;
        wire.forever("x")
    };
    Page "endless-headers", Fails("protocol"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\n")?;
        wire.forever("X-More: to come\r\n")
    };
    Page "many-headers", Fails("protocol"), |wire| {
        let flood = "X-More: to come\n".repeat(2_000);
        wire.answer("200 OK", &flood, PAGE)
    };
    Page "huge-header", Fails("protocol"), |wire| {
        let huge = format!("X-Long: {}", "x".repeat(200_000));
        wire.answer("200 OK", &huge, PAGE)
    };
    Page "huge-header-name", Fails("protocol"), |wire| {
        let huge = format!("{}: x", "x".repeat(70_000));
        wire.answer("200 OK", &huge, PAGE)
    };
    Page "cookie-flood", Fails("protocol"), |wire| {
        let cookie = format!("Set-Cookie: a={}\n", "x".repeat(1_000));
        wire.answer("200 OK", &cookie.repeat(300), PAGE)
    };
    Page "many-cookies", Leads, |wire| wire.leading(&"Set-Cookie: a=b; Path=/\n".repeat(200), PAGE);
    Page "endless-informational", Nothing, |wire| wire.forever("HTTP/1.1 100 Continue\r\n\r\n");
    Page "slow-informational", Fails("timeout"), |wire| {
        wire.drip("HTTP/1.1 102 Processing\r\n\r\n")
    };
    Page "early-hints", Leads, |wire| {
        wire.send("HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n")?;
        wire.send("HTTP/1.1 100 Continue\r\n\r\n")?;
        wire.leading("", PAGE)
    };
    Page "continues-and-hangs", Fails("timeout"), |wire| {
        wire.send("HTTP/1.1 100 Continue\r\n\r\n")?;
        wire.hang()
    };
    Page "switches-protocols", Whole(101), |wire| {
        wire.head(
            "101 Switching Protocols",
            "Upgrade: websocket\nConnection: Upgrade",
        )?;
        wire.forever("\u{1}\u{2}")
    };
    // What is not HTTP.
    Page "http-0-9", Fails("protocol"), |wire| {
        wire.send(PAGE)?;
        wire.close()
    };
    Page "garbage", Fails("protocol"), |wire| {
        wire.send([0xFF, 0xFE, 0, 1, 2, 3, 0x80, b'\r', b'\n', b'\r', b'\n'])?;
        wire.close()
    };
    Page "endless-garbage", Fails("protocol"), |wire| wire.forever("\0\u{7f}");
    Page "secure-shell", Fails("protocol"), |wire| {
        wire.send("SSH-2.0-OpenSSH_9.9\r\n")?;
        wire.hang()
    };
    Page "tls-alert", Fails("protocol"), |wire| {
        wire.send([0x15, 3, 1, 0, 2, 2, 70])?;
        wire.close()
    };
    Page "radio", Fails("protocol"), |wire| {
        wire.send("ICY 200 OK\r\nicy-name: x\r\n\r\n")?;
        wire.forever("x")
    };
    Page "http-2-unasked", Fails("protocol"), |wire| {
        wire.send(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x04\x40\0\0\0\0\x02\0\0\0\0")?;
        wire.hang()
    };
    Page "http-9", Fails("protocol"), |wire| {
        wire.send(format!("HTTP/9.9 200 OK\r\n{REST}{PAGE}"))?;
        wire.close()
    };
    Page "lower-case-http", Fails("protocol"), |wire| {
        wire.send(format!("http/1.1 200 ok\r\n{REST}{PAGE}"))?;
        wire.close()
    };
    Page "no-number", Fails("protocol"), |wire| {
        wire.send(format!("HTTP/1.1 fine OK\r\n{REST}{PAGE}"))?;
        wire.close()
    };
    Page "two-digits", Fails("protocol"), |wire| {
        wire.send(format!("HTTP/1.1 99 Low\r\n{REST}{PAGE}"))?;
        wire.close()
    };
    Page "four-digits", Fails("protocol"), |wire| {
        wire.send(format!("HTTP/1.1 2000 High\r\n{REST}{PAGE}"))?;
        wire.close()
    };
    Page "negative-status", Fails("protocol"), |wire| {
        wire.send(format!("HTTP/1.1 -200 Low\r\n{REST}{PAGE}"))?;
        wire.close()
    };
    Page "status-999", Whole(999), |wire| wire.answer("999 Request denied", "", "no");
    Page "status-600", Whole(600), |wire| wire.answer("600 What", "", "no");
    // What is odd, and yet can be read.
    Page "http-1-0", Leads, |wire| {
        wire.send(format!(
            "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n{PAGE}"
        ))?;
        wire.close()
    };
    Page "no-reason", Leads, |wire| wire.answer("200", "Content-Type: text/html", PAGE);
    Page "strange-reason", Leads, |wire| {
        wire.answer("200 O\u{e9}\tK", "Content-Type: text/html", PAGE)
    };
    Page "bare-line-feeds", Leads, |wire| {
        wire.send(format!(
            "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 78\n\n{PAGE}"
        ))?;
        wire.close()
    };
    Page "empty-lines-first", Leads, |wire| {
        wire.send("\r\n\r\n")?;
        wire.leading("", PAGE)
    };
    Page "no-headers", Titled(200, "it came"), |wire| {
        wire.send(format!("HTTP/1.1 200 OK\r\n\r\n{PAGE}"))?;
        wire.close()
    };
    Page "no-colon", Leads, |wire| wire.leading("this line means nothing", PAGE);
    Page "empty-name", Leads, |wire| wire.leading(": a value", PAGE);
    Page "space-before-colon", Leads, |wire| wire.leading("X-Odd : value", PAGE);
    Page "odd-name", Leads, |wire| wire.leading("X(Odd)@: value", PAGE);
    Page "foreign-name", Leads, |wire| wire.leading("X-Ödd: value", PAGE);
    Page "foreign-value", Leads, |wire| wire.leading("X-Odd: välue", PAGE);
    Page "folded-header", Leads, |wire| wire.leading("X-Odd: one\n two\n\tthree", PAGE);
    Page "nul-in-header", Fails("protocol"), |wire| wire.leading("X-Odd: a\0b", PAGE);
    Page "empty-header", Leads, |wire| wire.leading("X-Odd:", PAGE);
    Page "headers-twice", Leads, |wire| {
        wire.leading(
            "Content-Type: text/html\nContent-Type: image/png\nDate: x\nDate: y",
            PAGE,
        )
    };
    Page "one-byte-at-a-time", Leads, |wire| {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 78\r\n\r\n{PAGE}"
        );
        for byte in answer.bytes() {
            wire.send([byte])?;
        }
        Ok(())
    };
};
