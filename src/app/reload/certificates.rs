//! The certificates of the TLS listeners and the authorities of their clients, read from their files at
//! the start and at each reload; a handshake under way keeps those it began with.

use crate::config::{ClientAuth, ClientCheck, Listener, TlsFiles, pem};
use anyhow::{Result, anyhow};
use arc_swap::ArcSwap;
use pingora_core::listeners::tls::Acceptor;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, WebPkiClientVerifier,
};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme};
use std::sync::Arc;

/// Protocols that a listener offers (ALPN).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Alpn {
    /// HTTP/2, then HTTP/1.1.
    Http2,
    /// HTTP/1.1 only, for a router that speaks nothing newer.
    Http1,
}

impl Alpn {
    fn names(self) -> Vec<Vec<u8>> {
        let names: &[&[u8]] = match self {
            Self::Http2 => &[b"h2", b"http/1.1"],
            Self::Http1 => &[b"http/1.1"],
        };
        names.iter().map(|name| name.to_vec()).collect()
    }
}

/// The certificate of one listener, with its files.
#[derive(Debug)]
pub(crate) struct Certificate {
    files: TlsFiles,
    held: ArcSwap<LoadedCertificate>,
}

/// What was read from the files.
#[derive(Debug)]
pub(crate) struct LoadedCertificate {
    key: Arc<CertifiedKey>,
    clients: Option<Arc<dyn ClientCertVerifier>>,
}

/// The certificates of all listeners of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Certificates(Vec<Arc<Certificate>>);

impl Certificates {
    /// Reads the files of a listener, and keeps them for reloads; None for clear text.
    ///
    /// # Errors
    /// When a file cannot be read or used.
    pub(crate) fn of(&mut self, listener: &Listener) -> Result<Option<Arc<Certificate>>> {
        let Some(files) = &listener.tls else {
            return Ok(None);
        };
        let certificate = Arc::new(Certificate {
            held: ArcSwap::from_pointee(read(files)?),
            files: files.clone(),
        });
        self.0.push(certificate.clone());
        Ok(Some(certificate))
    }

    /// Reads the files of all listeners again.
    ///
    /// # Errors
    /// When a file cannot be read or used.
    pub(crate) fn read(&self) -> Result<Vec<LoadedCertificate>> {
        self.0.iter().map(|held| read(&held.files)).collect()
    }

    /// Puts what [`Certificates::read`] gave in force.
    pub(crate) fn replace(&self, read: Vec<LoadedCertificate>) {
        for (held, read) in self.0.iter().zip(read) {
            held.held.store(Arc::new(read));
        }
    }
}

impl Certificate {
    /// The acceptor of the listener's TLS handshakes.
    ///
    /// # Errors
    /// When TLS cannot be set up at all.
    pub(crate) fn acceptor(self: Arc<Self>, offered: Alpn) -> Result<Acceptor> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions()?;
        let checks_clients = self.files.clients.is_some();
        let builder = match checks_clients {
            true => builder.with_client_cert_verifier(self.clone()),
            false => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(self);
        config.alpn_protocols = offered.names();
        if checks_clients {
            // A session that is resumed asks no verifier, and so would outlive the authority that vouched
            // for its client.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Acceptor::from_server_config(Arc::new(config)))
    }
}

fn read(files: &TlsFiles) -> Result<LoadedCertificate> {
    let key = pem::identity(&files.cert, &files.key).map_err(|wrong| anyhow!("tls: {wrong}"))?;
    let clients = files.clients.as_ref().map(clients).transpose()?;
    let key = Arc::new(key);
    Ok(LoadedCertificate { key, clients })
}

fn clients(check: &ClientCheck) -> Result<Arc<dyn ClientCertVerifier>> {
    let roots = pem::authorities(&check.ca).map_err(|wrong| anyhow!("tls.client_ca: {wrong}"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = match check.auth {
        ClientAuth::Required => builder,
        ClientAuth::Optional => builder.allow_unauthenticated(),
    };
    Ok(builder.build()?)
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.held.load().key.clone())
    }
}

impl Certificate {
    fn clients(&self) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        let clients = self.held.load().clients.clone();
        clients.ok_or_else(|| Error::General("no client is to be checked".to_owned()))
    }
}

/// Asked only on listeners whose files name authorities of clients.
impl ClientCertVerifier for Certificate {
    fn client_auth_mandatory(&self) -> bool {
        let clients = self.files.clients.as_ref();
        clients.is_some_and(|clients| clients.auth == ClientAuth::Required)
    }

    /// None: a reload may bring others, and clients have one certificate mostly.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.clients()?
            .verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        self.clients()?
            .verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        self.clients()?
            .verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let clients = self.clients();
        clients.map_or_else(|_| Vec::new(), |clients| clients.supported_verify_schemes())
    }
}
