//! From the spool to the backend: records of one exchange go through one lane, so that pre comes
//! before post; lanes run beside each other. A record leaves its lane only with an answer that will
//! not change: taken, or refused for good (CONTRACT 23).

use super::state::Item;
use super::{Shared, dead, now_ms};
use crate::observe::TelemetryOutcome;
use crate::observe::events::{RecordDelayed, RecordLeft};
use crate::telemetry::{Analyzer, AnalyzerError, Record};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Failures of one record, each while the backend answered others, after which it is given up: what
/// the backend can never take must not stand before all that come behind it.
const MAX_OWN_FAILURES: u32 = 8;

/// The backend's end of a spool: runs until the spool is closed and its lanes are empty.
pub struct Worker {
    pub(super) lanes: Vec<mpsc::UnboundedReceiver<Item>>,
    pub(super) analyzer: Arc<dyn Analyzer>,
    pub(super) shared: Arc<Shared>,
}

/// What became of a record.
enum Fate {
    Delivered,
    /// The status it was refused with; 0 for none.
    Dead(u16, String),
}

impl Worker {
    /// Delivers.
    pub async fn run(self) {
        let mut lanes = JoinSet::new();
        for mut lane in self.lanes {
            let (analyzer, shared) = (self.analyzer.clone(), self.shared.clone());
            lanes.spawn(async move {
                while let Some(item) = lane.recv().await {
                    let fate = deliver(&*analyzer, &item.record, &shared).await;
                    settle(&shared, &item, fate);
                }
            });
        }
        while lanes.join_next().await.is_some() {}
    }
}

async fn deliver(analyzer: &dyn Analyzer, record: &Record, shared: &Shared) -> Fate {
    let gate = &shared.gate;
    let mut own_failures = 0;
    loop {
        gate.pass().await;
        let before = gate.successes();
        // A panic must not take the lane and all that is behind it.
        let analysis = AssertUnwindSafe(analyzer.analyse(record)).catch_unwind();
        let result = analysis.await.unwrap_or_else(|_| Err(panicked()));
        let error = match result {
            Ok(_) => {
                gate.answered();
                return Fate::Delivered;
            }
            Err(AnalyzerError::Unavailable(reason)) => reason,
            Err(refused) => {
                gate.answered();
                let status = match refused {
                    AnalyzerError::KeyRefused(status) | AnalyzerError::Refused(status) => status,
                    AnalyzerError::Unavailable(_) => 0,
                };
                return Fate::Dead(status, refused.to_string());
            }
        };
        own_failures += u32::from(gate.successes() > before || gate.is_open());
        if own_failures > MAX_OWN_FAILURES {
            return Fate::Dead(0, error);
        }
        RecordDelayed {
            stage: record.stage,
            reason: &error,
        }
        .emit(&shared.metrics);
        gate.failed();
    }
}

fn settle(shared: &Shared, item: &Item, fate: Fate) {
    let letter = match &fate {
        Fate::Delivered => None,
        Fate::Dead(status, _) => Some(dead::encode(now_ms(), *status, &item.record)),
    };
    let (outcome, reason) = match &fate {
        Fate::Delivered => (TelemetryOutcome::Delivered, ""),
        Fate::Dead(_, reason) => (TelemetryOutcome::Refused, reason.as_str()),
    };
    RecordLeft {
        stage: item.record.stage,
        outcome,
        reason,
    }
    .emit(&shared.metrics);
    let mut state = shared.lock();
    state.dead.extend(letter);
    state.settled(item.place, item.weight);
    if state.idle && (state.wants_more() || !state.dead.is_empty()) {
        shared.wake.notify_one();
    }
}

fn panicked() -> AnalyzerError {
    AnalyzerError::Unavailable("the analysis panicked".into())
}
