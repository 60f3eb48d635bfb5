//! What the ends of a spool share: its state under a lock, what is known of its disk, and the files
//! beside the segments. Nothing is decided here about a record; that is [`super::state`]'s.

use super::Receipt;
use super::dead::Letter;
use super::gate::Gate;
use super::gone::Loss;
use super::marks::Marks;
use super::numbers::{Digested, Numbered};
use super::owed::Owing;
use super::state::State;
use crate::backend::Record;
use crate::observe::Metrics;
use crate::observe::TelemetryOutcome;
use crate::observe::events::{DeadLettersLost, RecordFinished, SpoolDiskFailed, SpoolLost};
use monitor_model::Stage;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) wake: Condvar,
    pub(super) durable: watch::Sender<OnDisk>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) gate: Gate,
    pub(super) marks: Marks,
    pub(super) files: Owing,
}

/// How the disk keeps up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnDisk {
    /// Records on disk so far.
    pub(super) count: u64,
    /// It refuses to be written.
    pub(super) refuses: bool,
}

impl Shared {
    pub(super) fn push(&self, record: Record) -> Receipt {
        let stage = record.stage;
        let digested = Digested::from(record);
        let mut state = self.lock();
        let lost = state.push(digested, now_ms());
        let receipt = match lost {
            Some((Loss::Disk, _)) => Receipt::NEVER,
            _ => Receipt(state.pushed),
        };
        let wake = state.idle;
        drop(state);
        if wake {
            self.wake.notify_one();
        }
        self.report(stage, lost);
        receipt
    }

    pub(super) fn report(&self, stage: Stage, lost: Option<(Loss, u64)>) {
        match lost {
            None => {}
            Some((Loss::Disk, _)) => RecordFinished {
                stage,
                outcome: TelemetryOutcome::Dropped,
                reason: "the spool's disk takes no more and memory is full",
            }
            .emit(&self.metrics),
            Some((_, count)) => SpoolLost {
                reason: "full",
                count,
            }
            .emit(&self.metrics),
        }
    }

    /// Takes a record that the backend refuses with that status for a dead letter.
    pub(super) fn bury(&self, status: u16, record: &Record) {
        let letter = Letter::new(now_ms(), status, record);
        if !self.lock().bury(letter) {
            DeadLettersLost { count: 1 }.emit(&self.metrics);
        }
    }

    /// Notes that a number leaves before its record is on disk. Where that fails, it goes all the same.
    pub(super) fn goes_early(&self, numbered: Numbered) {
        if let Err(error) = self.marks.early(numbered) {
            SpoolDiskFailed { error: &error }.emit(&self.metrics);
        }
    }

    /// CONTRACT 5: no record leaves before it is on disk, or where the disk refuses before a note is.
    pub(super) async fn leaves(&self, ticket: u64, record: &Record) {
        if !self.written(ticket).await
            && let Some((_, numbered)) = Numbered::of(record)
        {
            self.goes_early(numbered);
        }
    }

    /// Returns once so many records are on disk, true; or at once, false, while the disk refuses.
    pub(super) async fn written(&self, ticket: u64) -> bool {
        if self.durable.borrow().count >= ticket {
            return true;
        }
        let mut disk = self.durable.subscribe();
        let known = disk.wait_for(|disk| disk.count >= ticket || disk.refuses);
        known.await.is_ok_and(|disk| disk.count >= ticket)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        time: Duration,
    ) -> MutexGuard<'a, State> {
        let (state, _) = self
            .wake
            .wait_timeout(state, time)
            .unwrap_or_else(PoisonError::into_inner);
        state
    }

    pub(super) fn set_degraded(&self, degraded: bool) {
        let changed =
            |disk: &mut OnDisk| std::mem::replace(&mut disk.refuses, degraded) != degraded;
        if self.durable.send_if_modified(changed) {
            self.metrics.spool.degraded.set(i64::from(degraded));
        }
    }

    pub(super) fn measure(&self, state: &State) {
        self.metrics
            .spool
            .bytes
            .set(i64::try_from(state.book.bytes()).unwrap_or(i64::MAX));
        self.metrics
            .spool
            .records
            .set(i64::try_from(state.book.owed()).unwrap_or(i64::MAX));
        self.metrics
            .queue_bytes
            .set(i64::try_from(state.held).unwrap_or(i64::MAX));
        self.metrics.spool.age.set(state.age_seconds(now_ms()));
    }
}

/// Milliseconds since 1970 (UTC); 0 on a machine whose clock stands before it.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
