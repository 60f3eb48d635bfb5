//! The client of a request that came through proxies. A proxy adds the address that it got a request from at the
//! right end of a list. So the list is read from the right, for as long as a trusted proxy wrote the entry: the
//! client is the first address that is not one of theirs. What stands left of it is what that client wrote.
//!
//! The address decides about limits and stands in logs. It is never a reason to let somebody in, and never one to
//! call an address.

use crate::config::{ClientHeader, TrustedProxies};
use http::header::{FORWARDED, HeaderName};
use http::{HeaderMap, HeaderValue};
use std::net::{IpAddr, Ipv4Addr};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of the client whose request with these headers came from `peer`. Headers of others than trusted
/// proxies are not looked at.
pub(crate) fn client(
    proxies: &TrustedProxies,
    peer: Option<IpAddr>,
    headers: &HeaderMap,
) -> Option<IpAddr> {
    let peer = peer?.to_canonical();
    if !proxies.contains(peer) {
        return Some(peer);
    }
    let values = |name| headers.get_all(name).iter().rev();
    let client = match proxies.header {
        ClientHeader::None => peer,
        ClientHeader::XForwardedFor => {
            let values = values(X_FORWARDED_FOR);
            let hops = values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','));
            furthest(proxies, peer, hops.map(address))
        }
        ClientHeader::Forwarded => {
            let values = values(FORWARDED).map(HeaderValue::as_bytes);
            let hops = values.flat_map(|value| elements(value).into_iter().rev());
            furthest(proxies, peer, hops.map(|element| address(node(element)?)))
        }
    };
    Some(client)
}

/// Follows the hops from `peer` outward, up to the first one that is no trusted proxy. An entry that names no
/// address ends the way at the proxy that wrote it.
fn furthest(
    proxies: &TrustedProxies,
    peer: IpAddr,
    hops: impl Iterator<Item = Option<IpAddr>>,
) -> IpAddr {
    let mut client = peer;
    for hop in hops {
        let Some(hop) = hop else { break };
        client = hop;
        if !proxies.contains(hop) {
            break;
        }
    }
    client
}

/// An address with or without a port; IPv6 with a port is in brackets.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    let address = match text.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?.0.parse().ok()?,
        None => match (text.parse(), text.split_once(':')) {
            (Ok(address), _) => address,
            (Err(_), Some((host, _))) => IpAddr::V4(host.parse::<Ipv4Addr>().ok()?),
            (Err(_), None) => return None,
        },
    };
    Some(address.to_canonical())
}

/// The elements of a Forwarded header, one for each hop; none where a quote is not closed, since it is unclear
/// then where one ends.
fn elements(value: &[u8]) -> Vec<&[u8]> {
    split(value, b',').unwrap_or_else(|| vec![&[]])
}

/// The value of an element's parameter `for`, without its quotes.
fn node(element: &[u8]) -> Option<&[u8]> {
    let parameters = split(element, b';')?;
    let mut nodes = parameters.into_iter().filter_map(|parameter| {
        let at = memchr::memchr(b'=', parameter)?;
        let (name, value) = (
            parameter[..at].trim_ascii(),
            parameter[at + 1..].trim_ascii(),
        );
        name.eq_ignore_ascii_case(b"for").then_some(value)
    });
    let node = nodes.next().filter(|_| nodes.next().is_none())?;
    let quoted = node
        .strip_prefix(b"\"")
        .and_then(|node| node.strip_suffix(b"\""));
    Some(quoted.unwrap_or(node))
}

