//! Misbehaviour from the head of an answer to its end: lengths, chunks, codings.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::{Behaviour, Comes, Wire};
use Comes::{Fails, Leads, Noted, Nothing, Titled, Whole};

const PAGE: &str = "<!doctype html><title>it came</title><p>It came after all. <a href=/led>on</a>";

/// 64 MiB of zeros, compressed by brotli.
const BROTLI_BOMB: &[u8] = b"\xcb\xff\xff\x3f\xf8\x27\x00\xe2\xb1\x40\x20\xf7\xfe\x8f\xff\xff\
\x7f\xf0\x4f\x00\xc4\x61\x11\x80\xee\xfd\x1f\xff\xff\xff\xe0\x9f\x00\x88\xc3\x02\x00\xdd\xfb\x3f\
\xfe\xff\xff\xc1\x3f\x01\x10\x87\x05\x00\xba\xf7\x7f\xfc\xff\xff\x83\x7f\x02\x20\x0e\x0b\x00\x74\
\xef\xff\xf8\xff\xff\x07\xff\x04\x40\x1c\x16\x00\xe8\xde\xff\xf1\xff\xff\x0f\xfe\x09\x80\x38\x2c\
\x00\xd0\xbd\xff\xe3\xff\xff\x1f\xfc\x13\x00\x71\x58\x00\xa0\x7b\xff\x37";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes every byte");
    encoder.finish().expect("a vector takes every byte")
}

/// A gibibyte of zeros in many members of gzip.
fn gzip_bomb() -> Vec<u8> {
    gzip(&vec![0; 8 << 20]).repeat(128)
}

/// Zeros in blocks of 128 KiB that say how often their byte comes (RFC 8878, section 3.1.1.2).
fn zstd_bomb(blocks: usize) -> Vec<u8> {
    let mut bomb = b"\x28\xb5\x2f\xfd\0\x58".to_vec();
    for block in 0..blocks {
        let is_last = u32::from(block + 1 == blocks);
        let header = is_last | 1 << 1 | (128 << 10) << 3;
        bomb.extend(&header.to_le_bytes()[..3]);
        bomb.push(0);
    }
    bomb
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes every byte");
    encoder.finish().expect("a vector takes every byte")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes every byte");
    encoder.finish().expect("a vector takes every byte")
}

fn coded(wire: &mut Wire, coding: &str, body: impl AsRef<[u8]>) -> io::Result<()> {
    wire.leading(&format!("Content-Encoding: {coding}"), body)
}

/// A head for a body in chunks.
fn chunked(wire: &mut Wire) -> io::Result<()> {
    wire.head(
        "200 OK",
        "Content-Type: text/html\nTransfer-Encoding: chunked",
    )
}

/// A page as one chunk, and its end.
fn in_one_chunk() -> String {
    format!("{:x}\r\n{PAGE}\r\n0\r\n\r\n", PAGE.len())
}

