//! Messages to systemd about this process (`Type=notify`): none without a socket to send them to.
//!
//! Own code instead of `sd-notify`, which opens a socket for each message: a process without free file
//! descriptors could not say that it is alive, and the watchdog would kill it. It also does not know
//! abstract sockets.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::OnceLock;
use std::time::Duration;

const VARIABLE: &str = "NOTIFY_SOCKET";

/// Kept from the first message on: a process without descriptors must be able to report that it is alive.
static SOCKET: OnceLock<UnixDatagram> = OnceLock::new();

/// This process serves, and is alive: the previous process may have reported that half an interval ago, and
/// the next upgrade may come within the other half.
pub(crate) fn ready() {
    let process = std::process::id();
    send(&format!("READY=1\nMAINPID={process}\nWATCHDOG=1"));
}

/// A reload has ended, successfully or not. The message does not name the main process, since a hand-over may
/// be in progress.
pub(crate) fn reloaded() {
    send("READY=1");
}

/// Another process serves in its place.
pub(crate) fn main_process(pid: u32) {
    send(&format!("MAINPID={pid}"));
}

/// A reload has begun; [`reloaded`] ends it.
pub(crate) fn reloading() {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
    send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
}

/// This process is stopping.
pub(crate) fn stopping() {
    send("STOPPING=1");
}

/// This process is alive.
pub(crate) fn alive() {
    send("WATCHDOG=1");
}

/// How often to send [`alive`]; None without a watchdog.
pub(crate) fn watchdog_interval() -> Option<Duration> {
    let micros: u64 = std::env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
    // Twice as often as asked, as its manual says.
    (micros > 0).then(|| Duration::from_micros(micros / 2))
}

fn send(state: &str) {
    let Some(name) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) else {
        return;
    };
    let bytes = name.as_bytes();
    let address = match bytes.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(std::path::Path::new(&name)),
    };
    let sent = address.and_then(|address| socket()?.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = sent {
        log::warn!("cannot notify the service manager: {error}");
    }
}

fn socket() -> std::io::Result<&'static UnixDatagram> {
    if let Some(socket) = SOCKET.get() {
        return Ok(socket);
    }
    let socket = UnixDatagram::unbound()?;
    Ok(SOCKET.get_or_init(|| socket))
}
