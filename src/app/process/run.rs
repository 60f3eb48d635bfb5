//! The life of one process from its first accepted connection to its last: take over from the previous
//! process, report readiness, wait for a signal or for the next process, finish what is in progress.

use crate::app::gateway::spool;
use crate::app::observability::Observability;
use crate::app::observability::operations::Operations;
use crate::app::process::context::ProcessContext;
use crate::app::process::lifecycle::{Readiness, Signals, wait_for_the_last_call};
use crate::app::process::watchdog::Watchdog;
use crate::app::process::web::ApiActivity;
use crate::app::process::{listeners, notify};
use crate::app::reload::{Reloadable, Reloads};
use crate::app::upgrade::{self, ControlServer, Upgrades, WebAddress};
use crate::config::Settings;
use crate::gateway::ConnectionLimit;
use crate::observe::Metrics;
use crate::observe::UpgradeResult;
use crate::observe::events::UpgradeEnded;
use anyhow::Result;
use log::warn;
use pingora_core::server::configuration::ServerConf;
use pingora_core::server::{RunArgs, Server};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a starting server is polled.
const LOOK: Duration = Duration::from_millis(2);

/// What runs besides the listeners.
pub(crate) struct Serving {
    pub(crate) addresses: Vec<SocketAddr>,
    /// The operations listener.
    pub(crate) operations: Operations,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) parts: Reloadable,
    pub(crate) context: ProcessContext,
    pub(crate) reloads: Arc<Reloads>,
    pub(crate) spool: Option<spool::Running>,
    /// None in a process without a gateway.
    pub(crate) observability: Option<Observability>,
    pub(crate) api_activity: ApiActivity,
    pub(crate) text: String,
}

/// Starts the server and prints the start text; returns when the last call is answered and delivered.
pub(crate) fn run_server(
    settings: &Settings,
    mut serving: Serving,
    add: impl FnOnce(&mut Server),
) -> Result<()> {
    let mut server = Server::new_with_opt_and_conf(None, server_conf(settings));
    server.bootstrap();
    add(&mut server);
    let upgrades = Arc::new(Upgrades::new(serving.context.role, serving.metrics.clone()));
    let limits = serving.connection_limits();
    let signals = serving.signals(settings, &upgrades);
    serving.reloads.attach(std::mem::take(&mut serving.parts));
    let running = spawn(server, signals)?;
    serving.wait_until_open(&running)?;
    let takes_over = serving.take_over()?;
    serving.open_control_socket(settings, &upgrades);
    serving.readiness.ready();
    notify::ready();
    let watchdog = Watchdog::start(serving.operations.clone(), limits.clone(), upgrades.clone());
    welcome(std::mem::take(&mut serving.text));
    if takes_over {
        catch_up(&serving.reloads);
    }
    let grace = settings.gateway.shutdown.grace;
    let in_flight = || serving.in_flight(&limits, &upgrades);
    wait_for_the_last_call(&running, &serving.readiness, grace, in_flight);
    drop(watchdog);
    serving.end();
    Ok(())
}

/// Prints the start text on a thread of its own: the reader of standard output may be gone or stall.
fn welcome(text: String) {
    let say = move || drop(writeln!(std::io::stdout(), "{text}"));
    let thread = std::thread::Builder::new().name("welcome".into());
    if let Err(error) = thread.spawn(say) {
        warn!("cannot print the start text: {error}");
    }
}

fn catch_up(reloads: &Arc<Reloads>) {
    let reloads = reloads.clone();
    let thread = std::thread::Builder::new().name("catch-up".into());
    if let Err(error) = thread.spawn(move || reloads.catch_up()) {
        warn!(
            "cannot check for a newer configuration, the one read at the start stays in force: {error}"
        );
    }
}

/// What the server of a process is set to.
pub(crate) fn server_conf(settings: &Settings) -> ServerConf {
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

fn spawn(server: Server, signals: Signals) -> Result<JoinHandle<()>> {
    let run = move || {
        server.run(RunArgs {
            shutdown_signal: Box::new(signals),
        })
    };
    let thread = std::thread::Builder::new().name("server".into());
    Ok(thread.spawn(run)?)
}

impl Serving {
    /// The connection limits of all listeners but the operations listener.
    fn connection_limits(&self) -> Vec<Arc<ConnectionLimit>> {
        let clients = self
            .parts
            .gateway_state
            .as_ref()
            .map(|gateway_state| gateway_state.connection_limit().clone());
        let api = self.api_activity.limit().clone();
        clients.into_iter().chain([api]).collect()
    }

    /// Waits until the listeners accept and signals are handled, or the server has ended.
    fn wait_until_open(&self, server: &JoinHandle<()>) -> Result<()> {
        listeners::wait_until_open(&self.addresses, || server.is_finished())?;
        while !self.readiness.handles_signals() && !server.is_finished() {
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Calls and commands in progress. After a hand-over connections count too: each may bring one more
    /// request, which this process still serves.
    fn in_flight(&self, limits: &[Arc<ConnectionLimit>], upgrades: &Upgrades) -> i64 {
        let calls = self.metrics.in_flight() + self.api_activity.count() + upgrades.orders();
        let connections = limits.iter().map(|limit| limit.in_use_or_expected());
        calls + i64::from(upgrades.is_handed_over()) * connections.sum::<i64>()
    }

    /// Tells the previous process, if there is one, that this one serves; whether there was one.
    fn take_over(&mut self) -> Result<bool> {
        let Some(predecessor) = self.context.predecessor.take() else {
            return Ok(false);
        };
        // Asked to stop meanwhile: then the previous process keeps serving.
        anyhow::ensure!(
            !self.readiness.is_leaving(),
            "asked to stop before it served"
        );
        predecessor.ready()?;
        let result = UpgradeResult::Done;
        UpgradeEnded { result }.emit(&self.metrics);
        Ok(true)
    }

    fn signals(&self, settings: &Settings, upgrades: &Arc<Upgrades>) -> Signals {
        Signals {
            readiness: self.readiness.clone(),
            min_drain: settings.gateway.shutdown.min_drain,
            gateway_state: self.parts.gateway_state.clone(),
            api_activity: self.api_activity.clone(),
            upgrades: upgrades.clone(),
            reloads: self.reloads.clone(),
            sockets: self.context.sockets.clone(),
            control: self.context.control.clone(),
        }
    }

    /// Opens the control socket: from here on commands reach this process.
    fn open_control_socket(&self, settings: &Settings, upgrades: &Arc<Upgrades>) {
        self.context.sockets.close_unclaimed();
        let control = ControlServer {
            upgrades: upgrades.clone(),
            reloads: self.reloads.clone(),
            sockets: self.context.sockets.clone(),
            operations: self.operations.address,
            web: WebAddress::of(settings, self.context.role),
        };
        if let Err(error) = control.open(&self.context.control) {
            warn!(
                "no control socket: `monitor upgrade` and `monitor reload` cannot reach this process: {error:#}"
            );
        }
        // Asked to end before there was anything to close.
        if self.readiness.is_leaving() {
            upgrade::close(&self.context.control);
        }
    }

    /// Delivers what waits; after an interrupt only what is quick.
    fn end(self) {
        if let Some(spool) = self.spool {
            spool.stop(|| self.readiness.is_interrupted());
        }
        if let Some(observability) = self.observability {
            observability.stop(self.readiness.is_interrupted());
        }
    }
}
