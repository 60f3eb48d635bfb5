//! Migration from the first schema, and refusal of a newer one.

use super::world::{World, open};
use monitor_model::ApplicationId;
use monitor_store::{
    ApplicationPolicyStore, ApplicationStore, Changed, Migrated, PostgresStore, StoreError,
};
use support::postgres::Postgres;

const FIRST: &str = include_str!("../../../crates/store/src/postgres/migrations/0001_first.sql");

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_database_of_the_first_schema_keeps_its_applications_and_policies() {
    let server = Postgres::shared();
    let database = tokio::task::block_in_place(|| server.empty_database());
    let id = ApplicationId::random();
    tokio::task::block_in_place(|| {
        database.execute(FIRST);
        database.execute(
            "CREATE TABLE schema_version (version bigint PRIMARY KEY,
                 applied_at timestamptz NOT NULL DEFAULT now());
             INSERT INTO schema_version (version) VALUES (1)",
        );
        database.add(&id.to_string(), r#"{"app_mode":"sync","phrase":"before"}"#);
    });
    let migrated = PostgresStore::migrate(&database.settings()).await.unwrap();
    assert_eq!(migrated.from, 1);
    assert!(migrated.to > 1);
    let again = PostgresStore::migrate(&database.settings()).await.unwrap();
    assert_eq!(
        again,
        Migrated {
            from: migrated.to,
            to: migrated.to
        }
    );
    let store = open(&database).await;
    let application = store.first_application().await.unwrap().unwrap();
    assert_eq!(application.id, id);
    let policies = store.policies().await.unwrap();
    assert_eq!(policies[0].policy.as_ref().unwrap().phrase, "before");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_later_schema_is_refused_and_left_alone() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    world
        .database
        .execute("INSERT INTO schema_version (version) VALUES (999)");
    let opened = PostgresStore::open(&world.database.settings()).await;
    assert!(matches!(
        opened.err(),
        Some(StoreError::NewerSchema { found: 999, .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn rules_changed_by_another_program_are_a_version_too() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let before = world.store.policy_changes().await.unwrap();
    let id = world.application.to_string();
    let change = "UPDATE applications SET rules = '{\"keep_original\": true}', name = 'outside'";
    world.database.execute(change);
    assert_ne!(world.store.policy_changes().await.unwrap(), before);
    world
        .database
        .set(&id, r#"{"app_mode":"sync","phrase":"outside"}"#);
    let application = world.store.application(world.application).await.unwrap();
    assert_eq!(application.unwrap().version, 2);
    let versions = world
        .store
        .application_versions(world.application, None, 10);
    let versions = versions.await.unwrap();
    let names: Vec<_> = versions
        .iter()
        .map(|one| (one.version, &*one.name))
        .collect();
    assert_eq!(names, [(2, "outside"), (1, "default")]);
    let late = world
        .store
        .remove_application(world.application, 1, None)
        .await;
    assert_eq!(late.unwrap(), Changed::Conflict(2));
}
