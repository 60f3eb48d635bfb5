//! Connections to a server that is called often, over HTTP/1.1, with the system's certificates or with
//! those that its settings name.

use super::BackendTls;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use std::sync::Arc;

/// A connector for one server.
///
/// # Errors
/// When the system's trusted certificates cannot be read, for https.
pub fn connector(tls: bool) -> std::io::Result<HttpsConnector<HttpConnector>> {
    let tcp = tcp();
    if tls {
        return Ok(HttpsConnectorBuilder::new()
            .with_native_roots()?
            .https_only()
            .enable_http1()
            .wrap_connector(tcp));
    }
    Ok(clear(tcp))
}

/// A connector with the files that the server's settings name.
///
/// # Errors
/// As [`connector`].
pub(super) fn connector_with(
    tls: bool,
    files: Option<&Arc<BackendTls>>,
) -> std::io::Result<HttpsConnector<HttpConnector>> {
    let Some(files) = files.filter(|_| tls) else {
        return connector(tls);
    };
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(files.config())
        .https_only()
        .enable_http1()
        .wrap_connector(tcp()))
}

fn clear(tcp: HttpConnector) -> HttpsConnector<HttpConnector> {
    // No certificate is ever asked for over http, so none are loaded.
    let config = rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp)
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    // A verdict is awaited: no byte of a request waits for an acknowledgement of another.
    tcp.set_nodelay(true);
    tcp
}
