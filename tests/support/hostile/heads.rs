//! Misbehaviour up to the end of the head: connections, status lines, headers.

use super::{At, Behaviour, Comes, Wire};
use Comes::{Fails, Leads, Nothing, Titled, Whole};

const PAGE: &str = "<!doctype html><title>it came</title><p>It came after all. <a href=/led>on</a>";

/// A head without its status line, for a body of that length.
const REST: &str = "Content-Type: text/html\r\nContent-Length: 78\r\n\r\n";

pub(super) const ALL: &[Behaviour] = &[
    // Connections. What cannot be asked for its robots.txt is asked for nothing else.
    Behaviour::at(At::Refused, "refused", Nothing, |_| Ok(())),
    Behaviour::at(At::NeverAccepts, "never-accepts", Nothing, |_| Ok(())),
    Behaviour::at(At::Connection, "never-reads", Nothing, Wire::hang),
    Behaviour::at(At::Connection, "hangs-up", Nothing, Wire::close),
    Behaviour::at(At::Connection, "resets", Nothing, Wire::reset),
    Behaviour::at(At::Connection, "greets", Nothing, |wire| {
        wire.send("220 mail.example ESMTP\r\n")?;
        wire.hang()
    }),
    Behaviour::at(At::Connection, "answers-unasked", Nothing, |wire| {
        wire.html("<title>unasked</title>")?;
        wire.hang()
    }),
    Behaviour::page("no-byte", Fails("disconnect"), Wire::close),
    Behaviour::page("reset-at-once", Fails("disconnect"), Wire::reset),
    Behaviour::page("reset-in-status", Fails("disconnect"), |wire| {
        wire.send("HTTP/1.")?;
        wire.reset()
    }),
    Behaviour::page("closed-in-status", Fails("disconnect"), |wire| {
        wire.send("HTTP/1.1 20")?;
        wire.close()
    }),
    Behaviour::page("reset-in-headers", Fails("disconnect"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/ht")?;
        wire.reset()
    }),
    Behaviour::page("closed-in-headers", Fails("disconnect"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")?;
        wire.close()
    }),
    Behaviour::at(At::GoodOnce, "reset-once", Nothing, Wire::reset),
    Behaviour::at(At::GoodOnce, "closed-once", Nothing, Wire::close),
    Behaviour::at(At::GoodOnce, "busy-once", Nothing, |wire| {
        wire.answer("503 Service Unavailable", "Retry-After: 0", "busy")
    }),
    // Slowness.
    Behaviour::page("never-answers", Fails("timeout"), Wire::hang),
    Behaviour::page("slow-status", Fails("timeout"), |wire| {
        wire.slowly("HTTP/1.1 200 OK\r\n")
    }),
    Behaviour::page("slow-headers", Fails("timeout"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\n")?;
        wire.drip("X-More: to come\r\n")
    }),
    Behaviour::page("slow-header", Fails("timeout"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\nX-Long: ")?;
        wire.drip("x")
    }),
    Behaviour::page("slow-line-ends", Fails("timeout"), |wire| wire.drip("\r\n")),
    Behaviour::page("stops-in-headers", Fails("timeout"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")?;
        wire.hang()
    }),
    // Floods.
    Behaviour::page("endless-status", Fails("protocol"), |wire| {
        wire.send("HTTP/1.1 200 ")?;
        wire.forever("OK ")
    }),
    Behaviour::page("endless-header", Fails("protocol"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\nX-Long: ")?;
        wire.forever("x")
    }),
    Behaviour::page("endless-headers", Fails("protocol"), |wire| {
        wire.send("HTTP/1.1 200 OK\r\n")?;
        wire.forever("X-More: to come\r\n")
    }),
    Behaviour::page("many-headers", Fails("protocol"), |wire| {
        let flood = "X-More: to come\n".repeat(2_000);
        wire.answer("200 OK", &flood, PAGE)
    }),
    Behaviour::page("huge-header", Fails("protocol"), |wire| {
        let huge = format!("X-Long: {}", "x".repeat(200_000));
        wire.answer("200 OK", &huge, PAGE)
    }),
    Behaviour::page("huge-header-name", Fails("protocol"), |wire| {
        let huge = format!("{}: x", "x".repeat(70_000));
        wire.answer("200 OK", &huge, PAGE)
    }),
    Behaviour::page("cookie-flood", Fails("protocol"), |wire| {
        let cookie = format!("Set-Cookie: a={}\n", "x".repeat(1_000));
        wire.answer("200 OK", &cookie.repeat(300), PAGE)
    }),
    Behaviour::page("many-cookies", Leads, |wire| {
        wire.leading(&"Set-Cookie: a=b; Path=/\n".repeat(200), PAGE)
    }),
    Behaviour::page("endless-informational", Nothing, |wire| {
        wire.forever("HTTP/1.1 100 Continue\r\n\r\n")
    }),
    Behaviour::page("slow-informational", Fails("timeout"), |wire| {
        wire.drip("HTTP/1.1 102 Processing\r\n\r\n")
    }),
    Behaviour::page("early-hints", Leads, |wire| {
        wire.send("HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n")?;
        wire.send("HTTP/1.1 100 Continue\r\n\r\n")?;
        wire.leading("", PAGE)
    }),
    Behaviour::page("continues-and-hangs", Fails("timeout"), |wire| {
        wire.send("HTTP/1.1 100 Continue\r\n\r\n")?;
        wire.hang()
    }),
    Behaviour::page("switches-protocols", Whole(101), |wire| {
        wire.head(
            "101 Switching Protocols",
            "Upgrade: websocket\nConnection: Upgrade",
        )?;
        wire.forever("\u{1}\u{2}")
    }),
    // What is not HTTP.
    Behaviour::page("http-0-9", Fails("protocol"), |wire| {
        wire.send(PAGE)?;
        wire.close()
    }),
    Behaviour::page("garbage", Fails("protocol"), |wire| {
        wire.send([0xFF, 0xFE, 0, 1, 2, 3, 0x80, b'\r', b'\n', b'\r', b'\n'])?;
        wire.close()
    }),
    Behaviour::page("endless-garbage", Fails("protocol"), |wire| {
        wire.forever("\0\u{7f}")
    }),
    Behaviour::page("secure-shell", Fails("protocol"), |wire| {
        wire.send("SSH-2.0-OpenSSH_9.9\r\n")?;
        wire.hang()
    }),
    Behaviour::page("tls-alert", Fails("protocol"), |wire| {
        wire.send([0x15, 3, 1, 0, 2, 2, 70])?;
        wire.close()
    }),
    Behaviour::page("radio", Fails("protocol"), |wire| {
        wire.send("ICY 200 OK\r\nicy-name: x\r\n\r\n")?;
        wire.forever("x")
    }),
    Behaviour::page("http-2-unasked", Fails("protocol"), |wire| {
        wire.send(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x04\x40\0\0\0\0\x02\0\0\0\0")?;
        wire.hang()
    }),
    Behaviour::page("http-9", Fails("protocol"), |wire| {
        wire.send(format!("HTTP/9.9 200 OK\r\n{REST}{PAGE}"))?;
        wire.close()
    }),
    Behaviour::page("lower-case-http", Fails("protocol"), |wire| {
        wire.send(format!("http/1.1 200 ok\r\n{REST}{PAGE}"))?;
        wire.close()
    }),
    Behaviour::page("no-number", Fails("protocol"), |wire| {
        wire.send(format!("HTTP/1.1 fine OK\r\n{REST}{PAGE}"))?;
        wire.close()
    }),
    Behaviour::page("two-digits", Fails("protocol"), |wire| {
        wire.send(format!("HTTP/1.1 99 Low\r\n{REST}{PAGE}"))?;
        wire.close()
    }),
    Behaviour::page("four-digits", Fails("protocol"), |wire| {
        wire.send(format!("HTTP/1.1 2000 High\r\n{REST}{PAGE}"))?;
        wire.close()
    }),
    Behaviour::page("negative-status", Fails("protocol"), |wire| {
        wire.send(format!("HTTP/1.1 -200 Low\r\n{REST}{PAGE}"))?;
        wire.close()
    }),
    Behaviour::page("status-999", Whole(999), |wire| {
        wire.answer("999 Request denied", "", "no")
    }),
    Behaviour::page("status-600", Whole(600), |wire| {
        wire.answer("600 What", "", "no")
    }),
    // What is odd, and yet can be read.
    Behaviour::page("http-1-0", Leads, |wire| {
        wire.send(format!(
            "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n{PAGE}"
        ))?;
        wire.close()
    }),
    Behaviour::page("no-reason", Leads, |wire| {
        wire.answer("200", "Content-Type: text/html", PAGE)
    }),
    Behaviour::page("strange-reason", Leads, |wire| {
        wire.answer("200 O\u{e9}\tK", "Content-Type: text/html", PAGE)
    }),
    Behaviour::page("bare-line-feeds", Leads, |wire| {
        wire.send(format!(
            "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 78\n\n{PAGE}"
        ))?;
        wire.close()
    }),
    Behaviour::page("empty-lines-first", Leads, |wire| {
        wire.send("\r\n\r\n")?;
        wire.leading("", PAGE)
    }),
    Behaviour::page("no-headers", Titled(200, "it came"), |wire| {
        wire.send(format!("HTTP/1.1 200 OK\r\n\r\n{PAGE}"))?;
        wire.close()
    }),
    Behaviour::page("no-colon", Leads, |wire| {
        wire.leading("this line means nothing", PAGE)
    }),
    Behaviour::page("empty-name", Leads, |wire| wire.leading(": a value", PAGE)),
    Behaviour::page("space-before-colon", Leads, |wire| {
        wire.leading("X-Odd : value", PAGE)
    }),
    Behaviour::page("odd-name", Leads, |wire| {
        wire.leading("X(Odd)@: value", PAGE)
    }),
    Behaviour::page("foreign-name", Leads, |wire| {
        wire.leading("X-Ödd: value", PAGE)
    }),
    Behaviour::page("foreign-value", Leads, |wire| {
        wire.leading("X-Odd: välue", PAGE)
    }),
    Behaviour::page("folded-header", Leads, |wire| {
        wire.leading("X-Odd: one\n two\n\tthree", PAGE)
    }),
    Behaviour::page("nul-in-header", Fails("protocol"), |wire| {
        wire.leading("X-Odd: a\0b", PAGE)
    }),
    Behaviour::page("empty-header", Leads, |wire| wire.leading("X-Odd:", PAGE)),
    Behaviour::page("headers-twice", Leads, |wire| {
        wire.leading(
            "Content-Type: text/html\nContent-Type: image/png\nDate: x\nDate: y",
            PAGE,
        )
    }),
    Behaviour::page("one-byte-at-a-time", Leads, |wire| {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 78\r\n\r\n{PAGE}"
        );
        for byte in answer.bytes() {
            wire.send([byte])?;
        }
        Ok(())
    }),
];
