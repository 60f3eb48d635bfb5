//! Addresses at which something is wrong.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// A host name that no resolver can be asked about, because its label is too long to be sent: the
/// look-up fails without leaving this machine.
pub fn unresolvable_host() -> String {
    format!("{}.invalid", "a".repeat(70))
}

/// A loopback port that was free a moment ago and that nobody listens on.
///
/// Ports below the ephemeral range, so that no outgoing connection of another test takes it between
/// here and its use; the start depends on the process, so that two test binaries do not meet.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const FIRST: u32 = 11_000;
    const COUNT: u32 = 21_000;
    loop {
        let step = u32::from(NEXT.fetch_add(1, Ordering::SeqCst));
        let port = (FIRST + (std::process::id().wrapping_mul(67) + step) % COUNT) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

/// An address that refuses connections.
pub fn refusing_address() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()))
}
