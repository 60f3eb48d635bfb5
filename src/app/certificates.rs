//! The certificates of the TLS listeners, read from their files at the start and at each reload; a
//! handshake under way keeps the one it began with.

use crate::config::{Listener, TlsFiles};
use anyhow::{Context, Result};
use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::sync::Arc;

/// One listener's certificate.
#[derive(Debug)]
pub(super) struct Certificate {
    files: TlsFiles,
    key: ArcSwap<CertifiedKey>,
}

/// Those of all listeners of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Certificates(Vec<Arc<Certificate>>);

impl Certificates {
    /// Reads the files of a listener, and keeps them for reloads; None for clear text.
    ///
    /// # Errors
    /// When a file cannot be read, or certificate and key do not belong together.
    pub(super) fn of(&mut self, listener: &Listener) -> Result<Option<Arc<Certificate>>> {
        let Some(files) = &listener.tls else {
            return Ok(None);
        };
        let certificate = Arc::new(Certificate {
            key: ArcSwap::from_pointee(read(files)?),
            files: files.clone(),
        });
        self.0.push(certificate.clone());
        Ok(Some(certificate))
    }

    /// Everything with which a process has been started, once more.
    ///
    /// # Errors
    /// As [`Certificates::of`].
    pub(super) fn read(&self) -> Result<Vec<CertifiedKey>> {
        self.0.iter().map(|held| read(&held.files)).collect()
    }

    /// Puts what [`Certificates::read`] gave in force.
    pub(super) fn replace(&self, keys: Vec<CertifiedKey>) {
        for (held, key) in self.0.iter().zip(keys) {
            held.key.store(Arc::new(key));
        }
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.key.load_full())
    }
}

fn read(files: &TlsFiles) -> Result<CertifiedKey> {
    let unusable = || {
        format!(
            "certificate or key is not usable: {}, {}",
            files.cert.display(),
            files.key.display()
        )
    };
    let chain = CertificateDer::pem_file_iter(&files.cert).and_then(Iterator::collect);
    let chain: Vec<CertificateDer<'static>> = chain.with_context(unusable)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).with_context(unusable)?;
    let key = rustls::crypto::ring::sign::any_supported_type(&key).with_context(unusable)?;
    let key = CertifiedKey::new(chain, key);
    // Some kinds of key cannot tell; a wrong pair of those shows in the first handshake.
    match key.keys_match() {
        Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) | Ok(()) => Ok(key),
        Err(error) => Err(error).with_context(unusable),
    }
}
