//! Start and stop of one process: readiness, the signals, and the wait for the last call.

use crate::app::process::notify;
use crate::app::process::sockets::Sockets;
use crate::app::process::web::ApiActivity;
use crate::app::reload::Reloads;
use crate::app::upgrade::{self, Upgrades};
use crate::config::ShutdownSettings;
use crate::gateway::GatewayState;
use crate::observe::logging;
use async_trait::async_trait;
use log::{info, warn};
use pingora_core::server::{ShutdownSignal, ShutdownSignalWatch};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

const STARTING: u8 = 0;
const READY: u8 = 1;
const DRAINING: u8 = 2;
const STOPPING: u8 = 3;
const INTERRUPTED: u8 = 4;

/// How often the wait for the last call polls.
const LOOK: Duration = Duration::from_millis(20);

/// Whether this process accepts traffic.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    state: AtomicU8,
    /// Handlers are installed: a signal no longer ends the process by itself.
    handles_signals: AtomicBool,
    checks: Mutex<Option<Checks>>,
}

/// When somebody asked whether the process is ready, and was told that it is.
#[derive(Clone, Copy, Debug)]
struct Checks {
    first: Instant,
    latest: Instant,
}

/// A load balancer checks again within this time; what is older was a person, or a balancer that has gone.
const STILL_WATCHED: Duration = Duration::from_secs(60);
/// Checks are at least this far apart: a program that waits for a start asks more often, and no longer.
const WATCHED_FOR: Duration = Duration::from_secs(1);

impl Readiness {
    pub(crate) fn state(&self) -> &'static str {
        match self.state.load(Ordering::Relaxed) {
            STARTING => "starting",
            READY => "ready",
            DRAINING => "draining",
            _ => "stopping",
        }
    }

    pub(crate) fn ready(&self) {
        let _ = self
            .state
            .compare_exchange(STARTING, READY, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Somebody is told that the process is ready.
    pub(crate) fn note_check(&self) {
        let latest = Instant::now();
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        let first = checks.map_or(latest, |checks| checks.first);
        *checks = Some(Checks { first, latest });
    }

    /// Whether something checks the readiness again and again, as load balancers do.
    fn is_watched(&self) -> bool {
        let checks = *self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        checks.is_some_and(|checks| {
            checks.latest.duration_since(checks.first) >= WATCHED_FOR
                && checks.latest.elapsed() <= STILL_WATCHED
        })
    }

    fn set(&self, state: u8) {
        self.state.store(state, Ordering::Relaxed);
    }

    pub(crate) fn handles_signals(&self) -> bool {
        self.handles_signals.load(Ordering::Relaxed)
    }

    /// Requested to stop, or handing over.
    pub(crate) fn is_leaving(&self) -> bool {
        self.state.load(Ordering::Relaxed) >= DRAINING
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.state.load(Ordering::Relaxed) >= STOPPING
    }

    /// Requested to stop without waiting for calls.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.state.load(Ordering::Relaxed) == INTERRUPTED
    }
}

/// Turns signals and hand-overs into pingora's shutdown, readiness first.
pub(crate) struct Signals {
    pub(crate) readiness: Arc<Readiness>,
    /// None: as long as load balancers need to notice, where one is watching.
    pub(crate) min_drain: Option<Duration>,
    /// None in a process without a gateway.
    pub(crate) gateway_state: Option<Arc<GatewayState>>,
    pub(crate) api_activity: ApiActivity,
    pub(crate) upgrades: Arc<Upgrades>,
    pub(crate) reloads: Arc<Reloads>,
    pub(crate) sockets: Sockets,
    /// Path of the control socket.
    pub(crate) control: PathBuf,
}

/// Why a process ends.
enum Ending {
    Terminated,
    Interrupted,
    HandedOver,
}

