//! Listeners of a service, clear or TLS, and the wait until they answer. Whose sockets they are is
//! [`super::sockets`]'s.

use super::certificates::{Certificates, Offered};
use super::sockets::Sockets;
use crate::config::Listener;
use crate::gateway::Door;
use anyhow::Result;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Longest wait for a listener to answer after the start.
const START: Duration = Duration::from_secs(30);

/// Listeners of a gateway or an API; TLS ones offer the protocols that it speaks.
pub(super) fn doors(
    sockets: &Sockets,
    listeners: &[Listener],
    (certificates, offered): (&mut Certificates, Offered),
) -> Result<Vec<Door>> {
    let door = |listener: &Listener| {
        let certificate = certificates.of(listener)?;
        let tls = certificate.map(|held| held.acceptor(offered));
        Ok(Door {
            socket: sockets.copy(listener.address)?,
            tls: tls.transpose()?,
        })
    };
    listeners.iter().map(door).collect()
}

/// The address under which this machine reaches a listener.
pub(super) fn local(address: SocketAddr) -> SocketAddr {
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
pub(super) fn wait_until_open(addresses: &[SocketAddr], given_up: impl Fn() -> bool) -> Result<()> {
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
