//! Events that wait for other systems: written with what they are about, once for each destination, and sent by one
//! server at a time.

use monitor_model::RecordId;
use monitor_store::{AuditEntry, EventSource, NewRecord, SiemDestination};
use serde_json::json;
use std::time::Duration;
use support::bed::{Bed, MORNING_MS, found};
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(600);

fn destination(name: &str, verdicts: bool, audit: bool) -> SiemDestination {
    SiemDestination {
        name: name.to_owned(),
        verdicts,
        audit,
    }
}

async fn set(bed: &Bed, destinations: &[SiemDestination]) {
    let set = bed.store.set_siem_destinations(destinations);
    set.await.unwrap();
}

/// The records, and the number of other events, that wait for a destination.
async fn waiting(bed: &Bed, name: &str) -> (Vec<RecordId>, usize) {
    let queue = bed.store.siem_queue(name, 100).await.unwrap();
    assert!(queue.is_sorted_by(|one, next| one.id < next.id));
    let records: Vec<RecordId> = queue
        .iter()
        .filter_map(|one| match one.source {
            EventSource::Record(id) => Some(id),
            EventSource::Audit(_) => None,
        })
        .collect();
    let others = queue.len() - records.len();
    (records, others)
}

async fn keep_flagged(bed: &Bed) -> RecordId {
    let mut record = bed.record();
    record.answer.dataclean.flagged = true;
    record.answer.dataclean.types = vec![found("EMAILS", 2)];
    bed.keep(record).await
}

async fn add_entry(bed: &Bed) {
    let entry = AuditEntry {
        seq: 0,
        at_ms: MORNING_MS,
        actor: "anna".to_owned(),
        token_id: None,
        action: "token.create".to_owned(),
        target: "t".to_owned(),
        application_id: None,
        details: json!({}),
    };
    bed.store.add_audit(entry).await.unwrap();
}

pub(crate) async fn what_is_written_waits_for_each_destination_that_gets_it(bed: &Bed) {
    keep_flagged(bed).await;
    let [both, verdicts, audit] = [("both", true, true), ("v", true, false), ("a", false, true)]
        .map(|(name, verdicts, audit)| destination(name, verdicts, audit));
    set(bed, &[both.clone(), verdicts, audit]).await;
    let flagged = keep_flagged(bed).await;
    bed.keep(bed.record()).await;
    let blocked = bed
        .keep(NewRecord {
            blocked: true,
            ..bed.record()
        })
        .await;
    let unchecked = bed
        .keep(NewRecord {
            unchecked: true,
            ..bed.record()
        })
        .await;
    add_entry(bed).await;
    let records = vec![flagged, blocked, unchecked];
    assert_eq!(waiting(bed, "both").await, (records.clone(), 1));
    assert_eq!(waiting(bed, "v").await, (records.clone(), 0));
    assert_eq!(waiting(bed, "a").await, (vec![], 1));
    let queue = bed.store.siem_queue("both", 2).await.unwrap();
    let ids: Vec<i64> = queue.iter().map(|one| one.id).collect();
    bed.store.finish_siem(&ids).await.unwrap();
    assert_eq!(waiting(bed, "both").await, (vec![unchecked], 1));
    assert_eq!(waiting(bed, "v").await, (records, 0), "each has its own");
    // A repeated record is no new event.
    let again = NewRecord {
        blocked: true,
        ..bed.exchange("x")
    };
    bed.keep(again.clone()).await;
    bed.keep(again).await;
    assert_eq!(waiting(bed, "both").await.0.len(), 2);
    let lags = bed.store.siem_lag().await.unwrap();
    let seen: Vec<(&str, u64)> = lags.iter().map(|it| (&*it.name, it.waiting)).collect();
    assert_eq!(seen, [("a", 1), ("both", 3), ("v", 4)]);
    assert!(lags.iter().all(|lag| lag.oldest_ms > Some(MORNING_MS)));
    // Others than before: what waits for those that stay remains.
    set(bed, &[destination("both", false, true)]).await;
    assert_eq!(waiting(bed, "both").await, (vec![], 1));
    assert_eq!(waiting(bed, "v").await, (vec![], 0));
}

pub(crate) async fn one_server_at_a_time_sends(bed: &Bed) {
    set(bed, &[destination("soc", true, true)]).await;
    let other = bed.database.open().await;
    let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
    assert!(bed.store.lease_siem("soc", one, LEASE).await.unwrap());
    assert!(bed.store.lease_siem("soc", one, LEASE).await.unwrap());
    assert!(!other.lease_siem("soc", two, LEASE).await.unwrap());
    assert!(!other.lease_siem("none", two, LEASE).await.unwrap());
    bed.store.release_siem(one).await.unwrap();
    assert!(other.lease_siem("soc", two, LEASE).await.unwrap());
    other.release_siem(two).await.unwrap();
    // A lease ends by itself.
    assert!(other.lease_siem("soc", two, Duration::ZERO).await.unwrap());
    assert!(bed.store.lease_siem("soc", one, LEASE).await.unwrap());
    bed.store
        .note_siem_error("soc", Some("no connection"))
        .await
        .unwrap();
    let lag = other.siem_lag().await.unwrap().remove(0);
    assert_eq!(lag.error.as_deref(), Some("no connection"));
    assert!(lag.error_ms > Some(MORNING_MS));
    other.note_siem_error("soc", None).await.unwrap();
    let lag = bed.store.siem_lag().await.unwrap().remove(0);
    assert_eq!((lag.error, lag.error_ms), (None, None));
    other.close().await;
}

pub(crate) async fn beyond_the_limit_the_oldest_go(bed: &Bed) {
    set(
        bed,
        &[destination("soc", true, true), destination("b", true, true)],
    )
    .await;
    let mut kept = Vec::new();
    for _ in 0..5 {
        kept.push(keep_flagged(bed).await);
    }
    assert_eq!(bed.store.drop_siem("soc", 5).await.unwrap(), 0);
    assert_eq!(bed.store.drop_siem("soc", 2).await.unwrap(), 3);
    assert_eq!(waiting(bed, "soc").await.0, kept[3..]);
    assert_eq!(waiting(bed, "b").await.0, kept);
}

pub(crate) async fn without_a_destination_nothing_waits(bed: &Bed) {
    set(bed, &[destination("soc", true, true)]).await;
    keep_flagged(bed).await;
    set(bed, &[]).await;
    keep_flagged(bed).await;
    add_entry(bed).await;
    assert!(bed.store.siem_lag().await.unwrap().is_empty());
    set(bed, &[destination("soc", true, true)]).await;
    assert_eq!(waiting(bed, "soc").await, (vec![], 0));
}
