//! Traffic per hour, and what a store reports about itself and about gateways.

use monitor_model::{ChainHash, Stage};
use monitor_store::{ChainEntry, HourTraffic, KEPT_HOURS, NewRecord, RetentionLimits};
use serde_json::json;
use support::bed::{Bed, MORNING_MS, found};
use uuid::Uuid;

const HOUR_MS: i64 = 3_600_000;
const HOUR: i64 = MORNING_MS / HOUR_MS;

fn at(bed: &Bed, created_at_ms: i64) -> NewRecord {
    NewRecord {
        created_at_ms,
        ..bed.record()
    }
}

pub(crate) async fn hours_are_counted_for_each_application_and_for_all(bed: &Bed) {
    let other = bed.add_application("other").await;
    let mut one = bed.exchange("x");
    one.blocked = true;
    one.answer.tokens.count = 5;
    one.answer.timings.total_us = 30;
    one.answer.guardrails.flagged = true;
    one.answer.dataclean.flagged = true;
    one.answer.dataclean.types = vec![found("INN", 2), found("EMAILS", 1)];
    let mut two = at(bed, MORNING_MS + 1);
    two.application_id = other;
    two.stage = Stage::PostCall;
    two.unchecked = true;
    two.additional_parameters
        .insert("error".to_owned(), json!({"code": 502}));
    two.answer.tokens.count = 7;
    two.answer.timings.total_us = 50;
    two.answer.custom_policy.flagged = true;
    two.answer.dataclean.types = vec![found("INN", 1), found("ORDER", 4), found("BADGE", 2)];
    let later = at(bed, (HOUR + 2) * HOUR_MS);
    for record in [one.clone(), two, one, later] {
        bed.keep(record).await;
    }
    let all = HourTraffic {
        hour: HOUR,
        prompts: 1,
        answers: 1,
        flagged_guardrails: 1,
        flagged_custom_policy: 1,
        flagged_dataclean: 1,
        blocked: 1,
        failed: 1,
        unchecked: 1,
        tokens: 12,
        total_us: 80,
        max_us: 50,
    };
    let traffic = async |application, hours| bed.store.traffic(application, hours).await.unwrap();
    let seen = traffic(None, (HOUR, HOUR + 2)).await;
    assert_eq!(seen[0], all);
    assert_eq!(
        (seen.len(), seen[1].hour, seen[1].prompts),
        (2, HOUR + 2, 1)
    );
    assert_eq!(traffic(None, (HOUR, HOUR)).await, [all]);
    let theirs = traffic(Some(other), (HOUR - 9, HOUR + 9)).await;
    assert_eq!(
        (theirs.len(), theirs[0].answers, theirs[0].tokens),
        (1, 1, 7)
    );
    let types = async |application, limit| {
        let hours = (HOUR, HOUR);
        bed.store
            .traffic_types(application, hours, limit)
            .await
            .unwrap()
    };
    // The names of applications' own patterns are theirs alone: together they are one.
    let all = [found("custom", 6), found("INN", 3), found("EMAILS", 1)];
    assert_eq!(types(None, 9).await, all);
    assert_eq!(types(None, 1).await, [found("custom", 6)]);
    let own = [found("ORDER", 4), found("BADGE", 2), found("INN", 1)];
    assert_eq!(types(Some(other), 9).await, own);
}

pub(crate) async fn hours_beyond_a_month_are_forgotten_and_records_stay(bed: &Bed) {
    let (first, now) = (HOUR - KEPT_HOURS + 1, MORNING_MS);
    for hour in [first - 1, first, HOUR] {
        let mut record = at(bed, hour * HOUR_MS);
        record.answer.dataclean.types = vec![found("IP", 1)];
        bed.keep(record).await;
    }
    let none = RetentionLimits::default();
    let gone = bed.store.enforce_retention(None, none, now).await;
    assert_eq!(gone.complete().unwrap().records(), 0);
    let kept = bed.store.traffic(None, (0, HOUR)).await.unwrap();
    let kept: Vec<_> = kept.iter().map(|one| one.hour).collect();
    assert_eq!(kept, [first, HOUR]);
    let types = bed.store.traffic_types(None, (0, HOUR), 9).await.unwrap();
    assert_eq!(types, [found("IP", 2)]);
}

pub(crate) async fn a_store_says_what_it_is(bed: &Bed) {
    let facts = bed.store.facts().await.unwrap();
    assert!(["SQLite", "PostgreSQL"].contains(&facts.kind));
    assert!(facts.version.chars().next().unwrap().is_ascii_digit());
    assert!(facts.schema > 0 && facts.bytes > 0, "{facts:?}");
}

pub(crate) async fn gateways_come_with_their_latest_record_first(bed: &Bed) {
    let numbered = |gateway: u128, sequence: u64, created_at_ms: i64| {
        let mut record = at(bed, created_at_ms);
        record.chain = Some(ChainEntry {
            gateway: Uuid::from_u128(gateway),
            sequence,
            previous: ChainHash::default(),
            link: ChainHash::default(),
            after: None,
        });
        record
    };
    for record in [
        numbered(1, 1, MORNING_MS),
        numbered(2, 7, MORNING_MS + 5_000),
        numbered(1, 2, MORNING_MS + 3_000),
    ] {
        bed.keep(record).await;
    }
    let seen = bed.store.gateways(9).await.unwrap();
    let seen: Vec<_> = seen
        .iter()
        .map(|one| (one.gateway.as_u128(), one.last, one.latest_ms))
        .collect();
    let expected = [
        (2, 7, Some(MORNING_MS + 5_000)),
        (1, 2, Some(MORNING_MS + 3_000)),
    ];
    assert_eq!(seen, expected);
    assert_eq!(bed.store.gateways(1).await.unwrap().len(), 1);
    bed.keep(numbered(1, 9, MORNING_MS + 9_000)).await;
    // An older record that comes late, behind a gap, changes neither.
    bed.keep(numbered(1, 5, MORNING_MS)).await;
    let first = bed.store.gateways(1).await.unwrap()[0];
    assert_eq!(
        (first.gateway.as_u128(), first.last, first.latest_ms),
        (1, 9, Some(MORNING_MS + 9_000))
    );
}
