//! Reads an archived HTTP message back into an [`Exchange`]. Connects to nothing.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use super::{Cut, Exchange};

impl Exchange {
    /// Parses an archived response: `head` is its status line and header lines, `payload` what
    /// follows. Undoes a chunked transfer coding. Returns `None` if the head has no status.
    pub fn from_archive(
        head: &[u8],
        payload: &[u8],
        started: Timestamp,
        cut: Option<Cut>,
    ) -> Option<Self> {
        let mut lines = head.split(|byte| *byte == b'\n');
        let status = str::from_utf8(lines.next()?).ok()?;
        let status = status.split_ascii_whitespace().nth(1)?.parse().ok()?;
        let headers = lines.filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at(colon);
            let name = str::from_utf8(name).ok()?.trim().to_ascii_lowercase();
            Some((name, value[1..].trim_ascii().to_vec()))
        });
        let mut exchange = Self {
            started,
            duration: Duration::ZERO,
            remote: None,
            protocols: Vec::new(),
            request_head: Vec::new(),
            status,
            headers: headers.collect(),
            body: Bytes::new(),
            cut,
        };
        let mut codings = exchange.header_values("transfer-encoding");
        let is_chunked = codings.any(|coding| coding.eq_ignore_ascii_case("chunked"));
        drop(codings);
        // Many crawlers undo the transfer coding but keep its header.
        let whole = is_chunked.then(|| unchunk(payload)).flatten();
        let whole = whole.map_or(Cow::Borrowed(payload), Cow::Owned);
        exchange.body = whole.into_owned().into();
        Some(exchange)
    }
}

/// Returns `true` if a body is in the chunks of HTTP/1.1, whatever its head says.
pub fn is_chunked(body: &[u8]) -> bool {
    unchunk(body).is_some()
}

/// Undoes the chunked transfer coding (RFC 9112, section 7.1), which some crawlers keep in their
/// records. Returns `None` for a body that is not chunked after all.
fn unchunk(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).take(64).position(|pair| pair == b"\r\n")?;
        let (line, rest) = body.split_at_checked(end)?;
        let size = str::from_utf8(line).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        let (chunk, rest) = rest.get(2..)?.split_at_checked(size)?;
        if chunk.is_empty() {
            return Some(whole);
        }
        whole.extend_from_slice(chunk);
        body = rest.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_received() {
        let head =
            b"HTTP/1.1 203 Fine\r\nContent-Type:  text/html \r\nTransfer-Encoding: chunked\r\n\r\n";
        let read = |payload: &[u8]| {
            let read = Exchange::from_archive(head, payload, Timestamp::UNIX_EPOCH, None);
            read.expect("it has a status")
        };
        let exchange = read(b"3\r\nabc\r\n0\r\n\r\n");
        assert_eq!(exchange.status, 203);
        assert_eq!(exchange.header("content-type"), Some("text/html"));
        assert_eq!(&exchange.body[..], b"abc");
        assert_eq!(&read(b"abc").body[..], b"abc", "undone already");
        let none = Exchange::from_archive(b"hello", b"", Timestamp::UNIX_EPOCH, None);
        assert!(none.is_none());
    }

    #[test]
    fn chunks_are_put_together() {
        let check = |body: &str, expected: Option<&str>| {
            let whole = unchunk(body.as_bytes());
            assert_eq!(whole.as_deref(), expected.map(str::as_bytes), "{body:?}");
        };
        check("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", Some("abcde"));
        check("0\r\n\r\n", Some(""));
        check("3\r\nab", None);
        check("<html>", None);
        check("ffffffffffffffff\r\nab", None);
    }
}
