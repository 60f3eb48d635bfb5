//! Records of a removed application: hidden at once, removed soon after.

use monitor_model::{ApplicationId, Policy, RecordId};
use monitor_store::{
    ApplicationFilter, Changed, RecordFilter, RetentionLimits, SessionFilter, StatisticsFilter,
    StoreError, TokenHash,
};
use std::time::Instant;
use support::bed::{Bed, everything, found, token};

/// An application with a record, and then without itself.
pub(crate) async fn removed(bed: &Bed) -> (ApplicationId, RecordId) {
    let id = bed.add_application("doomed").await;
    let policy = Policy::from_json(r#"{"app_mode":"async"}"#).unwrap();
    assert!(bed.store.set_policy(id, Some(policy)).await.unwrap());
    let bound = bed
        .store
        .add_token(TokenHash([1; 32]), token("bound", Some(id)), None);
    bound.await.unwrap();
    let free = bed
        .store
        .add_token(TokenHash([2; 32]), token("free", None), None);
    free.await.unwrap();
    let mut record = bed.exchange("x");
    record.application_id = id;
    record.user_id = Some("u".to_owned());
    record.session_id = Some("s".to_owned());
    record.answer.dataclean.flagged = true;
    record.answer.dataclean.types = vec![found("IP", 1)];
    let record = bed.keep(record).await;
    let store = &bed.store;
    let other = ApplicationId::random();
    assert_eq!(
        store.remove_application(other, 1, None).await.unwrap(),
        Changed::Unknown
    );
    assert_eq!(
        store.remove_application(id, 2, None).await.unwrap(),
        Changed::Conflict(1)
    );
    assert!(store.record(record).await.unwrap().is_some());
    let done = store.remove_application(id, 1, None).await.unwrap();
    assert!(matches!(done, Changed::Done(_)));
    (id, record)
}

/// Conditions that the record of a removed application meets.
fn meeting(id: ApplicationId) -> Vec<RecordFilter> {
    let some = |text: &str| Some(text.to_owned());
    vec![
        everything(),
        RecordFilter {
            application_id: Some(id),
            ..everything()
        },
        RecordFilter {
            user_id: some("u"),
            ..everything()
        },
        RecordFilter {
            session_id: some("s"),
            ..everything()
        },
        RecordFilter {
            kind: some("IP"),
            ..everything()
        },
        RecordFilter {
            text: some("text"),
            ..everything()
        },
    ]
}

pub(crate) async fn nothing_of_a_removed_application_is_shown(bed: &Bed) {
    let (id, record) = removed(bed).await;
    let store = &bed.store;
    for filter in meeting(id) {
        assert!(bed.ids(filter.clone()).await.is_empty(), "{filter:?}");
    }
    assert!(store.record(record).await.unwrap().is_none());
    let sessions = SessionFilter {
        limit: 5,
        ..SessionFilter::default()
    };
    assert!(store.sessions(&sessions).await.unwrap().is_empty());
    assert!(
        store
            .statistics(&StatisticsFilter::whole((0, 99_999)))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(store.application(id).await.unwrap().is_none());
    let applications = ApplicationFilter {
        limit: 5,
        ..ApplicationFilter::default()
    };
    let page = store.applications(&applications).await.unwrap();
    let left: Vec<_> = page.applications.iter().map(|one| one.id).collect();
    assert_eq!(left, [bed.application]);
    assert!(
        store
            .application_versions(id, None, 5)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(store.policies().await.unwrap().is_empty());
    assert!(store.token(&TokenHash([1; 32])).await.unwrap().is_none());
    let tokens = store.tokens(None, None, 5).await.unwrap();
    assert!(tokens.len() == 1 && tokens[0].name == "free");
    let again = store.remove_application(id, 1, None).await.unwrap();
    assert_eq!(again, Changed::Unknown);
}

pub(crate) async fn its_records_go_with_the_next_housekeeping(bed: &Bed) {
    let (_, record) = removed(bed).await;
    let own = bed.keep(bed.record()).await;
    let limits = RetentionLimits::default();
    let store = &bed.store;
    // The store may have begun on its own.
    let (start, mut gone) = (Instant::now(), 0);
    while gone == 0 && start.elapsed() < support::PATIENCE {
        let run = store.enforce_retention(None, limits, 0).await;
        gone = run.complete().unwrap().of_removed_applications;
    }
    assert_eq!(gone, 1);
    assert!(store.record(record).await.unwrap().is_none());
    assert_eq!(bed.ids(everything()).await, [own]);
    let again = store
        .enforce_retention(None, limits, 0)
        .await
        .complete()
        .unwrap();
    assert_eq!(again.records(), 0, "nothing was left");
}

pub(crate) async fn an_exchange_of_it_is_refused(bed: &Bed) {
    let (id, _) = removed(bed).await;
    let mut late = bed.exchange("x");
    late.application_id = id;
    let refused = bed.store.insert(late).await;
    assert!(matches!(refused, Err(StoreError::NoApplication)));
}

pub(crate) async fn its_records_take_no_part_of_a_limit(bed: &Bed) {
    let other = bed.add_application("other").await;
    for _ in 0..20 {
        let mut record = bed.record();
        record.application_id = other;
        bed.keep(record).await;
    }
    let mut kept = Vec::new();
    for _ in 0..20 {
        kept.insert(0, bed.keep(bed.record()).await);
    }
    let gone = bed.store.remove_application(other, 1, None).await.unwrap();
    assert!(matches!(gone, Changed::Done(_)));
    let limits = RetentionLimits {
        rows: Some(20),
        ..RetentionLimits::default()
    };
    let run = bed.store.enforce_retention(None, limits, 0).await;
    let run = run.complete().unwrap();
    assert_eq!((run.by_rows, run.above_their_part.len()), (0, 0));
    assert_eq!(bed.ids(everything()).await, kept);
}
