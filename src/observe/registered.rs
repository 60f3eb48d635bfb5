//! Metrics made and registered in one step. Which there are stands in `metrics`.

use prometheus::{
    HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
};

/// A counter for each value of the labels.
pub(super) fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> prometheus::Result<IntCounterVec> {
    let metric = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// A histogram for each route.
pub(super) fn histograms(
    registry: &Registry,
    name: &str,
    help: &str,
    buckets: &[f64],
) -> prometheus::Result<HistogramVec> {
    let metric = HistogramVec::new(
        HistogramOpts::new(name, help).buckets(buckets.to_vec()),
        &["route"],
    )?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// One counter.
pub(super) fn counter(
    registry: &Registry,
    name: &str,
    help: &str,
) -> prometheus::Result<IntCounter> {
    let metric = IntCounter::new(name, help)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// One gauge.
pub(super) fn gauge(registry: &Registry, name: &str, help: &str) -> prometheus::Result<IntGauge> {
    let metric = IntGauge::new(name, help)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// The counters of one value of the first label, in the order of the second's.
pub(super) fn children(
    metric: &IntCounterVec,
    first: &str,
    second: impl Iterator<Item = &'static str>,
) -> Vec<IntCounter> {
    second
        .map(|value| metric.with_label_values(&[first, value]))
        .collect()
}
