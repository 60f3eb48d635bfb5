//! Listeners: accept connections while the connection limit allows it, run the TLS handshake, and pause
//! after accept errors that would return at once.
//!
//! Pingora's own accept loop is not used: it accepts without a limit, waits up to a minute for a TLS
//! handshake, and retries most errors without a pause.

use super::clear_text;
use super::client_places::{ClientPlace, ClientPlaces, with_place};
use super::client_socket::ClientSocket;
use super::connection_limit::{ConnectionLimit, Permit};
use super::proxy_protocol;
use super::tls_bytes::{TlsBytes, TlsClient};
use crate::gateway::limits::ClientHeads;
use crate::observe::events::{AcceptFailed, AcceptPaused, ConnectionEnded};
use crate::observe::{AcceptFault, EndReason};
use async_trait::async_trait;
use futures_util::future::{BoxFuture, join_all};
use log::{debug, error};
use pingora_core::apps::ServerApp;
use pingora_core::listeners::tls::Acceptor;
use pingora_core::protocols::Stream;
use pingora_core::server::{ListenFds, ShutdownWatch};
use pingora_core::services::Service;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// The pause after an accept error that would return at once, such as too few file descriptors: calls
/// that end meanwhile free what is missing.
const ERROR_PAUSE: Duration = Duration::from_millis(200);

/// A listening socket and its TLS settings.
pub struct Listener {
    /// In non-blocking mode, as tokio requires.
    pub socket: TcpListener,
    /// None for clear text.
    pub tls: Option<Acceptor>,
    /// Each connection begins with a header of the PROXY protocol.
    pub proxy_protocol: bool,
}

/// The application that serves the accepted connections.
#[async_trait]
pub trait ConnectionHandler: ServerApp + Send + Sync + 'static {
    /// The limit that its connections count against.
    fn connection_limit(&self) -> &Arc<ConnectionLimit>;

    /// The longest time for a TLS handshake.
    fn header_timeout(&self) -> Duration;

    /// The memory for what clients send before a request is read (`limits.client_bytes`).
    fn client_memory(&self) -> Arc<ClientHeads>;

    /// Whether this is the address of a proxy whose word about the client counts.
    fn trusts(&self, _peer: IpAddr) -> bool {
        false
    }

    /// The connections that each client may have; None where [`Self::serve_within_share`] bounds them otherwise.
    fn client_places(&self) -> Option<&Arc<ClientPlaces>> {
        None
    }

    /// Serves a connection, its TLS handshake included, as soon as its client may have one more; ends it where that
    /// takes too long.
    async fn serve_within_share(
        &self,
        client: IpAddr,
        shutdown: ShutdownWatch,
        serving: Serving<'_>,
    ) {
        // Boxed, so that the task does not keep the wait's memory as long as the connection.
        if let Ok(place) = Box::pin(place_of(client, self, shutdown)).await {
            with_place(place, serving).await;
        }
    }

    /// Work beside the connections, from the start until the shutdown signal.
    async fn run_background(&self, _shutdown: ShutdownWatch) {}
}

/// Serves one connection to its end.
pub type Serving<'a> = BoxFuture<'a, ()>;

/// A pingora service that accepts on some listeners for one handler.
pub struct ListenerService<H> {
    name: &'static str,
    listeners: Vec<Listener>,
    handler: Arc<H>,
    threads: Option<usize>,
}

/// The accept loop of one listener.
struct AcceptLoop<H> {
    socket: tokio::net::TcpListener,
    tls: Option<Arc<Acceptor>>,
    proxy_protocol: bool,
    handler: Arc<H>,
}

/// The outcome of one wait for a connection.
enum Accepted {
    Connection(Connection),
    LimitReached,
    Failed(io::Error),
}

/// An accepted connection and its share of the limit.
struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    permit: Permit,
}

impl<H: ConnectionHandler> ListenerService<H> {
    /// Hands every connection to `handler`; `name` is the service's name in logs.
    pub fn new(name: &'static str, listeners: Vec<Listener>, handler: H) -> Self {
        Self {
            name,
            listeners,
            handler: Arc::new(handler),
            threads: None,
        }
    }

