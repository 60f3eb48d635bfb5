//! What servers over one store share beside records and settings: reports of gateways, wrong passwords, and the states
//! of sign-ins that were taken.

use monitor_model::{GatewayReport, Secret};
use monitor_store::{FIRST_WAIT, FailureCounter, ReceivedReport, SecretHash, Store, TakenStates};
use std::time::Duration;
use support::bed::{Bed, MORNING_MS};
use uuid::Uuid;

const SECOND_MS: i64 = 1_000;
const HOUR_MS: i64 = 3_600_000;

fn report(gateway: u128, records: u64, at_ms: i64) -> ReceivedReport {
    ReceivedReport {
        report: GatewayReport {
            gateway: Uuid::from_u128(gateway),
            version: "5.0.0".to_owned(),
            records,
            bytes: 0,
            oldest_seconds: 0,
            dead_letters: 0,
            degraded: false,
            overhead: None,
        },
        at_ms,
    }
}

/// Gateways and their waiting records, the latest report first.
async fn reported(store: &dyn Store) -> Vec<(u128, u64)> {
    let reports = store.gateway_reports(10).await.unwrap();
    let reports = reports.iter().map(|one| &one.report);
    reports
        .map(|report| (report.gateway.as_u128(), report.records))
        .collect()
}

pub(crate) async fn the_latest_report_of_each_gateway_is_there_for_all(bed: &Bed) {
    let other = bed.database.open().await;
    let put = async |reports: &[ReceivedReport], forgotten_ms, most| {
        let put = bed.store.put_gateway_reports(reports, forgotten_ms, most);
        put.await.unwrap();
    };
    let first = [report(1, 5, MORNING_MS), report(2, 0, MORNING_MS + 1)];
    put(&first, 0, 10).await;
    assert_eq!(
        other.gateway_reports(10).await.unwrap(),
        [first[1].clone(), first[0].clone()]
    );
    put(&[report(1, 9, MORNING_MS - 1)], 0, 10).await;
    assert_eq!(
        reported(&*other).await,
        [(2, 0), (1, 5)],
        "an older one replaces nothing"
    );
    put(&[report(1, 7, MORNING_MS + 2)], 0, 10).await;
    assert_eq!(reported(&*other).await, [(1, 7), (2, 0)]);
    put(&[report(3, 0, MORNING_MS + 3)], MORNING_MS + 2, 10).await;
    assert_eq!(
        reported(&*other).await,
        [(3, 0), (1, 7)],
        "the silent one is forgotten"
    );
    put(&[report(4, 0, MORNING_MS + 4)], 0, 2).await;
    assert_eq!(
        reported(&*other).await,
        [(4, 0), (3, 0)],
        "no more than may"
    );
    let later = "UPDATE gateway_reports SET report = 'of a later version'";
    bed.database.execute(later).await;
    let readable = reported(&*other).await;
    assert!(readable.is_empty(), "what cannot be read costs nothing");
    other.close().await;
}

fn counter(key: u8, allowed: u32) -> FailureCounter {
    FailureCounter {
        key: [key; 32],
        allowed,
    }
}

pub(crate) async fn wrong_passwords_are_counted_by_all_together(bed: &Bed) {
    let other = bed.database.open().await;
    let stores = [&*bed.store, &*other];
    let (both, account) = (counter(2, 5), counter(1, 6));
    let counters = [both, account];
    for attempt in 0..5 {
        let counted = stores[attempt % 2].count_failure(&counters, MORNING_MS);
        assert_eq!(counted.await.unwrap(), None, "attempt {attempt}");
    }
    for store in stores {
        let refused = store.count_failure(&counters, MORNING_MS + SECOND_MS).await;
        assert_eq!(refused.unwrap(), Some(FIRST_WAIT - Duration::from_secs(1)));
        let alone = store.failure_wait(&[account], MORNING_MS).await;
        assert_eq!(alone.unwrap(), None, "what was refused is not counted");
    }
    let later_ms = MORNING_MS + 30 * SECOND_MS;
    assert_eq!(
        other.count_failure(&counters, later_ms).await.unwrap(),
        None
    );
    for store in stores {
        let wait = store.failure_wait(&counters, later_ms).await.unwrap();
        assert_eq!(wait, Some(FIRST_WAIT * 2));
        let wait = store.failure_wait(&[account], later_ms).await.unwrap();
        assert_eq!(wait, Some(FIRST_WAIT));
    }
    other.forgive_failures(&[both], account).await.unwrap();
    let wait = bed.store.failure_wait(&counters, later_ms).await.unwrap();
    assert_eq!(wait, None, "the owner has signed in");
    other.close().await;
}

