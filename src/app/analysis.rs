//! The analysis server as a process of its own.

use super::certificates::{Certificates, Offered};
use super::gateway::{backend_runtime, reloads};
use super::http::{CountedApp, UnderWay, WebApp};
use super::launch::{Launch, Seat};
use super::reload::Parts;
use super::remote::remote;
use super::run::{Serving, run_server};
use super::sockets::Sockets;
use super::status::Overview;
use super::{descriptors, docs, listeners, operations, welcome};
use crate::analysis::{RetentionTask, Services, router};
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
    let analysis = &mut settings.analysis;
    seat.sockets.claim_all("analysis", &mut analysis.listen)?;
    analysis.operations = seat.sockets.claim("operations", analysis.operations)?;
    let runtime = backend_runtime()?;
    let metrics = Arc::new(Metrics::new()?);
    let remote = remote(&settings.analysis, None, &metrics)?;
    let opened = Services::open_with(&settings.analysis, &settings.data_dir, remote.clone());
    let (service, first) = runtime.block_on(opened)?;
    let retention = retention(&runtime, &settings, &service, &metrics);
    let under_way = UnderWay::new(descriptors::api(None), &metrics);
    let overview = Overview {
        live: None,
        readiness: Arc::default(),
        policies: None,
        spool: None,
        reloads: reloads(&seat, &metrics),
        metrics,
        under_way,
        remote,
    };
    let text = welcome::analysis(&settings, &first);
    serve(&settings, (seat, overview), service.clone(), text)?;
    runtime.block_on(retention.stop());
    runtime.block_on(service.shutdown());
    Ok(())
}

/// Serves the API and the operations listener.
fn serve(
    settings: &Settings,
    (seat, overview): (Seat, Overview),
    service: Arc<Services>,
    text: String,
) -> Result<()> {
    let (sockets, under_way) = (seat.sockets.clone(), overview.under_way.clone());
    let mut certificates = Certificates::default();
    let counted = (under_way.clone(), &mut certificates);
    let api = api(settings, &sockets, service, counted)?;
    let address = settings.analysis.operations;
    let mut addresses = addresses(&settings.analysis.listen);
    addresses.push(address);
    let serving = Serving {
        addresses,
        operations: address,
        readiness: overview.readiness.clone(),
        metrics: overview.metrics.clone(),
        parts: Parts {
            certificates,
            ..Parts::default()
        },
        seat,
        reloads: overview.reloads.clone(),
        spool: None,
        outputs: None,
        under_way,
        text,
    };
    let router = operations::router(overview);
    let operations = sockets.serve(operations_service(address, settings, router))?;
    run_server(settings, serving, move |server| {
        server.add_service(api);
        server.add_service(operations);
    })
}

/// Keeps the store within its limits, on the backend's runtime.
pub(super) fn retention(
    runtime: &Runtime,
    settings: &Settings,
    service: &Services,
    metrics: &Arc<Metrics>,
) -> RetentionTask {
    let _entered = runtime.enter();
    RetentionTask::start(
        &service.records,
        settings.analysis.retention,
        metrics.clone(),
    )
}

/// The API's listeners.
pub(super) fn api(
    settings: &Settings,
    sockets: &Sockets,
    service: Arc<Services>,
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
