//! The idle HTTP/1.1 connections to one model server.

use super::http1::is_idle;
use super::resolver::POOL_IDLE;
use pingora_core::protocols::Stream;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How often connections that the server has closed, or that were idle too long, are closed here.
const SWEEP: Duration = Duration::from_secs(1);

/// Keeps connections, and hands out the one that was used last.
pub(super) struct IdleConnections(Arc<Shared>);

struct Shared {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// In the order of their last use.
    connections: Vec<Connection>,
    is_swept: bool,
}

struct Connection {
    stream: Stream,
    address: SocketAddr,
    since: Instant,
}

impl IdleConnections {
    /// Keeps at most so many.
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Shared {
            most,
            kept: Mutex::default(),
        }))
    }

    /// A connection to `address` that is still open, as far as this process knows.
    pub(super) fn take(&self, address: SocketAddr) -> Option<Stream> {
        loop {
            let mut connection = self.0.take_last(address)?;
            if is_idle(&mut connection.stream) {
                return Some(connection.stream);
            }
        }
    }

    /// Keeps a connection. Where there are too many, the one goes that was idle longest.
    pub(super) fn put(&self, address: SocketAddr, stream: Stream) {
        let mut kept = self.0.lock();
        let is_full = kept.connections.len() >= self.0.most;
        let oldest = (is_full && self.0.most > 0).then(|| kept.connections.remove(0));
        if self.0.most > 0 {
            kept.connections.push(Connection {
                stream,
                address,
                since: Instant::now(),
            });
        }
        let starts = !std::mem::replace(&mut kept.is_swept, true);
        drop(kept);
        drop(oldest);
        if starts {
            tokio::spawn(sweep(Arc::downgrade(&self.0)));
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_last(&self, address: SocketAddr) -> Option<Connection> {
        let mut kept = self.lock();
        let mut connections = kept.connections.iter();
        let place = connections.rposition(|connection| connection.address == address)?;
        Some(kept.connections.remove(place))
    }
}

/// Closes what is no use any more, until nothing is kept.
async fn sweep(shared: Weak<Shared>) {
    loop {
        sleep(SWEEP).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let mut kept = shared.lock();
        let is_over = |connection: &mut Connection| {
            connection.since.elapsed() >= POOL_IDLE || !is_idle(&mut connection.stream)
        };
        let closed: Vec<_> = kept.connections.extract_if(.., is_over).collect();
        kept.is_swept = !kept.connections.is_empty();
        let goes_on = kept.is_swept;
        drop(kept);
        drop(closed);
        if !goes_on {
            return;
        }
    }
}
