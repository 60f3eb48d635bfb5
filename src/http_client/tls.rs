//! The authorities that check a server's certificate, and the client certificate for it, from files that a
//! reload reads again. Open connections stay.

use crate::config::{ClientIdentity, pem};
use arc_swap::ArcSwap;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

/// The material in force.
#[derive(Debug)]
pub struct ReloadableTls(ArcSwap<TlsMaterial>);

/// Authorities and a certificate, read from their files.
#[derive(Debug)]
pub struct TlsMaterial {
    verifier: Arc<WebPkiServerVerifier>,
    client: Option<Arc<CertifiedKey>>,
}

impl ReloadableTls {
    /// None if no file is named: the system's authorities check the server then.
    ///
    /// # Errors
    /// When a file cannot be used; the text names it.
    pub fn new(
        ca: Option<&Path>,
        client: Option<&ClientIdentity>,
    ) -> Result<Option<Arc<Self>>, String> {
        if ca.is_none() && client.is_none() {
            return Ok(None);
        }
        let files = TlsMaterial::read(ca, client)?;
        Ok(Some(Arc::new(Self(ArcSwap::from_pointee(files)))))
    }

    /// Puts other material in force.
    pub fn replace(&self, files: TlsMaterial) {
        self.0.store(Arc::new(files));
    }

    /// The client's side of connections made with these files.
    pub(crate) fn config(self: &Arc<Self>) -> ClientConfig {
        let mut config = ClientConfig::builder()
            .dangerous()
            .with_custom_certificate_verifier(self.clone())
            .with_client_cert_resolver(self.clone());
        // A resumed session would keep the material from before a reload.
        config.resumption = Resumption::disabled();
        config
    }
}

impl TlsMaterial {
    /// Reads the files; the system's authorities without `ca`.
    ///
    /// # Errors
    /// When a file cannot be used; the text names it.
    pub fn read(ca: Option<&Path>, client: Option<&ClientIdentity>) -> Result<Self, String> {
        let roots = match ca {
            Some(path) => pem::authorities(path)?,
            None => system()?,
        };
        let client = client.map(|files| pem::identity(&files.cert, &files.key));
        let verifier = WebPkiServerVerifier::builder(Arc::new(roots)).build();
        Ok(Self {
            verifier: verifier.map_err(|error| error.to_string())?,
            client: client.transpose()?.map(Arc::new),
        })
    }
}

fn system() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    match roots.is_empty() {
        true => Err("the system has no certificate authorities".to_owned()),
        false => Ok(roots),
    }
}

impl ResolvesClientCert for ReloadableTls {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.load().client.clone()
    }

    fn has_certs(&self) -> bool {
        self.0.load().client.is_some()
    }
}

impl ServerCertVerifier for ReloadableTls {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let files = self.0.load();
        let verifier = &files.verifier;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let files = self.0.load();
        files.verifier.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let files = self.0.load();
        files.verifier.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.load().verifier.supported_verify_schemes()
    }
}
