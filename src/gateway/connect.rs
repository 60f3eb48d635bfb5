//! Connections to the upstream for the monitored route. A kept HTTP/1.1 connection, the common case,
//! is taken by a small future; the large one, which can resolve TLS and HTTP/2, is boxed.

use crate::config::{Http2, UpstreamSettings};
use pingora_core::Result;
use pingora_core::connectors::ConnectorOptions;
use pingora_core::connectors::http::{Connector, v1};
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::upstreams::peer::HttpPeer;

/// Opens, keeps and reuses connections.
pub(crate) enum Connections {
    /// The upstream is only ever spoken to in HTTP/1.1.
    Http1(Box<v1::Connector>),
    /// ALPN or the settings decide.
    Negotiated(Box<Connector>),
}

impl Connections {
    pub(crate) fn new(settings: &UpstreamSettings, options: ConnectorOptions) -> Self {
        let tls = settings.url.as_ref().is_some_and(|url| url.tls);
        match settings.http2 {
            Http2::Never => Self::Http1(Box::new(v1::Connector::new(Some(options)))),
            Http2::Auto if !tls => Self::Http1(Box::new(v1::Connector::new(Some(options)))),
            Http2::Auto | Http2::Always => {
                Self::Negotiated(Box::new(Connector::new(Some(options))))
            }
        }
    }

    /// A connection to `peer`, and whether it was a kept one.
    pub(crate) async fn get(&self, peer: &HttpPeer) -> Result<(Box<HttpSession>, bool)> {
        let connector = match self {
            Self::Http1(connector) => connector,
            Self::Negotiated(connector) => {
                let (session, reused) = Box::pin(connector.get_http_session(peer)).await?;
                return Ok((Box::new(session), reused));
            }
        };
        if let Some(session) = connector.reused_http_session(peer).await {
            return Ok((Box::new(HttpSession::H1(session)), true));
        }
        let (session, reused) = Box::pin(connector.get_http_session(peer)).await?;
        Ok((Box::new(HttpSession::H1(session)), reused))
    }

    /// Keeps the connection where its state allows, closes it otherwise.
    pub(crate) async fn release(&self, session: HttpSession, peer: &HttpPeer) {
        let idle = peer.options.idle_timeout;
        match (self, session) {
            (Self::Http1(connector), HttpSession::H1(session)) => {
                connector.release_http_session(session, peer, idle).await;
            }
            (Self::Http1(_), mut other) => other.shutdown().await,
            (Self::Negotiated(connector), session) => {
                connector.release_http_session(session, peer, idle).await;
            }
        }
    }
}
