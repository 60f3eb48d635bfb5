//! The SSRF guard of downloads (CONTRACT 31): a client chooses the URL, but must not reach the gateway's own
//! network through it. Every address of a name is checked, and only checked addresses are connected to. It
//! opens no connection itself. [`crate::http_client::public_networks`] knows which addresses are public.

use super::file_error::FileError;
use crate::config::{FilesSettings, Network};
use crate::http_client::public_networks::{embedded, is_public};
use std::net::{IpAddr, SocketAddr};
use url::{Host, Url};

const REFUSED: FileError = FileError::Forbidden("the address is neither public nor allowed");
/// The most addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;

/// Names of the metadata services through which clouds hand out credentials.
const METADATA_HOSTS: [&str; 6] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "instance-data",
    "instance-data.ec2.internal",
];

/// The guard with the exceptions of the operator.
pub(super) struct Guard {
    networks: Vec<Network>,
    hosts: Vec<String>,
}

/// Parses a client's URL: http or https, without credentials. Every spelling of an IP address is parsed as
/// the address it denotes.
///
/// # Errors
/// [`FileError::Malformed`], or [`FileError::Forbidden`] for credentials.
pub(super) fn parse(text: &str) -> Result<Url, FileError> {
    let url = Url::parse(text.trim()).map_err(|_| FileError::Malformed("the url is invalid"))?;
    admitted(url)
}

/// The target of a redirect.
///
/// # Errors
/// Like [`parse`]: a redirect is subject to the same rules.
pub(super) fn redirected(from: &Url, location: &str) -> Result<Url, FileError> {
    let url = from.join(location);
    admitted(url.map_err(|_| FileError::Malformed("a redirect leads to an invalid url"))?)
}

fn admitted(url: Url) -> Result<Url, FileError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(FileError::Malformed(
            "the url is neither http, https nor data",
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(FileError::Forbidden("the url has credentials"));
    }
    Ok(url)
}

impl Guard {
    pub(super) fn new(settings: &FilesSettings) -> Self {
        Self {
            networks: settings.allow_networks.clone(),
            hosts: settings.allow_hosts.clone(),
        }
    }

    /// The addresses to connect to for a URL, all of them admitted.
    ///
    /// # Errors
    /// [`FileError::Forbidden`] when one of them is not admitted, [`FileError::Unreachable`] without any.
    pub(super) async fn addresses(&self, url: &Url) -> Result<Vec<SocketAddr>, FileError> {
        let port = url.port_or_known_default().unwrap_or(443);
        match url.host() {
            Some(Host::Ipv4(address)) => self.literal(address.into(), port),
            Some(Host::Ipv6(address)) => self.literal(address.into(), port),
            Some(Host::Domain(name)) => self.named(name, port).await,
            None => Err(FileError::Malformed("the url has no host")),
        }
    }

    fn literal(&self, address: IpAddr, port: u16) -> Result<Vec<SocketAddr>, FileError> {
        let named = self.hosts.contains(&address.to_string());
        match named || self.permits(address) {
            true => Ok(vec![SocketAddr::new(address, port)]),
            false => Err(REFUSED),
        }
    }

