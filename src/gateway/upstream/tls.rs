//! The TLS files of upstream connections: a private authority's certificates and the gateway's own client
//! certificate. Read at the start and at each reload; one unusable file rejects all.

use crate::config::{GatewaySettings, UpstreamSettings, pem};
use pingora_core::protocols::tls::CaType;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_core::utils::tls::{CertKey, WrappedX509, parse_x509};
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The files of one group, read.
#[derive(Clone, Default)]
pub(crate) struct UpstreamTls {
    authorities: Option<Arc<CaType>>,
    client: Option<Arc<CertKey>>,
    /// A digest of the files: connections made with other files are not reused.
    generation: u64,
}

/// The files of all groups.
#[derive(Clone, Default)]
pub struct UpstreamTlsFiles {
    /// Those of `upstream`.
    pub(super) default: UpstreamTls,
    /// Those of the entries of `upstreams`, in their order.
    pub(super) named: Vec<UpstreamTls>,
}

impl UpstreamTlsFiles {
    /// Reads the files that the settings of all groups name, if any.
    ///
    /// # Errors
    /// When a file cannot be used; the text names it.
    pub fn read(settings: &GatewaySettings) -> Result<Self, String> {
        let entries = settings.upstreams.iter();
        let named = entries.map(|entry| UpstreamTls::read(&entry.servers));
        Ok(Self {
            default: UpstreamTls::read(&settings.upstream)?,
            named: named.collect::<Result<_, _>>()?,
        })
    }
}

impl UpstreamTls {
    /// Reads the files that the settings name, if any.
    ///
    /// # Errors
    /// When a file cannot be used; the text names it.
    fn read(settings: &UpstreamSettings) -> Result<Self, String> {
        let mut digest = Sha256::new();
        let mut all = |path| -> Result<Vec<CertificateDer<'static>>, String> {
            let read = pem::certificates(path)?;
            read.iter().for_each(|one| digest.update(one));
            Ok(read)
        };
        let authorities = match &settings.ca {
            None => None,
            Some(path) => {
                pem::authorities(path)?;
                let read = all(path)?.into_iter();
                let wrapped = read.map(|one| WrappedX509::new(one.to_vec(), parse_x509));
                Some(Arc::from(wrapped.collect::<Vec<_>>()))
            }
        };
        let client = match &settings.client {
            None => None,
            Some(files) => {
                pem::identity(&files.cert, &files.key)?;
                let chain = all(&files.cert)?.into_iter().map(|one| one.to_vec());
                let key = pem::key(&files.key)?.secret_der().to_vec();
                Some(Arc::new(CertKey::new(chain.collect(), key)))
            }
        };
        let mut generation = [0; 8];
        generation.copy_from_slice(&digest.finalize()[..8]);
        Ok(Self {
            authorities,
            client,
            generation: u64::from_le_bytes(generation),
        })
    }

    /// Whether the other's files are the same, so that its connections can be reused.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.generation == other.generation
    }

    /// Makes the peer's connections use these files.
    pub(super) fn apply_to(&self, peer: &mut HttpPeer) {
        peer.options.ca.clone_from(&self.authorities);
        peer.client_cert_key.clone_from(&self.client);
        peer.group_key = self.generation;
    }
}
