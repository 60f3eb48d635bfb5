//! The analysis server as a process of its own.

pub(crate) mod docs;
pub(crate) mod remote_checks;

use super::observability::operations::Operations;
use super::observability::status::Overview;
use super::process::context::{Launch, ProcessContext};
use super::process::listeners::addresses;
use super::process::run::{Serving, run_server};
use super::process::runtime::backend_runtime;
use super::process::sockets::Sockets;
use super::process::web::{ApiActivity, CountedApp, WebLimits};
use super::process::{descriptors, listeners, start_text};
use super::reload::certificates::{Alpn, Certificates};
use super::reload::{Reloadable, Reloads};
use crate::analysis::{FirstRun, RetentionTask, ScheduledExports, Services, router};
use crate::config::Settings;
use crate::gateway::ListenerService;
use crate::judge::Remote;
use crate::observe::Metrics;
use anyhow::{Context as _, Result};
use remote_checks::remote;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Runs the analysis API until the process is asked to stop.
///
/// # Errors
/// When a listener or the store cannot be opened.
pub fn run_analysis(launch: Launch) -> Result<()> {
    let (mut settings, context) = launch.begin()?;
    let analysis = &mut settings.analysis;
    context
        .sockets
        .claim_all("analysis", &mut analysis.listen)?;
    analysis.operations = context.sockets.claim("operations", analysis.operations)?;
    let runtime = backend_runtime()?;
    let metrics = Arc::new(Metrics::of(context.role)?);
    let (services, first, remote) = open(&settings, &runtime, &metrics)?;
    runtime.block_on(services.count_budgets());
    runtime.block_on(async { services.start_alerts() });
    let retention = retention(&runtime, &settings, &services, &metrics);
    send_events(&runtime, &services, &metrics)?;
    let exports = exports(&runtime, &settings, &services, &metrics)?;
    let api_activity = ApiActivity::new(descriptors::api(None), &metrics);
    let overview = Overview {
        gateway_state: None,
        services: Some(services.clone()),
        readiness: Arc::default(),
        policies: None,
        spool: None,
        reloads: Reloads::new(context.reload_source(), &metrics),
        metrics,
        api_activity,
        remote,
    };
    let text = start_text::analysis(&settings, &first);
    serve(&settings, context, overview, services.clone(), text)?;
    runtime.block_on(stop(retention, exports, &services));
    Ok(())
}

/// Opens the store and the services, with the servers that an analysis calls. A judge may be the model
/// server of a gateway in the same process.
pub(crate) fn open(
    settings: &Settings,
    runtime: &Runtime,
    metrics: &Arc<Metrics>,
) -> Result<(Arc<Services>, FirstRun, Remote)> {
    let upstream = settings.gateway.upstream.url.as_ref();
    let remote = remote(&settings.analysis, upstream, metrics)?;
    let opened = Services::open_with(&settings.analysis, &settings.data_dir, remote.clone());
    let (services, first) = runtime.block_on(opened)?;
    Ok((services, first, remote))
}

/// Stops what [`open`], [`retention`] and [`exports`] started.
pub(crate) async fn stop(retention: RetentionTask, exports: ScheduledExports, services: &Services) {
    exports.stop().await;
    retention.stop().await;
    services.shutdown().await;
}

/// Serves the API and the operations listener.
fn serve(
    settings: &Settings,
    context: ProcessContext,
    overview: Overview,
    services: Arc<Services>,
    text: String,
) -> Result<()> {
    let (sockets, api_activity) = (context.sockets.clone(), overview.api_activity.clone());
    let reloadable = services.clone();
    let mut certificates = Certificates::default();
    let activity = api_activity.clone();
    let api = api(settings, &sockets, services, activity, &mut certificates)?;
    let operations = Operations::new(settings.analysis.operations, &overview.metrics);
    let mut addresses = addresses(&settings.analysis.listen);
    addresses.push(operations.address);
    let serving = Serving {
        addresses,
        operations: operations.clone(),
        readiness: overview.readiness.clone(),
        metrics: overview.metrics.clone(),
        parts: Reloadable {
            certificates,
            services: Some(reloadable),
            ..Reloadable::default()
        },
        context,
        reloads: overview.reloads.clone(),
        spool: None,
        observability: None,
        api_activity,
        text,
    };
    let mut limits = settings.gateway.limits.clone();
    limits.header_timeout = settings.analysis.limits.header_timeout;
    limits.idle_timeout = settings.analysis.limits.idle_timeout;
    let operations = operations.service(&sockets, &limits, overview)?;
    run_server(settings, serving, move |server| {
        server.add_service(api);
        server.add_service(operations);
    })
}

/// Keeps the store within its limits, on the backend's runtime.
pub(crate) fn retention(
    runtime: &Runtime,
    settings: &Settings,
    services: &Services,
    metrics: &Arc<Metrics>,
) -> RetentionTask {
    let _entered = runtime.enter();
    RetentionTask::start(
        &services.records,
        settings.analysis.retention,
        metrics.clone(),
    )
}

/// Sends events to the destinations of the settings, on the backend's runtime.
pub(crate) fn send_events(
    runtime: &Runtime,
    services: &Services,
    metrics: &Arc<Metrics>,
) -> Result<()> {
    let started = runtime.block_on(services.send_events(metrics));
    started.context("the destinations of siem")
}

/// Writes the exports of the settings once a day, on the backend's runtime.
pub(crate) fn exports(
    runtime: &Runtime,
    settings: &Settings,
    services: &Arc<Services>,
    metrics: &Arc<Metrics>,
) -> Result<ScheduledExports> {
    let _entered = runtime.enter();
    let started = ScheduledExports::start(services, &settings.analysis.exports, metrics);
    started.context("the places of exports")
}

/// The API's listeners.
pub(crate) fn api(
    settings: &Settings,
    sockets: &Sockets,
    services: Arc<Services>,
    api_activity: ApiActivity,
    certificates: &mut Certificates,
) -> Result<ListenerService<CountedApp>> {
    let metrics = api_activity.limit().metrics();
    let router = docs::router().merge(router(services, settings.analysis.cors.clone()));
    let connections = api_activity.limit().limit();
    let limits = WebLimits::of_api(&settings.analysis, connections, metrics);
    let app = CountedApp::new(router, limits, api_activity);
    // The router speaks nothing newer.
    let listening = listeners::open_all(
        sockets,
        &settings.analysis.listen,
        certificates,
        Alpn::Http1,
    )?;
    Ok(ListenerService::new("analysis", listening, app))
}
