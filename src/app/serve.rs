//! A gateway from what it is started with to its last call: its spool, what it tells, its listeners.
//! Which backend, policies and neighbours there are is decided by `gateway`.

use super::analysis::{addresses, operations_service};
use super::certificates::{Certificates, Offered};
use super::gateway::reloads;
use super::http::UnderWay;
use super::inspect::LocalInspector;
use super::launch::Seat;
use super::lifecycle::Readiness;
use super::outputs::Outputs;
use super::reload::{Parts, Reloads};
use super::run::{Serving, run_server, server_conf};
use super::status::Overview;
use super::{descriptors, listeners, operations, policies, spool};
use crate::analysis::{LocalGateway, Services};
use crate::backend::{Analyzer, BackendTls, HttpAnalyzer};
use crate::config::GatewaySettings;
use crate::config::{MonitorSettings, Settings};
use crate::gateway::{Doors, Front, Live, Monitoring, Shared, UpstreamTls};
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

/// What a gateway is started with.
pub(super) struct Plan {
    pub(super) backend: Backend,
    pub(super) policies: Option<policies::Opened>,
    pub(super) text: String,
    pub(super) seat: Seat,
    pub(super) reloads: Arc<Reloads>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) certificates: Certificates,
    /// Listeners of others to wait for.
    pub(super) extra: Vec<SocketAddr>,
    pub(super) under_way: UnderWay,
    pub(super) remote: Remote,
    /// The analysis of this process, which is told of the gateway beside it.
    pub(super) beside: Option<Beside>,
}

/// The analysis of the same process.
pub(super) struct Beside {
    pub(super) service: Arc<Services>,
    /// The demo model answers.
    pub(super) demo: bool,
}

/// Who registers and judges.
#[derive(Default)]
pub(super) struct Backend {
    pub(super) analyzer: Option<Arc<dyn Analyzer>>,
    /// The files that connections to it are made with, where there are any.
    pub(super) tls: Option<Arc<BackendTls>>,
}

/// What runs once a plan is carried out.
struct Started {
    spool: Option<spool::Running>,
    outputs: Outputs,
    live: Arc<Live>,
    readiness: Arc<Readiness>,
}

impl Backend {
    /// The one at MONITOR_URL, if it is set.
    pub(super) fn over_http(monitor: &MonitorSettings) -> Result<Option<Self>> {
        let Some(url) = &monitor.url else {
            return Ok(None);
        };
        let tls = BackendTls::new(monitor.ca.as_deref(), monitor.client.as_ref());
        let tls = tls.map_err(anyhow::Error::msg)?;
        let analyzer = HttpAnalyzer::new(url, monitor.timeout, tls.as_ref())?;
        Ok(Some(Self {
            analyzer: Some(Arc::new(analyzer)),
            tls,
        }))
    }
}

/// Starts a gateway, and comes back when its last call is answered and delivered. `add` adds what is
/// served beside it.
///
/// # Errors
/// When a listener, the spool or the upstream's settings cannot be used.
pub(super) fn serve_gateway(
    settings: &Settings,
    runtime: &Runtime,
    mut plan: Plan,
    add: impl FnOnce(&mut Server),
) -> Result<()> {
    let gateway = &settings.gateway;
    let spool = plan.start_spool(settings, runtime)?;
    let outputs = Outputs::start(settings, runtime, &plan.metrics)?;
    let told = spool.as_ref().map(spool::Running::spool);
    plan.introduce(gateway, told.clone());
    let conf = Arc::new(server_conf(settings));
    let monitoring = plan.monitoring(settings, told, &outputs);
    let live = live(gateway, &conf, (monitoring, &plan.metrics))?;
    let sockets = plan.seat.sockets.clone();
    let offered = (&mut plan.certificates, Offered::Http2);
    let doors = listeners::doors(&sockets, &gateway.listen, offered)?;
    let front = Doors::new("gateway", doors, Front::new(&conf, live.clone()));
    let started = Started {
        spool,
        outputs,
        live,
        readiness: Arc::default(),
    };
    let router = operations::router(plan.overview(&started));
    let operations = operations_service(gateway.operations, settings, router);
    let operations = sockets.serve(operations)?;
    run_server(settings, plan.serving(gateway, started), move |server| {
        server.add_service(front);
        server.add_service(operations);
        add(server);
    })
}

