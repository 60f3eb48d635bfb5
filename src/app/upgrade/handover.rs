//! The state of a process that hands over to the next one, and the hand-over itself.

use super::{line, transfer};
use crate::app::process::notify;
use crate::app::process::sockets::{Label, Sockets};
use crate::config::Role;
use crate::observe::events::{HandedOver, UpgradeEnded};
use crate::observe::{Metrics, UpgradeResult};
use anyhow::{Result, bail};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long the next process may take from the sockets to its readiness.
pub(crate) const READY: Duration = Duration::from_secs(120);
/// The same where it has a store, which a new version may have to migrate first.
const MIGRATED: Duration = Duration::from_secs(30 * 60);
/// How long a process waits after SIGQUIT for one that was started with `--upgrade`.
pub(crate) const BY_HAND: Duration = Duration::from_secs(5);

pub(crate) fn patience(role: Role) -> Duration {
    match role {
        Role::Gateway => READY,
        Role::All | Role::Analysis => MIGRATED,
    }
}

/// How far a process is in handing over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Serving,
    /// Another process has the sockets and is not ready yet.
    Handing,
    /// The next process is being killed after a timeout; no process may take over meanwhile.
    GivenUp,
    /// The other one serves.
    HandedOver,
}

/// The state that the control socket and the signals share.
pub(crate) struct Upgrades {
    phase: Mutex<Phase>,
    changed: Condvar,
    /// Held while a process is being started and is not its supervisor's child yet.
    starting: Mutex<()>,
    handed_over: watch::Sender<bool>,
    /// How long the next process may take.
    pub(crate) patience: Duration,
    metrics: Arc<Metrics>,
    /// Commands that are not answered yet.
    pub(crate) orders: AtomicI64,
    /// This process keeps no connection any more.
    leaving: AtomicBool,
}

impl Upgrades {
    pub(crate) fn new(role: Role, metrics: Arc<Metrics>) -> Self {
        Self {
            phase: Mutex::new(Phase::Serving),
            changed: Condvar::new(),
            starting: Mutex::new(()),
            handed_over: watch::Sender::new(false),
            patience: patience(role),
            metrics,
            orders: AtomicI64::new(0),
            leaving: AtomicBool::new(false),
        }
    }

    /// Commands in progress, whose senders wait for an answer.
    pub(crate) fn orders(&self) -> i64 {
        self.orders.load(Ordering::Relaxed)
    }

    /// Resolves once another process serves.
    pub(crate) async fn handed_over(&self) {
        // The sender lives as long as this end does.
        let _ = self.handed_over.subscribe().wait_for(|is| *is).await;
    }

    /// Marks that this process keeps no connection from here on, so its successor can be announced.
    pub(crate) fn leaves(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Whether another process serves.
    pub(crate) fn is_handed_over(&self) -> bool {
        *self.handed_over.borrow()
    }

    /// Hands over to the process at the other end of `stream`. `hold` says whether applications that are created from
    /// now on are the other one's.
    pub(crate) fn hand_over(
        &self,
        stream: &mut UnixStream,
        sockets: &Sockets,
        hold: impl Fn(bool),
    ) -> Result<()> {
        if !self.enter(Phase::Serving, Phase::Handing) {
            writeln!(stream, "failed: another upgrade is under way")?;
            return Ok(());
        }
        hold(true);
        match give(sockets, stream, self.patience) {
            Ok(pid) => {
                self.finish(stream, pid);
                Ok(())
            }
            Err(error) => {
                hold(false);
                self.enter(Phase::Handing, Phase::Serving);
                self.ended(UpgradeResult::Failed);
                Err(error.context("the next process did not become ready, this one goes on"))
            }
        }
    }

    fn finish(&self, stream: &mut UnixStream, pid: u32) {
        // Once it is its supervisor's child, and before a third process may follow it.
        drop(self.starting());
        notify::main_process(pid);
        // It serves, even if this message is lost.
        let _ = writeln!(stream, "going");
        HandedOver.emit();
        self.enter(Phase::Handing, Phase::HandedOver);
        self.handed_over.send_replace(true);
    }

    pub(crate) fn starting(&self) -> MutexGuard<'_, ()> {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ended(&self, result: UpgradeResult) {
        UpgradeEnded { result }.emit(&self.metrics);
    }

    pub(crate) fn enter(&self, from: Phase, to: Phase) -> bool {
        let mut phase = self.lock();
        let enters = *phase == from;
        if enters {
            *phase = to;
            self.changed.notify_all();
        }
        enters
    }

    /// Whether the phase fits within `limit`.
    pub(crate) fn wait(&self, limit: Duration, fits: impl Fn(Phase) -> bool) -> bool {
        let until = Instant::now() + limit;
        let mut phase = self.lock();
        while !fits(*phase) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            (phase, _) = self
                .changed
                .wait_timeout(phase, left)
                .unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the sockets and waits until their receiver is ready; returns its process id.
fn give(sockets: &Sockets, stream: &mut UnixStream, patience: Duration) -> Result<u32> {
    let copies: Vec<(Label, OwnedFd)> = sockets.copies()?;
    transfer::send(stream, &copies)?;
    let line = line::read_line(stream, patience)?;
    match line.strip_prefix("ready ").map(str::parse) {
        Some(Ok(pid)) => Ok(pid),
        _ => bail!("it said something else than that it is ready"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_over_while_the_one_that_was_started_is_being_ended() {
        let upgrades = Upgrades::new(Role::Gateway, Arc::new(Metrics::new().unwrap()));
        assert!(upgrades.enter(Phase::Serving, Phase::GivenUp));
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let handed = upgrades.hand_over(&mut ours, &Sockets::default(), |_| {});
        handed.unwrap();
        let refused = transfer::receive(&theirs).unwrap_err().to_string();
        assert!(
            refused.contains("another upgrade is under way"),
            "{refused}"
        );
        // A process that has the sockets is not given up.
        assert!(upgrades.enter(Phase::GivenUp, Phase::Serving));
        assert!(upgrades.enter(Phase::Serving, Phase::Handing));
        assert!(!upgrades.enter(Phase::Serving, Phase::GivenUp));
    }
}
