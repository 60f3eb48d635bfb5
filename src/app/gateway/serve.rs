//! Runs a gateway from its parts until its last call is answered and delivered: its spool, its logs and traces,
//! its listeners. The parts (backend, policies, an analysis in the same process) are chosen in `mod.rs`.

use crate::analysis::{LocalGateway, Services};
use crate::app::gateway::local_inspector::LocalInspector;
use crate::app::gateway::{policies, spool};
use crate::app::observability::Observability;
use crate::app::observability::operations::Operations;
use crate::app::observability::status::Overview;
use crate::app::process::context::ProcessContext;
use crate::app::process::lifecycle::Readiness;
use crate::app::process::listeners::addresses;
use crate::app::process::run::{Serving, run_server, server_conf};
use crate::app::process::web::ApiActivity;
use crate::app::process::{descriptors, listeners};
use crate::app::reload::certificates::{Alpn, Certificates};
use crate::app::reload::{Reloadable, Reloads};
use crate::backend::{Analyzer, HttpAnalyzer};
use crate::config::GatewaySettings;
use crate::config::{MonitorSettings, Settings};
use crate::gateway::attachments::SharedLimits;
use crate::gateway::{
    ClientConnections, GatewayConfig, GatewayState, ListenerService, MemoryBudget, Monitoring,
    Snapshot, UpstreamTlsFiles,
};
use crate::http_client::ReloadableTls;
use crate::judge::Remote;
use crate::observe::Metrics;
use crate::spool::Spool;
use anyhow::{Context, Result};
use pingora_core::connectors::ConnectorOptions;
use pingora_core::server::Server;
use pingora_core::server::configuration::ServerConf;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The parts of a gateway that it is started with.
pub(crate) struct GatewayParts {
    pub(crate) backend: Backend,
    pub(crate) policies: Option<policies::Opened>,
    pub(crate) text: String,
    pub(crate) context: ProcessContext,
    pub(crate) reloads: Arc<Reloads>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) certificates: Certificates,
    /// Listeners of other services that have to be open before the process is ready.
    pub(crate) extra: Vec<SocketAddr>,
    pub(crate) api_activity: ApiActivity,
    pub(crate) remote: Remote,
    /// The analysis backend in the same process.
    pub(crate) colocated: Option<Colocated>,
}

/// The analysis backend in the same process, which shows the state of its gateway.
pub(crate) struct Colocated {
    pub(crate) services: Arc<Services>,
    /// The demo model answers.
    pub(crate) demo: bool,
}

/// The analysis backend of a gateway; by default there is none.
#[derive(Default)]
pub(crate) struct Backend {
    pub(crate) analyzer: Option<Arc<dyn Analyzer>>,
    /// The TLS files of connections to it, if any are configured.
    pub(crate) tls: Option<Arc<ReloadableTls>>,
}

/// What has been started from the parts.
struct Started {
    spool: Option<spool::Running>,
    observability: Observability,
    gateway_state: Arc<GatewayState>,
    readiness: Arc<Readiness>,
}

impl Backend {
    /// The backend at MONITOR_URL, if it is set.
    pub(crate) fn over_http(
        monitor: &MonitorSettings,
        metrics: &Arc<Metrics>,
    ) -> Result<Option<Self>> {
        let Some(url) = &monitor.url else {
            return Ok(None);
        };
        let tls = ReloadableTls::new(monitor.ca.as_deref(), monitor.client.as_ref());
        let tls = tls.map_err(anyhow::Error::msg)?;
        let analyzer = HttpAnalyzer::new(url, monitor.timeout, tls.as_ref(), metrics)?;
        Ok(Some(Self {
            analyzer: Some(Arc::new(analyzer)),
            tls,
        }))
    }
}

/// Starts a gateway, and returns when its last call is answered and delivered. `add` adds the services that
/// run beside it.
///
/// # Errors
/// When a listener, the spool or the upstream's settings cannot be used.
pub(crate) fn serve_gateway(
    settings: &Settings,
    runtime: &Runtime,
    mut parts: GatewayParts,
    add: impl FnOnce(&mut Server),
) -> Result<()> {
    let gateway = &settings.gateway;
    let memory = MemoryBudget::new(gateway.limits.buffered_bytes, &parts.metrics);
    let spool = parts.start_spool(settings, runtime, &memory)?;
    let observability = Observability::start(settings, runtime, &parts.metrics)?;
    let handle = spool.as_ref().map(spool::Running::spool);
    parts.introduce(gateway, handle.clone());
    let conf = Arc::new(server_conf(settings));
    let monitoring = Monitoring {
        memory: Some(memory),
        ..parts.monitoring(settings, handle, &observability)
    };
    let gateway_state = parts.gateway_state(gateway, &conf, monitoring)?;
    let sockets = parts.context.sockets.clone();
    let certificates = &mut parts.certificates;
    let listening = listeners::open_all(&sockets, &gateway.listen, certificates, Alpn::Http2)?;
    let clients = ListenerService::new(
        "gateway",
        listening,
        ClientConnections::new(&conf, gateway_state.clone()),
    );
    let started = Started {
        spool,
        observability,
        gateway_state,
        readiness: Arc::default(),
    };
    let operations = Operations::new(gateway.operations, &parts.metrics);
    let overview = parts.overview(&started);
    let service = operations.service(&sockets, &gateway.limits, overview)?;
    let serving = parts.serving(operations, gateway, started);
    run_server(settings, serving, move |server| {
        server.add_service(clients);
        server.add_service(service);
        add(server);
    })
}

