//! The content of a response: its head, and its body with content codings undone. Deltas are made
//! between contents, and whoever asks for a page gets its content.

use bytes::Bytes;
use jiff::Timestamp;

use crate::archive::MAX_DELTA_CONTENT;
use crate::fetch::{self, DecodeBounds, Exchange};

/// Bounds of decoding. No settings: a delta must find the same content whatever they are later.
const BOUNDS: DecodeBounds = DecodeBounds {
    max_bytes: MAX_DELTA_CONTENT,
    max_codings: 4,
};

/// Head and body of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    bytes: Vec<u8>,
    head: usize,
    is_coded: bool,
}

impl Content {
    /// Undoes the content codings of a response. A body whose codings cannot be undone within 8 MiB
    /// stays as it was received.
    pub fn of(head: &[u8], payload: &Bytes) -> Self {
        let decoded = fetch::decode(values(head, "content-encoding"), payload, BOUNDS);
        let is_coded = !decoded.is_whole;
        let body = if is_coded { payload } else { &decoded.bytes };
        Self {
            bytes: [head, body].concat(),
            head: head.len(),
            is_coded,
        }
    }

    /// Puts together what a pack had.
    pub fn from_parts(head: &[u8], body: &[u8], is_coded: bool) -> Self {
        Self {
            bytes: [head, body].concat(),
            head: head.len(),
            is_coded,
        }
    }

    /// Returns head and body.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the head: status line and header lines, with the empty line that ends them.
    pub fn head(&self) -> &[u8] {
        self.bytes.get(..self.head).unwrap_or_default()
    }

    /// Returns the body.
    pub fn body(&self) -> &[u8] {
        self.bytes.get(self.head..).unwrap_or_default()
    }

    /// Returns `true` if the body is as received because its codings could not be undone.
    pub fn is_coded(&self) -> bool {
        self.is_coded
    }

    /// Returns the response as if it had been received at this time without content codings; `None`
    /// if the head has no status.
    pub fn exchange(&self, started: Timestamp) -> Option<Exchange> {
        let mut exchange = Exchange::from_archive(self.head(), self.body(), started, None)?;
        if !self.is_coded {
            let is_coding = |name: &str| name == "content-encoding";
            exchange.headers.retain(|(name, _)| !is_coding(name));
        }
        Some(exchange)
    }

    /// Returns the first value of a header field.
    pub fn header(&self, name: &'static str) -> Option<String> {
        values(self.head(), name).next().map(str::to_owned)
    }
}

/// Returns the values of a header field. Values that are not UTF-8 are left out.
pub(super) fn values<'a>(head: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a str> + Clone {
    head.split(|byte| *byte == b'\n').filter_map(move |line| {
        let at = line.iter().position(|byte| *byte == b':')?;
        let (own, value) = line.split_at_checked(at)?;
        let is_it = own.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        is_it.then(|| str::from_utf8(value.get(1..)?).ok().map(str::trim))?
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Bytes {
        let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        coder.write_all(bytes).unwrap();
        coder.finish().unwrap().into()
    }

    #[test]
    fn codings_are_undone_as_far_as_that_is_possible() {
        let head = b"HTTP/1.1 200 OK\r\nX: \xff\r\nContent-Encoding: gzip\r\n\r\n";
        let content = Content::of(head, &gzip(b"words"));
        assert_eq!(content.body(), b"words");
        assert_eq!((content.head(), content.is_coded()), (&head[..], false));
        assert_eq!(content.header("content-encoding").as_deref(), Some("gzip"));
        let exchange = content.exchange(Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!((exchange.status, &exchange.body[..]), (200, &b"words"[..]));
        assert_eq!(exchange.headers.len(), 1);
        // What is not what it says it is stays as it came.
        let noise = Bytes::from_static(b"\x1f\x8b\x08\x00 no gzip after that");
        let content = Content::of(head, &noise);
        assert_eq!((content.body(), content.is_coded()), (&noise[..], true));
        assert!(
            content
                .exchange(Timestamp::UNIX_EPOCH)
                .is_some_and(|it| it.body == noise)
        );
        let large = gzip(&vec![b'x'; MAX_DELTA_CONTENT + 1]);
        let content = Content::of(head, &large);
        assert_eq!((content.body(), content.is_coded()), (&large[..], true));
    }
}
