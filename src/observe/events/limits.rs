//! Events of limits that were reached.

use crate::observe::labels::{
    AcceptFault, BudgetLabel, Exhausted, Label, QuotaLimit, UnknownCaller,
};
use crate::observe::metrics::Metrics;
use crate::observe::throttle::Throttle;
use log::{info, warn};
use monitor_model::ApplicationId;
use std::sync::LazyLock;
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(10);

/// The connection limit is reached.
pub struct AcceptPaused {
    /// Number of open connections.
    pub connections: i64,
    /// Name of the limit.
    pub bound: &'static str,
}

static PAUSED: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(PERIOD));

impl AcceptPaused {
    /// Counts; warns at most once in ten seconds.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.limits.accept_pauses.inc();
        if let Some(count) = PAUSED.pass() {
            warn!(
                target: "gateway",
                "{} client connections are open ({}): further connections wait in the accept queue ({count} since the last line)",
                self.connections,
                self.bound,
            );
        }
    }
}

/// A connection could not be accepted.
pub struct AcceptFailed<'a> {
    /// Reason, a label of the metric.
    pub reason: AcceptFault,
    /// The error of the system.
    pub error: &'a std::io::Error,
}

static FAILED: LazyLock<[Throttle; 3]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(PERIOD)));

impl AcceptFailed<'_> {
    /// Counts; warns at most once in ten seconds and reason.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.limits.accept_failed(self.reason);
        let throttle = FAILED.get(self.reason as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            warn!(
                target: "gateway",
                "cannot accept a connection: {} ({count} since the last line)",
                self.error,
            );
        }
    }
}

/// A call is answered with 503 because a resource is exhausted.
pub struct Overloaded {
    /// The resource, a label of the metric.
    pub room: Exhausted,
}

static OVERLOADED: LazyLock<[Throttle; Exhausted::ALL.len()]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(PERIOD)));

impl Overloaded {
    /// Counts; warns at most once in ten seconds and room.
    pub fn emit(&self, metrics: &Metrics) {
        let room = self.room.as_str();
        metrics.limits.overloaded.with_label_values(&[room]).inc();
        let throttle = OVERLOADED.get(self.room as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            let why = match self.room {
                Exhausted::Memory => "limits.buffered_bytes is exhausted",
                Exhausted::ClientMemory => {
                    "one client address has used up limits.client_bytes with long request heads, or with calls whose access key no backend has accepted"
                }
                Exhausted::ClientCalls => {
                    "one client has its share of calls over HTTP/2 in progress: limits.client_connections for an address until the backend has accepted its access key, then a quarter of what the file descriptors allow"
                }
                Exhausted::Disk => {
                    "limits.spilled_bytes is exhausted, or the disk is full (data_dir)"
                }
                Exhausted::Descriptors => {
                    "no file descriptors for further calls (LimitNOFILE, ulimit -n)"
                }
                Exhausted::ApiMemory => {
                    "the analysis server's limits.buffered_bytes, or one client's limits.client_bytes, is exhausted"
                }
            };
            warn!(
                target: "gateway",
                "calls are answered with 503: {why} ({count} since the last line)",
            );
        }
    }
}

/// A request body goes to a file though it is not large, because memory is short.
pub struct SpilledEarly;

static EARLY: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(PERIOD));

impl SpilledEarly {
    /// Counts; warns at most once in ten seconds.
    pub fn emit(&self, metrics: &Metrics) {
        metrics.limits.spilled_early.inc();
        if let Some(count) = EARLY.pass() {
            warn!(
                target: "gateway",
                "limits.buffered_bytes is nearly exhausted: slow request bodies move to files ({count} since the last line)",
            );
        }
    }
}

/// A call is answered with 429 because of its application's limits.
pub struct CallRefused<'a> {
    /// The limit that was reached.
    pub limit: QuotaLimit,
    /// The application that reached it.
    pub application: &'a ApplicationId,
}

static REFUSED: LazyLock<[Throttle; 2]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(PERIOD)));

impl CallRefused<'_> {
    /// Counts; says it at most once in ten seconds and limit.
    pub fn emit(&self, metrics: &Metrics) {
        let limit = self.limit.as_str();
        metrics.limits.refused.with_label_values(&[limit]).inc();
        let throttle = REFUSED.get(self.limit as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            info!(
                target: "policy",
                "application {} is over its limit ({limit}): answered with 429 ({count} since the last line)",
                self.application,
            );
        }
    }
}

/// A call is answered with 429 because a budget is spent. The user is not logged.
pub struct BudgetRefused<'a> {
    /// Which budget, a label of the metric.
    pub budget: BudgetLabel,
    /// Whose it is.
    pub application: &'a ApplicationId,
}

static BUDGET_REFUSED: LazyLock<[Throttle; BudgetLabel::ALL.len()]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(PERIOD)));

impl BudgetRefused<'_> {
    /// Counts; says it at most once in ten seconds and budget.
    pub fn emit(&self, metrics: &Metrics) {
        let budget = self.budget.as_str();
        let counter = &metrics.limits.budget_refused;
        counter.with_label_values(&[budget]).inc();
        let throttle = BUDGET_REFUSED.get(self.budget as usize);
        if let Some(count) = throttle.and_then(Throttle::pass) {
            info!(
                target: "policy",
                "a budget of application {} is spent ({budget}): answered with 429 ({count} since the last line)",
                self.application,
            );
        }
    }
}

/// The answer of a call warns that a budget is spent or nearly.
pub struct BudgetWarned {
    /// Which budget, a label of the metric.
    pub budget: BudgetLabel,
}

impl BudgetWarned {
    /// Counts; a line for each call would say what the answers say.
    pub fn emit(&self, metrics: &Metrics) {
        let counter = &metrics.limits.budget_warned;
        counter.with_label_values(&[self.budget.as_str()]).inc();
    }
}

/// A call's access key or application is not known.
pub struct CallerUnknown {
    /// What happens to the call, a label of the metric.
    pub outcome: UnknownCaller,
}

static UNKNOWN: LazyLock<[Throttle; UnknownCaller::ALL.len()]> =
    LazyLock::new(|| std::array::from_fn(|_| Throttle::every(PERIOD)));

impl CallerUnknown {
    /// Counts; says it at most once in ten seconds and outcome.
    pub fn emit(&self, metrics: &Metrics) {
        let outcome = self.outcome.as_str();
        let counter = &metrics.limits.unknown_callers;
        counter.with_label_values(&[outcome]).inc();
        let throttle = UNKNOWN.get(self.outcome as usize);
        let Some(count) = throttle.and_then(Throttle::pass) else {
            return;
        };
        let what = match self.outcome {
            UnknownCaller::KeyRefused => "the access key is not known: answered with 401",
            UnknownCaller::KeyForwarded => "the access key is not known: forwarded",
            UnknownCaller::KeyUnchecked => {
                "the backend cannot be asked about the access key: answered with 502"
            }
            UnknownCaller::KeyUnsupported => {
                "the backend does not tell which access keys it knows (POST /process_batch/): forwarded"
            }
            UnknownCaller::ApplicationRefused => "the application is not known: answered with 403",
            UnknownCaller::ApplicationDefault => {
                "the application is not known: the default application counts"
            }
            UnknownCaller::ApplicationForwarded => {
                "the application is not known: forwarded unchecked"
            }
        };
        info!(target: "policy", "{what} ({count} since the last line)");
    }
}
