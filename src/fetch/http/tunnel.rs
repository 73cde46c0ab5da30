//! Ways through a proxy: CONNECT of HTTP (RFC 9110, section 9.3.6) and SOCKS5 (RFC 1928, 1929).

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Maximum length of a proxy's answer to CONNECT, in bytes.
const MAX_ANSWER: usize = 16 << 10;

/// Where a proxy is asked to lead.
#[derive(Debug, Clone, Copy)]
pub(super) enum Destination<'a> {
    /// A name that the proxy resolves.
    Name(&'a str),
    /// An address.
    Address(IpAddr),
}

/// Asks a proxy of HTTP for a tunnel. `authority` is the server's name and port, `authorization`
/// the value of Proxy-Authorization.
pub(super) async fn connect(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    authority: &str,
    authorization: Option<&[u8]>,
) -> io::Result<()> {
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n").into_bytes();
    if let Some(value) = authorization {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(value);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    stream.write_all(&request).await?;
    stream.flush().await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        // The server says nothing before it is spoken to, so whatever comes is the proxy's.
        if answer.len() > MAX_ANSWER || stream.read_buf(&mut answer).await? == 0 {
            return Err(io::Error::other("the proxy does not open a tunnel"));
        }
    }
    let status = answer.split(|byte| *byte == b' ').nth(1);
    match status.unwrap_or_default() {
        [b'2', _, _] => Ok(()),
        b"407" => Err(io::Error::other("the proxy rejected the credentials (407)")),
        status => {
            let status = String::from_utf8_lossy(status);
            Err(io::Error::other(format!(
                "the proxy refused to open a tunnel ({status:.3})"
            )))
        }
    }
}

/// Asks a proxy of SOCKS5 for a connection. `credentials` are user and password.
pub(super) async fn socks(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    destination: Destination<'_>,
    port: u16,
    credentials: Option<&(Vec<u8>, Vec<u8>)>,
) -> io::Result<()> {
    let failed = |message: &str| Err(io::Error::other(message));
    let methods: &[u8] = match credentials {
        Some(_) => &[5, 2, 0, 2],
        None => &[5, 1, 0],
    };
    stream.write_all(methods).await?;
    match (receive::<2>(stream).await?, credentials) {
        ([5, 0], _) => {}
        ([5, 2], Some((user, password))) => {
            let mut message = vec![1];
            for part in [user, password] {
                let Ok(length) = u8::try_from(part.len()) else {
                    return failed("the credentials are too long for the proxy");
                };
                message.push(length);
                message.extend_from_slice(part);
            }
            stream.write_all(&message).await?;
            if receive::<2>(stream).await?[1] != 0 {
                return failed("the proxy rejected the credentials");
            }
        }
        ([5, _], _) => return failed("the proxy wants other credentials"),
        _ => return failed("the proxy does not speak SOCKS5"),
    }
    let mut message = vec![5, 1, 0];
    match destination {
        Destination::Address(IpAddr::V4(ip)) => {
            message.push(1);
            message.extend(ip.octets());
        }
        Destination::Address(IpAddr::V6(ip)) => {
            message.push(4);
            message.extend(ip.octets());
        }
        Destination::Name(name) => {
            let Ok(length) = u8::try_from(name.len()) else {
                return failed("the name is too long for the proxy");
            };
            message.extend([3, length]);
            message.extend(name.as_bytes());
        }
    }
    message.extend(port.to_be_bytes());
    stream.write_all(&message).await?;
    let [_, reply, _, kind] = receive::<4>(stream).await?;
    if reply != 0 {
        return Err(io::Error::other(format!(
            "the proxy could not connect (SOCKS5 reply {reply})"
        )));
    }
    // The address that the proxy connects from, and its port.
    let length = match kind {
        1 => 4,
        4 => 16,
        3 => usize::from(receive::<1>(stream).await?[0]),
        _ => return failed("the proxy does not speak SOCKS5"),
    };
    let mut bound = vec![0; length + 2];
    stream.read_exact(&mut bound).await?;
    Ok(())
}

async fn receive<const N: usize>(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
