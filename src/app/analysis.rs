//! The analysis server as a process of its own.

use super::certificates::{Certificates, Offered};
use super::gateway::{backend_runtime, reloads};
use super::http::{CountedApp, UnderWay, WebApp};
use super::launch::Launch;
use super::lifecycle::Readiness;
use super::reload::Parts;
use super::remote::remote;
use super::run::{Serving, run_server};
use super::sockets::Sockets;
use super::status::Overview;
use super::{descriptors, docs, listeners, operations, welcome};
use crate::analysis::{RetentionTask, Service, router};
use crate::config::{Listener, Settings};
use crate::gateway::Doors;
use crate::observe::Metrics;
use anyhow::Result;
use pingora_core::services::listening::Service as Listening;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Runs the analysis API until it is told to stop.
///
/// # Errors
/// When a listener or the store cannot be opened.
pub fn run_analysis(launch: Launch) -> Result<()> {
    let (mut settings, seat) = launch.begin()?;
    let (sockets, analysis) = (seat.sockets.clone(), &mut settings.analysis);
    sockets.claim_all("analysis", &mut analysis.listen)?;
    analysis.operations = sockets.claim("operations", analysis.operations)?;
    let runtime = backend_runtime()?;
    let (metrics, readiness) = (Arc::new(Metrics::new()?), Arc::new(Readiness::default()));
    let remote = remote(&settings.analysis, None, &metrics)?;
    let opened = Service::open_with(&settings.analysis, &settings.data_dir, remote.clone());
    let (service, first) = runtime.block_on(opened)?;
    let retention = retention(&runtime, &settings, &service, &metrics);
    let under_way = UnderWay::new(descriptors::api(None), &metrics);
    let mut certificates = Certificates::default();
    let api = api(
        &settings,
        &sockets,
        service.clone(),
        (under_way.clone(), &mut certificates),
    )?;
    let reloads = reloads(&seat, &metrics);
    let address = settings.analysis.operations;
    let router = operations::router(Overview {
        live: None,
        metrics: metrics.clone(),
        readiness: readiness.clone(),
        policies: None,
        spool: None,
        reloads: reloads.clone(),
        under_way: under_way.clone(),
        remote,
    });
    let operations = sockets.serve(operations_service(address, &settings, router))?;
    let mut addresses = addresses(&settings.analysis.listen);
    addresses.push(address);
    let serving = Serving {
        addresses,
        operations: address,
        readiness,
        metrics,
        parts: Parts {
            certificates,
            ..Parts::default()
        },
        seat,
        reloads,
        spool: None,
        outputs: None,
        under_way,
        text: welcome::analysis(&settings, &first),
    };
    run_server(&settings, serving, move |server| {
        server.add_service(api);
        server.add_service(operations);
    })?;
    runtime.block_on(retention.stop());
    runtime.block_on(service.shutdown());
    Ok(())
}

/// Keeps the store within its limits, on the backend's runtime.
pub(super) fn retention(
    runtime: &Runtime,
    settings: &Settings,
    service: &Service,
    metrics: &Arc<Metrics>,
) -> RetentionTask {
    let _entered = runtime.enter();
    RetentionTask::start(service, settings.analysis.retention, metrics.clone())
}

/// The API's listeners.
pub(super) fn api(
    settings: &Settings,
    sockets: &Sockets,
    service: Arc<Service>,
    (under_way, certificates): (UnderWay, &mut Certificates),
) -> Result<Doors<CountedApp>> {
    let header_timeout = settings.gateway.limits.header_timeout;
    let router = docs::router().merge(router(service));
    let app = CountedApp::new(router, header_timeout, under_way);
    // The router speaks nothing newer.
    let offered = (certificates, Offered::Http1);
    let doors = listeners::doors(sockets, &settings.analysis.listen, offered)?;
    Ok(Doors::new("analysis", doors, app))
}

/// The addresses of a list.
pub(super) fn addresses(listeners: &[Listener]) -> Vec<SocketAddr> {
    listeners.iter().map(|listener| listener.address).collect()
}

/// The operations listener.
pub(super) fn operations_service(
    address: SocketAddr,
    settings: &Settings,
    router: axum::Router,
) -> Listening<WebApp> {
    let app = WebApp::new(router, settings.gateway.limits.header_timeout);
    let mut service = Listening::new("operations".into(), app);
    service.threads = Some(1);
    service.add_tcp(&address.to_string());
    service
}
