//! Listeners of a service, clear or TLS, and the wait until they answer. Whose sockets they are is
//! [`super::sockets`]'s.

use super::certificates::{Certificate, Certificates};
use super::sockets::Sockets;
use crate::config::Listener;
use crate::gateway::Door;
use anyhow::Result;
use pingora_core::listeners::tls::TlsSettings;
use pingora_core::listeners::{L4BufferSettings, ListenerConfig};
use pingora_core::services::listening::Service;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest wait for a listener to answer after the start.
const START: Duration = Duration::from_secs(30);

/// Adds the listeners to a service; TLS ones offer HTTP/2 too.
pub(super) fn add<A>(
    service: &mut Service<A>,
    listeners: &[Listener],
    certificates: &mut Certificates,
) -> Result<()> {
    for listener in listeners {
        let address = listener.address.to_string();
        // Every reader above has a buffer of its own; pingora's would add 64 KiB to each connection.
        let buffers = L4BufferSettings::default().read(0);
        let mut endpoint = ListenerConfig::tcp(address.clone()).l4_buffer(buffers);
        if let Some(certificate) = certificates.of(listener)? {
            endpoint = endpoint.tls(tls(certificate)?);
        }
        service.add_listener(endpoint);
    }
    Ok(())
}

/// The client-facing listeners of a gateway.
pub(super) fn doors(
    sockets: &Sockets,
    listeners: &[Listener],
    certificates: &mut Certificates,
) -> Result<Vec<Door>> {
    let door = |listener: &Listener| {
        let certificate = certificates.of(listener)?;
        Ok(Door {
            socket: sockets.copy(listener.address)?,
            tls: certificate.map(tls).transpose()?,
        })
    };
    listeners.iter().map(door).collect()
}

fn tls(certificate: Arc<Certificate>) -> Result<TlsSettings> {
    // No paths: the resolver has what they hold.
    let mut tls = TlsSettings::intermediate("", "")
        .map_err(|error| anyhow::anyhow!("TLS cannot be set up: {error}"))?;
    tls.set_cert_resolver(certificate);
    tls.enable_h2();
    Ok(tls)
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