    async fn named(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, FileError> {
        let bare = name.trim_end_matches('.').to_ascii_lowercase();
        let named = self.hosts.contains(&bare);
        if !named && METADATA_HOSTS.contains(&bare.as_str()) {
            return Err(REFUSED);
        }
        let found = tokio::net::lookup_host((bare.as_str(), port)).await;
        let found = found.map_err(|_| FileError::Unreachable("the host has no address"))?;
        let addresses: Vec<SocketAddr> = found.collect();
        if !named && !addresses.iter().all(|address| self.permits(address.ip())) {
            return Err(REFUSED);
        }
        match addresses.is_empty() {
            true => Err(FileError::Unreachable("the host has no address")),
            false => Ok(addresses.into_iter().take(MAX_ADDRESSES).collect()),
        }
    }

    fn permits(&self, address: IpAddr) -> bool {
        let inner = embedded(address);
        let opened = |address| {
            self.networks
                .iter()
                .any(|network| network.contains(address))
        };
        opened(address) || opened(inner) || is_public(inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::http_client::public_networks::tests::{NOT_PUBLIC, PUBLIC};

    fn guard(networks: &[&str], hosts: &[&str]) -> Guard {
        Guard {
            networks: networks.iter().map(|text| text.parse().unwrap()).collect(),
            hosts: hosts.iter().map(ToString::to_string).collect(),
        }
    }

    async fn admitted_addresses(guard: &Guard, url: &str) -> Result<Vec<SocketAddr>, FileError> {
        guard.addresses(&parse(url)?).await
    }

    #[test]
    fn a_non_public_address_is_refused_however_it_is_embedded() {
        let guard = guard(&[], &[]);
        for closed in NOT_PUBLIC {
            assert!(!guard.permits(closed.parse().unwrap()), "{closed}");
        }
        for open in PUBLIC {
            assert!(guard.permits(open.parse().unwrap()), "{open}");
        }
    }

    /// Spellings of addresses of this machine and its network.
    const SPELLINGS: &[&str] = &[
        "http://127.0.0.1/",
        "http://127.0.0.1./",
        "http://127.1/",
        "http://127.0.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://017700000001/",
        "http://1２7.0.0.1/",
        "http://%31%32%37.0.0.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[0:0:0:0:0:ffff:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[::]/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://metadata.google.internal/",
        "http://Metadata.Google.Internal./",
        "http:\\\\127.0.0.1\\",
        "http:/127.0.0.1/",
        "ht\ntp://127.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
    ];

    #[tokio::test]
    async fn every_spelling_of_an_address_is_the_address() {
        let guard = guard(&[], &[]);
        for url in SPELLINGS {
            let fault = admitted_addresses(&guard, url).await;
            assert!(
                matches!(fault, Err(FileError::Forbidden(_))),
                "{url}: {fault:?}"
            );
        }
        for url in [
            "http://user@8.8.8.8/",
            "http://:p@8.8.8.8/",
            "http://8.8.8.8@127.0.0.1/",
        ] {
            assert!(matches!(parse(url), Err(FileError::Forbidden(_))), "{url}");
        }
        for url in [
            "http://127.0.0.1.1.1.1/",
            "http://1.2.3.256/",
            "http://0x.1.2/x y z",
            "http://[",
        ] {
            assert!(admitted_addresses(&guard, url).await.is_err(), "{url}");
        }
        let open = admitted_addresses(&guard, "http://8.8.8.8:81/a")
            .await
            .unwrap();
        assert_eq!(open, ["8.8.8.8:81".parse().unwrap()]);
    }

    #[tokio::test]
    async fn networks_and_hosts_that_the_operator_allows_are_admitted() {
        let networks = guard(&["127.0.0.0/8"], &[]);
        for url in [
            "http://127.0.0.1/",
            "http://[::ffff:127.0.0.1]/",
            "http://2130706433/",
        ] {
            assert!(admitted_addresses(&networks, url).await.is_ok(), "{url}");
        }
        assert!(
            admitted_addresses(&networks, "http://10.0.0.1/")
                .await
                .is_err()
        );
        let hosts = guard(&[], &["localhost", "10.0.0.1"]);
        assert!(
            admitted_addresses(&hosts, "http://LocalHost.:81/")
                .await
                .is_ok()
        );
        assert!(admitted_addresses(&hosts, "http://10.0.0.1/").await.is_ok());
        assert!(
            admitted_addresses(&hosts, "http://127.0.0.1/")
                .await
                .is_err()
        );
        assert!(
            admitted_addresses(&hosts, "http://10.0.0.2/")
                .await
                .is_err()
        );
    }

    #[test]
    fn a_redirect_is_checked_like_a_url_of_its_own() {
        let from = parse("https://a.example/b/c").unwrap();
        assert_eq!(
            redirected(&from, "/d").unwrap().as_str(),
            "https://a.example/d"
        );
        assert_eq!(
            redirected(&from, "//b.example/").unwrap().as_str(),
            "https://b.example/"
        );
        for location in [
            "file:///etc/passwd",
            "ftp://a.example/",
            "http://u:p@a.example/",
            "data:,",
        ] {
            assert!(redirected(&from, location).is_err(), "{location}");
        }
    }
}
