//! Plain connections, over TCP or TLS, for what is no HTTP.

use super::client::ClientError;
use super::connector::{Resolver, connector, no_certificates, system_certificates};
use super::tls::ReloadableTls;
use crate::config::BaseUrl;
use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tower_service::Service;

/// An open connection.
pub type ByteStream = TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>;

/// Connects to one server.
pub struct StreamClient {
    connector: HttpsConnector<HttpConnector<Resolver>>,
    uri: Uri,
}

impl StreamClient {
    /// A client for the server of `url`: over TLS with the authorities of `material`, or with the system's
    /// if there is none.
    ///
    /// # Errors
    /// When the system's trusted certificates cannot be read, or the address is not a URI.
    pub fn new(url: &BaseUrl, material: Option<&Arc<ReloadableTls>>) -> io::Result<Self> {
        let config = match (url.tls, material) {
            (true, Some(material)) => material.config(),
            (true, None) => system_certificates()?,
            (false, _) => no_certificates(),
        };
        Ok(Self {
            connector: connector(url.tls, config, Resolver::System(GaiResolver::new())),
            uri: url.to_string().parse().map_err(io::Error::other)?,
        })
    }

    /// Opens a connection; the caller bounds the time.
    ///
    /// # Errors
    /// [`ClientError::Connect`], also if the server's certificate is not trusted.
    pub async fn connect(&self) -> Result<ByteStream, ClientError> {
        let mut connector = self.connector.clone();
        let ready = poll_fn(|context| Service::<Uri>::poll_ready(&mut connector, context)).await;
        ready.map_err(|_| ClientError::Connect)?;
        let stream = connector.call(self.uri.clone()).await;
        Ok(TokioIo::new(stream.map_err(|_| ClientError::Connect)?))
    }
}
