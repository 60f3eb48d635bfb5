//! Which IP addresses are public (RFC 6890 and the registries): a table, and the rule that reads it.

use crate::config::Network;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

/// IPv4 networks that are not public (RFC 6890 and its registry), and Azure's virtual public address.
const CLOSED_V4: [&str; 17] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    // Multicast, reserved and broadcast.
    "224.0.0.0/3",
];
/// The public IPv6 network, without those of the next table.
const OPEN_V6: &str = "2000::/3";
/// Protocol assignments with Teredo, benchmarking and ORCHID; documentation; 6to4.
const CLOSED_V6: [&str; 4] = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
/// The NAT64 prefix (RFC 6052): the embedded IPv4 address is checked.
const NAT64: &str = "64:ff9b::/96";

static CLOSED: LazyLock<Vec<Network>> = LazyLock::new(|| {
    let all = CLOSED_V4.iter().chain(&CLOSED_V6);
    all.filter_map(|text| text.parse().ok()).collect()
});
static OPEN: LazyLock<Option<Network>> = LazyLock::new(|| OPEN_V6.parse().ok());
static NAT64_NETWORK: LazyLock<Option<Network>> = LazyLock::new(|| NAT64.parse().ok());

/// The IPv4 address that an IPv6 address embeds for certain: mapped, or behind NAT64. Any other address is
/// returned as it is: all other embeddings are in networks that are not public.
pub(crate) fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    if let Some(mapped) = v6.to_ipv4_mapped() {
        return mapped.into();
    }
    match holds(*NAT64_NETWORK, address) {
        true => last_four(v6).into(),
        false => address,
    }
}

fn last_four(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

/// Whether the address is in a public network.
pub(crate) fn is_public(address: IpAddr) -> bool {
    let closed = CLOSED.iter().any(|network| network.contains(address));
    !closed && (address.is_ipv4() || holds(*OPEN, address))
}

fn holds(network: Option<Network>, address: IpAddr) -> bool {
    network.is_some_and(|network| network.contains(address))
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_network_in_the_tables_parses() {
        assert_eq!(CLOSED.len(), CLOSED_V4.len() + CLOSED_V6.len());
        assert!(OPEN.is_some() && NAT64_NETWORK.is_some());
    }

    /// Addresses that are not public.
    pub(crate) const NOT_PUBLIC: &[&str] = &[
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::7f00:1",
        "64:ff9b:1::808:808",
        "100::1",
        "2001::1",
        "2001:0:4136:e378::1",
        "2001:2::1",
        "2001:10::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:808:808::",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ];

    /// Public addresses next to others.
    pub(crate) const PUBLIC: &[&str] = &[
        "8.8.8.8",
        "1.1.1.1",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ];

    #[test]
    fn a_non_public_address_is_recognized_however_it_is_embedded() {
        let is_admitted = |text: &str| is_public(embedded(text.parse().unwrap()));
        for closed in NOT_PUBLIC {
            assert!(!is_admitted(closed), "{closed}");
        }
        for open in PUBLIC {
            assert!(is_admitted(open), "{open}");
        }
    }
}
