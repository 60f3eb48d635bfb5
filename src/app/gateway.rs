//! The gateway as a process, alone or with the analysis backend beside it.

use super::analysis::{addresses, api, operations_service, retention};
use super::certificates::{Certificates, Offered};
use super::http::UnderWay;
use super::inspect::LocalInspector;
use super::launch::{Launch, Seat};
use super::lifecycle::Readiness;
use super::local::LocalAnalyzer;
use super::outputs::Outputs;
use super::reload::{Parts, Reloads};
use super::remote::remote;
use super::run::{Serving, run_server};
use super::sockets::Sockets;
use super::status::Overview;
use super::{clear_text, descriptors, listeners, operations, policies, spool, welcome};
use crate::analysis::{FirstRun, GatewayBeside, Service};
use crate::config::settings::GatewaySettings;
use crate::config::{BaseUrl, MonitorSettings, Settings};
use crate::demo;
use crate::gateway::{Doors, Front, Live, Monitoring, Shared, UpstreamTls};
use crate::judge::Remote;
use crate::observe::Metrics;
use crate::telemetry::{Analyzer, BackendTls, HttpAnalyzer, Spool};
use anyhow::{Context, Result};
use log::warn;
use pingora_core::connectors::ConnectorOptions;
use pingora_core::server::Server;
use pingora_core::server::configuration::ServerConf;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// What a gateway is started with.
struct Plan {
    backend: Backend,
    policies: Option<policies::Opened>,
    text: String,
    seat: Seat,
    reloads: Arc<Reloads>,
    certificates: Certificates,
    /// Listeners of others to wait for.
    extra: Vec<SocketAddr>,
    under_way: UnderWay,
    metrics: Arc<Metrics>,
    remote: Remote,
    /// The analysis of this process, which is told of the gateway beside it.
    beside: Option<Beside>,
}

struct Beside {
    service: Arc<Service>,
    demo: bool,
}

impl Plan {
    /// Those who show or are told how the spool is get it.
    fn introduce(&self, gateway: &GatewaySettings, spool: Option<Spool>) {
        if let (Some(analyzer), Some(spool)) = (&self.backend.analyzer, &spool) {
            analyzer.tells_of(spool);
        }
        let Some(Beside { service, demo }) = &self.beside else {
            return;
        };
        let Some(first) = gateway.listen.first() else {
            return;
        };
        let ip = first.address.ip();
        service.stands_beside(GatewayBeside {
            tls: first.tls.is_some(),
            host: (!ip.is_unspecified()).then(|| ip.to_string()),
            port: first.address.port(),
            demo: *demo,
            spool,
        });
    }

    fn overview(&self, metrics: &Arc<Metrics>, readiness: &Arc<Readiness>) -> Overview {
        Overview {
            metrics: metrics.clone(),
            readiness: readiness.clone(),
            policies: self.policies.as_ref().map(|opened| opened.policies.clone()),
            spool: None,
            reloads: self.reloads.clone(),
            under_way: self.under_way.clone(),
            remote: self.remote.clone(),
            live: None,
        }
    }
}

/// Gateway, analysis API and store in one process (CONTRACT 32).
///
/// # Errors
/// When a listener, the store or the upstream's settings cannot be used.
pub fn run_all(launch: Launch) -> Result<()> {
    let (mut settings, seat) = launch.begin()?;
    claim_gateway(&seat.sockets, &mut settings)?;
    let sockets = seat.sockets.clone();
    sockets.claim_all("analysis", &mut settings.analysis.listen)?;
    let runtime = backend_runtime()?;
    let demo = settings.gateway.upstream.url.is_none();
    if demo {
        warn!("UPSTREAM_URL is not set: the built-in demo model answers");
        settings.gateway.upstream.url = Some(start_demo(&runtime)?);
    }
    let metrics = Arc::new(Metrics::new()?);
    let clients = settings.gateway.limits.connections;
    let under_way = UnderWay::new(descriptors::api(Some(clients)), &metrics);
    let upstream = settings.gateway.upstream.url.as_ref();
    let remote = remote(&settings.analysis, upstream, &metrics)?;
    let opened = Service::open_with(&settings.analysis, &settings.data_dir, remote.clone());
    let (service, first) = runtime.block_on(opened)?;
    let backend = backend_of(&mut settings, &service, &first)?;
    let retention = retention(&runtime, &settings, &service, &metrics);
    let mut certificates = Certificates::default();
    let api = api(
        &settings,
        &sockets,
        service.clone(),
        (under_way.clone(), &mut certificates),
    )?;
    let plan = Plan {
        backend,
        policies: policies::open(&settings, &runtime, Some(&service))?,
        text: welcome::all(&settings, &first, demo),
        reloads: reloads(&seat, &metrics),
        seat,
        certificates,
        extra: addresses(&settings.analysis.listen),
        under_way,
        metrics,
        remote,
        beside: Some(Beside {
            service: service.clone(),
            demo,
        }),
    };
    serve_gateway(&settings, &runtime, plan, |server| {
        server.add_service(api);
    })?;
    runtime.block_on(retention.stop());
    runtime.block_on(service.shutdown());
    Ok(())
}