    /// With this number of threads instead of `limits.threads`.
    pub(crate) fn on_threads(self, threads: usize) -> Self {
        Self {
            threads: Some(threads),
            ..self
        }
    }

    fn accept_loop(&self, listener: Listener) -> io::Result<AcceptLoop<H>> {
        Ok(AcceptLoop {
            socket: tokio::net::TcpListener::from_std(listener.socket)?,
            tls: listener.tls.map(Arc::new),
            proxy_protocol: listener.proxy_protocol,
            handler: self.handler.clone(),
        })
    }
}

#[async_trait]
impl<H: ConnectionHandler> Service for ListenerService<H> {
    async fn start_service(
        &mut self,
        _fds: Option<ListenFds>,
        shutdown: ShutdownWatch,
        _listeners_per_fd: usize,
    ) {
        self.handler.connection_limit().runtime_probe().attach();
        let mut loops = Vec::new();
        for listener in std::mem::take(&mut self.listeners) {
            match self.accept_loop(listener) {
                Ok(accepting) => loops.push(tokio::spawn(accepting.run(shutdown.clone()))),
                Err(error) => error!("cannot accept on a listener: {error}"),
            }
        }
        // Ends with the same signal as the accept loops.
        self.handler.run_background(shutdown).await;
        join_all(loops).await;
        self.handler.cleanup().await;
    }

    fn name(&self) -> &str {
        self.name
    }

    fn threads(&self) -> Option<usize> {
        self.threads
    }
}

impl<H: ConnectionHandler> AcceptLoop<H> {
    async fn run(self, mut shutdown: ShutdownWatch) {
        let limit = self.handler.connection_limit().clone();
        let _open = limit.open_listener();
        let for_connections = shutdown.clone();
        let accepting = async {
            loop {
                match self.accept(&limit).await {
                    Accepted::Connection(connection) => {
                        self.spawn(connection, for_connections.clone());
                    }
                    Accepted::LimitReached => {
                        let (connections, bound) = (limit.in_use(), limit.name());
                        AcceptPaused { connections, bound }.emit(limit.metrics());
                        limit.wait_below_limit().await;
                    }
                    Accepted::Failed(error) if self.would_repeat(&error) => {
                        sleep(ERROR_PAUSE).await;
                    }
                    Accepted::Failed(_) => {}
                }
            }
        };
        // An accepted connection is spawned without an await in between, so stopping here loses none.
        tokio::select! {
            biased;
            _ = shutdown.wait_for(|ends| *ends) => {}
            () = accepting => {}
        }
    }

    /// Waits for a connection. The permit is taken before the connection, so the limit holds exactly.
    async fn accept(&self, limit: &Arc<ConnectionLimit>) -> Accepted {
        poll_fn(|cx| {
            let Some(mut permit) = limit.try_acquire() else {
                return Poll::Ready(Accepted::LimitReached);
            };
            self.socket.poll_accept(cx).map(|accepted| match accepted {
                Ok((stream, peer)) => {
                    permit.mark_connected();
                    Accepted::Connection(Connection {
                        stream,
                        peer,
                        permit,
                    })
                }
                Err(error) => Accepted::Failed(error),
            })
        })
        .await
    }

    /// Counts an accept error. True when the next accept would fail in the same way.
    fn would_repeat(&self, error: &io::Error) -> bool {
        let reason = fault(error);
        AcceptFailed { reason, error }.emit(self.handler.connection_limit().metrics());
        reason != AcceptFault::Other || !concerns_one_connection(error)
    }

