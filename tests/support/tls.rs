//! Certificates made on the spot, and both ends of a TLS connection over blocking sockets.

use super::http::{Conn, Stream, connect};
use super::server::Wrap;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};
use std::net::SocketAddr;
use std::sync::Arc;

/// A certificate for loopback that is its own authority.
pub struct Identity {
    /// PEM of the certificate.
    pub cert_pem: String,
    /// PEM of the key.
    pub key_pem: String,
    cert: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Identity {
    /// A new one.
    pub fn new() -> Self {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        Self {
            cert_pem: cert.pem(),
            key_pem: signing_key.serialize_pem(),
            cert: cert.der().clone(),
            key: PrivatePkcs8KeyDer::from(signing_key.serialize_der()),
        }
    }

    /// The server's side of accepted sockets.
    pub fn wrap(&self) -> Wrap {
        let key = PrivateKeyDer::Pkcs8(self.key.clone_key());
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.cert.clone()], key)
            .unwrap();
        let config = Arc::new(config);
        Box::new(move |socket| {
            let session = ServerConnection::new(config.clone()).ok()?;
            Some(Box::new(StreamOwned::new(session, socket)) as Box<dyn Stream>)
        })
    }

    /// A client's connection that trusts this identity and offers `protocols`; with it, what the
    /// server chose of them.
    pub fn connect(&self, address: SocketAddr, protocols: &[&str]) -> (Conn, Option<String>) {
        let mut roots = RootCertStore::empty();
        roots.add(self.cert.clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
        let name = ServerName::try_from("localhost").unwrap();
        let mut session = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut socket = connect(address);
        while session.is_handshaking() {
            session
                .complete_io(&mut socket)
                .expect("the handshake succeeds");
        }
        let chosen = session
            .alpn_protocol()
            .map(|p| String::from_utf8_lossy(p).into_owned());
        let control = socket.try_clone().unwrap();
        (
            Conn::over(Box::new(StreamOwned::new(session, socket)), control),
            chosen,
        )
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