/// Over HTTP where MONITOR_URL says so, else in this process.
fn backend_of(
    settings: &mut Settings,
    service: &Arc<Service>,
    first: &FirstRun,
) -> Result<Backend> {
    let monitor = &mut settings.gateway.monitor;
    if let Some(backend) = Backend::over_http(monitor)? {
        return Ok(backend);
    }
    // A remote backend has applications of its own and does not know this one.
    monitor.application_id.get_or_insert(first.application_id);
    Ok(Backend {
        analyzer: Some(Arc::new(LocalAnalyzer(service.clone()))),
        tls: None,
    })
}

/// Who registers and judges.
#[derive(Default)]
struct Backend {
    analyzer: Option<Arc<dyn Analyzer>>,
    /// The files that connections to it are made with, where there are any.
    tls: Option<Arc<BackendTls>>,
}

impl Backend {
    /// The one at MONITOR_URL, if it is set.
    fn over_http(monitor: &MonitorSettings) -> Result<Option<Self>> {
        let Some(url) = &monitor.url else {
            return Ok(None);
        };
        let tls = BackendTls::new(monitor).map_err(anyhow::Error::msg)?;
        let analyzer = HttpAnalyzer::new(url, monitor.timeout, tls.as_ref())?;
        Ok(Some(Self {
            analyzer: Some(Arc::new(analyzer)),
            tls,
        }))
    }
}

/// The gateway alone.
///
/// # Errors
/// When a listener, the upstream's or the backend's settings cannot be used.
pub fn run_gateway(launch: Launch) -> Result<()> {
    let (mut settings, seat) = launch.begin()?;
    claim_gateway(&seat.sockets, &mut settings)?;
    // It only waits for the network, and two threads would wake each other for nothing.
    let runtime = runtime_of(1)?;
    let backend = Backend::over_http(&settings.gateway.monitor)?.unwrap_or_else(|| {
        // §1.9; said whatever the log level.
        eprintln!(
            "warning: MONITOR_URL is not set: calls are forwarded, nothing is registered, monitoring is effectively disabled"
        );
        Backend::default()
    });
    let metrics = Arc::new(Metrics::new()?);
    let plan = Plan {
        backend,
        policies: policies::open(&settings, &runtime, None)?,
        text: welcome::alone("gateway", &settings.gateway.listen),
        reloads: reloads(&seat, &metrics),
        seat,
        certificates: Certificates::default(),
        extra: Vec::new(),
        under_way: UnderWay::new(0, &metrics),
        metrics,
        remote: Remote::default(),
        beside: None,
    };
    serve_gateway(&settings, &runtime, plan, |_| {})
}

fn claim_gateway(sockets: &Sockets, settings: &mut Settings) -> Result<()> {
    let gateway = &mut settings.gateway;
    sockets.claim_all("gateway", &mut gateway.listen)?;
    gateway.operations = sockets.claim("operations", gateway.operations)?;
    Ok(())
}

/// The configuration in force, which the seat's loader reads again; what it sends in clear text is
/// said.
pub(super) fn reloads(seat: &Seat, metrics: &Arc<Metrics>) -> Arc<Reloads> {
    clear_text::warn(&seat.given, seat.role, metrics);
    Arc::new(Reloads::new(seat, metrics.clone()))
}

/// The demo model server alone, until it is interrupted.
///
/// # Errors
/// When the address is taken.
pub fn run_demo_upstream(address: SocketAddr) -> Result<()> {
    let runtime = backend_runtime()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
        println!("demo model server at http://{}", listener.local_addr()?);
        let stop = async {
            let _ = tokio::signal::ctrl_c().await;
        };
        Ok(axum::serve(listener, demo::router())
            .with_graceful_shutdown(stop)
            .await?)
    })
}

