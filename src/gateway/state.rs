//! The gateway's shared state: a snapshot that a reload replaces (a call keeps the one it began with,
//! CONTRACT 35), and what outlives reloads.

use super::accepted_keys::AcceptedKeys;
use super::inspector::Inspector;
use super::limits::{
    CallQuotas, ClientCounts, ClientHeads, MemoryBudget, MemoryFigures, SpillFolder,
};
use super::listen::client_places::ClientPlaces;
use super::listen::connection_limit::ConnectionLimit;
use super::upstream::{GroupsConfig, UpstreamGroups, UpstreamStatus, UpstreamTlsFiles};
use crate::backend::Analyzer;
use crate::config::{CallerRules, GatewaySettings, Limits};
use crate::fair_queue::{KnownHolders, TurnFigures, TurnLimits, Turns};
use crate::observe::Metrics;
use crate::observe::access::AccessLog;
use crate::observe::trace::Tracer;
use crate::policy::Policies;
use crate::spool::Spool;
use arc_swap::ArcSwap;
use pingora_core::connectors::ConnectorOptions;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Calls up to this cost, their body and one quantum, are short.
const LONGEST_SHORT: u64 = 256 * 1024;
/// A call that has waited this long for its turn goes on without one.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// What all calls share until the next reload.
pub struct Snapshot {
    pub(crate) settings: GatewaySettings,
    pub(crate) upstreams: UpstreamGroups,
    /// The spool that delivers records to the backend; None sends no telemetry (§1.9).
    pub(crate) spool: Option<Spool>,
    /// The turns of calls that need a processor: scanning, checking, recording.
    pub(crate) turns: Arc<Turns>,
    /// Access keys that the backend has accepted.
    pub(crate) accepted_keys: Arc<AcceptedKeys>,
    /// The same keys, and those whose records it has accepted: they have shares of their own.
    pub(crate) known_holders: Arc<KnownHolders>,
    /// Gives the verdicts that sync mode awaits; None where there is no backend.
    pub(crate) analyzer: Option<Arc<dyn Analyzer>>,
    /// None where no policy store is configured: every call is async.
    pub(crate) policies: Option<Policies>,
    /// The detectors of this process; None only where there are no policies to use them.
    pub(crate) inspector: Option<Arc<dyn Inspector>>,
    /// Bounds the bodies in memory (`limits.buffered_bytes`).
    pub(crate) memory: Arc<MemoryBudget>,
    /// Bounds the part of it that the request heads of one client take (`limits.client_bytes`), and what comes before.
    pub(crate) heads: Arc<ClientHeads>,
    /// Bounds the calls of each application.
    pub(crate) quotas: Arc<CallQuotas>,
    /// Files for large request bodies; None keeps them in memory.
    pub(crate) spill: Option<Arc<SpillFolder>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) access: Arc<AccessLog>,
    /// None where no call is traced.
    pub(crate) tracer: Option<Arc<Tracer>>,
}

/// The services that monitor calls. By default there are none: calls are forwarded and not registered.
#[derive(Clone, Default)]
pub struct Monitoring {
    /// Delivers records to the backend.
    pub spool: Option<Spool>,
    /// The backend, for verdicts.
    pub analyzer: Option<Arc<dyn Analyzer>>,
    /// The applications' policies.
    pub policies: Option<Policies>,
    /// The detectors of this process; required where there are policies.
    pub inspector: Option<Arc<dyn Inspector>>,
    /// The memory of calls that files share; None for one of its own.
    pub(crate) memory: Option<Arc<MemoryBudget>>,
    /// The folder for large request bodies; None keeps them in memory.
    pub spill_folder: Option<PathBuf>,
    /// The access log.
    pub access: Option<Arc<AccessLog>>,
    /// Traces calls; None traces none.
    pub tracer: Option<Arc<Tracer>>,
}

/// The gateway's settings and the certificate files they name.
pub struct GatewayConfig {
    /// The section `gateway`.
    pub settings: GatewaySettings,
    /// The certificate files of `upstream` and `upstreams`.
    pub upstream_tls: UpstreamTlsFiles,
}

impl GatewayConfig {
    fn groups<'a>(&'a self, options: &'a ConnectorOptions) -> GroupsConfig<'a> {
        GroupsConfig {
            settings: &self.settings,
            tls: &self.upstream_tls,
            options,
        }
    }
}

