//! Indexes of records are built beside the writers, and what was interrupted is built again.

use super::world::World;
use monitor_store::{PostgresStore, RecordStore as _};
use support::postgres::Postgres;

const NAMES: [&str; 2] = ["records_of_tools", "records_by_cost"];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn an_index_that_is_missing_or_half_built_is_built_in_every_partition() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    world
        .store
        .insert(world.record(None, "kept"))
        .await
        .unwrap();
    let count = |sql: String| world.number(&sql);
    let partitions =
        count("SELECT count(*) FROM pg_inherits WHERE inhparent = 'records'::regclass".to_owned());
    let attached = |name: &str| {
        count(format!(
            "SELECT count(*) FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid
             WHERE i.inhparent = '{name}'::regclass AND x.indisvalid"
        ))
    };
    let is_valid = |name: &str| {
        count(format!(
            "SELECT count(*) FROM pg_index WHERE indexrelid = '{name}'::regclass AND indisvalid"
        ))
    };
    for name in NAMES {
        assert_eq!((is_valid(name), attached(name)), (1, partitions), "{name}");
    }
    // As a server that was killed leaves it: the parent's alone, and one of a partition that is not valid.
    let interrupted = "DROP INDEX records_of_tools, records_by_cost;
         CREATE INDEX records_of_tools ON ONLY records (application_id, exchange_id) WHERE tool_name IS NOT NULL;
         CREATE INDEX records_default_of_tools ON records_default (application_id, exchange_id)
             WHERE tool_name IS NOT NULL;
         UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'records_default_of_tools'::regclass";
    tokio::task::block_in_place(|| world.database.execute(interrupted));
    let half_built = count("SELECT 'records_default_of_tools'::regclass::oid::bigint".to_owned());
    assert_eq!(is_valid("records_of_tools"), 0);
    let migrated = PostgresStore::migrate(&world.database.settings()).await;
    assert_eq!(migrated.unwrap().from, PostgresStore::SCHEMA);
    for name in NAMES {
        assert_eq!((is_valid(name), attached(name)), (1, partitions), "{name}");
    }
    let built = count("SELECT 'records_default_of_tools'::regclass::oid::bigint".to_owned());
    assert_ne!(built, half_built);
    world
        .store
        .insert(world.record(None, "later"))
        .await
        .unwrap();
    assert_eq!(world.all().await.len(), 2);
}