impl Signals {
    /// Reloads and starts upgrades until there is a reason to end.
    async fn ending(&self, interrupt: &mut Signal) -> std::io::Result<Ending> {
        let mut terminate = signal(SignalKind::terminate())?;
        let (mut quit, mut hangup) = (signal(SignalKind::quit())?, signal(SignalKind::hangup())?);
        self.readiness
            .handles_signals
            .store(true, Ordering::Relaxed);
        loop {
            tokio::select! {
                _ = terminate.recv() => return Ok(Ending::Terminated),
                _ = interrupt.recv() => return Ok(Ending::Interrupted),
                () = self.upgrades.handed_over() => return Ok(Ending::HandedOver),
                _ = quit.recv() => {
                    let upgrades = self.upgrades.clone();
                    tokio::task::spawn_blocking(move || upgrade::on_signal(&upgrades));
                }
                _ = hangup.recv() => {
                    let reloads = self.reloads.clone();
                    // The result is in the log, in /status and in a metric.
                    tokio::task::spawn_blocking(move || drop(reloads.reload()));
                }
            }
        }
    }

    /// Reports that the process is not ready, for as long as load balancers need to notice. False when another
    /// signal interrupted it.
    async fn drain(&self, interrupt: &mut Signal) -> bool {
        let notice = match self.min_drain {
            Some(fixed) => fixed,
            None if self.readiness.is_watched() => ShutdownSettings::NOTICE,
            None => Duration::ZERO,
        };
        info!("stop requested, draining; connections are accepted for another {notice:?}");
        notify::stopping();
        self.readiness.set(DRAINING);
        upgrade::close(&self.control);
        if let Some(gateway_state) = &self.gateway_state {
            gateway_state.drain();
        }
        tokio::select! {
            () = tokio::time::sleep(notice) => true,
            _ = interrupt.recv() => false,
        }
    }

    /// Stops waiting for calls; only acknowledged records are still written to disk.
    fn interrupted(&self) -> ShutdownSignal {
        info!("interrupted, stopping at once");
        self.readiness.set(INTERRUPTED);
        upgrade::close(&self.control);
        ShutdownSignal::FastShutdown
    }

    fn hand_over(&self) {
        self.readiness.set(DRAINING);
        self.api_activity.hand_over();
        if let Some(gateway_state) = &self.gateway_state {
            gateway_state.hand_over();
        }
        self.upgrades.leaves();
    }
}

#[async_trait]
impl ShutdownSignalWatch for Signals {
    async fn recv(&self) -> ShutdownSignal {
        let Ok(mut interrupt) = signal(SignalKind::interrupt()) else {
            return ShutdownSignal::FastShutdown;
        };
        match self.ending(&mut interrupt).await {
            Ok(Ending::Terminated) => {
                if !self.drain(&mut interrupt).await {
                    return self.interrupted();
                }
            }
            Ok(Ending::HandedOver) => self.hand_over(),
            Ok(Ending::Interrupted) | Err(_) => return self.interrupted(),
        }
        self.readiness.set(STOPPING);
        self.sockets.close();
        let (readiness, control) = (self.readiness.clone(), self.control.clone());
        tokio::spawn(async move {
            // An operator who does not want to wait for the last call interrupts, and again if the disk hangs.
            tokio::select! {
                _ = interrupt.recv() => info!("interrupted, stopping at once"),
                () = left_alone(&control) => {
                    warn!("stop requested while no process serves, stopping at once: the process that took over has died");
                }
            }
            readiness.set(INTERRUPTED);
            interrupt.recv().await;
            logging::flush();
            std::process::exit(1);
        });
        ShutdownSignal::GracefulTerminate
    }
}

/// Resolves when this process is requested to stop after its successor has died: a supervisor starts
/// another process only once this one is gone, and until then no process serves. At a normal stop the
/// successor still runs, or has stopped in order.
async fn left_alone(control: &Path) {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    while terminate.recv().await.is_some() {
        let control = control.to_owned();
        let looked = tokio::task::spawn_blocking(move || upgrade::is_deserted(&control));
        if looked.await.unwrap_or(false) {
            return;
        }
    }
    std::future::pending().await
}

/// Blocks until a stop was requested and nothing is in flight, or `grace` has passed since then, or `server`
/// has ended by itself.
pub(crate) fn wait_for_the_last_call(
    server: &std::thread::JoinHandle<()>,
    readiness: &Readiness,
    grace: Duration,
    in_flight: impl Fn() -> i64,
) {
    while !readiness.is_stopping() && !server.is_finished() {
        std::thread::sleep(LOOK);
    }
    let asked = Instant::now();
    let waits = || !readiness.is_interrupted() && asked.elapsed() < grace;
    while in_flight() > 0 && waits() && !server.is_finished() {
        std::thread::sleep(LOOK);
    }
}
