//! The gateway as a process, alone or with the analysis backend beside it.

use super::analysis::{addresses, api, retention};
use super::certificates::Certificates;
use super::http::UnderWay;
use super::launch::{Launch, Seat};
use super::local::LocalAnalyzer;
use super::reload::Reloads;
use super::remote::remote;
use super::serve::{Backend, Beside, Plan, serve_gateway};
use super::sockets::Sockets;
use super::{clear_text, descriptors, policies, welcome};
use crate::analysis::{FirstRun, Services};
use crate::config::{BaseUrl, Settings};
use crate::demo;
use crate::observe::{Metrics, logging};
use anyhow::{Context, Result};
use log::warn;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::runtime::Runtime;

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
    let demo = or_demo(&mut settings, &runtime)?;
    let metrics = Arc::new(Metrics::new()?);
    let room = descriptors::api(Some(&settings.gateway.limits));
    let under_way = UnderWay::new(room, &metrics);
    let upstream = settings.gateway.upstream.url.as_ref();
    let remote = remote(&settings.analysis, upstream, &metrics)?;
    let opened = Services::open_with(&settings.analysis, &settings.data_dir, remote.clone());
    let (service, first) = runtime.block_on(opened)?;
    let backend = backend_of(&mut settings, &service, &first)?;
    let retention = retention(&runtime, &settings, &service, &metrics);
    let mut certificates = Certificates::default();
    let counted = (under_way.clone(), &mut certificates);
    let api = api(&settings, &sockets, service.clone(), counted)?;
    let policies = policies::open(&settings, &runtime, Some(&service))?;
    let text = welcome::all(&settings, &first, demo);
    let plan = Plan {
        certificates,
        extra: addresses(&settings.analysis.listen),
        under_way,
        remote,
        beside: Some(Beside {
            service: service.clone(),
            demo,
        }),
        ..Plan::alone(seat, (backend, policies), text, metrics)
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
    service: &Arc<Services>,
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
        logging::say(
            "warning: MONITOR_URL is not set: calls are forwarded, nothing is registered, monitoring is effectively disabled",
        );
        Backend::default()
    });
    let metrics = Arc::new(Metrics::new()?);
    let policies = policies::open(&settings, &runtime, None)?;
    let text = welcome::alone("gateway", &settings.gateway.listen);
    let plan = Plan::alone(seat, (backend, policies), text, metrics);
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

/// Whether the demo model answers, for want of another.
fn or_demo(settings: &mut Settings, runtime: &Runtime) -> Result<bool> {
    let upstream = &mut settings.gateway.upstream.url;
    let is_missing = upstream.is_none();
    if is_missing {
        warn!("UPSTREAM_URL is not set: the built-in demo model answers");
        *upstream = Some(start_demo(runtime)?);
    }
    Ok(is_missing)
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
