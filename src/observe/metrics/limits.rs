//! The metrics of limits: client connections, bytes in memory and in files, calls refused because a limit was
//! reached.

use super::Registries;
use super::register::{About, counter, gauge, labelled, seconds};
use crate::observe::labels::{AcceptFault, BudgetLabel, Exhausted, QuotaLimit, UnknownCaller};
use prometheus::{Gauge, IntCounter, IntCounterVec, IntGauge};

const CONNECTIONS: About = (
    "monitor_connections",
    "Client connections of the gateway's listeners.",
);
const CONNECTIONS_LIMIT: About = (
    "monitor_connections_limit",
    "The limit of monitor_connections: limits.connections, or what the file descriptors allow.",
);
const API_CONNECTIONS: About = (
    "monitor_api_connections",
    "Client connections of the analysis API and the web UI.",
);
const API_CONNECTIONS_LIMIT: About = (
    "monitor_api_connections_limit",
    "The limit of monitor_api_connections: what the file descriptors allow.",
);
const ACCEPT_PAUSES: About = (
    "monitor_accept_pauses_total",
    "Times that a listener paused accepting because its connection limit was reached.",
);
const ACCEPT_ERRORS: About = (
    "monitor_accept_errors_total",
    "Connections that the system failed to accept, by reason.",
);
const BUFFERED_BYTES: About = (
    "monitor_buffered_bytes",
    "Bytes of requests and answers in memory for calls in progress.",
);
const BUFFERED_LIMIT: About = (
    "monitor_buffered_bytes_limit",
    "The limit of monitor_buffered_bytes: limits.buffered_bytes.",
);
const API_BUFFERED_BYTES: About = (
    "monitor_api_buffered_bytes",
    "Bytes of requests and answers of the analysis API and the web UI in memory.",
);
const API_BUFFERED_LIMIT: About = (
    "monitor_api_buffered_bytes_limit",
    "The limit of monitor_api_buffered_bytes: limits.buffered_bytes of the analysis server.",
);
const SPILLED_BYTES: About = (
    "monitor_spilled_bytes",
    "Bytes of request bodies held in files.",
);
const SPILLED_LIMIT: About = (
    "monitor_spilled_bytes_limit",
    "The limit of monitor_spilled_bytes: limits.spilled_bytes.",
);
const SPILLED_EARLY: About = (
    "monitor_spilled_early_total",
    "Request bodies below the size for files that went to a file because memory was short.",
);
const OVERLOADED: About = (
    "monitor_overloaded_total",
    "Calls and API requests answered with 503 because a resource was exhausted, by resource.",
);
const REFUSED: About = (
    "monitor_rate_limited_total",
    "Calls answered with 429 because of their application's limits.",
);
const BUDGET_REFUSED: About = (
    "monitor_budget_refused_total",
    "Calls answered with 429 because a budget of their application or user is spent, by budget.",
);
const BUDGET_WARNED: About = (
    "monitor_budget_warned_total",
    "Calls whose answer warns that a budget is spent or nearly, by budget.",
);
const BUDGET_COUNT_AGE: About = (
    "monitor_budget_count_age_seconds",
    "Time since budgets were counted, of the application with the oldest count; +Inf when one never was, 0 without any.",
);

const UNKNOWN_CALLERS: About = (
    "monitor_unknown_callers_total",
    "Calls whose access key or application is not known, by what happened to them.",
);

/// The limits of the gateway, how much of each is in use, and how often each was reached.
pub struct LimitMetrics {
    /// Client connections open.
    pub connections: IntGauge,
    /// The limit of monitor_connections: limits.connections, or what the file descriptors allow.
    pub connections_limit: IntGauge,
    /// Client connections of the analysis API and the web UI.
    pub api_connections: IntGauge,
    /// The limit of monitor_api_connections.
    pub api_connections_limit: IntGauge,
    /// Times that accepting paused because there were that many.
    pub accept_pauses: IntCounter,
    accept_errors: IntCounterVec,
    /// Bytes of requests and answers held in memory.
    pub buffered_bytes: IntGauge,
    /// The limit of monitor_buffered_bytes: limits.buffered_bytes.
    pub buffered_limit: IntGauge,
    /// Bytes of requests and answers of the analysis API and the web UI in memory.
    pub api_buffered_bytes: IntGauge,
    /// The limit of monitor_api_buffered_bytes.
    pub api_buffered_limit: IntGauge,
    /// Bytes of request bodies in files.
    pub spilled_bytes: IntGauge,
    /// The limit of monitor_spilled_bytes: limits.spilled_bytes.
    pub spilled_limit: IntGauge,
    /// Request bodies that went to a file because memory was short.
    pub spilled_early: IntCounter,
    /// Calls refused with 503.
    pub overloaded: IntCounterVec,
    /// Calls refused with 429.
    pub refused: IntCounterVec,
    /// Calls refused because of a budget.
    pub budget_refused: IntCounterVec,
    /// Calls warned because of a budget.
    pub budget_warned: IntCounterVec,
    /// Time since what is known of budgets was counted.
    pub budget_count_age: Gauge,
    /// Calls of unknown callers.
    pub unknown_callers: IntCounterVec,
}

impl LimitMetrics {
    pub(super) fn new(registries: &Registries) -> prometheus::Result<Self> {
        let Registries {
            process,
            gateway,
            analysis,
        } = registries;
        Ok(Self {
            connections: gauge(gateway, CONNECTIONS)?,
            connections_limit: gauge(gateway, CONNECTIONS_LIMIT)?,
            accept_pauses: counter(process, ACCEPT_PAUSES)?,
            accept_errors: labelled::<AcceptFault>(process, ACCEPT_ERRORS, "reason")?,
            buffered_bytes: gauge(gateway, BUFFERED_BYTES)?,
            buffered_limit: gauge(gateway, BUFFERED_LIMIT)?,
            api_connections: gauge(analysis, API_CONNECTIONS)?,
            api_connections_limit: gauge(analysis, API_CONNECTIONS_LIMIT)?,
            api_buffered_bytes: gauge(analysis, API_BUFFERED_BYTES)?,
            api_buffered_limit: gauge(analysis, API_BUFFERED_LIMIT)?,
            spilled_bytes: gauge(gateway, SPILLED_BYTES)?,
            spilled_limit: gauge(gateway, SPILLED_LIMIT)?,
            spilled_early: counter(gateway, SPILLED_EARLY)?,
            overloaded: labelled::<Exhausted>(process, OVERLOADED, "room")?,
            refused: labelled::<QuotaLimit>(gateway, REFUSED, "limit")?,
            budget_refused: labelled::<BudgetLabel>(gateway, BUDGET_REFUSED, "budget")?,
            budget_warned: labelled::<BudgetLabel>(gateway, BUDGET_WARNED, "budget")?,
            budget_count_age: seconds(gateway, BUDGET_COUNT_AGE)?,
            unknown_callers: labelled::<UnknownCaller>(gateway, UNKNOWN_CALLERS, "outcome")?,
        })
    }

    /// A connection could not be accepted.
    pub fn accept_failed(&self, reason: AcceptFault) {
        self.accept_errors
            .with_label_values(&[reason.as_str()])
            .inc();
    }
}
