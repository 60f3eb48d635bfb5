//! The table of metrics as it is rendered (CONTRACT 35).
#![allow(clippy::unwrap_used)]
use super::*;
use crate::observe::labels::{Outcome, RouteLabel, TelemetryOutcome};
use monitor_model::Stage;
use std::sync::Barrier;

#[test]
fn every_metric_registers_and_every_label_has_its_place() {
    let metrics = Metrics::new().unwrap();
    metrics.call_started(RouteLabel::Other);
    metrics.call_ended(RouteLabel::Other, Outcome::ClientGone, CallTimes::default());
    metrics.telemetry(Stage::PostCall, TelemetryOutcome::Dropped);
    let text = String::from_utf8(metrics.render()).unwrap();
    assert!(text.contains(r#"monitor_requests_total{outcome="client_gone",route="other"} 1"#));
    assert!(
        text.contains(r#"monitor_telemetry_records_total{outcome="dropped",stage="llm_answer"} 1"#)
    );
    assert_eq!(metrics.in_flight(), 1);
    metrics.call_left(RouteLabel::Other);
    assert_eq!(metrics.in_flight(), 0);
}

#[test]
fn the_wait_for_connections_is_counted_once_however_many_look_at_it() {
    let metrics = Metrics::new().unwrap();
    let (looks, barrier) = (500_u32, Barrier::new(4));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for look in 1..=looks {
                    barrier.wait();
                    metrics.store.pool(PoolUse {
                        waited_seconds: f64::from(look),
                        ..PoolUse::default()
                    });
                }
            });
        }
    });
    let text = String::from_utf8(metrics.render()).unwrap();
    let line = format!("monitor_store_pool_wait_seconds_total {looks}\n");
    assert!(text.contains(&line), "{text}");
}