/// Splits outside of quotes; None where one is not closed.
fn split(text: &[u8], separator: u8) -> Option<Vec<&[u8]>> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if *byte == separator && !quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (!quoted).then_some(parts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn proxies(header: ClientHeader) -> TrustedProxies {
        TrustedProxies {
            networks: vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()],
            header,
        }
    }

    /// The client of a request from a peer with these values of a header, one a line.
    fn found(header: ClientHeader, peer: &str, values: &[&str]) -> String {
        let name = match header {
            ClientHeader::Forwarded => FORWARDED,
            _ => X_FORWARDED_FOR,
        };
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(&name, HeaderValue::from_str(value).unwrap());
        }
        let client = client(&proxies(header), Some(peer.parse().unwrap()), &headers);
        client.unwrap().to_string()
    }

    #[test]
    fn the_client_is_the_right_most_address_that_is_no_trusted_proxy() {
        let table: &[(&str, &[&str], &str)] = &[
            ("10.0.0.1", &["203.0.113.5"], "203.0.113.5"),
            ("10.0.0.1", &["203.0.113.5:4711"], "203.0.113.5"),
            ("10.0.0.1", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("10.0.0.1", &["2001:db8::1"], "2001:db8::1"),
            ("fd00::1", &["::ffff:203.0.113.5"], "203.0.113.5"),
            // What the client wrote stands on the left.
            ("10.0.0.1", &["192.0.2.66, 203.0.113.5"], "203.0.113.5"),
            ("10.0.0.1", &["192.0.2.66", "203.0.113.5"], "203.0.113.5"),
            ("10.0.0.1", &["10.0.0.9, 203.0.113.5"], "203.0.113.5"),
            // Several trusted proxies.
            (
                "10.0.0.1",
                &["203.0.113.5, 10.0.0.2,10.0.0.3"],
                "203.0.113.5",
            ),
            (
                "10.0.0.1",
                &["192.0.2.66, 203.0.113.5, 10.0.0.2"],
                "203.0.113.5",
            ),
            // Nobody but proxies: the one that is furthest away.
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            // What is no address ends the way.
            ("10.0.0.1", &["203.0.113.5, unknown"], "10.0.0.1"),
            ("10.0.0.1", &["203.0.113.5, unknown, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &["203.0.113.5,"], "10.0.0.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            // A peer that is no trusted proxy can write what it likes.
            ("192.0.2.1", &["203.0.113.5"], "192.0.2.1"),
            ("::ffff:192.0.2.1", &["203.0.113.5"], "192.0.2.1"),
            // An IPv4 proxy on a socket of IPv6.
            ("::ffff:10.0.0.1", &["203.0.113.5"], "203.0.113.5"),
        ];
        for (peer, values, expected) in table {
            let found = found(ClientHeader::XForwardedFor, peer, values);
            assert_eq!(&found, expected, "{peer} {values:?}");
        }
    }

    #[test]
    fn the_standard_header_is_read_with_its_quotes() {
        let table: &[(&[&str], &str)] = &[
            (&["for=203.0.113.5"], "203.0.113.5"),
            (&["For=\"203.0.113.5:80\";proto=https"], "203.0.113.5"),
            (&["proto=http;for=\"[2001:db8::1]:4711\""], "2001:db8::1"),
            (
                &["for=192.0.2.66, for=203.0.113.5;by=10.0.0.1"],
                "203.0.113.5",
            ),
            (&["for=203.0.113.5, for=10.0.0.2"], "203.0.113.5"),
            (&["for=203.0.113.5, for=_hidden"], "10.0.0.1"),
            (&["for=203.0.113.5, proto=https"], "10.0.0.1"),
            // A host that the client chose cannot end its quotes.
            (&["for=10.0.0.2;host=\"a, for=192.0.2.66\""], "10.0.0.2"),
            (&["for=10.0.0.2;host=\"a\\\", for=192.0.2.66\""], "10.0.0.2"),
            (&["for=192.0.2.66;host=\"a", "for=10.0.0.2"], "10.0.0.2"),
            (&["for=192.0.2.66;for=10.0.0.2"], "10.0.0.1"),
        ];
        for (values, expected) in table {
            let found = found(ClientHeader::Forwarded, "10.0.0.1", values);
            assert_eq!(&found, expected, "{values:?}");
        }
    }

    #[test]
    fn only_the_header_that_is_set_counts() {
        let mut headers = HeaderMap::new();
        headers.append(X_FORWARDED_FOR, HeaderValue::from_static("203.0.113.5"));
        headers.append(FORWARDED, HeaderValue::from_static("for=203.0.113.6"));
        let peer = "10.0.0.1".parse().ok();
        for (header, expected) in [
            (ClientHeader::XForwardedFor, "203.0.113.5"),
            (ClientHeader::Forwarded, "203.0.113.6"),
            (ClientHeader::None, "10.0.0.1"),
        ] {
            let client = client(&proxies(header), peer, &headers);
            assert_eq!(client.unwrap().to_string(), expected);
        }
        let none = TrustedProxies::default();
        assert_eq!(client(&none, peer, &headers), peer);
    }
}
