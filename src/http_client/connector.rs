//! How connections are opened: which addresses a name has, and whom to trust.

use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use tower_service::Service;

pub(super) fn connector(
    tls: bool,
    config: ClientConfig,
    resolver: Resolver,
) -> HttpsConnector<HttpConnector<Resolver>> {
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    // A client waits for the verdict: no byte of a request may wait for the acknowledgement of another.
    tcp.set_nodelay(true);
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    let builder = match tls {
        true => builder.https_only(),
        false => builder.https_or_http(),
    };
    builder.enable_http1().wrap_connector(tcp)
}

/// The system's authorities, read once, before the first call over TLS.
pub(super) fn system_certificates() -> io::Result<ClientConfig> {
    static READ: OnceLock<ClientConfig> = OnceLock::new();
    if let Some(config) = READ.get() {
        return Ok(config.clone());
    }
    let config = ClientConfig::builder().with_native_roots()?;
    Ok(READ.get_or_init(|| config.with_no_client_auth()).clone())
}

/// The configuration for http, which checks no certificate.
pub(super) fn no_certificates() -> ClientConfig {
    ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

/// Resolves the names of servers.
#[derive(Clone)]
pub(super) enum Resolver {
    System(GaiResolver),
    /// Every name resolves to these addresses, which were checked before.
    Pinned(Vec<SocketAddr>),
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::System(resolver) => resolver.poll_ready(context),
            Self::Pinned(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, name: Name) -> Self::Future {
        match self {
            Self::System(resolver) => {
                let found = resolver.call(name);
                Box::pin(async { Ok(found.await?.collect::<Vec<_>>().into_iter()) })
            }
            Self::Pinned(addresses) => {
                let addresses = addresses.clone().into_iter();
                Box::pin(async { Ok(addresses) })
            }
        }
    }
}
