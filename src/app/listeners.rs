//! Addresses to listen on: claimed before anything starts, so that a port in use is an error that
//! names it and not a panic inside a service.

use crate::config::{Listener, TlsFiles};
use anyhow::{Context, Result};
use pingora_core::listeners::tls::TlsSettings;
use pingora_core::listeners::{L4BufferSettings, ListenerConfig};
use pingora_core::services::listening::Service;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Longest wait for a listener to answer after the start.
const START: Duration = Duration::from_secs(30);

/// Checks that `address` is free and gives it back with its port settled.
pub(super) fn claim(what: &str, address: SocketAddr) -> Result<SocketAddr> {
    let listener = TcpListener::bind(address).with_context(|| {
        format!("{what}: cannot listen on {address}; stop what holds it or choose another address")
    })?;
    Ok(listener.local_addr()?)
}

/// Claims all addresses of a list.
pub(super) fn claim_all(what: &str, listeners: &mut [Listener]) -> Result<()> {
    for listener in listeners {
        listener.address = claim(what, listener.address)?;
    }
    Ok(())
}

/// Adds the listeners to a service; TLS ones offer HTTP/2 too.
pub(super) fn add<A>(service: &mut Service<A>, listeners: &[Listener]) -> Result<()> {
    for listener in listeners {
        let address = listener.address.to_string();
        // Every reader above has a buffer of its own; pingora's would add 64 KiB to each connection.
        let buffers = L4BufferSettings::default().read(0);
        let mut endpoint = ListenerConfig::tcp(address.clone()).l4_buffer(buffers);
        if let Some(files) = &listener.tls {
            endpoint = endpoint.tls(tls(&address, files)?);
        }
        service.add_listener(endpoint);
    }
    Ok(())
}

fn tls(address: &str, files: &TlsFiles) -> Result<TlsSettings> {
    let (cert, key) = (files.cert.to_string_lossy(), files.key.to_string_lossy());
    let mut tls = TlsSettings::intermediate(&cert, &key).map_err(|_| {
        anyhow::anyhow!("{address}: certificate or key is not usable: {cert}, {key}")
    })?;
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
