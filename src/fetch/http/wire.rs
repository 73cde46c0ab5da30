//! The bytes of a connection: counted as they come, so that a server cannot keep gleaner busy with
//! what is no response, and looked at, so that a head is archived as it was sent.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that a server may send before each response, and in front of a body that is not read yet.
/// More than any head (`fetch.max_header` is 64 KiB by default) and than what is read ahead of a
/// body (about 400 KiB over HTTP/1, 256 KiB over HTTP/2).
const FREE: u64 = 1 << 19;
/// Further bytes per byte of a body: a body sent byte by byte takes 39 for each with HTTP/2 and
/// TLS.
const PER_BYTE: u64 = 64;
/// Informational responses (1xx) before a response. Servers send one or two.
const MAX_INFORMATIONAL: u32 = 32;

/// What a server sent since the last request, in comparison with what it may.
///
/// HTTP has much that is sent and is no response: informational responses, and over HTTP/2
/// settings, pings, window updates, priorities and frames of unknown types. A server that sends
/// them without end takes the reactor from all others.
#[derive(Debug)]
pub(super) struct Meter {
    read: AtomicU64,
    allowed: AtomicU64,
    informational: AtomicU32,
    flooded: AtomicBool,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            read: AtomicU64::new(0),
            allowed: AtomicU64::new(FREE),
            informational: AtomicU32::new(0),
            flooded: AtomicBool::new(false),
        }
    }
}

impl Meter {
    /// Begins to count anew: a request is sent.
    pub(super) fn begin(&self) {
        self.read.store(0, Ordering::Relaxed);
        self.allowed.store(FREE, Ordering::Relaxed);
        self.informational.store(0, Ordering::Relaxed);
    }

    /// Records that this many bytes of a body were received.
    pub(super) fn progress(&self, bytes: usize) {
        let more = PER_BYTE.saturating_mul(bytes as u64);
        self.allowed.fetch_add(more, Ordering::Relaxed);
    }

    /// Records an informational response.
    pub(super) fn informational(&self) {
        if self.informational.fetch_add(1, Ordering::Relaxed) >= MAX_INFORMATIONAL {
            self.flooded.store(true, Ordering::Relaxed);
        }
    }

    /// Tells whether the server sent more than it may; the connection is unusable then.
    pub(super) fn is_flooded(&self) -> bool {
        self.flooded.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        let read = self.read.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        if read > self.allowed.load(Ordering::Relaxed) {
            self.flooded.store(true, Ordering::Relaxed);
        }
        match self.is_flooded() {
            true => Err(io::Error::other("the server floods the connection")),
            false => Ok(()),
        }
    }
}

/// The head of the last response over HTTP/1, byte for byte.
#[derive(Debug, Default)]
pub(super) struct HeadTap(Mutex<Head>);

#[derive(Debug, Default)]
struct Head {
    bytes: Vec<u8>,
    /// Number of bytes in which no end was found.
    searched: usize,
    /// Whether the bytes that come belong to a head.
    is_open: bool,
}

impl HeadTap {
    /// Begins with the head of the next response.
    pub(super) fn begin(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Head {
            is_open: true,
            ..Head::default()
        };
    }

    /// Takes the head, if all of it has come.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut head = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (!head.is_open && !head.bytes.is_empty()).then(|| std::mem::take(&mut head.bytes))
    }

    fn feed(&self, bytes: &[u8]) {
        let mut head = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if head.is_open {
            head.feed(bytes);
        }
    }
}

impl Head {
    fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        loop {
            if self.searched == 0 {
                // Empty lines before a head are passed over (RFC 9112, section 2.2).
                let is_blank = |byte: &u8| matches!(byte, b'\r' | b'\n');
                let blank = self.bytes.iter().take_while(|it| is_blank(it)).count();
                self.bytes.drain(..blank);
            }
            let Some(end) = end_of_head(&self.bytes, self.searched) else {
                self.searched = self.bytes.len();
                return;
            };
            if is_interim(&self.bytes) {
                self.bytes.drain(..end);
                self.searched = 0;
                continue;
            }
            self.bytes.truncate(end);
            self.is_open = false;
            return;
        }
    }
}

