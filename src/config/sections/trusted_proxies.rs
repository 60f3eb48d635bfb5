//! The keys of `trusted_proxies`: the proxies in front of a service, and how they name the client (CONTRACT 34).
//! Who the client of a request is follows in `edge`.

use crate::config::reading::collections::list;
use crate::config::reading::reader::Reader;
use crate::config::values::network::{NETWORKS, Network};
use crate::config::values::units::{self, Form};
use std::net::IpAddr;

/// The proxies whose word about the client counts. By default there are none.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustedProxies {
    /// The networks that they connect from.
    pub networks: Vec<Network>,
    /// The header in which they name the client.
    pub header: ClientHeader,
}

/// The header in which a trusted proxy names the client. Only one is read: a proxy that writes the one may pass
/// the other as the client wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientHeader {
    /// X-Forwarded-For, as most proxies write it.
    XForwardedFor,
    /// Forwarded (RFC 7239).
    Forwarded,
    /// No header; the client's address comes by the PROXY protocol alone.
    None,
}

const HEADERS: &[(&str, ClientHeader)] = &[
    ("x-forwarded-for", ClientHeader::XForwardedFor),
    ("forwarded", ClientHeader::Forwarded),
    ("none", ClientHeader::None),
];

impl Default for TrustedProxies {
    fn default() -> Self {
        Self {
            networks: Vec::new(),
            header: ClientHeader::XForwardedFor,
        }
    }
}

impl TrustedProxies {
    /// Whether this is the address of one of them. An IPv4 address in its IPv6 form is the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks
            .iter()
            .any(|network| network.contains(address))
    }
}

/// `prefix` is that of the role's keys.
pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> TrustedProxies {
    let key = |name: &str| format!("{prefix}trusted_proxies.{name}");
    let networks = list(r, &key("networks"), &network_of_proxies());
    let header = r.read(&key("header"), &units::word(HEADERS));
    let default = TrustedProxies::default().header;
    let is_other = header.is_some_and(|header| header != default);
    let is_alone = is_other && networks.is_empty() && !r.has_problem(&key("networks"));
    let text = "has no effect without the networks of proxies; set trusted_proxies.networks";
    r.refuse_if(&key("header"), is_alone, text);
    TrustedProxies {
        networks,
        header: header.unwrap_or(default),
    }
}

fn network_of_proxies() -> Form<Network> {
    Form::new(NETWORKS, |text| {
        let network: Network = text
            .parse()
            .map_err(|wrong| format!("{} {wrong}", units::quote(text)))?;
        match network.is_everything() {
            true => Err(format!(
                "{} trusts every address, so that any client could name another one's",
                units::quote(text)
            )),
            false => Ok(network),
        }
    })
}
