//! Creates and registers metrics in one step.

use crate::observe::labels::Label;
use monitor_model::Stage;
use prometheus::{
    Gauge, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
};

/// A metric's name and its help text.
pub(super) type About = (&'static str, &'static str);

/// A counter for each value of the labels.
pub(super) fn counters(
    registry: &Registry,
    (name, help): About,
    labels: &[&str],
) -> prometheus::Result<IntCounterVec> {
    let metric = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// The same with one label, each of whose values is there from the start.
pub(super) fn labelled<L: Label>(
    registry: &Registry,
    about: About,
    label: &str,
) -> prometheus::Result<IntCounterVec> {
    let metric = counters(registry, about, &[label])?;
    for value in L::VALUES {
        metric.with_label_values(&[value]);
    }
    Ok(metric)
}

/// The same for each stage of a call, under the names that `stage` gives: `[stage][value]`.
pub(super) fn per_stage<L: Label>(
    registry: &Registry,
    about: About,
    label: &str,
    stage: fn(Stage) -> &'static str,
) -> prometheus::Result<[Vec<IntCounter>; 2]> {
    let metric = counters(registry, about, &["stage", label])?;
    Ok([Stage::PreCall, Stage::PostCall].map(|one| children::<L>(&metric, stage(one))))
}

/// A histogram for each route.
pub(super) fn histograms(
    registry: &Registry,
    (name, help): About,
    buckets: &[f64],
) -> prometheus::Result<HistogramVec> {
    let metric = HistogramVec::new(
        HistogramOpts::new(name, help).buckets(buckets.to_vec()),
        &["route"],
    )?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// A counter without labels.
pub(super) fn counter(registry: &Registry, (name, help): About) -> prometheus::Result<IntCounter> {
    let metric = IntCounter::new(name, help)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// A gauge without labels.
pub(super) fn gauge(registry: &Registry, (name, help): About) -> prometheus::Result<IntGauge> {
    let metric = IntGauge::new(name, help)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// One gauge of seconds.
pub(super) fn seconds(registry: &Registry, (name, help): About) -> prometheus::Result<Gauge> {
    let metric = Gauge::new(name, help)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// The counters of one value of the first label, in the order of the second's.
pub(super) fn children<L: Label>(metric: &IntCounterVec, first: &str) -> Vec<IntCounter> {
    let values = L::VALUES.iter();
    values
        .map(|value| metric.with_label_values(&[first, value]))
        .collect()
}