/// The gateway in force.
fn live(
    gateway: &GatewaySettings,
    conf: &ServerConf,
    (monitoring, metrics): (Monitoring, &Arc<Metrics>),
) -> Result<Arc<Live>> {
    let options = ConnectorOptions::from_server_conf(conf);
    let tls = UpstreamTls::read(&gateway.upstream).map_err(anyhow::Error::msg)?;
    let shared = Shared::new(
        (gateway.clone(), tls),
        options.clone(),
        monitoring,
        metrics.clone(),
    );
    let shared = shared.context("no upstream: set UPSTREAM_URL or upstream.url")?;
    let most = descriptors::clients(gateway.limits.connections)?;
    Ok(Arc::new(Live::new(shared, options, most)))
}

impl Plan {
    /// For a gateway with nothing beside it.
    pub(super) fn alone(
        seat: Seat,
        (backend, policies): (Backend, Option<policies::Opened>),
        text: String,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            backend,
            policies,
            text,
            reloads: reloads(&seat, &metrics),
            seat,
            under_way: UnderWay::new(0, &metrics),
            metrics,
            certificates: Certificates::default(),
            extra: Vec::new(),
            remote: Remote::default(),
            beside: None,
        }
    }

    fn start_spool(
        &self,
        settings: &Settings,
        runtime: &Runtime,
    ) -> Result<Option<spool::Running>> {
        let takes_over = self.seat.predecessor.is_some();
        let start = |analyzer: &Arc<dyn Analyzer>| {
            let analyzer = analyzer.clone();
            spool::start(settings, runtime, analyzer, (&self.metrics, takes_over))
        };
        self.backend.analyzer.as_ref().map(start).transpose()
    }

    /// Those who show or are told how the spool is get it.
    fn introduce(&self, gateway: &GatewaySettings, spool: Option<Spool>) {
        if let (Some(analyzer), Some(spool)) = (&self.backend.analyzer, &spool) {
            let spool = spool.clone();
            analyzer.set_report_source(Arc::new(move || spool.report()));
        }
        let Some(Beside { service, demo }) = &self.beside else {
            return;
        };
        let Some(first) = gateway.listen.first() else {
            return;
        };
        let ip = first.address.ip();
        service.ingest.gateways.set_local(LocalGateway {
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
        outputs: &Outputs,
    ) -> Monitoring {
        Monitoring {
            access: Some(outputs.access.clone()),
            tracer: outputs.tracing.tracer(),
            spool,
            analyzer: self.backend.analyzer.clone(),
            policies: self.policies.as_ref().map(|opened| opened.policies.clone()),
            inspector: Some(Arc::new(LocalInspector::new())),
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
            under_way: self.under_way.clone(),
            remote: self.remote.clone(),
            live: Some(started.live.clone()),
        }
    }

    fn serving(self, gateway: &GatewaySettings, started: Started) -> Serving {
        let mut open = addresses(&gateway.listen);
        open.push(gateway.operations);
        open.extend(self.extra);
        Serving {
            addresses: open,
            operations: gateway.operations,
            readiness: started.readiness,
            metrics: self.metrics,
            parts: Parts {
                live: Some(started.live),
                applications: self.policies.and_then(|opened| opened.list),
                certificates: self.certificates,
                access: Some(started.outputs.access.clone()),
                tracing: Some(started.outputs.tracing.clone()),
                backend: self.backend.tls,
            },
            seat: self.seat,
            reloads: self.reloads,
            spool: started.spool,
            outputs: Some(started.outputs),
            under_way: self.under_way,
            text: self.text,
        }
    }
}
