//! Events of the analysis server's store and of its storage of files.

use crate::observe::failures::FAILURES;
use crate::observe::labels::{Label, ReusedId, StoreFault, SumName};
use crate::observe::metrics::Metrics;
use crate::observe::throttle::Throttle;
use monitor_model::ApplicationId;
use std::fmt::Display;
use std::sync::LazyLock;
use std::time::Duration;

/// The store failed, whoever called it.
pub struct StoreFailed<'a> {
    /// Reason, a label of the metric.
    pub reason: StoreFault,
    /// The error, without any content of a record.
    pub error: &'a dyn Display,
}

static STORE: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

impl StoreFailed<'_> {
    /// Counts; logs it at most once in ten seconds.
    pub fn emit(&self) {
        FAILURES.add_store(self.reason);
        if let Some(times) = STORE.pass() {
            let error = self.error;
            log::error!("the store failed ({times} times since the last message): {error}");
        }
    }
}

/// A record came under the id of a stored one with another text: an id was used twice, or somebody forges records.
pub struct IdReused {
    /// What became of it, a label of the metric.
    pub outcome: ReusedId,
}

static REUSED: LazyLock<[Throttle; ReusedId::ALL.len()]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(Duration::from_secs(10))));

impl IdReused {
    /// Counts; warns at most once in ten seconds and outcome.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.analysis.id_reused(self.outcome);
        let throttle = REUSED.get(self.outcome as usize);
        if let Some(times) = throttle.and_then(Throttle::pass) {
            let outcome = match self.outcome {
                ReusedId::StoredApart => "stored under an id of its own",
                ReusedId::NotStored => "checked, not stored",
            };
            log::warn!(
                target: "analysis",
                "a record has the id of a stored one with another text: {outcome} \
                 ({times} times since the last message)",
            );
        }
    }
}

/// The bytes of an attached file could not be written, read or removed.
pub struct FileStorageFailed<'a> {
    /// The error, without the file's name.
    pub error: &'a dyn Display,
}

static FILES: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(10)));

impl FileStorageFailed<'_> {
    /// Counts; logs it at most once in ten seconds.
    pub fn emit(&self) {
        FAILURES.add_files();
        if let Some(times) = FILES.pass() {
            let error = self.error;
            log::error!("{error} ({times} times since the last message)");
        }
    }
}

/// The sums of an application's day have no room for further names.
pub struct CostNamesFull {
    /// Whose calls had so many.
    pub application: ApplicationId,
    /// What they had too many of, a label of the metric.
    pub kind: SumName,
}

impl CostNamesFull {
    /// Counts and warns; it happens once on a day for each application.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.costs.full(self.kind);
        let (application, kind) = (self.application, self.kind.as_str());
        log::warn!(
            target: "analysis",
            "application {application}: sums of costs have no room for another {kind} on this day; further ones count as other"
        );
    }
}
