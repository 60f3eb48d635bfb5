//! The gateway as a process: alone, or with the analysis backend in the same process.

pub(crate) mod demo;
pub(crate) mod local_analyzer;
pub(crate) mod local_inspector;
pub(crate) mod policies;
pub(crate) mod serve;
pub(crate) mod spool;

use super::analysis::{api, exports, open, retention, send_events, stop};
use super::process::context::Launch;
use super::process::listeners::addresses;
use super::process::runtime::{backend_runtime, runtime_of};
use super::process::sockets::Sockets;
use super::process::web::ApiActivity;
use super::process::{descriptors, start_text};
use super::reload::certificates::Certificates;
use crate::analysis::{FirstRun, Services};
use crate::config::Settings;
use crate::observe::{Metrics, logging};
use anyhow::Result;
use demo::use_demo_if_unset;
use local_analyzer::LocalAnalyzer;
use serve::{Backend, Colocated, GatewayParts, serve_gateway};
use std::sync::Arc;

/// Gateway, analysis API and store in one process (CONTRACT 32).
///
/// # Errors
/// When a listener, the store or the upstream's settings cannot be used.
pub fn run_all(launch: Launch) -> Result<()> {
    let (mut settings, context) = launch.begin()?;
    claim_gateway(&context.sockets, &mut settings)?;
    let listen = &mut settings.analysis.listen;
    context.sockets.claim_all("analysis", listen)?;
    let runtime = backend_runtime()?;
    let demo = use_demo_if_unset(&mut settings, &runtime)?;
    let metrics = Arc::new(Metrics::of(context.role)?);
    let connections = descriptors::api(Some(&settings.gateway.limits));
    let api_activity = ApiActivity::new(connections, &metrics);
    let (services, first, remote) = open(&settings, &runtime, &metrics)?;
    let backend = backend_of(&mut settings, &services, &first, &metrics)?;
    let retention = retention(&runtime, &settings, &services, &metrics);
    send_events(&runtime, &services, &metrics)?;
    let exports = exports(&runtime, &settings, &services, &metrics)?;
    let mut certificates = Certificates::default();
    let api = api(
        &settings,
        &context.sockets,
        services.clone(),
        api_activity.clone(),
        &mut certificates,
    )?;
    let policies = policies::open(&settings, &runtime, Some(&services))?;
    let text = start_text::all(&settings, &first, demo);
    let parts = GatewayParts {
        certificates,
        extra: addresses(&settings.analysis.listen),
        api_activity,
        remote,
        colocated: Some(Colocated {
            services: services.clone(),
            demo,
        }),
        ..GatewayParts::standalone(context, backend, policies, text, metrics)
    };
    serve_gateway(&settings, &runtime, parts, |server| {
        server.add_service(api);
    })?;
    runtime.block_on(stop(retention, exports, &services));
    Ok(())
}

/// The backend at MONITOR_URL if it is set, else the one in this process.
fn backend_of(
    settings: &mut Settings,
    services: &Arc<Services>,
    first: &FirstRun,
    metrics: &Arc<Metrics>,
) -> Result<Backend> {
    let monitor = &mut settings.gateway.monitor;
    if let Some(backend) = Backend::over_http(monitor, metrics)? {
        return Ok(backend);
    }
    // A remote backend has applications of its own and does not know this one.
    monitor.application_id.get_or_insert(first.application_id);
    Ok(Backend {
        analyzer: Some(Arc::new(LocalAnalyzer(services.clone()))),
        tls: None,
    })
}

/// The gateway alone.
///
/// # Errors
/// When a listener, the upstream's or the backend's settings cannot be used.
pub fn run_gateway(launch: Launch) -> Result<()> {
    let (mut settings, context) = launch.begin()?;
    claim_gateway(&context.sockets, &mut settings)?;
    // Its tasks only wait for the network; a second thread would cost wakeups and gain nothing.
    let runtime = runtime_of(1)?;
    let metrics = Arc::new(Metrics::of(context.role)?);
    let monitor = &settings.gateway.monitor;
    let backend = Backend::over_http(monitor, &metrics)?.unwrap_or_else(|| {
        // §1.9: logged whatever the log level is.
        logging::say(
            log::Level::Warn,
            "warning: MONITOR_URL is not set: calls are forwarded, nothing is registered, monitoring is effectively disabled",
        );
        Backend::default()
    });
    let policies = policies::open(&settings, &runtime, None)?;
    let text = start_text::alone("gateway", &settings.gateway.listen);
    let parts = GatewayParts::standalone(context, backend, policies, text, metrics);
    serve_gateway(&settings, &runtime, parts, |_| {})
}

fn claim_gateway(sockets: &Sockets, settings: &mut Settings) -> Result<()> {
    let gateway = &mut settings.gateway;
    sockets.claim_all("gateway", &mut gateway.listen)?;
    gateway.operations = sockets.claim("operations", gateway.operations)?;
    Ok(())
}