pub(super) const ALL: &[Behaviour] = rows! {
    // Lengths.
    Page "length-too-short", Whole(200), |wire| {
        wire.head("200 OK", "Content-Type: text/html\nContent-Length: 20")?;
        wire.send(PAGE)
    };
    Page "length-too-long", Noted(200, "cut:disconnect"), |wire| {
        wire.head("200 OK", "Content-Type: text/html\nContent-Length: 2000")?;
        wire.send(PAGE)?;
        wire.close()
    };
    Page "length-never-reached", Noted(200, "cut:time"), |wire| {
        wire.head("200 OK", "Content-Type: text/html\nContent-Length: 2000")?;
        wire.send(PAGE)?;
        wire.hang()
    };
    Page "length-negative", Fails("protocol"), |wire| {
        wire.head("200 OK", "Content-Length: -1")?;
        wire.send(PAGE)
    };
    Page "length-of-words", Fails("protocol"), |wire| {
        wire.head("200 OK", "Content-Length: many")?;
        wire.send(PAGE)
    };
    Page "length-enormous", Noted(200, "cut:disconnect"), |wire| {
        wire.head(
            "200 OK",
            "Content-Type: text/html\nContent-Length: 9000000000000000000",
        )?;
        wire.send(PAGE)?;
        wire.close()
    };
    Page "length-beyond-numbers", Fails("protocol"), |wire| {
        wire.head("200 OK", "Content-Length: 99999999999999999999999")?;
        wire.send(PAGE)?;
        wire.close()
    };
    Page "lengths-differ", Fails("protocol"), |wire| {
        wire.head("200 OK", "Content-Length: 20\nContent-Length: 2000")?;
        wire.send(PAGE)?;
        wire.close()
    };
    Page "lengths-agree", Leads, |wire| {
        wire.leading(&format!("Content-Length: {}", PAGE.len()), PAGE)
    };
    Page "length-and-chunks", Leads, |wire| {
        wire.head(
            "200 OK",
            "Content-Type: text/html\nContent-Length: 5\nTransfer-Encoding: chunked",
        )?;
        wire.send(in_one_chunk())?;
        wire.close()
    };
    Page "no-length", Leads, |wire| {
        wire.head("200 OK", "Content-Type: text/html")?;
        wire.send(PAGE)?;
        wire.close()
    };
    Page "body-without-length", Whole(200), |wire| {
        wire.head("200 OK", "Content-Type: text/html\nContent-Length: 0")?;
        wire.send(PAGE)
    };
    Page "body-of-204", Whole(204), |wire| wire.answer("204 No Content", "", PAGE);
    Page "body-of-304", Whole(304), |wire| wire.answer("304 Not Modified", "ETag: \"x\"", PAGE);
    Page "body-of-205", Whole(205), |wire| wire.answer("205 Reset Content", "", PAGE);
    Page "part-unasked", Noted(206, "partial-content"), |wire| {
        wire.answer(
            "206 Partial Content",
            "Content-Type: text/html\nContent-Range: bytes 0-77/9000",
            PAGE,
        )
    };
    Page "empty", Whole(200), |wire| wire.leading("", "");
    // Ends.
    Page "resets-in-body", Noted(200, "cut:disconnect"), |wire| {
        wire.head("200 OK", "Content-Type: text/html\nContent-Length: 2000")?;
        wire.send(PAGE)?;
        wire.pause();
        wire.reset()
    };
    Page "resets-after-body", Nothing, |wire| {
        wire.leading("", PAGE)?;
        wire.reset()
    };
    Page "closes-though-kept-alive", Leads, |wire| {
        wire.leading("Connection: keep-alive\nKeep-Alive: timeout=3600", PAGE)?;
        wire.close()
    };
    Page "answers-twice", Leads, |wire| {
        wire.leading("", PAGE)?;
        wire.leading(
            "",
            "<!doctype html><title>poison</title><p>This was not asked for.",
        )
    };
    Page "answers-without-end", Leads, |wire| {
        wire.leading("", PAGE)?;
        wire.forever("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
    };
    // Slow and endless bodies. Whether time or length ends one depends on the machine.
    Page "byte-by-byte", Noted(200, "cut:time"), |wire| {
        wire.head("200 OK", "Content-Type: text/html\nContent-Length: 200000")?;
        wire.drip("x")
    };
    Page "drips-chunks", Noted(200, "cut:time"), |wire| {
        chunked(wire)?;
        wire.drip("1\r\nx\r\n")
    };
    Page "drips-chunk-size", Noted(200, "cut:time"), |wire| {
        chunked(wire)?;
        wire.drip("0")
    };
    Page "drips-and-claims", Noted(200, "cut:time"), |wire| {
        wire.head(
            "200 OK",
            "Content-Type: text/html\nContent-Length: 19000000",
        )?;
        wire.drip("x")
    };
    Page "stops-in-body", Noted(200, "cut:time"), |wire| {
        chunked(wire)?;
        wire.send("4e\r\n<!doctype html>")?;
        wire.hang()
    };
    Page "endless-chunks", Noted(200, "cut:"), |wire| {
        chunked(wire)?;
        wire.forever(&format!("400\r\n{}\r\n", "x".repeat(0x400)))
    };
    Page "endless-body", Noted(200, "cut:"), |wire| {
        wire.head("200 OK", "Content-Type: text/html")?;
        wire.forever("<p>and so on ")
    };
    Page "fifty-megabytes", Noted(200, "cut:"), |wire| {
        wire.head(
            "200 OK",
            "Content-Type: text/html\nContent-Length: 50000000",
        )?;
        wire.repeat("<p>and so on, on", 3_125_000)
    };
    // Chunks.
    Page "chunk-size-of-words", Noted(200, "cut:disconnect"), |wire| {
            chunked(wire)?;
            wire.send("many\r\nxxxx\r\n")?;
            wire.close()
        };
    Page "chunk-size-enormous", Noted(200, "cut:disconnect"), |wire| {
            chunked(wire)?;
            wire.send("fffffffffffffffffffff\r\nxxxx\r\n")?;
            wire.close()
        };
    Page "chunk-size-negative", Noted(200, "cut:disconnect"), |wire| {
            chunked(wire)?;
            wire.send("-4\r\nxxxx\r\n")?;
            wire.close()
        };
    Page "chunk-too-short", Noted(200, "cut:disconnect"), |wire| {
        chunked(wire)?;
        wire.send("2\r\nxxxx\r\n0\r\n\r\n")?;
        wire.close()
    };
    Page "chunks-without-end", Noted(200, "cut:disconnect"), |wire| {
        chunked(wire)?;
        wire.send("4\r\nxxxx\r\n")?;
        wire.close()
    };
    Page "chunk-extension-flood", Noted(200, "cut:disconnect"), |wire| {
            chunked(wire)?;
            wire.send("4;")?;
            wire.forever("name=value;")
        };
    Page "chunk-extensions", Leads, |wire| {
        chunked(wire)?;
        wire.send(format!(
            "{:X};a=b;c=\"d\"\r\n{PAGE}\r\n000;e\r\n\r\n",
            PAGE.len()
        ))
    };
    Page "trailers", Leads, |wire| {
        chunked(wire)?;
        let chunk = in_one_chunk();
        wire.send(chunk.trim_end())?;
        wire.send("\r\nX-Late: value\r\nContent-Type: image/png\r\n\r\n")
    };
    Page "trailer-flood", Noted(200, "cut:disconnect"), |wire| {
        chunked(wire)?;
        wire.send("4\r\nxxxx\r\n0\r\n")?;
        wire.forever("X-Late: value\r\n")
    };
    Page "chunked-twice", Nothing, |wire| {
        wire.head(
            "200 OK",
            "Content-Type: text/html\nTransfer-Encoding: chunked, chunked",
        )?;
        wire.send(in_one_chunk())?;
        wire.close()
    };
    Page "transfer-unknown", Nothing, |wire| {
        wire.head(
            "200 OK",
            "Content-Type: text/html\nTransfer-Encoding: rot13",
        )?;
        wire.send(PAGE)?;
        wire.close()
    };
    Page "chunked-but-not", Noted(200, "cut:disconnect"), |wire| {
        chunked(wire)?;
        wire.send(PAGE)?;
        wire.close()
    };
    // Codings.
    Page "gzip", Leads, |wire| coded(wire, "gzip", gzip(PAGE.as_bytes()));
    Page "gzip-by-another-name", Leads, |wire| coded(wire, "X-GZip", gzip(PAGE.as_bytes()));
    Page "gzip-in-members", Leads, |wire| {
        let (begin, end) = PAGE.as_bytes().split_at(20);
        coded(wire, "gzip", [gzip(begin), gzip(end)].concat())
    };
    Page "gzip-and-more", Leads, |wire| {
        coded(
            wire,
            "gzip",
            [&gzip(PAGE.as_bytes())[..], &[0; 300]].concat(),
        )
    };
    Page "gzip-twice", Leads, |wire| coded(wire, "gzip, gzip", gzip(&gzip(PAGE.as_bytes())));
    Page "deflate", Leads, |wire| coded(wire, "deflate", zlib(PAGE.as_bytes()));
    Page "deflate-bare", Leads, |wire| coded(wire, "deflate", deflate(PAGE.as_bytes()));
    Page "no-gzip-at-all", Leads, |wire| coded(wire, "gzip", PAGE);
    Page "no-zstd-at-all", Leads, |wire| coded(wire, "zstd", PAGE);
    Page "no-brotli-at-all", Noted(200, "content-coding"), |wire| coded(wire, "br", PAGE);
    Page "gzip-cut", Noted(200, "broken-content-coding"), |wire| {
        let whole = gzip(PAGE.repeat(50).as_bytes());
        coded(wire, "gzip", &whole[..whole.len() / 2])
    };
    Page "gzip-wrong-checksum", Noted(200, "broken-content-coding"), |wire| {
            let mut body = gzip(PAGE.as_bytes());
            let end = body.len() - 6;
            body[end] ^= 1;
            coded(wire, "gzip", body)
        };
    Page "gzip-of-noise", Noted(200, "broken-content-coding"), |wire| {
            coded(
                wire,
                "gzip",
                b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xff\xff\xff\xff noise and noise",
            )
        };
    Page "coding-of-words", Leads, |wire| coded(wire, "utf-8", PAGE);
    Page "coding-none", Leads, |wire| coded(wire, "none", PAGE);
    Page "coding-unknown", Noted(200, "no-content-coding"), |wire| coded(wire, "rot13", PAGE);
    Page "a-hundred-codings", Noted(200, "too-many-content-codings"), |wire| coded(wire, &"gzip, ".repeat(100), gzip(PAGE.as_bytes()));
    Page "gzip-bomb", Noted(200, "decoded-length"), |wire| coded(wire, "gzip", gzip_bomb());
    Page "gzip-bomb-nested", Noted(200, "decoded-length"), |wire| {
        coded(wire, "gzip, gzip, gzip", gzip(&gzip(&gzip_bomb())))
    };
    Page "deflate-bomb", Noted(200, "decoded-length"), |wire| {
        coded(wire, "deflate", zlib(&vec![b'x'; 48 << 20]))
    };
    Page "brotli-bomb", Noted(200, "decoded-length"), |wire| coded(wire, "br", BROTLI_BOMB);
    Page "zstd-bomb", Noted(200, "decoded-length"), |wire| coded(wire, "zstd", zstd_bomb(8_000));
    Page "zstd-of-large-window", Noted(200, "content-coding"), |wire| {
            let mut bomb = zstd_bomb(10);
            bomb[5] = 0xf8;
            coded(wire, "zstd", bomb)
        };
    Page "bomb-of-markup", Noted(200, "decoded-length"), |wire| {
        coded(
            wire,
            "gzip",
            gzip("<p><b><i>x".repeat(1 << 20).as_bytes()).repeat(8),
        )
    };
    Page "bomb-that-drips", Noted(200, "cut:time"), |wire| {
        wire.head("200 OK", "Content-Type: text/html\nContent-Encoding: gzip")?;
        wire.send(&gzip_bomb()[..200_000])?;
        wire.drip("\0")
    };
    Page "gzip-of-chunks", Titled(200, "it came"), |wire| {
        wire.head(
            "200 OK",
            "Content-Type: text/html\nContent-Encoding: gzip\nTransfer-Encoding: chunked",
        )?;
        for byte in gzip(PAGE.as_bytes()) {
            wire.send([b'1', b'\r', b'\n', byte, b'\r', b'\n'])?;
        }
        wire.send("0\r\n\r\n")
    };
    GoodOnce "cut-once", Nothing, Wire::reset;
};