/// Returns where the first head ends, behind its empty line. `searched` bytes hold no end.
fn end_of_head(bytes: &[u8], searched: usize) -> Option<usize> {
    let from = searched.saturating_sub(2);
    let ends = memchr::memchr_iter(b'\n', bytes.get(from..)?).map(|at| from + at + 1);
    ends.into_iter().find_map(|next| match bytes.get(next..)? {
        [b'\n', ..] => Some(next + 1),
        [b'\r', b'\n', ..] => Some(next + 2),
        _ => None,
    })
}

/// Tells whether a head is that of an informational response, which another one follows.
fn is_interim(head: &[u8]) -> bool {
    let mut words = head.split(|byte| *byte == b' ').filter(|it| !it.is_empty());
    let status = words.nth(1).unwrap_or_default();
    status.first() == Some(&b'1') && !status.starts_with(b"101")
}

/// A stream whose bytes are counted.
#[derive(Debug)]
pub(super) struct Metered<S> {
    pub(super) stream: S,
    pub(super) meter: Arc<Meter>,
}

/// A stream whose heads are looked at.
#[derive(Debug)]
pub(super) struct Tapped<S> {
    pub(super) stream: S,
    pub(super) tap: Arc<HeadTap>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // What hyper found in the bytes read before may have been too much.
        self.meter.count(0)?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = read {
            self.meter.count(buffer.filled().len() - before)?;
        }
        read
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tapped<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = read {
            self.tap.feed(&buffer.filled()[before..]);
        }
        read
    }
}

/// Writes pass through.
macro_rules! write_through {
    ($stream:ident) => {
        impl<S: AsyncWrite + Unpin> AsyncWrite for $stream<S> {
            fn poll_write(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut self.stream).poll_write(context, bytes)
            }

            fn poll_flush(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                Pin::new(&mut self.stream).poll_flush(context)
            }

            fn poll_shutdown(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                Pin::new(&mut self.stream).poll_shutdown(context)
            }
        }
    };
}

write_through!(Metered);
write_through!(Tapped);

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of a connection that brings these reads.
    fn tapped(reads: &[&[u8]]) -> Option<String> {
        let tap = HeadTap::default();
        tap.begin();
        for read in reads {
            tap.feed(read);
        }
        tap.take().map(|head| String::from_utf8(head).unwrap())
    }

    #[test]
    fn a_head_is_kept_as_it_came_however_it_is_cut() {
        const HEAD: &str =
            "HTTP/1.1 200  Quite Fine\r\nSeRvEr: x\r\nA:\tb\r\n  c\r\nserver: y\r\n\r\n";
        let whole = format!("{HEAD}body\r\n\r\nmore");
        assert_eq!(tapped(&[whole.as_bytes()]).as_deref(), Some(HEAD));
        let bytes: Vec<&[u8]> = whole.as_bytes().chunks(1).collect();
        assert_eq!(tapped(&bytes).as_deref(), Some(HEAD));
        let before = format!("\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n{whole}");
        for size in [1, 2, 3, 7, 1_000] {
            let reads: Vec<&[u8]> = before.as_bytes().chunks(size).collect();
            assert_eq!(tapped(&reads).as_deref(), Some(HEAD), "{size}");
        }
        assert_eq!(
            tapped(&[b"HTTP/1.0 200 OK\nA: b\n\nbody"]).as_deref(),
            Some("HTTP/1.0 200 OK\nA: b\n\n")
        );
        assert_eq!(tapped(&[b"HTTP/1.1 200 OK\r\nA: b\r\n"]), None);
        assert_eq!(tapped(&[b"HTTP/1.1 103 x\r\n\r\n"]), None);
    }

    #[test]
    fn what_is_no_response_is_bounded_and_a_body_is_not() {
        let meter = Meter::default();
        assert!(meter.count(400_000).is_ok());
        meter.begin();
        assert!(meter.count(400_000).is_ok(), "counted for each request");
        assert!(meter.count(200_000).is_err());
        assert!(meter.is_flooded());

        // Byte by byte, each in a chunk or frame of its own.
        let meter = Meter::default();
        for _ in 0..1_000_000 {
            assert!(meter.count(39).is_ok());
            meter.progress(1);
        }

        let meter = Meter::default();
        (0..MAX_INFORMATIONAL).for_each(|_| meter.informational());
        assert!(!meter.is_flooded());
        meter.informational();
        assert!(meter.count(0).is_err());
    }
}
