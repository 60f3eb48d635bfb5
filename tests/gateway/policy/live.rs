//! Changes in PostgreSQL take effect within a second, without a restart (CONTRACT 16).

use super::world::{Running, new_id, sync};
use monitor_gateway::policy::Found;
use std::time::{Duration, Instant};
use support::eventually;
use support::postgres::{GATEWAY, Postgres};

const LIVE: Duration = Duration::from_secs(1);

#[test]
#[ignore = "needs PostgreSQL"]
fn a_change_is_in_force_in_under_a_second() {
    // CONTRACT 16.
    let server = Postgres::shared();
    let database = server.database();
    let (id, other) = (new_id(), new_id());
    database.add(&id, &sync("first"));
    let running = Running::of(&database);
    assert_eq!(running.phrase(&id).as_deref(), Some("first"));
    assert_eq!(running.phrase(&other), None);
    let mut slowest = Duration::ZERO;
    let mut live = |what: &str, sql: &dyn Fn(), holds: &dyn Fn() -> bool| {
        sql();
        let changed = Instant::now();
        eventually(what, || holds().then_some(()));
        assert!(changed.elapsed() < LIVE, "{what}: {:?}", changed.elapsed());
        slowest = slowest.max(changed.elapsed());
    };
    live(
        "an application that is added",
        &|| database.add(&other, &sync("new")),
        &|| running.phrase(&other).as_deref() == Some("new"),
    );
    for phrase in ["second", "third", "fourth"] {
        live("a change", &|| database.set(&id, &sync(phrase)), &|| {
            running.phrase(&id).as_deref() == Some(phrase)
        });
    }
    let taken = format!("UPDATE applications SET policy = NULL WHERE id = '{id}'");
    live(
        "a policy that is taken away",
        &|| database.execute(&taken),
        &|| running.phrase(&id).is_none(),
    );
    let removed = format!("DELETE FROM applications WHERE id = '{other}'");
    live(
        "an application that is removed",
        &|| database.execute(&removed),
        &|| running.phrase(&other).is_none(),
    );
    println!("the slowest change was in force after {slowest:?}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_change_without_a_notification_is_found_by_looking() {
    let server = Postgres::shared();
    let database = server.database();
    let id = new_id();
    database.add(&id, &sync("first"));
    let running = Running::of(&database);
    database.execute("DROP TRIGGER announce_policies ON applications");
    database.set(&id, &sync("unannounced"));
    running.await_phrase(&id, "unannounced");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_connection_that_is_cut_is_made_again_and_changes_are_live_again() {
    let server = Postgres::start();
    let database = server.database();
    let id = new_id();
    database.add(&id, &sync("first"));
    let running = Running::of(&database);
    let sessions = format!("FROM pg_stat_activity WHERE usename = '{GATEWAY}'");
    database.execute(&format!("SELECT pg_terminate_backend(pid) {sessions}"));
    database.set(&id, &sync("meanwhile"));
    running.await_phrase(&id, "meanwhile");
    let changed = Instant::now();
    database.set(&id, &sync("after"));
    running.await_phrase(&id, "after");
    assert!(changed.elapsed() < LIVE, "{:?}", changed.elapsed());
    assert_eq!(database.query(&format!("SELECT count(*) {sessions}")), "1");
    drop(running);
    eventually("the connection is closed with its owner", || {
        (database.query(&format!("SELECT count(*) {sessions}")) == "0").then_some(())
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn the_view_is_all_that_a_gateway_may_read() {
    // CONTRACT 16: it needs no other right.
    let server = Postgres::shared();
    let database = server.database();
    let allowed = |what: &str| {
        database.query(&format!(
            "SELECT has_table_privilege('{GATEWAY}', '{what}', 'SELECT')"
        ))
    };
    assert_eq!(
        (
            allowed("gateway_policies").as_str(),
            allowed("applications").as_str()
        ),
        ("t", "f")
    );
    let id = new_id();
    database.add(&id, &sync("first"));
    database.set(&id, &sync("second"));
    database.execute("UPDATE applications SET description = 'x', policy_version = 9");
    let row = database
        .query("SELECT application_id, name, policy ->> 'phrase', version FROM gateway_policies");
    assert_eq!(row, format!("{id}|test|second|2"));
    assert_eq!(
        Running::of(&database).phrase(&id).as_deref(),
        Some("second")
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_policy_that_turns_bad_keeps_its_last_good_version_and_status_says_so() {
    // CONTRACT 14: one that cannot be parsed never stops the gateway.
    let server = Postgres::shared();
    let database = server.database();
    let (id, never) = (new_id(), new_id());
    database.add(&id, &sync("good"));
    let running = Running::of(&database);
    // Only a store without the constraints can hold what they refuse.
    let constraints = database.query(
        "SELECT string_agg('DROP CONSTRAINT ' || conname, ', ') FROM pg_constraint \
         WHERE conrelid = 'applications'::regclass AND contype = 'c'",
    );
    database.execute(&format!("ALTER TABLE applications {constraints}"));
    database.add(&never, r#"{"app_mode":"sync","phrase":""}"#);
    database.set(&id, r#"{"app_mode":"turbo","phrase":"hidden phrase"}"#);
    let faults = eventually("both are reported", || {
        let faults = running.policies.status().faults;
        (faults.len() == 2).then_some(faults)
    });
    assert_eq!(running.phrase(&id).as_deref(), Some("good"));
    assert_eq!(running.policies.lookup(Some(&never)), Found::NeverKnown);
    for fault in &faults {
        let (reason, kept) = (fault.reason.to_string(), fault.keeps_last_good);
        assert_eq!(kept, fault.id.to_string() == id);
        let expected = if kept {
            "app_mode \"turbo\" is unknown"
        } else {
            "phrase is not set"
        };
        assert!(reason.starts_with(expected), "{reason}");
        assert!(!reason.contains("hidden"), "{reason}");
    }
    database.set(&id, &sync("mended"));
    running.await_phrase(&id, "mended");
    assert_eq!(running.policies.status().faults.len(), 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn migrating_twice_changes_nothing_and_a_newer_schema_is_refused() {
    let server = Postgres::shared();
    let database = server.database();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let migrate = || runtime.block_on(monitor_store::PostgresStore::migrate(&database.settings()));
    database.add(&new_id(), &sync("kept"));
    migrate().unwrap();
    assert_eq!(database.query("SELECT count(*) FROM gateway_policies"), "1");
    database.execute("INSERT INTO schema_version (version) VALUES (99)");
    let error = migrate().unwrap_err().to_string();
    assert!(error.contains("schema version 99"), "{error}");
}
