//! Addresses at which something is wrong.

use super::message::read_once;
use std::io::Write;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex};

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

/// Stands before a server and passes everything on, until it is told to fall silent: then it accepts and takes
/// bytes, and nothing arrives.
pub struct SilentProxy {
    address: SocketAddr,
    silence: Arc<Silence>,
}

#[derive(Default)]
struct Silence {
    is_on: Mutex<bool>,
    changed: Condvar,
}

impl SilentProxy {
    /// Before the server at this address. It ends with the test's process.
    pub fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let silence = Arc::new(Silence::default());
        let heard = silence.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let silence = heard.clone();
                std::thread::spawn(move || pass_on(client, server, &silence));
            }
        });
        Self { address, silence }
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Holds everything back from now on, or passes it on again.
    pub fn set_silent(&self, is_on: bool) {
        *self.silence.is_on.lock().unwrap() = is_on;
        self.silence.changed.notify_all();
    }
}

fn pass_on(client: TcpStream, server: SocketAddr, silence: &Arc<Silence>) {
    silence.wait();
    let Ok(server) = TcpStream::connect(server) else {
        return;
    };
    let (from_client, to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let up = silence.clone();
    let upward = std::thread::spawn(move || copy(from_client, to_server, &up));
    copy(server, client, silence);
    let _ = upward.join();
}

fn copy(mut from: TcpStream, mut to: TcpStream, silence: &Silence) {
    let mut piece = [0; 16 << 10];
    while let Ok(count @ 1..) = read_once(&mut from, &mut piece) {
        silence.wait();
        if to.write_all(&piece[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

impl Silence {
    fn wait(&self) {
        let is_on = self.is_on.lock().unwrap();
        drop(self.changed.wait_while(is_on, |is_on| *is_on).unwrap());
    }
}
