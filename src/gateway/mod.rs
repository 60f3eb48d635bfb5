//! The gateway (§4.1): one pingora `ProxyHttp` with two kinds of route. `proxy.rs` holds its phases,
//! `exchange/` the monitored call.

mod accept;
pub mod attachments;
mod auth;
mod chunks;
mod connect;
mod context;
pub mod docs;
mod doors;
mod early;
mod error;
mod exchange;
mod frames;
mod headers;
mod health;
mod live;
mod memory;
mod pace;
mod peer;
mod prefixed;
mod proxy;
mod pulse;
mod quota;
mod respond;
mod room;
mod route;
mod socket;
mod spill;
mod told;
mod transparent;
mod upstream_tls;
mod upstreams;
mod watch;

pub use accept::Front;
pub use doors::{Door, Doors, Reception};
pub use live::Live;
pub use proxy::Gateway;
pub use pulse::Pulse;
pub use room::Room;
pub use upstream_tls::UpstreamTls;
pub use upstreams::UpstreamStatus;

use crate::backend::{Analyzer, Inspector};
use crate::config::GatewaySettings;
use crate::observe::Metrics;
use crate::observe::access::AccessLog;
use crate::observe::trace::Tracer;
use crate::policy::Policies;
use crate::spool::Spool;
use memory::Memory;
use pingora_core::connectors::ConnectorOptions;
use quota::Quotas;
use spill::Spills;
use std::path::PathBuf;
use std::sync::Arc;
use upstreams::Upstreams;

/// What all calls of one gateway share, for as long as its settings do not change.
pub struct Shared {
    pub(crate) settings: GatewaySettings,
    pub(crate) upstream: Upstreams,
    /// The way to the backend; None sends no telemetry (§1.9).
    pub(crate) telemetry: Option<Spool>,
    /// Who gives the verdict that sync mode awaits; as `telemetry`.
    pub(crate) analyzer: Option<Arc<dyn Analyzer>>,
    /// None where no store is configured: every call is async.
    pub(crate) policies: Option<Policies>,
    /// What the gateway judges by itself; None only where there are no policies to ask for it.
    pub(crate) inspector: Option<Arc<dyn Inspector>>,
    /// `limits.buffered_bytes`.
    pub(crate) memory: Arc<Memory>,
    /// How many calls applications have had.
    pub(crate) quotas: Arc<Quotas>,
    /// None keeps large request bodies in memory.
    pub(crate) spills: Option<Arc<Spills>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) access: Arc<AccessLog>,
    /// None where no call is traced.
    pub(crate) tracer: Option<Arc<Tracer>>,
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
    /// Where large request bodies wait until they are whole; none: in memory.
    pub spill_folder: Option<PathBuf>,
    /// Where calls are told of, besides metrics.
    pub access: Option<Arc<AccessLog>>,
    /// Which calls are traced; None: none.
    pub tracer: Option<Arc<Tracer>>,
}

impl Shared {
    /// None when the settings name no upstream.
    pub fn new(
        (settings, tls): (GatewaySettings, UpstreamTls),
        options: ConnectorOptions,
        monitoring: Monitoring,
        metrics: Arc<Metrics>,
    ) -> Option<Self> {
        let upstream = Upstreams::new((&settings.upstream, &tls), &options, &metrics, None)?;
        let spills = monitoring.spill_folder;
        let spilled = settings.limits.spilled();
        let spills = spills.map(|folder| Arc::new(Spills::new(folder, spilled, metrics.clone())));
        Some(Self {
            memory: Memory::new(settings.limits.buffered_bytes, metrics.clone()),
            quotas: Quotas::new(metrics.clone()),
            spills,
            settings,
            upstream,
            telemetry: monitoring.spool,
            analyzer: monitoring.analyzer,
            policies: monitoring.policies,
            inspector: monitoring.inspector,
            access: monitoring
                .access
                .unwrap_or_else(|| Arc::new(AccessLog::new(metrics.clone()))),
            tracer: monitoring.tracer,
            metrics,
        })
    }

    /// The same with other settings; connections to the same upstream are kept. None when the settings
    /// name no upstream.
    fn with(
        &self,
        (settings, tls): (GatewaySettings, UpstreamTls),
        tracer: Option<Arc<Tracer>>,
        options: &ConnectorOptions,
    ) -> Option<Self> {
        let before = Some(&self.upstream);
        let wanted = (&settings.upstream, &tls);
        let upstream = Upstreams::new(wanted, options, &self.metrics, before)?;
        self.memory.set_limit(settings.limits.buffered_bytes);
        if let Some(spills) = &self.spills {
            spills.set_limit(settings.limits.spilled());
        }
        Some(Self {
            memory: self.memory.clone(),
            quotas: self.quotas.clone(),
            spills: self.spills.clone(),
            settings,
            upstream,
            telemetry: self.telemetry.clone(),
            analyzer: self.analyzer.clone(),
            policies: self.policies.clone(),
            inspector: self.inspector.clone(),
            metrics: self.metrics.clone(),
            access: self.access.clone(),
            tracer,
        })
    }
}
