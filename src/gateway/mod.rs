//! The gateway (§4.1): one pingora `ProxyHttp` with two kinds of route. `proxy.rs` holds its phases,
//! `exchange/` the monitored call.

mod accept;
pub mod attachments;
mod auth;
mod chunks;
mod connect;
mod context;
pub mod docs;
mod early;
mod error;
mod exchange;
mod frames;
mod headers;
mod peer;
mod prefixed;
mod proxy;
mod respond;
mod route;
mod watch;

pub use accept::Front;
pub use proxy::Gateway;

use crate::config::GatewaySettings;
use crate::observe::Metrics;
use crate::policy::Policies;
use crate::telemetry::{Analyzer, Inspector, Spool};
use connect::Connections;
use peer::Upstream;
use pingora_core::connectors::ConnectorOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What all calls of one gateway share.
pub struct Shared {
    pub(crate) settings: GatewaySettings,
    pub(crate) upstream: Upstream,
    pub(crate) connections: Connections,
    /// The way to the backend; None sends no telemetry (§1.9).
    pub(crate) telemetry: Option<Spool>,
    /// Who gives the verdict that sync mode awaits; as `telemetry`.
    pub(crate) analyzer: Option<Arc<dyn Analyzer>>,
    /// None where no store is configured: every call is async.
    pub(crate) policies: Option<Policies>,
    /// What the gateway judges by itself; None only where there are no policies to ask for it.
    pub(crate) inspector: Option<Arc<dyn Inspector>>,
    pub(crate) metrics: Arc<Metrics>,
    draining: AtomicBool,
}

/// What a gateway is told by others. Empty, it forwards and registers nothing.
#[derive(Clone, Default)]
pub struct Monitoring {
    /// The way to the backend for what is not awaited.
    pub spool: Option<Spool>,
    /// The backend itself.
    pub analyzer: Option<Arc<dyn Analyzer>>,
    /// The applications' policies.
    pub policies: Option<Policies>,
    /// The pure detectors of this process; needed where there are policies.
    pub inspector: Option<Arc<dyn Inspector>>,
}

impl Shared {
    /// None when the settings name no upstream.
    pub fn new(
        settings: GatewaySettings,
        options: ConnectorOptions,
        monitoring: Monitoring,
        metrics: Arc<Metrics>,
    ) -> Option<Self> {
        let connections = Connections::new(&settings.upstream, options);
        let upstream = Upstream::new(settings.upstream.clone())?;
        Some(Self {
            settings,
            upstream,
            connections,
            telemetry: monitoring.spool,
            analyzer: monitoring.analyzer,
            policies: monitoring.policies,
            inspector: monitoring.inspector,
            metrics,
            draining: AtomicBool::new(false),
        })
    }

    /// From now on no connection is kept for another request.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.metrics.draining.set(1);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
