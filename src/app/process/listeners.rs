//! Listeners of a service, in clear text or TLS, and the wait until they accept. Their sockets come from
//! [`super::sockets`].

use crate::app::process::sockets::Sockets;
use crate::app::reload::certificates::{Alpn, Certificates};
use crate::config::Listener;
use crate::gateway;
use anyhow::Result;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Longest wait for a listener to answer after the start.
const START: Duration = Duration::from_secs(30);

/// Listeners of a gateway or an API; TLS ones offer the protocols that it speaks.
pub(crate) fn open_all(
    sockets: &Sockets,
    listeners: &[Listener],
    certificates: &mut Certificates,
    alpn: Alpn,
) -> Result<Vec<gateway::Listener>> {
    let open_one = |listener: &Listener| {
        let certificate = certificates.of(listener)?;
        let tls = certificate.map(|held| held.acceptor(alpn));
        Ok(gateway::Listener {
            socket: sockets.copy(listener.address)?,
            tls: tls.transpose()?,
            proxy_protocol: listener.proxy_protocol,
        })
    };
    listeners.iter().map(open_one).collect()
}

/// The addresses of a list.
pub(crate) fn addresses(listeners: &[Listener]) -> Vec<SocketAddr> {
    listeners.iter().map(|listener| listener.address).collect()
}

/// The address under which this machine reaches a listener.
pub(crate) fn local(address: SocketAddr) -> SocketAddr {
    let mut local = address;
    if address.ip().is_unspecified() {
        local.set_ip(if address.is_ipv4() {
            std::net::Ipv4Addr::LOCALHOST.into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        });
    }
    local
}

/// Waits until each address accepts connections.
pub(crate) fn wait_until_open(addresses: &[SocketAddr], given_up: impl Fn() -> bool) -> Result<()> {
    let started = Instant::now();
    for address in addresses {
        while TcpStream::connect_timeout(&local(*address), START).is_err() {
            anyhow::ensure!(
                !given_up() && started.elapsed() < START,
                "{address} did not open"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(())
}
