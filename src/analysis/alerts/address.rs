//! Which addresses alerts are sent to. People who administer this server choose them in the web UI, and must not reach
//! into its network by it: only public addresses, over https or to a mail server over TLS, and what the configuration
//! permits besides (`alerts.allow_networks`, `alerts.allow_hosts`). Every address of a name is checked, and only checked
//! ones are connected to. Redirects are not followed.

pub(super) use crate::config::web_address as parse;

use crate::config::AlertSettings;
use crate::http_client::public_networks::{embedded, is_public};
use std::net::{IpAddr, SocketAddr};
use url::{Host, Url};

/// The most addresses of one name that are tried.
const MOST_ADDRESSES: usize = 8;
const REFUSED: &str = "the address is neither public nor allowed (alerts.allow_networks)";

/// The addresses to connect to, all of them permitted.
///
/// # Errors
/// Why there are none.
pub(super) async fn addresses(
    url: &Url,
    settings: &AlertSettings,
) -> Result<Vec<SocketAddr>, &'static str> {
    let port = url.port_or_known_default().unwrap_or(443);
    let found: Vec<SocketAddr> = match url.host() {
        Some(Host::Ipv4(address)) => vec![(address, port).into()],
        Some(Host::Ipv6(address)) => vec![(address, port).into()],
        Some(Host::Domain(name)) => {
            let found = tokio::net::lookup_host((name, port)).await;
            let found = found.map_err(|_| "the host has no address")?;
            found.take(MOST_ADDRESSES).collect()
        }
        None => Vec::new(),
    };
    if found.is_empty() {
        return Err("the host has no address");
    }
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_matches(['[', ']', '.']).to_ascii_lowercase();
    let is_named = settings.allow_hosts.contains(&host);
    let permitted = |address: IpAddr| {
        let inner = embedded(address);
        let mut networks = settings.allow_networks.iter();
        is_named || networks.any(|one| one.contains(address) || one.contains(inner))
    };
    let is_public = |address: IpAddr| url.scheme() == "https" && is_public(embedded(address));
    let mut all = found.iter().map(SocketAddr::ip);
    match all.all(|address| permitted(address) || is_public(address)) {
        true => Ok(found),
        false if url.scheme() == "http" => {
            Err("http, or mail without TLS, is for allowed addresses only (alerts.allow_networks)")
        }
        false => Err(REFUSED),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    async fn reached(url: &str, settings: &AlertSettings) -> bool {
        addresses(&parse(url).unwrap(), settings).await.is_ok()
    }

    #[tokio::test]
    async fn b10_alerts_reach_public_addresses_over_https_and_what_is_allowed() {
        let none = AlertSettings::default();
        assert!(reached("https://8.8.8.8/hook", &none).await);
        for closed in [
            "http://8.8.8.8/hook",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "http://169.254.169.254/latest",
        ] {
            assert!(!reached(closed, &none).await, "{closed}");
        }
        let networks = AlertSettings {
            allow_networks: vec!["10.0.0.0/8".parse().unwrap()],
            allow_hosts: vec!["127.0.0.1".to_owned()],
            ..AlertSettings::default()
        };
        assert!(reached("http://10.1.2.3:8080/", &networks).await);
        assert!(reached("http://127.0.0.1/", &networks).await);
        assert!(!reached("http://127.0.0.2/", &networks).await);
    }
}
