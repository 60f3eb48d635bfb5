//! Tells systemd that this process is alive (`WatchdogSec=`), at the interval it asks for and only while the
//! operations listener answers and the runtimes behind the other listeners run. A process without
//! descriptors counts as alive: it recovers by itself once it has some.

use crate::app::observability::operations::Operations;
use crate::app::process::{descriptors, listeners, notify};
use crate::app::upgrade::Upgrades;
use crate::gateway::ConnectionLimit;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// The longest time for each check.
const ANSWER: Duration = Duration::from_secs(2);

/// Ends when it is dropped.
pub(crate) struct Watchdog {
    _stop: Sender<()>,
}

impl Watchdog {
    /// None without a watchdog. It stops once another process serves, because the operations listener of that
    /// process would answer.
    pub(crate) fn start(
        operations: Operations,
        limits: Vec<Arc<ConnectionLimit>>,
        upgrades: Arc<Upgrades>,
    ) -> Option<Self> {
        let interval = notify::watchdog_interval()?;
        let (stop, stopped) = mpsc::channel();
        let look = move || {
            let waits = || stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout);
            while waits() && !upgrades.is_handed_over() {
                let runs = limits
                    .iter()
                    .all(|limit| limit.runtime_probe().responds_within(ANSWER));
                if runs && answers(&operations) {
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

/// Whether the listener answers, or answers nobody new because its clients have all connections: a runtime
/// that still runs.
fn answers(operations: &Operations) -> bool {
    let probe = operations.limit.runtime_probe();
    if operations.is_full() {
        return probe.responds_within(ANSWER);
    }
    match TcpStream::connect_timeout(&listeners::local(operations.address), ANSWER) {
        Err(error) => descriptors::is_shortage(&error),
        // Asked while the connection has one: it may be the last.
        Ok(stream) => is_fine(&stream).unwrap_or(false) || descriptors::are_gone(),
    }
}

fn is_fine(mut stream: &TcpStream) -> std::io::Result<bool> {
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    Ok(head.ends_with(b" 200"))
}
