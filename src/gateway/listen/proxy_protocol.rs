//! The PROXY protocol, versions 1 and 2, as HAProxy's proxy-protocol.txt describes it: before anything else a proxy
//! sends one header that names the client's address. It is taken from trusted proxies only, and required of them on
//! a listener that has it switched on: a connection without it could come from anybody.

use crate::observe::EndReason;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The first bytes of version 2.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// What comes before the addresses of version 2.
const FIXED: usize = 16;
/// The longest line of version 1, with its end.
const LONGEST_LINE: usize = 107;
/// The most bytes behind the fixed part of version 2: addresses, and what proxies add, such as a certificate's name.
const LONGEST_REST: usize = 4 << 10;

/// A header that cannot be read.
#[derive(Debug, PartialEq, Eq)]
struct Malformed;

/// The address that a connection counts for, once its header is read. The bytes behind it stay unread. A
/// refused connection has a reason; one that ended before its first byte, like those of health checks, has none.
pub(super) async fn client(
    stream: &mut TcpStream,
    peer: SocketAddr,
    is_trusted: impl Fn(IpAddr) -> bool,
    limit: Duration,
) -> Result<SocketAddr, Option<EndReason>> {
    let reading = async {
        if stream.peek(&mut [0]).await.unwrap_or(0) == 0 {
            return Err(None);
        }
        if !is_trusted(peer.ip()) {
            return Err(Some(EndReason::ProxyUntrusted));
        }
        let named = read(stream)
            .await
            .map_err(|_| Some(EndReason::ProxyHeader))?;
        Ok(named.unwrap_or(peer))
    };
    let read = timeout(limit, reading).await;
    read.unwrap_or(Err(Some(EndReason::SlowHead)))
}

/// Reads the header and nothing behind it. None where the proxy speaks for itself, or of a client without an address.
async fn read(stream: &mut TcpStream) -> io::Result<Option<SocketAddr>> {
    // As long as the signature of version 2, and shorter than any line of version 1.
    let mut start = [0; SIGNATURE.len()];
    stream.read_exact(&mut start).await?;
    let named = match start == *SIGNATURE {
        true => read_binary(stream).await?,
        false => read_line(stream, &start).await?,
    };
    named.map_err(|Malformed| io::ErrorKind::InvalidData.into())
}

async fn read_binary(stream: &mut TcpStream) -> io::Result<Result<Option<SocketAddr>, Malformed>> {
    let mut fixed = [0; FIXED - SIGNATURE.len()];
    stream.read_exact(&mut fixed).await?;
    let [command, family, high, low] = fixed;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > LONGEST_REST {
        return Ok(Err(Malformed));
    }
    let mut rest = vec![0; length];
    stream.read_exact(&mut rest).await?;
    Ok(binary(command, family, &rest))
}

async fn read_line(
    stream: &mut TcpStream,
    start: &[u8],
) -> io::Result<Result<Option<SocketAddr>, Malformed>> {
    let mut line = start.to_vec();
    if !line.starts_with(b"PROXY ") {
        return Ok(Err(Malformed));
    }
    while !line.ends_with(b"\n") {
        // Looked at first: what comes behind the line belongs to the protocol behind it.
        let mut next = [0; LONGEST_LINE];
        let seen = stream.peek(&mut next).await?;
        let end = memchr::memchr(b'\n', &next[..seen]).map_or(seen, |at| at + 1);
        if end == 0 || line.len() + end > LONGEST_LINE {
            return Ok(Err(Malformed));
        }
        stream.read_exact(&mut next[..end]).await?;
        line.extend_from_slice(&next[..end]);
    }
    Ok(text(&line))
}

/// A line of version 1, with its end.
fn text(line: &[u8]) -> Result<Option<SocketAddr>, Malformed> {
    let line = std::str::from_utf8(line).map_err(|_| Malformed)?;
    let line = line.strip_suffix("\r\n").ok_or(Malformed)?;
    let mut words = line.split(' ');
    let (_, family) = (words.next(), words.next());
    if family == Some("UNKNOWN") {
        return Ok(None);
    }
    let mut next = || words.next().ok_or(Malformed);
    let (source, target, port, target_port) = (next()?, next()?, next()?, next()?);
    let is_over = words.next().is_none();
    let address = |text: &str| match family {
        Some("TCP4") => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        Some("TCP6") => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        _ => None,
    };
    let port_number = |text: &str| {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|_| is_plain)
    };
    match (
        address(source),
        address(target),
        port_number(port),
        port_number(target_port),
    ) {
        (Some(source), Some(_), Some(port), Some(_)) if is_over => {
            Ok(Some(SocketAddr::new(source, port)))
        }
        _ => Err(Malformed),
    }
}