/// The runtime of everything that is not a pingora service.
pub(super) fn backend_runtime() -> Result<Runtime> {
    runtime_of(2)
}

fn runtime_of(threads: usize) -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    Ok(builder
        .worker_threads(threads)
        .thread_name("backend")
        .enable_all()
        .build()?)
}

fn start_demo(runtime: &Runtime) -> Result<BaseUrl> {
    let listener = runtime.block_on(tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let address = listener.local_addr()?;
    runtime.spawn(async move { axum::serve(listener, demo::router()).await });
    let host = address.ip().to_string();
    Ok(BaseUrl {
        tls: false,
        host,
        port: address.port(),
        prefix: String::new(),
    })
}

fn serve_gateway(
    settings: &Settings,
    runtime: &Runtime,
    mut plan: Plan,
    add: impl FnOnce(&mut Server),
) -> Result<()> {
    let gateway = &settings.gateway;
    let metrics = plan.metrics.clone();
    let spool = match &plan.backend.analyzer {
        Some(analyzer) => {
            let takes_over = plan.seat.predecessor.is_some();
            let analyzer = analyzer.clone();
            Some(spool::start(
                settings,
                runtime,
                analyzer,
                (&metrics, takes_over),
            )?)
        }
        None => None,
    };
    let outputs = Outputs::start(settings, runtime, &metrics)?;
    plan.introduce(gateway, spool.as_ref().map(spool::Running::spool));
    let monitoring = Monitoring {
        access: Some(outputs.access.clone()),
        tracer: outputs.tracer.clone(),
        spool: spool.as_ref().map(spool::Running::spool),
        analyzer: plan.backend.analyzer.clone(),
        policies: plan.policies.as_ref().map(|opened| opened.policies.clone()),
        inspector: Some(Arc::new(LocalInspector::new())),
        spill_folder: Some(settings.data_dir.join("spill")),
    };
    let conf = Arc::new(server_conf(settings));
    let options = ConnectorOptions::from_server_conf(&conf);
    let tls = UpstreamTls::read(&gateway.upstream).map_err(anyhow::Error::msg)?;
    let shared = Shared::new(
        (gateway.clone(), tls),
        options.clone(),
        monitoring,
        metrics.clone(),
    );
    let shared = shared.context("no upstream: set UPSTREAM_URL or upstream.url")?;
    let most = descriptors::clients(gateway.limits.connections)?;
    let live = Arc::new(Live::new(shared, options, most));
    let sockets = plan.seat.sockets.clone();
    let offered = (&mut plan.certificates, Offered::Http2);
    let doors = listeners::doors(&sockets, &gateway.listen, offered)?;
    let front = Doors::new("gateway", doors, Front::new(&conf, live.clone()));
    let readiness = Arc::new(Readiness::default());
    let address = gateway.operations;
    let overview = Overview {
        spool: spool.as_ref().map(spool::Running::spool),
        live: Some(live.clone()),
        ..plan.overview(&metrics, &readiness)
    };
    let router = operations::router(overview);
    let operations = sockets.serve(operations_service(address, settings, router))?;
    let mut open = addresses(&gateway.listen);
    open.push(address);
    open.extend(plan.extra);
    let serving = Serving {
        addresses: open,
        operations: address,
        readiness,
        metrics,
        parts: Parts {
            live: Some(live),
            applications: plan.policies.and_then(|opened| opened.list),
            certificates: plan.certificates,
            access: Some(outputs.access.clone()),
            backend: plan.backend.tls,
        },
        seat: plan.seat,
        reloads: plan.reloads,
        spool,
        outputs: Some(outputs),
        under_way: plan.under_way,
        text: plan.text,
    };
    run_server(settings, serving, move |server| {
        server.add_service(front);
        server.add_service(operations);
        add(server);
    })
}

pub(super) fn server_conf(settings: &Settings) -> ServerConf {
    let gateway = &settings.gateway;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let threads = gateway.limits.threads.unwrap_or(cores);
    ServerConf {
        threads,
        upstream_keepalive_pool_size: gateway.limits.upstream_idle_connections.div_ceil(threads),
        grace_period_seconds: Some(gateway.shutdown.grace.as_secs()),
        ..ServerConf::default()
    }
}
