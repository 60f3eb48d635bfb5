//! Tells systemd that this process is alive (`WatchdogSec=`), as often as it wants to hear that and
//! only while the operations listener answers.

use super::{listeners, notify};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// How long the listener may take.
const ANSWER: Duration = Duration::from_secs(2);

/// Ends when it is dropped.
pub(super) struct Watchdog {
    _stop: Sender<()>,
}

impl Watchdog {
    /// None where systemd does not ask.
    pub(super) fn start(operations: SocketAddr) -> Option<Self> {
        let interval = notify::watchdog_interval()?;
        let (stop, stopped) = mpsc::channel();
        let look = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                if answers(operations).unwrap_or(false) {
                    notify::alive();
                }
            }
        };
        let thread = std::thread::Builder::new().name("watchdog".into());
        match thread.spawn(look) {
            Ok(_) => Some(Self { _stop: stop }),
            Err(error) => {
                log::error!("watchdog: {error}");
                None
            }
        }
    }
}

fn answers(operations: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&listeners::local(operations), ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    Ok(head.ends_with(b" 200"))
}
