//! The client of a request that came through proxies. A proxy adds the address that it got a request from at the
//! right end of a list. So the list is read from the right, for as long as a trusted proxy wrote the entry: the
//! client is the first address that is not one of theirs. What stands left of it is what that client wrote.
//!
//! The address decides about limits and stands in logs. It is never a reason to let somebody in, and never one to
//! call an address.

use crate::config::{ClientHeader, TrustedProxies};
use http::HeaderMap;
use http::header::{FORWARDED, HeaderName};
use std::net::{IpAddr, Ipv4Addr};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

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
    Some(furthest(proxies, peer, headers).address)
}

/// Whether the client's own connection is encrypted, as a trusted proxy says that has it: in `proto` of the client's
/// element of `Forwarded`, or in `X-Forwarded-Proto` beside `X-Forwarded-For`. None where nobody trusted says it.
///
/// It decides about addresses and cookies of this client's own pages, and lets nobody in.
pub(crate) fn is_encrypted(
    proxies: &TrustedProxies,
    peer: Option<IpAddr>,
    headers: &HeaderMap,
) -> Option<bool> {
    let peer = peer?.to_canonical();
    if !proxies.contains(peer) {
        return None;
    }
    // Without an address the nearest proxy still knows its own client's scheme.
    let hops = furthest(proxies, peer, headers).hops.max(1);
    let scheme = match proxies.header {
        ClientHeader::None => None,
        // One that sets the header instead of adding to it speaks for all.
        ClientHeader::XForwardedFor => list(headers, X_FORWARDED_PROTO).take(hops).last(),
        ClientHeader::Forwarded => parameter(forwarded(headers).nth(hops - 1)?, b"proto"),
    }?;
    match scheme {
        _ if scheme.eq_ignore_ascii_case(b"https") => Some(true),
        _ if scheme.eq_ignore_ascii_case(b"http") => Some(false),
        _ => None,
    }
}

/// The client, and how many entries lead there.
struct Furthest {
    address: IpAddr,
    hops: usize,
}

/// Follows the hops from `peer` outward, up to the first one that is no trusted proxy. An entry that names no
/// address ends the way at the proxy that wrote it.
fn furthest(proxies: &TrustedProxies, peer: IpAddr, headers: &HeaderMap) -> Furthest {
    let hops: &mut dyn Iterator<Item = Option<IpAddr>> = match proxies.header {
        ClientHeader::None => &mut std::iter::empty(),
        ClientHeader::XForwardedFor => &mut list(headers, X_FORWARDED_FOR).map(address),
        ClientHeader::Forwarded => {
            &mut forwarded(headers).map(|element| address(parameter(element, b"for")?))
        }
    };
    let mut found = Furthest {
        address: peer,
        hops: 0,
    };
    while let Some(Some(hop)) = hops.next() {
        found = Furthest {
            address: hop,
            hops: found.hops + 1,
        };
        if !proxies.contains(hop) {
            break;
        }
    }
    found
}

/// The entries of a list, the latest first.
fn list(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &[u8]> {
    let values = headers.get_all(name).into_iter().rev();
    let entries = values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','));
    entries.map(<[u8]>::trim_ascii)
}

/// The elements of `Forwarded`, the latest first.
fn forwarded(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let values = headers.get_all(FORWARDED).into_iter().rev();
    values.flat_map(|value| elements(value.as_bytes()).into_iter().rev())
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

/// The value of an element's parameter, without its quotes; None where it occurs twice.
fn parameter<'a>(element: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let parameters = split(element, b';')?;
    let mut found = parameters.into_iter().filter_map(|parameter| {
        let at = memchr::memchr(b'=', parameter)?;
        let (name, value) = (
            parameter[..at].trim_ascii(),
            parameter[at + 1..].trim_ascii(),
        );
        name.eq_ignore_ascii_case(wanted).then_some(value)
    });
    let value = found.next().filter(|_| found.next().is_none())?;
    let quoted = value
        .strip_prefix(b"\"")
        .and_then(|value| value.strip_suffix(b"\""));
    Some(quoted.unwrap_or(value))
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
    use http::HeaderValue;

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

    /// Whether the client's connection is encrypted, by the headers of a request from this peer.
    fn encrypted(header: ClientHeader, peer: &str, lines: &[(HeaderName, &str)]) -> Option<bool> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        is_encrypted(&proxies(header), peer.parse().ok(), &headers)
    }

    #[test]
    fn the_scheme_is_that_of_the_clients_own_connection() {
        // Peer, X-Forwarded-For, X-Forwarded-Proto.
        let table = [
            ("10.0.0.1", "203.0.113.5", "https", Some(true)),
            ("10.0.0.1", "203.0.113.5", "HTTP", Some(false)),
            ("10.0.0.1", "203.0.113.5", "ftp", None),
            ("10.0.0.1", "203.0.113.5", "", None),
            // What the client claims stands on the left.
            (
                "10.0.0.1",
                "192.0.2.6, 203.0.113.5",
                "https, http",
                Some(false),
            ),
            // Two proxies, both of which add what they see: the outer one has the client.
            (
                "10.0.0.1",
                "203.0.113.5, 10.0.0.2",
                "https, http",
                Some(true),
            ),
            (
                "10.0.0.1",
                "203.0.113.5, 10.0.0.2",
                "x, https,http",
                Some(true),
            ),
            // The outer one sets it, the inner one passes it on.
            ("10.0.0.1", "203.0.113.5, 10.0.0.2", "https", Some(true)),
            // Nobody names an address.
            ("10.0.0.1", "", "https", Some(true)),
            // A peer that is no trusted proxy can write what it likes.
            ("192.0.2.1", "203.0.113.5", "https", None),
        ];
        for (peer, hops, schemes, expected) in table {
            let lines = [(X_FORWARDED_FOR, hops), (X_FORWARDED_PROTO, schemes)];
            let found = encrypted(ClientHeader::XForwardedFor, peer, &lines);
            assert_eq!(found, expected, "{peer} {hops} {schemes}");
            assert_eq!(encrypted(ClientHeader::None, peer, &lines), None);
            assert_eq!(encrypted(ClientHeader::Forwarded, peer, &lines), None);
        }
        for (value, expected) in [
            ("for=203.0.113.5;proto=https", Some(true)),
            ("proto=\"http\";for=203.0.113.5", Some(false)),
            (
                "for=203.0.113.5;proto=https, for=10.0.0.2;proto=http",
                Some(true),
            ),
            (
                "for=192.0.2.6;proto=https, for=203.0.113.5;proto=http",
                Some(false),
            ),
            ("for=203.0.113.5", None),
            ("for=203.0.113.5;proto=https;proto=http", None),
        ] {
            let found = encrypted(ClientHeader::Forwarded, "10.0.0.1", &[(FORWARDED, value)]);
            assert_eq!(found, expected, "{value}");
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
