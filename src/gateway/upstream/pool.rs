//! Connections to a model server for the monitored route. The future that can run TLS and HTTP/2 handshakes is large
//! and boxed; a kept HTTP/1.1 connection, the common case, needs none.

use super::idle::IdleConnections;
use super::session::{UpstreamSession, WireHead};
use crate::config::{Http2, UpstreamSettings};
use crate::gateway::headers::UpstreamHead;
use pingora_core::Result;
use pingora_core::connectors::http::Connector;
use pingora_core::connectors::{ConnectorOptions, TransportConnector};
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::upstreams::peer::{HttpPeer, Peer};
use std::net::SocketAddr;

/// Opens, keeps and reuses connections.
pub(crate) struct ConnectionPool {
    connector: Opening,
    /// Those that speak HTTP/1.1; the connector keeps the others.
    idle: IdleConnections,
}

enum Opening {
    /// The upstream is called over HTTP/1.1 only.
    Http1(Box<TransportConnector>),
    /// ALPN or the settings choose the protocol.
    Negotiated(Box<Connector>),
}

/// A connection that is ready for a request.
pub(crate) struct UpstreamConnection {
    pub(crate) session: UpstreamSession,
    /// It has carried a request before, so the upstream may have closed it since.
    pub(crate) reused: bool,
}

impl ConnectionPool {
    pub(crate) fn new(settings: &UpstreamSettings, options: ConnectorOptions) -> Self {
        let tls = settings.url.as_ref().is_some_and(|url| url.tls);
        let negotiates = match settings.http2 {
            Http2::Always => true,
            Http2::Auto => tls,
            Http2::Never => false,
        };
        let idle = IdleConnections::new(options.keepalive_pool_size);
        let connector = match negotiates {
            true => Opening::Negotiated(Box::new(Connector::new(Some(options)))),
            false => Opening::Http1(Box::new(TransportConnector::new(Some(options)))),
        };
        Self { connector, idle }
    }

    /// The head in the form that the connections of this pool take.
    ///
    /// # Errors
    /// None that a head which was read can cause.
    pub(crate) fn wire_head(&self, head: &UpstreamHead<'_>) -> Result<WireHead> {
        Ok(match &self.connector {
            Opening::Http1(_) => WireHead::Http1(head.to_http1()?),
            Opening::Negotiated(_) => WireHead::Any(Box::new(head.to_header()?)),
        })
    }

    /// A connection to `peer`.
    pub(crate) async fn get(&self, peer: &HttpPeer) -> Result<UpstreamConnection> {
        if let Some(stream) = address(peer).and_then(|address| self.idle.take(address)) {
            return Ok(UpstreamConnection {
                session: UpstreamSession::http1(stream),
                reused: true,
            });
        }
        let (session, reused) = match &self.connector {
            Opening::Http1(transport) => {
                let stream = Box::pin(transport.new_stream(peer)).await?;
                (UpstreamSession::http1(stream), false)
            }
            Opening::Negotiated(connector) => {
                let (session, reused) = Box::pin(connector.get_http_session(peer)).await?;
                let session = match session {
                    HttpSession::H1(session) => UpstreamSession::http1(session.into_inner()),
                    session => UpstreamSession::Http2(Box::new(session)),
                };
                (session, reused)
            }
        };
        Ok(UpstreamConnection { session, reused })
    }

    /// Keeps the connection where its state allows, closes it otherwise.
    pub(crate) async fn release(&self, session: UpstreamSession, peer: &HttpPeer) {
        match (session, &self.connector) {
            (UpstreamSession::Http1(session), _) => {
                if let (Some(stream), Some(address)) = (session.into_kept(), address(peer)) {
                    self.idle.put(address, stream);
                }
            }
            (UpstreamSession::Http2(session), Opening::Negotiated(connector)) => {
                let idle = peer.options.idle_timeout;
                connector.release_http_session(*session, peer, idle).await;
            }
            (UpstreamSession::Http2(mut session), Opening::Http1(_)) => session.shutdown().await,
        }
    }
}

fn address(peer: &HttpPeer) -> Option<SocketAddr> {
    peer.address().as_inet().copied()
}
