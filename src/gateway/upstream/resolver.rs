//! Resolves a model server's name, off the request path where possible, into one pingora peer for each
//! address. Transparent routes and the exchange share the peers.

use super::tls::UpstreamTls;
use crate::config::{BaseUrl, Http2, UpstreamSettings};
use crate::gateway::error::CallError;
use crate::gateway::headers::UpstreamTarget;
use arc_swap::ArcSwapOption;
use pingora_core::protocols::ALPN;
use pingora_core::upstreams::peer::{HttpPeer, PeerOptions};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::lookup_host;
use tokio::sync::Mutex;

/// How long a DNS answer is used.
const RESOLVED_FOR: Duration = Duration::from_secs(30);
/// Idle upstream connections are closed before a server with the usual 60 s keep-alive closes them.
pub(super) const POOL_IDLE: Duration = Duration::from_secs(55);

/// The URL of a model server and its addresses.
pub(crate) struct Resolver {
    url: BaseUrl,
    target: UpstreamTarget,
    settings: UpstreamSettings,
    tls: UpstreamTls,
    resolved: ArcSwapOption<Resolved>,
    resolving: Mutex<()>,
}

struct Resolved {
    peers: Vec<Arc<HttpPeer>>,
    at: Instant,
}

impl Resolver {
    /// None when the settings name no URL.
    pub(crate) fn new(settings: UpstreamSettings, tls: UpstreamTls) -> Option<Self> {
        let url = settings.url.clone()?;
        Some(Self {
            target: UpstreamTarget::new(&url)?,
            url,
            settings,
            tls,
            resolved: ArcSwapOption::empty(),
            resolving: Mutex::new(()),
        })
    }

    /// The configured URL.
    pub(crate) fn base(&self) -> &BaseUrl {
        &self.url
    }

    /// What the heads of requests have of the URL.
    pub(crate) fn target(&self) -> &UpstreamTarget {
        &self.target
    }

    /// The longest wait for a response head, or between two parts of a body.
    pub(super) fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    /// Whether it was created with the same settings and TLS files.
    pub(super) fn has_config(&self, settings: &UpstreamSettings, tls: &UpstreamTls) -> bool {
        self.settings == *settings && self.tls.is_same(tls)
    }

    /// The peer for attempt number `attempt`, which cycles through the addresses.
    pub(crate) async fn peer(&self, attempt: usize) -> Result<Arc<HttpPeer>, CallError> {
        let resolved = self.resolved().await?;
        Ok(resolved.peers[attempt % resolved.peers.len()].clone())
    }

    /// The number of addresses that the name resolved to.
    pub(crate) fn address_count(&self) -> usize {
        self.resolved
            .load()
            .as_ref()
            .map_or(1, |resolved| resolved.peers.len())
    }

    async fn resolved(&self) -> Result<Arc<Resolved>, CallError> {
        let fresh = |known: &Arc<Resolved>| known.at.elapsed() < RESOLVED_FOR;
        if let Some(known) = self.resolved.load_full().filter(fresh) {
            return Ok(known);
        }
        let _one_at_a_time = self.resolving.lock().await;
        if let Some(known) = self.resolved.load_full().filter(fresh) {
            return Ok(known);
        }
        match self.resolve().await {
            Ok(resolved) => {
                self.resolved.store(Some(resolved.clone()));
                Ok(resolved)
            }
            // While DNS fails, the last addresses stay in use.
            Err(error) => self.resolved.load_full().ok_or(error),
        }
    }

    async fn resolve(&self) -> Result<Arc<Resolved>, CallError> {
        let url = &self.url;
        let look_up = lookup_host((url.host.as_str(), url.port));
        let limit = self.settings.connect_timeout;
        let limit = limit.unwrap_or(self.settings.timeout);
        let addresses = tokio::time::timeout(limit, look_up)
            .await
            .map_err(|_| CallError::Connect("its name was not resolved in time"))?
            .map_err(|_| CallError::Connect("its name does not resolve"))?;
        let peers: Vec<_> = addresses
            .map(|address| Arc::new(self.peer_at(address)))
            .collect();
        if peers.is_empty() {
            return Err(CallError::Connect("its name has no address"));
        }
        Ok(Arc::new(Resolved {
            peers,
            at: Instant::now(),
        }))
    }

    fn peer_at(&self, address: SocketAddr) -> HttpPeer {
        let url = &self.url;
        let mut peer = HttpPeer::new(address, url.tls, url.host.clone());
        let timeout = Some(self.settings.timeout);
        let connecting = self.settings.connect_timeout.or(timeout);
        let options: &mut PeerOptions = &mut peer.options;
        options.connection_timeout = connecting;
        options.total_connection_timeout = connecting;
        options.read_timeout = timeout;
        options.write_timeout = timeout;
        options.idle_timeout = Some(POOL_IDLE);
        options.alpn = match (self.settings.http2, url.tls) {
            (Http2::Always, _) => ALPN::H2,
            (Http2::Auto, true) => ALPN::H2H1,
            (Http2::Auto, false) | (Http2::Never, _) => ALPN::H1,
        };
        if url.tls {
            self.tls.apply_to(&mut peer);
        }
        peer
    }
}
