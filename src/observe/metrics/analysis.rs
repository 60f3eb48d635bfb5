//! The metrics of an analysis server: requests of its API, verdicts, the time they take, records and files.

use super::register::{About, counter, counters, labelled, per_stage};
use crate::observe::labels::{AnalysisResult, AnalysisStep, IncompleteReason, Label, ReusedId};
use monitor_model::Stage;
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Registry};
use std::time::Duration;

/// Seconds: from a short message to one that waits for a judge.
const STEP: &[f64] = &[
    0.000_05, 0.000_2, 0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0,
];
/// Statuses that each route shows from the start: the first error counts, too. 502 is an identity provider's fault.
const SHOWN: [&str; 4] = ["200", "500", "502", "503"];

const REQUESTS: About = (
    "monitor_api_requests_total",
    "Requests of the analysis API, its documentation and the web UI, by route and status.",
);
const RESULTS: About = (
    "monitor_analysis_results_total",
    "Analyzed messages, by stage and what was found.",
);
const INCOMPLETE: About = (
    "monitor_analysis_incomplete_total",
    "Messages that were not checked as a whole, whatever was found in them, by stage and reason.",
);
const STORED: About = (
    "monitor_records_stored_total",
    "Records that the store made durable, by stage; a record that is sent again counts again.",
);
const REUSED_IDS: About = (
    "monitor_reused_ids_total",
    "Records that came under the id of a stored one with another text, by outcome.",
);
const FILES: About = (
    "monitor_files_stored_total",
    "Files that were attached to records.",
);

/// Of an analysis server.
pub struct AnalysisMetrics {
    requests: IntCounterVec,
    results: [Vec<IntCounter>; 2],
    incomplete: [Vec<IntCounter>; 2],
    stored: [IntCounter; 2],
    steps: Vec<Histogram>,
    reused_ids: IntCounterVec,
    /// Files that were attached to records.
    pub files: IntCounter,
}

impl AnalysisMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let stored = counters(registry, STORED, &["stage"])?;
        let stored_of = |stage: Stage| stored.with_label_values(&[stage.as_str()]);
        Ok(Self {
            requests: counters(registry, REQUESTS, &["route", "status"])?,
            results: per_stage::<AnalysisResult>(registry, RESULTS, "type", Stage::as_str)?,
            incomplete: per_stage::<IncompleteReason>(
                registry,
                INCOMPLETE,
                "reason",
                Stage::as_str,
            )?,
            stored: [stored_of(Stage::PreCall), stored_of(Stage::PostCall)],
            steps: steps(registry)?,
            reused_ids: labelled::<ReusedId>(registry, REUSED_IDS, "outcome")?,
            files: counter(registry, FILES)?,
        })
    }

    /// A route that there is; requests of it will be counted.
    pub fn add_route(&self, route: &str) {
        for status in SHOWN {
            self.requests.with_label_values(&[route, status]);
        }
    }

    /// One request was answered. Routes are templates of paths, whose number is fixed.
    pub fn answered(&self, route: &str, status: &str) {
        self.requests.with_label_values(&[route, status]).inc();
    }

    /// One message was analyzed.
    pub fn analyzed(&self, stage: Stage, result: AnalysisResult) {
        if let Some(counter) = self.results[stage as usize].get(result as usize) {
            counter.inc();
        }
    }

    /// One message was not checked as a whole.
    pub fn incomplete(&self, stage: Stage, reason: IncompleteReason) {
        if let Some(counter) = self.incomplete[stage as usize].get(reason as usize) {
            counter.inc();
        }
    }

    /// One step of a message took so long.
    pub fn took(&self, step: AnalysisStep, time: Duration) {
        if let Some(histogram) = self.steps.get(step as usize) {
            histogram.observe(time.as_secs_f64());
        }
    }

    /// One record came under the id of a stored one with another text.
    pub fn id_reused(&self, outcome: ReusedId) {
        let counter = self.reused_ids.with_label_values(&[outcome.as_str()]);
        counter.inc();
    }

    /// One record is durable, so long after it was handed to the store.
    pub fn stored(&self, stage: Stage, time: Duration) {
        self.stored[stage as usize].inc();
        self.took(AnalysisStep::Store, time);
    }
}

fn steps(registry: &Registry) -> prometheus::Result<Vec<Histogram>> {
    let name = "monitor_analysis_step_seconds";
    let help = "Time of one step of a message, from its request to its durable record.";
    let opts = HistogramOpts::new(name, help).buckets(STEP.to_vec());
    let histogram = HistogramVec::new(opts, &["step"])?;
    registry.register(Box::new(histogram.clone()))?;
    Ok(AnalysisStep::VALUES
        .iter()
        .map(|step| histogram.with_label_values(&[step]))
        .collect())
}
