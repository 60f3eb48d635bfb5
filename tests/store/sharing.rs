//! Several stores over one database, closing and reopening, and notification of changes.

use monitor_model::{ApplicationId, RecordId};
use monitor_store::{
    ApplicationFilter, AuditFilter, Changed, Removed, RetentionLimits, SessionFilter,
    StatisticsFilter, Store, StoreError, TokenChange, TokenHash, TokenId,
};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use support::PATIENCE;
use support::bed::{Bed, add_application, everything, token};
use tokio::time::timeout;

pub(crate) async fn two_stores_keep_an_exchange_once(bed: &Bed) {
    let other = bed.database.open().await;
    let mut tasks = Vec::new();
    for number in 0..100 {
        for store in [bed.store.clone(), other.clone()] {
            let record = bed.exchange(&format!("x{number}"));
            tasks.push(tokio::spawn(async move { store.insert(record).await }));
        }
    }
    let mut told = HashSet::new();
    for task in tasks {
        told.insert(task.await.unwrap().unwrap().request_id);
    }
    let kept: HashSet<_> = bed.ids(everything()).await.into_iter().collect();
    assert_eq!(kept.len(), 100);
    assert_eq!(kept, told);
    other.close().await;
}

pub(crate) async fn what_was_acknowledged_is_there_after_opening_again(bed: &Bed) {
    let mut record = bed.exchange("x");
    record.session_id = Some("s".to_owned());
    let id = bed.keep(record).await;
    bed.store.close().await;
    let again = bed.database.open().await;
    let stored = again.record(id).await.unwrap().unwrap();
    assert_eq!(stored.summary.application_id, bed.application);
    let page = again.page(&everything()).await.unwrap();
    assert_eq!(page.records[0].id, id);
    let first = again.first_application().await.unwrap().unwrap();
    assert_eq!(first.id, bed.application);
    let sessions = again.sessions(&sessions()).await.unwrap();
    assert_eq!(sessions.len(), 1);
    again.close().await;
}

fn sessions() -> SessionFilter {
    SessionFilter {
        limit: 5,
        ..SessionFilter::default()
    }
}

macro_rules! closed {
    ($($call:expr),+ $(,)?) => {
        $(assert!(matches!($call.await.map(drop), Err(StoreError::Closed)), stringify!($call));)+
    };
}

pub(crate) async fn a_closed_store_says_so(bed: &Bed) {
    let store = &bed.store;
    store.close().await;
    let (id, all) = (bed.application, everything());
    closed!(
        store.insert(bed.record()),
        store.page(&all),
        store.whole_page(&all),
        store.record(RecordId::random()),
        store.sessions(&sessions()),
        store.statistics(&StatisticsFilter::whole((0, 1))),
        enforced(store),
        store.first_application(),
        store.application(id),
        store.applications(&ApplicationFilter::default()),
        store.change_application(bed.change(1, "late"), None),
        store.remove_application(id, 1, None),
        store.application_versions(id, None, 5),
        store.has_tokens(),
        store.token(&TokenHash([0; 32])),
        store.tokens(None, None, 5),
        store.add_token(TokenHash([0; 32]), token("late", None), None),
        store.change_token(TokenId(id.0), TokenChange::default(), None),
        store.audit(&AuditFilter::default()),
        store.policies(),
        store.policy_changes(),
        store.set_policy(id, None),
    );
    store.touch_token(TokenId(id.0), 1);
    store.close().await;
}

/// Waits until nothing is left to tell of: whoever just came may be told at once.
async fn settle(store: &dyn Store) {
    let quiet = Duration::from_millis(1500);
    while timeout(quiet, store.settings_changed()).await.is_ok() {}
}

/// Whether `store` tells of what `change` does.
async fn tells(store: &Arc<dyn Store>, change: impl Future<Output = ()>) {
    settle(&**store).await;
    let waiting = store.clone();
    let told = tokio::spawn(async move { waiting.settings_changed().await });
    change.await;
    timeout(PATIENCE, told)
        .await
        .expect("told in time")
        .unwrap();
}

async fn change_something(bed: &Bed, store: &dyn Store) {
    let changed = store.change_application(bed.change(1, "other"), None).await;
    assert_eq!(changed.unwrap(), Changed::Done(2));
}

pub(crate) async fn whoever_waits_is_told_of_a_change_made_here(bed: &Bed) {
    let id: TokenId = token("t", None).id;
    tells(&bed.store, change_something(bed, &*bed.store)).await;
    let revoke = TokenChange {
        revoked_at_ms: Some(1),
        ..TokenChange::default()
    };
    let mut token = token("t", None);
    token.id = id;
    let added = bed.store.add_token(TokenHash([1; 32]), token, None);
    tells(&bed.store, async { added.await.unwrap() }).await;
    let revoked = bed.store.change_token(id, revoke, None);
    tells(&bed.store, async { drop(revoked.await.unwrap()) }).await;
}

pub(crate) async fn whoever_waits_is_told_of_a_change_made_by_another_store(bed: &Bed) {
    let other = bed.database.open().await;
    tells(&bed.store, change_something(bed, &*other)).await;
    tells(&bed.store, async {
        let _: ApplicationId = add_application(&*other, "new").await;
    })
    .await;
    let seen = bed.store.application(bed.application).await.unwrap();
    assert_eq!(seen.unwrap().rules, json!({"name": "other"}));
    other.close().await;
}

async fn enforced(store: &Arc<dyn Store>) -> Result<Removed, StoreError> {
    let run = store.enforce_retention(None, RetentionLimits::default(), 0);
    run.await.complete()
}
