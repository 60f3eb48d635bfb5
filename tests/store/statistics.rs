//! Statistics per day (UTC), application and stage.

use monitor_model::Stage;
use monitor_store::{DayStatistics, NewRecord, StatisticsFilter};
use serde_json::json;
use support::bed::{Bed, DAY_MS, MORNING_MS, found};

const TODAY: i64 = MORNING_MS / DAY_MS;

async fn all(bed: &Bed) -> Vec<DayStatistics> {
    let mut days = bed
        .store
        .statistics(&StatisticsFilter::whole((-9, TODAY + 9)))
        .await
        .unwrap();
    days.sort_by_key(|day| (day.day, day.application_id, day.stage.as_str()));
    days
}

fn at(bed: &Bed, created_at_ms: i64) -> NewRecord {
    NewRecord {
        created_at_ms,
        ..bed.record()
    }
}

pub(crate) async fn days_end_at_midnight_and_stages_stand_apart(bed: &Bed) {
    let midnight = (TODAY + 1) * DAY_MS;
    for created_at_ms in [midnight - 1, midnight, midnight + 1, 0, DAY_MS - 1] {
        bed.keep(at(bed, created_at_ms)).await;
    }
    let mut answer = at(bed, midnight);
    answer.stage = Stage::PostCall;
    bed.keep(answer).await;
    let seen: Vec<_> = all(bed)
        .await
        .into_iter()
        .map(|day| (day.day, day.stage, day.messages))
        .collect();
    let expected = [
        (0, Stage::PreCall, 2),
        (TODAY, Stage::PreCall, 1),
        (TODAY + 1, Stage::PostCall, 1),
        (TODAY + 1, Stage::PreCall, 2),
    ];
    assert_eq!(seen, expected);
}

pub(crate) async fn everything_is_counted_and_a_duplicate_once(bed: &Bed) {
    let mut one = bed.exchange("x");
    one.blocked = true;
    one.answer.tokens.count = 5;
    one.answer.timings.total_us = 30;
    one.answer.guardrails.flagged = true;
    one.answer.dataclean.flagged = true;
    one.answer.dataclean.types = vec![found("INN", 2), found("EMAILS", 1)];
    let mut two = bed.record();
    two.additional_parameters
        .insert("error".to_owned(), json!({"code": 502}));
    two.answer.tokens.count = 7;
    two.answer.timings.total_us = 50;
    two.answer.custom_policy.flagged = true;
    two.answer.dataclean.flagged = true;
    two.answer.dataclean.types = vec![found("INN", 1)];
    for record in [one.clone(), two, one, bed.record()] {
        bed.keep(record).await;
    }
    let expected = DayStatistics {
        day: TODAY,
        application_id: bed.application,
        stage: Stage::PreCall,
        messages: 3,
        flagged_guardrails: 1,
        flagged_custom_policy: 1,
        flagged_dataclean: 2,
        blocked: 1,
        failed: 1,
        tokens: 12,
        total_us: 80,
        max_us: 50,
        types: vec![found("EMAILS", 1), found("INN", 3)],
    };
    assert_eq!(all(bed).await, [expected]);
}

pub(crate) async fn pages_follow_each_other_without_a_gap(bed: &Bed) {
    let other = bed.add_application("other").await;
    for day in 0..3 {
        for (application_id, stage) in [
            (bed.application, Stage::PreCall),
            (other, Stage::PreCall),
            (other, Stage::PostCall),
        ] {
            let mut record = at(bed, MORNING_MS + day * DAY_MS);
            (record.application_id, record.stage) = (application_id, stage);
            record.answer.dataclean.types = vec![found("IP", day as u64 + 1)];
            bed.keep(record).await;
        }
    }
    for application_id in [None, Some(other)] {
        let mut filter = StatisticsFilter {
            application_id,
            ..StatisticsFilter::whole((TODAY, TODAY + 9))
        };
        let whole = bed.store.statistics(&filter).await.unwrap();
        assert_eq!(whole.len(), if application_id.is_some() { 6 } else { 9 });
        assert!(whole.iter().all(|day| day.types.len() == 1));
        filter.limit = 2;
        let mut pages = Vec::new();
        loop {
            let page = bed.store.statistics(&filter).await.unwrap();
            assert!(page.len() <= 2);
            let Some(last) = page.last() else { break };
            filter.after = Some((last.day, last.application_id, last.stage));
            pages.extend(page);
        }
        assert_eq!(pages, whole);
    }
}

pub(crate) async fn names_without_end_are_counted_as_one_kind(bed: &Bed) {
    const RECORDS: u64 = 30;
    const NAMES: u64 = 10;
    for number in 0..RECORDS {
        let mut record = bed.record();
        let names = (0..NAMES).map(|name| found(&format!("OWN {number} {name}"), 1));
        record.answer.dataclean.types = names.chain([found("EMAILS", 1)]).collect();
        bed.keep(record).await;
    }
    // The rules came with the request.
    let mut inline = bed.record();
    inline.rules_version = None;
    inline.answer.dataclean.types = vec![found("INLINE", 5), found("INN", 3)];
    bed.keep(inline).await;
    let days = all(bed).await;
    let types = &days[0].types;
    let own = types.iter().filter(|one| one.kind.starts_with("OWN"));
    assert_eq!(own.count(), 100, "{types:?}");
    let finds = |name: &str| {
        let of_name = types.iter().find(|one| one.kind == name);
        of_name.map(|one| one.count)
    };
    let folded = RECORDS * NAMES - 100 + 5;
    assert_eq!(finds("custom"), Some(folded), "{types:?}");
    assert_eq!((finds("EMAILS"), finds("INN")), (Some(RECORDS), Some(3)));
    assert_eq!(types.len(), 103);
    assert!(types.is_sorted_by(|one, next| one.kind < next.kind));
    let hours = (0, i64::from(u32::MAX));
    let traffic = bed.store.traffic_types(Some(bed.application), hours, 1_000);
    let traffic = traffic.await.unwrap();
    // In PostgreSQL each of two writers counts a hundred.
    assert!(traffic.len() <= 203, "{}", traffic.len());
    let sum: u64 = traffic.iter().map(|one| one.count).sum();
    assert_eq!(sum, RECORDS * (NAMES + 1) + 8);
    assert!(traffic.iter().all(|one| one.kind != "INLINE"));
}

pub(crate) async fn a_span_and_an_application_narrow_them(bed: &Bed) {
    let other = bed.add_application("other").await;
    for days in 0..5 {
        let own = at(bed, MORNING_MS + days * DAY_MS);
        let mut foreign = own.clone();
        foreign.application_id = other;
        foreign.answer.request_id = bed.record().answer.request_id;
        foreign.answer.dataclean.types = vec![found("IP", 1)];
        bed.keep(own).await;
        bed.keep(foreign).await;
    }
    let span = async |application| {
        let days = bed
            .store
            .statistics(&StatisticsFilter {
                application_id: application,
                ..StatisticsFilter::whole((TODAY + 1, TODAY + 3))
            })
            .await;
        let mut days: Vec<_> = days
            .unwrap()
            .into_iter()
            .map(|day| (day.day - TODAY, day.application_id, day.types.len()))
            .collect();
        days.sort_unstable();
        days
    };
    assert_eq!(span(None).await.len(), 6);
    assert_eq!(
        span(Some(other)).await,
        [1, 2, 3].map(|day| (day, other, 1))
    );
    let own = [1, 2, 3].map(|day| (day, bed.application, 0));
    assert_eq!(span(Some(bed.application)).await, own);
}