/// A header of version 2: the byte of version and command, that of family and transport, and the rest, of which
/// nothing but the addresses is looked at.
fn binary(command: u8, family: u8, rest: &[u8]) -> Result<Option<SocketAddr>, Malformed> {
    const LOCAL: u8 = 0x20;
    const PROXY: u8 = 0x21;
    const UNSPECIFIED: u8 = 0x00;
    const TCP_OVER_IPV4: u8 = 0x11;
    const TCP_OVER_IPV6: u8 = 0x21;
    const UNIX_STREAM: u8 = 0x31;
    let port = |at: usize| Some(u16::from_be_bytes(*rest.get(at..)?.first_chunk()?));
    let (source, port) = match (command, family) {
        (LOCAL, _) | (PROXY, UNSPECIFIED | UNIX_STREAM) => return Ok(None),
        (PROXY, TCP_OVER_IPV4) if rest.len() >= 12 => {
            let source = rest.first_chunk::<4>();
            (source.map(|source| IpAddr::from(*source)), port(8))
        }
        (PROXY, TCP_OVER_IPV6) if rest.len() >= 36 => {
            let source = rest.first_chunk::<16>();
            (source.map(|source| IpAddr::from(*source)), port(32))
        }
        _ => return Err(Malformed),
    };
    let address = source.zip(port).ok_or(Malformed)?;
    Ok(Some(SocketAddr::from(address)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn is(address: &str) -> Result<Option<SocketAddr>, Malformed> {
        Ok(Some(address.parse().unwrap()))
    }

    #[test]
    fn a_line_names_the_client() {
        let v4 = "PROXY TCP4 203.0.113.5 198.51.100.1 56324 443\r\n";
        assert_eq!(text(v4.as_bytes()), is("203.0.113.5:56324"));
        let v6 = "PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n";
        assert_eq!(text(v6.as_bytes()), is("[2001:db8::1]:1"));
        for line in ["PROXY UNKNOWN\r\n", "PROXY UNKNOWN ::1 ::1 1 2\r\n"] {
            assert_eq!(text(line.as_bytes()), Ok(None));
        }
    }

    #[test]
    fn a_line_that_is_not_to_the_letter_is_malformed() {
        for line in [
            "PROXY TCP4 203.0.113.5 198.51.100.1 56324 443\n",
            "PROXY TCP4 203.0.113.5 198.51.100.1 56324\r\n",
            "PROXY TCP4 203.0.113.5 198.51.100.1 56324 443 x\r\n",
            "PROXY TCP4  203.0.113.5 198.51.100.1 56324 443\r\n",
            "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
            "PROXY TCP6 203.0.113.5 198.51.100.1 1 2\r\n",
            "PROXY TCP4 203.0.113.05 198.51.100.1 1 2\r\n",
            "PROXY TCP4 203.0.113.5 198.51.100.1 +1 2\r\n",
            "PROXY TCP4 203.0.113.5 198.51.100.1 65536 2\r\n",
            "PROXY UDP4 203.0.113.5 198.51.100.1 1 2\r\n",
            "PROXY tcp4 203.0.113.5 198.51.100.1 1 2\r\n",
            "PROXY \r\n",
        ] {
            assert_eq!(text(line.as_bytes()), Err(Malformed), "{line:?}");
        }
        assert_eq!(text(b"PROXY TCP4 \xff\r\n"), Err(Malformed));
    }

    #[test]
    fn a_binary_header_names_the_client_and_may_add_more() {
        let v4 = [203, 0, 113, 5, 198, 51, 100, 1, 0xdc, 0x04, 1, 0xbb];
        assert_eq!(binary(0x21, 0x11, &v4), is("203.0.113.5:56324"));
        let with_more = [&v4[..], &[4, 0, 1, 0]].concat();
        assert_eq!(binary(0x21, 0x11, &with_more), is("203.0.113.5:56324"));
        let mut v6 = [0; 36];
        v6[..16].copy_from_slice(&"2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
        v6[33] = 7;
        assert_eq!(binary(0x21, 0x21, &v6), is("[2001:db8::1]:7"));
        // The proxy's own connection, and clients without an address.
        assert_eq!(binary(0x20, 0x00, &[]), Ok(None));
        assert_eq!(binary(0x20, 0x11, &v4), Ok(None));
        assert_eq!(binary(0x21, 0x00, &[]), Ok(None));
        assert_eq!(binary(0x21, 0x31, &[0; 216]), Ok(None));
    }

    #[test]
    fn another_version_family_or_length_is_malformed() {
        for (command, family, length) in [
            (0x11, 0x11, 12),
            (0x22, 0x11, 12),
            (0x21, 0x12, 12),
            (0x21, 0x22, 36),
            (0x21, 0x11, 11),
            (0x21, 0x21, 35),
            (0x21, 0x21, 12),
        ] {
            let rest = vec![1; length];
            assert_eq!(
                binary(command, family, &rest),
                Err(Malformed),
                "{command:x}"
            );
        }
    }
}