    fn spawn(&self, connection: Connection, shutdown: ShutdownWatch) {
        let (tls, handler) = (self.tls.clone(), self.handler.clone());
        let has_header = self.proxy_protocol;
        tokio::spawn(async move {
            let _permit = connection.permit;
            let (mut stream, mut peer) = (connection.stream, connection.peer);
            if has_header {
                match Box::pin(named_client(&mut stream, peer, &*handler)).await {
                    Some(client) => peer = client,
                    None => return,
                }
            }
            let until = shutdown.clone();
            let serving = Box::pin(async {
                let mut next = match tls {
                    None => match ClientSocket::new(stream, peer) {
                        Ok(socket) => Some(Box::new(socket) as Stream),
                        Err(_) => None,
                    },
                    // Boxed, so that the task does not keep the handshake's memory as long as the connection.
                    Some(tls) => Box::pin(handshake(&tls, stream, peer, &*handler)).await,
                };
                while let Some(stream) = next {
                    next = handler.process_new(stream, &shutdown).await;
                }
            });
            handler.serve_within_share(peer.ip(), until, serving).await;
        });
    }
}

/// The client gets no place for its connection.
struct NoPlace;

/// The place of a connection among those of its client, None where nobody counts it; an error, counted, where the
/// client has too many, and had them for as long as a request head may take.
async fn place_of(
    client: IpAddr,
    handler: &(impl ConnectionHandler + ?Sized),
    mut shutdown: ShutdownWatch,
) -> Result<Option<Arc<ClientPlace>>, NoPlace> {
    let Some(places) = handler.client_places().filter(|_| !handler.trusts(client)) else {
        return Ok(None);
    };
    let place = tokio::select! {
        // One that waits for no place is served whatever happens.
        biased;
        place = places.take(client, handler.header_timeout()) => place,
        _ = shutdown.wait_for(|stopping| *stopping) => return Err(NoPlace),
    };
    if place.is_none() {
        let reason = EndReason::ClientConnections;
        ConnectionEnded { reason }.emit(handler.connection_limit().metrics());
    }
    place.map(Some).ok_or(NoPlace)
}

/// The client that the proxy names; None, counted, when the connection is refused.
async fn named_client(
    stream: &mut TcpStream,
    peer: SocketAddr,
    handler: &impl ConnectionHandler,
) -> Option<SocketAddr> {
    let is_trusted = |peer| handler.trusts(peer);
    let limit = handler.header_timeout();
    let client = proxy_protocol::client(stream, peer, is_trusted, limit).await;
    if let Err(Some(reason)) = client {
        debug!("refused a connection without a valid PROXY header from a trusted proxy: {peer}");
        ConnectionEnded { reason }.emit(handler.connection_limit().metrics());
    }
    client.ok()
}

/// None, counted, when the handshake fails or takes longer than a request head may.
async fn handshake(
    tls: &Acceptor,
    stream: TcpStream,
    peer: SocketAddr,
    handler: &impl ConnectionHandler,
) -> Option<Stream> {
    let shaking_hands = async {
        if clear_text::begins_with_request(&stream)
            .await
            .map_err(|error| error.to_string())?
        {
            clear_text::refuse(stream).await;
            return Err("the client speaks HTTP in clear text".to_owned());
        }
        let is_counted = !handler.trusts(peer.ip());
        let share = is_counted.then(|| handler.client_memory().share(Some(peer.ip())));
        let bytes = TlsBytes::new(share);
        let socket = ClientSocket::for_tls(stream, peer, bytes.clone());
        let socket = socket.map_err(|error| error.to_string())?;
        let shaken = tls.tls_handshake(socket).await;
        let stream = shaken.map_err(|error| error.to_string())?;
        Ok(TlsClient::new(stream, bytes))
    };
    let cause = match timeout(handler.header_timeout(), shaking_hands).await {
        Ok(Ok(stream)) => return Some(Box::new(stream)),
        Ok(Err(cause)) => cause,
        Err(_) => "timed out".to_owned(),
    };
    debug!("TLS handshake with a client failed: {cause}");
    let reason = EndReason::Handshake;
    ConnectionEnded { reason }.emit(handler.connection_limit().metrics());
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

/// Whether the error ended one pending connection only, so that the next accept may succeed.
fn concerns_one_connection(error: &io::Error) -> bool {
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
