//! Start and stop of one process: readiness, the signals, and the wait for the last call.

use async_trait::async_trait;
use log::info;
use pingora_core::server::{ShutdownSignal, ShutdownSignalWatch};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

const STARTING: u8 = 0;
const READY: u8 = 1;
const DRAINING: u8 = 2;
const STOPPING: u8 = 3;
const INTERRUPTED: u8 = 4;

/// How often the wait for the last call looks.
const LOOK: Duration = Duration::from_millis(20);

/// Whether this process wants traffic.
#[derive(Debug, Default)]
pub(super) struct Readiness(AtomicU8);

impl Readiness {
    pub(super) fn state(&self) -> &'static str {
        match self.0.load(Ordering::Relaxed) {
            STARTING => "starting",
            READY => "ready",
            DRAINING => "draining",
            _ => "stopping",
        }
    }

    pub(super) fn ready(&self) {
        let _ = self
            .0
            .compare_exchange(STARTING, READY, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn set(&self, state: u8) {
        self.0.store(state, Ordering::Relaxed);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= STOPPING
    }

    /// Asked to stop without waiting for anything.
    pub(super) fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed) == INTERRUPTED
    }
}

/// Turns signals into pingora's shutdown, readiness first.
pub(super) struct Signals {
    pub(super) readiness: Arc<Readiness>,
    pub(super) min_drain: Duration,
    /// Called once when draining begins.
    pub(super) on_drain: Box<dyn Fn() + Send + Sync>,
}

#[async_trait]
impl ShutdownSignalWatch for Signals {
    async fn recv(&self) -> ShutdownSignal {
        let (Ok(mut terminate), Ok(mut interrupt)) = (
            signal(SignalKind::terminate()),
            signal(SignalKind::interrupt()),
        ) else {
            return ShutdownSignal::FastShutdown;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {
                info!("interrupted, stopping at once");
                self.readiness.set(INTERRUPTED);
                return ShutdownSignal::FastShutdown;
            }
        }
        info!("asked to stop, draining");
        self.readiness.set(DRAINING);
        (self.on_drain)();
        tokio::select! {
            () = tokio::time::sleep(self.min_drain) => {}
            _ = interrupt.recv() => {}
        }
        self.readiness.set(STOPPING);
        // Whoever will not wait for the last call interrupts.
        tokio::spawn(async move {
            interrupt.recv().await;
            std::process::exit(1);
        });
        ShutdownSignal::GracefulTerminate
    }
}

/// Blocks until the process has been asked to stop and nothing is in flight, or `grace` is over
/// since then, or `server` ended by itself.
pub(super) fn wait_for_the_last_call(
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