impl Snapshot {
    /// None when the settings name no upstream.
    pub fn new(
        config: GatewayConfig,
        options: &ConnectorOptions,
        monitoring: Monitoring,
        metrics: Arc<Metrics>,
    ) -> Option<Self> {
        let upstreams = UpstreamGroups::new(&config.groups(options), &metrics, None)?;
        let settings = config.settings;
        let turns = Turns::new(turn_limits(settings.limits.threads));
        let of_spool = monitoring.spool.as_ref().map(Spool::known_holders);
        let known_holders = of_spool.unwrap_or_default();
        let spill_limit = settings.limits.spilled();
        let spill = monitoring
            .spill_folder
            .map(|folder| Arc::new(SpillFolder::new(folder, spill_limit, metrics.clone())));
        let limit = settings.limits.buffered_bytes;
        let memory = monitoring.memory;
        let memory = memory.unwrap_or_else(|| MemoryBudget::new(limit, &metrics));
        memory.set_client_limit(client_limit(&settings, monitoring.analyzer.as_ref()));
        Some(Self {
            heads: ClientHeads::new(memory.clone(), settings.limits.client_bytes),
            memory,
            quotas: CallQuotas::new(metrics.clone()),
            spill,
            settings,
            upstreams,
            spool: monitoring.spool,
            turns,
            accepted_keys: Arc::default(),
            known_holders,
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

    /// Whether access keys and applications are in this process.
    pub(super) fn has_access_keys(&self) -> bool {
        let analyzer = self.analyzer.as_ref();
        analyzer.is_some_and(|analyzer| analyzer.has_access_keys())
    }

    /// The treatment of unknown callers.
    pub(super) fn caller_rules(&self) -> CallerRules {
        self.settings.monitor.callers(self.has_access_keys())
    }

    /// The same gateway with other settings. Connections to unchanged upstreams are kept. None when the
    /// settings name no upstream.
    fn reloaded(
        &self,
        config: GatewayConfig,
        options: &ConnectorOptions,
        tracer: Option<Arc<Tracer>>,
    ) -> Option<Self> {
        let previous = Some(&self.upstreams);
        let upstreams = UpstreamGroups::new(&config.groups(options), &self.metrics, previous)?;
        let settings = config.settings;
        self.memory.set_limit(settings.limits.buffered_bytes);
        let of_client = client_limit(&settings, self.analyzer.as_ref());
        self.memory.set_client_limit(of_client);
        self.heads.set_limit(settings.limits.client_bytes);
        if let Some(spill) = &self.spill {
            spill.set_limit(settings.limits.spilled());
        }
        Some(Self {
            memory: self.memory.clone(),
            heads: self.heads.clone(),
            quotas: self.quotas.clone(),
            spill: self.spill.clone(),
            settings,
            upstreams,
            spool: self.spool.clone(),
            turns: self.turns.clone(),
            accepted_keys: self.accepted_keys.clone(),
            known_holders: self.known_holders.clone(),
            analyzer: self.analyzer.clone(),
            policies: self.policies.clone(),
            inspector: self.inspector.clone(),
            metrics: self.metrics.clone(),
            access: self.access.clone(),
            tracer,
        })
    }
}

/// The state of a gateway from its start to its end.
pub struct GatewayState {
    snapshot: ArcSwap<Snapshot>,
    options: ConnectorOptions,
    metrics: Arc<Metrics>,
    draining: AtomicBool,
    /// Another process accepts connections now; those of this one may finish.
    handed_over: AtomicBool,
    connection_limit: Arc<ConnectionLimit>,
    /// Bounds the connections of one client (`limits.client_connections`).
    client_places: Arc<ClientPlaces>,
    /// Limits calls as well: an HTTP/2 connection carries many, and each needs a descriptor.
    call_limit: Arc<ConnectionLimit>,
    /// Bounds the calls over HTTP/2 of each client, whatever becomes of them.
    begun_calls: Arc<ClientCounts>,
    /// Bounds those of them that are admitted.
    admitted_calls: Arc<ClientCounts>,
    /// Bounds the connections of HTTP/2 of each address.
    http2_connections: Arc<ClientCounts>,
    /// The number of connections that the process has descriptors for.
    max_connections: i64,
}

impl GatewayState {
    /// `options` apply to upstream connections. `max_connections` is the number of clients that the process
    /// has file descriptors for.
    pub fn new(snapshot: Snapshot, options: ConnectorOptions, max_connections: usize) -> Self {
        let max_connections = i64::try_from(max_connections).unwrap_or(i64::MAX);
        let limit = connection_limit(&snapshot.settings, max_connections);
        let metrics = snapshot.metrics.clone();
        Self {
            connection_limit: ConnectionLimit::for_clients(limit, metrics.clone()),
            client_places: ClientPlaces::new(snapshot.settings.limits.client_connections),
            call_limit: ConnectionLimit::new(max_connections, "descriptors", metrics.clone()),
            begun_calls: Arc::default(),
            admitted_calls: Arc::default(),
            http2_connections: Arc::default(),
            max_connections,
            metrics,
            snapshot: ArcSwap::from_pointee(snapshot),
            options,
            draining: AtomicBool::new(false),
            handed_over: AtomicBool::new(false),
        }
    }

    /// The gateway as a call that begins now sees it until its end.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Tells the analyzer, if there is one, whether to hold new applications back, as an upgrade does.
    pub(crate) fn hold_new_applications(&self, holds: bool) {
        if let Some(analyzer) = &self.snapshot.load().analyzer {
            analyzer.hold_new_applications(holds);
        }
    }

    /// The metrics, which no reload replaces.
    pub(super) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Puts other settings and another tracer in force for new calls. Settings that name no upstream are not
    /// put in force.
    pub fn reload(&self, config: GatewayConfig, tracer: Option<Arc<Tracer>>) {
        if let Some(next) = self.snapshot().reloaded(config, &self.options, tracer) {
            let limit = connection_limit(&next.settings, self.max_connections);
            self.connection_limit.set_limit(limit);
            let of_client = next.settings.limits.client_connections;
            self.client_places.set_limit(of_client);
            self.snapshot.store(Arc::new(next));
        }
    }

    /// Closes each connection after its current request.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.metrics.draining.set(1);
    }

    /// Drains while another process accepts connections in this one's place: an open connection may still
    /// bring one request.
    pub fn hand_over(&self) {
        self.handed_over.store(true, Ordering::Relaxed);
        self.drain();
    }

    /// The state of each model server; empty where there is only one.
    pub fn upstream_status(&self) -> Vec<UpstreamStatus> {
        self.snapshot().upstreams.status()
    }

    /// The calls that need a processor, and those that wait for their turn.
    pub(crate) fn turn_figures(&self) -> TurnFigures {
        self.snapshot().turns.figures()
    }

    /// What the memory of calls is used for.
    pub(crate) fn memory_figures(&self) -> MemoryFigures {
        self.snapshot().memory.figures()
    }

    /// The number of open client connections.
    pub(super) fn connections(&self) -> i64 {
        self.connection_limit.in_use()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(super) fn is_handed_over(&self) -> bool {
        self.handed_over.load(Ordering::Relaxed)
    }

    /// Limits concurrent calls.
    pub(super) fn call_limit(&self) -> &Arc<ConnectionLimit> {
        &self.call_limit
    }

    /// Bounds the calls over HTTP/2 of each client, whatever becomes of them.
    pub(super) fn begun_calls(&self) -> &Arc<ClientCounts> {
        &self.begun_calls
    }

    /// Bounds the connections of HTTP/2 of each address.
    pub(super) fn http2_connections(&self) -> &Arc<ClientCounts> {
        &self.http2_connections
    }

    /// Bounds the calls over HTTP/2 of each client that are admitted.
    pub(super) fn admitted_calls(&self) -> &Arc<ClientCounts> {
        &self.admitted_calls
    }

    /// Bounds the connections of each client.
    pub(super) fn client_places(&self) -> &Arc<ClientPlaces> {
        &self.client_places
    }

    /// Limits client connections.
    pub fn connection_limit(&self) -> &Arc<ConnectionLimit> {
        &self.connection_limit
    }
}

/// As many calls as threads that serve them, and one more of the short ones. The bodies that wait have their
/// bound in `limits.buffered_bytes`.
fn turn_limits(threads: Option<usize>) -> TurnLimits {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    TurnLimits {
        places: threads.unwrap_or_else(cores) + 1,
        reserved: 1,
        short: LONGEST_SHORT,
        waiting_cost: u64::MAX,
        parts: 1,
        longest_wait: LONGEST_WAIT,
    }
}

/// The memory of one client address without an accepted access key. Without a backend no key is ever accepted, and all
/// addresses share the memory equally.
fn client_limit(settings: &GatewaySettings, analyzer: Option<&Arc<dyn Analyzer>>) -> Option<u64> {
    analyzer.map(|_| settings.limits.client_bytes)
}

fn connection_limit(settings: &GatewaySettings, max_connections: i64) -> i64 {
    let limit = settings.limits.connections.unwrap_or(Limits::CONNECTIONS);
    i64::try_from(limit)
        .unwrap_or(i64::MAX)
        .min(max_connections)
}
