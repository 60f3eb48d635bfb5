//! Listeners: accepting, as long as there is room (`limits.connections` on the gateway's), the TLS
//! handshake, and what becomes of a system that gives no connection. Pingora's own loop accepts without
//! a bound, waits a minute for a handshake, and turns without pause on most errors.

use super::room::{Guest, Room};
use super::socket::Socket;
use crate::observe::events::{AcceptFailed, AcceptPaused, ConnectionEnded};
use crate::observe::{AcceptFault, EndReason};
use async_trait::async_trait;
use futures_util::future::join_all;
use log::{debug, error};
use pingora_core::apps::ServerApp;
use pingora_core::listeners::tls::Acceptor;
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
    pub tls: Option<Acceptor>,
}

/// Whoever is behind doors.
#[async_trait]
pub trait Reception: ServerApp + Send + Sync + 'static {
    /// The places of its connections.
    fn room(&self) -> &Arc<Room>;

    /// Longest time for a TLS handshake.
    fn header_timeout(&self) -> Duration;

    /// What it does while the doors are open, until the process is asked to end.
    async fn meanwhile(&self, _shutdown: ShutdownWatch) {}
}

/// The service of some listeners that lead to one reception.
pub struct Doors<R> {
    name: &'static str,
    doors: Vec<Door>,
    reception: Arc<R>,
}

/// One door while it is open.
struct Open<R> {
    socket: tokio::net::TcpListener,
    tls: Option<Arc<Acceptor>>,
    reception: Arc<R>,
}

/// What there is to do at a door.
enum Knock {
    Came(TcpStream, SocketAddr, Guest),
    Failed(io::Error),
    Full,
}

impl<R: Reception> Doors<R> {
    /// Leads all who come to `reception`; `name` is for logs.
    pub fn new(name: &'static str, doors: Vec<Door>, reception: R) -> Self {
        Self {
            name,
            doors,
            reception: Arc::new(reception),
        }
    }

    fn open(&self, door: Door) -> io::Result<Open<R>> {
        Ok(Open {
            socket: tokio::net::TcpListener::from_std(door.socket)?,
            tls: door.tls.map(Arc::new),
            reception: self.reception.clone(),
        })
    }
}

#[async_trait]
impl<R: Reception> Service for Doors<R> {
    async fn start_service(
        &mut self,
        _fds: Option<ListenFds>,
        shutdown: ShutdownWatch,
        _listeners_per_fd: usize,
    ) {
        self.reception.room().pulse().begins();
        let mut open = Vec::new();
        for door in std::mem::take(&mut self.doors) {
            match self.open(door) {
                Ok(door) => open.push(tokio::spawn(door.accept_until(shutdown.clone()))),
                Err(error) => error!("a listener cannot be used: {error}"),
            }
        }
        // It ends with the same signal as they.
        self.reception.meanwhile(shutdown).await;
        join_all(open).await;
        self.reception.cleanup().await;
    }

    fn name(&self) -> &str {
        self.name
    }
}

impl<R: Reception> Open<R> {
    async fn accept_until(self, mut shutdown: ShutdownWatch) {
        let room = self.reception.room().clone();
        let _open = room.open();
        let asked_to_end = shutdown.clone();
        let accepting = async {
            loop {
                match self.knock(&room).await {
                    Knock::Came(stream, peer, guest) => {
                        self.receive(stream, peer, (guest, asked_to_end.clone()));
                    }
                    Knock::Full => {
                        let (connections, bound) = (room.taken(), room.bound());
                        AcceptPaused { connections, bound }.emit(room.metrics());
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
        AcceptFailed { reason, error }.emit(self.reception.room().metrics());
        reason != AcceptFault::Other || !is_of_the_client(error)
    }

    fn receive(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        (guest, shutdown): (Guest, ShutdownWatch),
    ) {
        let (tls, reception) = (self.tls.clone(), self.reception.clone());
        tokio::spawn(async move {
            let _guest = guest;
            let Ok(socket) = Socket::new(stream, peer) else {
                return;
            };
            let mut next = match tls {
                None => Some(Box::new(socket) as Stream),
                // In a box, which is gone afterwards: the task is there as long as the connection.
                Some(tls) => Box::pin(handshake(&tls, socket, &*reception)).await,
            };
            while let Some(stream) = next {
                next = reception.process_new(stream, &shutdown).await;
            }
        });
    }
}

/// None, counted, when it fails or takes longer than a request head may.
async fn handshake(tls: &Acceptor, socket: Socket, reception: &impl Reception) -> Option<Stream> {
    let limit = reception.header_timeout();
    let why = match timeout(limit, tls.tls_handshake(socket)).await {
        Ok(Ok(stream)) => return Some(Box::new(stream)),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it took too long".to_owned(),
    };
    debug!("no TLS: {why}");
    let reason = EndReason::Handshake;
    ConnectionEnded { reason }.emit(reception.room().metrics());
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
