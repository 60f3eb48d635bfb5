//! Certificates made on the spot, and both ends of a TLS connection over blocking sockets.

use super::http::{Conn, connect};
use super::message::Stream;
use super::server::Wrap;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedKey, IsCa, Issuer, KeyPair,
    generate_simple_self_signed,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
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

impl Default for Identity {
    fn default() -> Self {
        Self::new()
    }
}

impl Identity {
    /// A key and its self-signed certificate for loopback.
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
        self.connect_over(connect(address), protocols)
    }

    /// The same behind these bytes in clear text, such as a header of the PROXY protocol.
    pub fn connect_behind(&self, bytes: &[u8], address: SocketAddr) -> Conn {
        let mut socket = connect(address);
        socket.write_all(bytes).unwrap();
        self.connect_over(socket, &[]).0
    }

    /// The same over a socket that is connected.
    pub fn connect_on(&self, socket: TcpStream) -> Conn {
        self.connect_over(socket, &[]).0
    }

    /// The same; what is sent first, and these raw bytes behind its record, leave in one write.
    pub fn connect_sending(
        &self,
        mut socket: TcpStream,
        protocols: &[&str],
        first: &[u8],
        raw: &[u8],
    ) -> TcpStream {
        let mut session = self.shake_hands(&mut socket, protocols);
        session.writer().write_all(first).unwrap();
        let mut bytes = Vec::new();
        while session.wants_write() {
            session.write_tls(&mut bytes).unwrap();
        }
        bytes.extend_from_slice(raw);
        socket.write_all(&bytes).unwrap();
        socket
    }

    fn connect_over(&self, mut socket: TcpStream, protocols: &[&str]) -> (Conn, Option<String>) {
        let session = self.shake_hands(&mut socket, protocols);
        let chosen = session
            .alpn_protocol()
            .map(|p| String::from_utf8_lossy(p).into_owned());
        let control = socket.try_clone().unwrap();
        (
            Conn::over(Box::new(StreamOwned::new(session, socket)), control),
            chosen,
        )
    }

    fn shake_hands(&self, socket: &mut TcpStream, protocols: &[&str]) -> ClientConnection {
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
        while session.is_handshaking() {
            session.complete_io(socket).expect("the handshake succeeds");
        }
        session
    }
}

/// A private authority.
pub struct Authority {
    /// PEM of its certificate.
    pub pem: String,
    cert: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// A private certificate authority with a new key.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let cert = params.self_signed(&key).unwrap();
        Self {
            pem: cert.pem(),
            cert: cert.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for loopback, for servers and for clients.
    pub fn identity(&self) -> Identity {
        self.identity_until(2100)
    }

    /// The same, good to the beginning of that year.
    pub fn identity_until(&self, year: i32) -> Identity {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            cert_pem: cert.pem(),
            key_pem: key.serialize_pem(),
            cert: cert.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()),
        }
    }

    /// The server's side of accepted sockets, for clients with a certificate of this authority only.
    pub fn wrap(&self, server: &Identity) -> Wrap {
        let roots = Arc::new(self.roots());
        let clients = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients.unwrap())
            .with_single_cert(vec![server.cert.clone()], server.private())
            .unwrap();
        let config = Arc::new(config);
        Box::new(move |socket| {
            let session = ServerConnection::new(config.clone()).ok()?;
            Some(Box::new(StreamOwned::new(session, socket)) as Box<dyn Stream>)
        })
    }

    /// A client's connection that trusts this authority and shows a certificate where it has one; it may
    /// still be refused when it is used.
    pub fn connect(&self, address: SocketAddr, client: Option<&Identity>) -> Option<Conn> {
        self.client(client).connect(address)
    }

    /// Such a client that comes back with the sessions it was given.
    pub fn client(&self, client: Option<&Identity>) -> Client {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots());
        let config = match client {
            None => builder.with_no_client_auth(),
            Some(client) => builder
                .with_client_auth_cert(vec![client.cert.clone()], client.private())
                .unwrap(),
        };
        Client(Arc::new(config))
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.cert.clone()).unwrap();
        roots
    }
}

/// A client with a memory.
pub struct Client(Arc<ClientConfig>);

impl Client {
    /// As [`Authority::connect`].
    pub fn connect(&self, address: SocketAddr) -> Option<Conn> {
        let name = ServerName::try_from("localhost").unwrap();
        let mut session = ClientConnection::new(self.0.clone(), name).unwrap();
        let mut socket = connect(address);
        while session.is_handshaking() {
            session.complete_io(&mut socket).ok()?;
        }
        let control = socket.try_clone().unwrap();
        Some(Conn::over(
            Box::new(StreamOwned::new(session, socket)),
            control,
        ))
    }
}

impl Identity {
    fn private(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone_key())
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
