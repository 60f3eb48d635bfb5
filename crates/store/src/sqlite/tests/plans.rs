//! The plans of queries: no list reads or sorts a whole table, whatever it is narrowed to.

use super::{OWN, World};
use crate::sqlite::SqliteStore;
use crate::sqlite::records::{filters, sessions};
use crate::sqlite::settings::{audit, tokens};
use crate::sqlite::statistics::{days, traffic};
use crate::{AuditFilter, RecordFilter, SessionFilter, StoreEngine, TokenId, VerdictFilter};
use monitor_model::Stage;
use sqlx::{AssertSqlSafe, Row};
use uuid::Uuid;

/// Fails on a plan that reads a whole table or sorts.
async fn check_plan(store: &SqliteStore, what: &str, sql: &str) {
    let rows = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")))
        .fetch_all(&store.readers)
        .await
        .unwrap();
    for row in rows {
        let step: &str = row.get("detail");
        let reads_all = step.starts_with("SCAN") && !step.contains("INDEX");
        // One row for each 1024 records, and one for each application being removed.
        let small = step.contains("record_blocks") || step.contains("removed_applications");
        assert!(!reads_all || small, "{what}: {step}");
        assert!(!step.contains("TEMP B-TREE"), "{what}: {step}");
    }
}

/// Every single condition, and every one beside an application.
fn narrowed() -> Vec<RecordFilter> {
    let verdicts = [
        VerdictFilter::Flagged,
        VerdictFilter::Clean,
        VerdictFilter::Unchecked,
        VerdictFilter::Guardrails,
        VerdictFilter::CustomPolicy,
        VerdictFilter::Dataclean,
        VerdictFilter::Blocked,
        VerdictFilter::Failed,
    ];
    let none = RecordFilter::default();
    let some = || Some("x".to_owned());
    let mut filters = vec![
        RecordFilter {
            user_id: some(),
            ..none.clone()
        },
        RecordFilter {
            session_id: some(),
            ..none.clone()
        },
        RecordFilter {
            kind: some(),
            ..none.clone()
        },
        RecordFilter {
            stage: Some(Stage::PreCall),
            ..none.clone()
        },
        RecordFilter {
            application_id: Some(OWN),
            ..none.clone()
        },
        RecordFilter {
            model: some(),
            ..none.clone()
        },
        RecordFilter {
            token: some(),
            ..none.clone()
        },
        RecordFilter {
            user_id: some(),
            kind: some(),
            ..none.clone()
        },
    ];
    filters.extend(verdicts.map(|verdict| RecordFilter {
        verdict: Some(verdict),
        ..none.clone()
    }));
    let mut both = filters.clone();
    for filter in &mut both {
        filter.application_id = Some(OWN);
        filter.from_ms = Some(1);
        filter.to_ms = Some(2);
        filter.before = Some(3);
    }
    let mut behind = filters.clone();
    for filter in &mut behind {
        filter.after = Some(3);
    }
    filters.extend(both);
    filters.extend(behind);
    filters
}

#[tokio::test]
async fn no_condition_makes_a_list_read_the_whole_table() {
    let world = World::new();
    let store = world.store().await;
    for filter in narrowed() {
        let sql = filters::query(&filter, "r.*", "", 1).into_sql();
        check_plan(&store, &format!("{filter:?}"), sql.as_str()).await;
    }
    // In the order of the table itself, from the place of the page or the places of the time on.
    let timed = RecordFilter {
        from_ms: Some(1),
        to_ms: Some(2),
        ..RecordFilter::default()
    };
    let sql = filters::query(&timed, "r.*", "", 1).into_sql();
    assert!(sql.as_str().contains("NOT INDEXED"));
    check_plan(&store, "time", sql.as_str()).await;
    for (user_id, application_id, only_flagged) in [
        (None, Some(OWN), false),
        (Some("u".to_owned()), None, false),
        (None, None, true),
        (None, Some(OWN), true),
    ] {
        let before = Some((1, OWN, "s".to_owned()));
        let filter = SessionFilter {
            application_id,
            user_id,
            from_ms: Some(0),
            to_ms: Some(2),
            only_flagged,
            before,
            limit: 1,
        };
        check_plan(
            &store,
            "sessions",
            sessions::query(&filter).into_sql().as_str(),
        )
        .await;
    }
    for application in [None, Some(OWN)] {
        let before = Some((1, TokenId(Uuid::nil())));
        let sql = tokens::page_query(application, before, 1).into_sql();
        check_plan(&store, "tokens", sql.as_str()).await;
        check_plan(&store, "statistics", &days::days_of(application.is_some())).await;
    }
    check_plan(&store, "traffic", traffic::HOURS).await;
    let filter = AuditFilter {
        action: Some("a".to_owned()),
        before: Some(1),
        ..AuditFilter::default()
    };
    check_plan(&store, "audit", audit::query(&filter).into_sql().as_str()).await;
    let filter = AuditFilter {
        from_ms: Some(1),
        to_ms: Some(9),
        before: Some(9),
        after: Some(1),
        ..AuditFilter::default()
    };
    check_plan(&store, "audit", audit::query(&filter).into_sql().as_str()).await;
    store.close().await;
}