pub(crate) async fn of_attempts_at_once_no_more_are_let_through_than_may(bed: &Bed) {
    let other = bed.database.open().await;
    let stores = [&*bed.store, &*other];
    let attempts = (0..20_u8).map(|number| {
        let store = stores[usize::from(number % 2)];
        async move {
            // Each with a name of its own, from one address.
            let counters = [counter(100 + number, 5), counter(7, 5)];
            store.count_failure(&counters, MORNING_MS).await.unwrap()
        }
    });
    let waits = futures_util::future::join_all(attempts).await;
    assert_eq!(waits.iter().filter(|wait| wait.is_none()).count(), 5);
    other.close().await;
}

pub(crate) async fn wrong_passwords_are_forgotten_by_age_and_number(bed: &Bed) {
    let store = &bed.store;
    let waits = async |key| {
        let wait = store.failure_wait(&[counter(key, 1)], MORNING_MS).await;
        wait.unwrap().is_some()
    };
    for (key, at_ms) in [(1, MORNING_MS - 2), (2, MORNING_MS - 1), (3, MORNING_MS)] {
        let counted = store.count_failure(&[counter(key, 1)], at_ms).await;
        assert_eq!(counted.unwrap(), None);
        assert!(waits(key).await);
    }
    store.forget_failures(MORNING_MS, 2).await.unwrap();
    assert!(!waits(1).await && waits(2).await && waits(3).await);
    store
        .forget_failures(MORNING_MS + HOUR_MS, 10)
        .await
        .unwrap();
    assert!(!waits(2).await && waits(3).await);
    // An hour without another one, and the next is the first again.
    let third = [counter(3, 2)];
    let late = store.count_failure(&third, MORNING_MS + HOUR_MS);
    assert_eq!(late.await.unwrap(), None);
    let wait = store.failure_wait(&third, MORNING_MS + HOUR_MS);
    assert_eq!(wait.await.unwrap(), None);
}

pub(crate) async fn a_state_is_taken_once_by_all_together(bed: &Bed) {
    let other = bed.database.open().await;
    let hash = |text: &str| SecretHash::of(&Secret::new(text));
    let remembered = |since_ms, most| TakenStates { since_ms, most };
    let all = remembered(0, 10);
    assert!(
        bed.store
            .take_state(hash("a"), MORNING_MS, all)
            .await
            .unwrap()
    );
    assert!(
        !other
            .take_state(hash("a"), MORNING_MS + 1, all)
            .await
            .unwrap()
    );
    assert!(
        other
            .take_state(hash("b"), MORNING_MS + 2, all)
            .await
            .unwrap()
    );
    let late = remembered(MORNING_MS + 1, 10);
    assert!(
        other
            .take_state(hash("c"), MORNING_MS + 3, late)
            .await
            .unwrap()
    );
    assert!(
        other
            .take_state(hash("a"), MORNING_MS + 4, all)
            .await
            .unwrap(),
        "forgotten by age"
    );
    let few = remembered(0, 1);
    assert!(
        other
            .take_state(hash("d"), MORNING_MS + 5, few)
            .await
            .unwrap()
    );
    assert!(
        !other
            .take_state(hash("a"), MORNING_MS + 6, all)
            .await
            .unwrap(),
        "the newest stays"
    );
    assert!(
        other
            .take_state(hash("b"), MORNING_MS + 7, all)
            .await
            .unwrap(),
        "forgotten by number"
    );
    other.close().await;
}
