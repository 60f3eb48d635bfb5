//! Networks as an operator writes them: an address and how many of its bits count (RFC 4632).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// How networks are written in a list.
pub(crate) const NETWORKS: &str = "networks such as 10.0.0.0/8 or fd00::/8, or single addresses";

/// A range of addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Whether it has no bits, so that every address of its kind lies in it.
    pub(crate) fn is_everything(&self) -> bool {
        self.bits == 0
    }

    /// Whether the address lies in it. IPv4 and IPv6 are apart.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (Some(own), Some(other)) =
            (prefix(self.address, self.bits), prefix(address, self.bits))
        else {
            return false;
        };
        self.address.is_ipv4() == address.is_ipv4() && own == other
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| "is not a network")?;
        let whole = width(address);
        let bits = match bits {
            None => whole,
            Some(bits) => bits.parse().map_err(|_| "is not a network")?,
        };
        if bits > whole {
            return Err("has a longer prefix than its address");
        }
        let network = Self { address, bits };
        if value(address) != prefix(address, bits).unwrap_or_default() {
            return Err("has bits set beyond its prefix");
        }
        Ok(network)
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn value(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address with all but its first `bits` cleared; None where it has fewer.
fn prefix(address: IpAddr, bits: u32) -> Option<u128> {
    let rest = width(address).checked_sub(bits)?;
    let kept = u128::MAX.checked_shl(rest).unwrap_or(0);
    Some(value(address) & kept)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn holds(network: &str, address: &str) -> bool {
        let network: Network = network.parse().unwrap();
        network.contains(address.parse().unwrap())
    }

    #[test]
    fn a_network_holds_the_addresses_that_share_its_bits() {
        assert!(holds("10.0.0.0/8", "10.255.0.1"));
        assert!(!holds("10.0.0.0/8", "11.0.0.0"));
        assert!(holds("0.0.0.0/0", "255.255.255.255"));
        assert!(!holds("0.0.0.0/0", "::1"));
        assert!(!holds("::/0", "10.0.0.1"));
        assert!(holds("::/0", "fe80::1"));
        assert!(holds("192.0.2.7", "192.0.2.7"));
        assert!(!holds("192.0.2.7", "192.0.2.6"));
        assert!(holds("64:ff9b::/96", "64:ff9b::7f00:1"));
        assert!(!holds("64:ff9b::/96", "64:ff9b::1:7f00:1"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "::/129",
            "ten/8",
            "10.0.0.0/",
            "10/8",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
