//! The gateway's listeners: accepting, as long as there is room (`limits.connections`), the TLS
//! handshake, and what becomes of a system that gives no connection. Pingora's own loop accepts without
//! a bound, waits a minute for a handshake, and turns without pause on most errors.

use super::room::{Guest, Room};
use super::socket::Socket;
use super::{Front, Live, health};
use crate::observe::events::{AcceptFailed, AcceptPaused, ConnectionEnded};
use crate::observe::{AcceptFault, EndReason};
use async_trait::async_trait;
use futures_util::future::join_all;
use log::{debug, error};
use pingora_core::apps::ServerApp;
use pingora_core::listeners::tls::{Acceptor, TlsSettings};
use pingora_core::protocols::Stream;
use pingora_core::server::{ListenFds, ShutdownWatch};
use pingora_core::services::Service;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// The wait after an error that would come back at once: calls under way give up what is missing.
const CALM: Duration = Duration::from_millis(200);

/// A socket that listens, and how it is spoken to.
pub struct Door {
    /// Non-blocking.
    pub socket: TcpListener,
    /// None is clear text.
    pub tls: Option<TlsSettings>,
}

/// The service of all client-facing listeners.
pub struct Doors {
    doors: Vec<Door>,
    front: Arc<Front>,
    live: Arc<Live>,
}

/// One door while it is open.
struct Open {
    socket: tokio::net::TcpListener,
    tls: Option<Arc<Acceptor>>,
    front: Arc<Front>,
    live: Arc<Live>,
}

/// What there is to do at a door.
enum Knock {
    Came(TcpStream, SocketAddr, Guest),
    Failed(io::Error),
    Full,
}

impl Doors {
    /// Leads all who come to `front`.
    pub fn new(doors: Vec<Door>, front: Front, live: Arc<Live>) -> Self {
        let front = Arc::new(front);
        Self { doors, front, live }
    }

    fn open(&self, door: Door) -> io::Result<Open> {
        Ok(Open {
            socket: tokio::net::TcpListener::from_std(door.socket)?,
            tls: door.tls.map(|tls| Arc::new(tls.build())),
            front: self.front.clone(),
            live: self.live.clone(),
        })
    }
}

#[async_trait]
impl Service for Doors {
    async fn start_service(
        &mut self,
        _fds: Option<ListenFds>,
        shutdown: ShutdownWatch,
        _listeners_per_fd: usize,
    ) {
        let mut open = Vec::new();
        for door in std::mem::take(&mut self.doors) {
            match self.open(door) {
                Ok(door) => open.push(tokio::spawn(door.accept_until(shutdown.clone()))),
                Err(error) => error!("a listener cannot be used: {error}"),
            }
        }
        // It ends with the same signal as they.
        health::watch(&self.live, shutdown).await;
        join_all(open).await;
        self.front.cleanup().await;
    }

    fn name(&self) -> &str {
        "gateway"
    }
}

impl Open {
    async fn accept_until(self, mut shutdown: ShutdownWatch) {
        let room = self.live.room().clone();
        let asked_to_end = shutdown.clone();
        let accepting = async {
            loop {
                match self.knock(&room).await {
                    Knock::Came(stream, peer, guest) => {
                        self.receive(stream, peer, (guest, asked_to_end.clone()));
                    }
                    Knock::Full => {
                        let connections = room.taken();
                        AcceptPaused { connections }.emit(self.live.metrics());
                        room.has_place().await;
                    }
                    Knock::Failed(error) if self.would_come_back(&error) => sleep(CALM).await,
                    Knock::Failed(_) => {}
                }
            }
        };
        // What is accepted is received without a wait in between, so that ending here loses nobody.
        tokio::select! {
            biased;
            _ = shutdown.wait_for(|ends| *ends) => {}
            () = accepting => {}
        }
    }

    /// Waits for a connection; a place is taken before one is, so that there is never one too many.
    async fn knock(&self, room: &Arc<Room>) -> Knock {
        poll_fn(|cx| {
            let Some(mut guest) = room.enter() else {
                return Poll::Ready(Knock::Full);
            };
            self.socket.poll_accept(cx).map(|accepted| match accepted {
                Ok((stream, peer)) => {
                    guest.sit();
                    Knock::Came(stream, peer, guest)
                }
                Err(error) => Knock::Failed(error),
            })
        })
        .await
    }

    /// Counts an error; true where the same would come back at once.
    fn would_come_back(&self, error: &io::Error) -> bool {
        let reason = fault(error);
        AcceptFailed { reason, error }.emit(self.live.metrics());
        reason != AcceptFault::Other || !is_of_the_client(error)
    }

    fn receive(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        (guest, shutdown): (Guest, ShutdownWatch),
    ) {
        let (tls, front, live) = (self.tls.clone(), self.front.clone(), self.live.clone());
        tokio::spawn(async move {
            let _guest = guest;
            let Ok(socket) = Socket::new(stream, peer) else {
                return;
            };
            let mut next = match tls {
                None => Some(Box::new(socket) as Stream),
                // In a box, which is gone afterwards: the task is there as long as the connection.
                Some(tls) => Box::pin(handshake(&tls, socket, &live)).await,
            };
            while let Some(stream) = next {
                next = front.process_new(stream, &shutdown).await;
            }
        });
    }
}

/// None, counted, when it fails or takes longer than a request head may.
async fn handshake(tls: &Acceptor, socket: Socket, live: &Live) -> Option<Stream> {
    let limit = live.now().settings.limits.header_timeout;
    let why = match timeout(limit, tls.tls_handshake(socket)).await {
        Ok(Ok(stream)) => return Some(Box::new(stream)),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it took too long".to_owned(),
    };
    debug!("no TLS: {why}");
    let reason = EndReason::Handshake;
    ConnectionEnded { reason }.emit(live.metrics());
    None
}

fn fault(error: &io::Error) -> AcceptFault {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    const ENOMEM: i32 = 12;
    const ENOBUFS: i32 = 105;
    match error.raw_os_error() {
        Some(ENFILE | EMFILE) => AcceptFault::Descriptors,
        Some(ENOMEM | ENOBUFS) => AcceptFault::Memory,
        _ => AcceptFault::Other,
    }
}

/// That one connection failed; the next is another.
fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::Interrupted
            | Kind::TimedOut
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
    )
}