impl GatewayParts {
    /// The state of the gateway, with the settings of the start.
    fn gateway_state(
        &self,
        gateway: &GatewaySettings,
        conf: &ServerConf,
        monitoring: Monitoring,
    ) -> Result<Arc<GatewayState>> {
        let options = ConnectorOptions::from_server_conf(conf);
        let config = GatewayConfig {
            settings: gateway.clone(),
            upstream_tls: UpstreamTlsFiles::read(gateway).map_err(anyhow::Error::msg)?,
        };
        let snapshot = Snapshot::new(config, &options, monitoring, self.metrics.clone());
        let snapshot = snapshot.context("no upstream: set UPSTREAM_URL or upstream.url")?;
        let beside_api = self.colocated.is_some();
        let most = descriptors::clients(gateway.limits.connections, beside_api)?;
        Ok(Arc::new(GatewayState::new(snapshot, options, most)))
    }

    /// For a gateway alone in its process.
    pub(crate) fn standalone(
        context: ProcessContext,
        backend: Backend,
        policies: Option<policies::Opened>,
        text: String,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            backend,
            policies,
            text,
            reloads: Reloads::new(context.reload_source(), &metrics),
            context,
            api_activity: ApiActivity::new(0, &metrics),
            metrics,
            certificates: Certificates::default(),
            extra: Vec::new(),
            remote: Remote::default(),
            colocated: None,
        }
    }

    fn start_spool(
        &self,
        settings: &Settings,
        runtime: &Runtime,
        memory: &Arc<MemoryBudget>,
    ) -> Result<Option<spool::Running>> {
        let takes_over = self.context.predecessor.is_some();
        let start = |analyzer: &Arc<dyn Analyzer>| {
            let (analyzer, shared) = (analyzer.clone(), self.shared_limits(memory));
            spool::start(settings, runtime, analyzer, shared, takes_over)
        };
        self.backend.analyzer.as_ref().map(start).transpose()
    }

    fn shared_limits(&self, memory: &Arc<MemoryBudget>) -> SharedLimits {
        SharedLimits {
            memory: memory.clone(),
            metrics: self.metrics.clone(),
        }
    }

    /// Hands the spool to the parts that report on it: the backend's client and the colocated analysis.
    fn introduce(&self, gateway: &GatewaySettings, spool: Option<Spool>) {
        if let (Some(analyzer), Some(spool)) = (&self.backend.analyzer, &spool) {
            let spool = spool.clone();
            analyzer.set_report_source(Arc::new(move || spool.report()));
        }
        let Some(Colocated { services, demo }) = &self.colocated else {
            return;
        };
        let Some(first) = gateway.listen.first() else {
            return;
        };
        let ip = first.address.ip();
        services.ingest.gateways.set_local(LocalGateway {
            tls: first.tls.is_some(),
            host: (!ip.is_unspecified()).then(|| ip.to_string()),
            port: first.address.port(),
            demo: *demo,
            spool,
        });
    }

    fn monitoring(
        &self,
        settings: &Settings,
        spool: Option<Spool>,
        observability: &Observability,
    ) -> Monitoring {
        Monitoring {
            access: Some(observability.access.clone()),
            tracer: observability.tracing.tracer(),
            spool,
            analyzer: self.backend.analyzer.clone(),
            policies: self.policies.as_ref().map(|opened| opened.policies.clone()),
            inspector: Some(Arc::new(LocalInspector::new())),
            memory: None,
            spill_folder: Some(settings.data_dir.join("spill")),
        }
    }

    fn overview(&self, started: &Started) -> Overview {
        Overview {
            metrics: self.metrics.clone(),
            readiness: started.readiness.clone(),
            policies: self.policies.as_ref().map(|opened| opened.policies.clone()),
            spool: started.spool.as_ref().map(spool::Running::spool),
            reloads: self.reloads.clone(),
            api_activity: self.api_activity.clone(),
            remote: self.remote.clone(),
            services: self
                .colocated
                .as_ref()
                .map(|beside| beside.services.clone()),
            gateway_state: Some(started.gateway_state.clone()),
        }
    }

    fn serving(
        self,
        operations: Operations,
        gateway: &GatewaySettings,
        started: Started,
    ) -> Serving {
        let mut open = addresses(&gateway.listen);
        open.push(gateway.operations);
        open.extend(self.extra);
        Serving {
            addresses: open,
            operations,
            readiness: started.readiness,
            metrics: self.metrics,
            parts: Reloadable {
                gateway_state: Some(started.gateway_state),
                applications: self.policies.and_then(|opened| opened.listed),
                certificates: self.certificates,
                access: Some(started.observability.access.clone()),
                tracing: Some(started.observability.tracing.clone()),
                backend: self.backend.tls,
                services: self.colocated.map(|beside| beside.services),
            },
            context: self.context,
            reloads: self.reloads,
            spool: started.spool,
            observability: Some(started.observability),
            api_activity: self.api_activity,
            text: self.text,
        }
    }
}
