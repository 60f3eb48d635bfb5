//! Kept connections to a model server for the monitored route. A kept HTTP/1.1 connection, the common case,
//! is taken by a small future; the large one, which can run TLS and HTTP/2 handshakes, is boxed.

use crate::config::{Http2, UpstreamSettings};
use crate::gateway::guard::GuardedStream;
use pingora_core::Result;
use pingora_core::connectors::http::Connector;
use pingora_core::connectors::{ConnectorOptions, TransportConnector};
use pingora_core::protocols::Stream;
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::protocols::http::v1::client::HttpSession as Http1Session;
use pingora_core::upstreams::peer::{HttpPeer, Peer};

/// A body up to this size leaves in one write with its head, because copying it costs less than a second
/// system call would.
const SMALL_BODY: usize = 32 << 10;
/// A write up to this size enters an idle connection whole or not at all.
const ATOMIC_WRITE: usize = 2 << 10;

/// Opens, keeps and reuses connections.
pub(crate) enum ConnectionPool {
    /// The upstream is called over HTTP/1.1 only.
    Http1(Box<TransportConnector>),
    /// ALPN or the settings choose the protocol.
    Negotiated(Box<Connector>),
}

/// A connection that is ready for a request.
pub(crate) struct UpstreamConnection {
    pub(crate) session: Box<HttpSession>,
    /// It has carried a request before, so the upstream may have closed it since.
    pub(crate) reused: bool,
    /// Head and body leave in one write: when it fails, the upstream has received nothing.
    pub(crate) writes_once: bool,
}

impl ConnectionPool {
    pub(crate) fn new(settings: &UpstreamSettings, options: ConnectorOptions) -> Self {
        let tls = settings.url.as_ref().is_some_and(|url| url.tls);
        let negotiates = match settings.http2 {
            Http2::Always => true,
            Http2::Auto => tls,
            Http2::Never => false,
        };
        if negotiates {
            Self::Negotiated(Box::new(Connector::new(Some(options))))
        } else {
            Self::Http1(Box::new(TransportConnector::new(Some(options))))
        }
    }

    /// A connection to `peer` for a request with a body of `length` bytes.
    pub(crate) async fn get(&self, peer: &HttpPeer, length: usize) -> Result<UpstreamConnection> {
        let transport = match self {
            Self::Http1(transport) => transport,
            Self::Negotiated(connector) => {
                let (session, reused) = Box::pin(connector.get_http_session(peer)).await?;
                let session = match session {
                    HttpSession::H1(session) => http1(session.into_inner(), peer, length),
                    session => Box::new(session),
                };
                return Ok(UpstreamConnection {
                    session,
                    reused,
                    writes_once: false,
                });
            }
        };
        let writes_once = (1..=ATOMIC_WRITE).contains(&length);
        if let Some(stream) = transport.reused_stream(peer).await {
            return Ok(UpstreamConnection {
                session: http1(stream, peer, length),
                reused: true,
                writes_once,
            });
        }
        let stream = Box::pin(transport.new_stream(peer)).await?;
        Ok(UpstreamConnection {
            session: http1(stream, peer, length),
            reused: false,
            writes_once,
        })
    }

    /// Keeps the connection where its state allows, closes it otherwise.
    pub(crate) async fn release(&self, session: HttpSession, peer: &HttpPeer) {
        let idle = peer.options.idle_timeout;
        match (self, session) {
            (_, HttpSession::H1(mut session)) if GuardedStream::has_unread(session.stream()) => {
                session.shutdown().await;
            }
            (Self::Http1(transport), HttpSession::H1(mut session)) => {
                session.respect_keepalive();
                if let Some(stream) = session.reuse().await {
                    let stream = GuardedStream::into_inner(stream);
                    transport.release_stream(stream, peer.reuse_hash(), idle);
                }
            }
            (Self::Http1(_), mut session) => session.shutdown().await,
            (Self::Negotiated(connector), session) => {
                connector.release_http_session(session, peer, idle).await;
            }
        }
    }
}

/// The head is held back for a small body: an empty one ends with the head, a long one needs more writes.
fn http1(stream: Stream, peer: &HttpPeer, length: usize) -> Box<HttpSession> {
    let holds_head = (1..=SMALL_BODY).contains(&length);
    let stream = GuardedStream::of_upstream(stream, holds_head);
    let mut session = Http1Session::new_with_options(stream, peer);
    session.write_timeout = peer.options.write_timeout;
    Box::new(HttpSession::H1(session))
}
