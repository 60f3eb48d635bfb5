//! Retention while other work is in its way, and what it counts (CONTRACT 38).

use super::partitions::{NAMES, insert, made_before};
use super::world::{DAY_MS, World, an_application, now_ms};
use async_trait::async_trait;
use monitor_model::ApplicationId;
use monitor_store::{
    ApplicationStore, AttachTarget, Attached, Attachment, AttachmentStore, BlobHash, Findings,
    NewAttachment, PostgresStore, RecordRemoval, RecordStore, RetentionLimits, Row, RowSink,
    Scanned, StoredAmount, Table, TransferError,
};
use std::time::Instant;
use support::postgres::Postgres;

const NONE: RetentionLimits = RetentionLimits {
    days: None,
    rows: None,
    bytes: None,
    cost_days: None,
};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_day_that_goes_takes_the_bytes_of_its_files_out_of_the_sum() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    made_before(&world, 1..4);
    insert(&world, 3, "a").await;
    let seq = world.all().await[0].seq;
    let hash = BlobHash([1; 32]);
    let ticket = world.store.claim_blob(hash, 1_000_000, 7).await.unwrap();
    let new = NewAttachment {
        to: AttachTarget::Record(seq),
        ticket,
        attachment: Attachment {
            hash,
            name: "a.txt".to_owned(),
            kind: "text/plain".to_owned(),
            size: 1_000_000,
            kept: true,
            findings: Findings {
                extraction: None,
                scanned: Scanned::No,
                types: Vec::new(),
            },
            attached_at_ms: now_ms(),
        },
    };
    assert_eq!(world.store.attach(new).await.unwrap(), Attached::New);
    let before = world.store.stored_amount().await.unwrap();
    assert!(
        before.records == 1 && before.bytes > 1_000_000,
        "{before:?}"
    );
    let limits = RetentionLimits {
        days: Some(1),
        ..NONE
    };
    let gone = world.store.enforce_retention(None, limits, now_ms()).await;
    assert_eq!(gone.complete().unwrap().by_age, 1);
    assert_eq!(
        world.store.stored_amount().await.unwrap(),
        StoredAmount::default()
    );
    assert_eq!(world.store.unlinked_blobs(9).await.unwrap(), [hash]);
    // As releases did that left them counted.
    let sql = "UPDATE statistics SET kept_bytes = 7000000 WHERE lane = -1";
    world.database.execute(sql);
    insert(&world, 0, "a").await;
    let before = world.store.stored_amount().await.unwrap();
    assert!(before.bytes > 7_000_000, "{before:?}");
    let none = world.store.enforce_retention(None, NONE, now_ms()).await;
    assert_eq!(none.complete().unwrap().records(), 0);
    let after = world.store.stored_amount().await.unwrap();
    assert!(after.records == 1 && after.bytes < 7_000_000, "{after:?}");
}

/// Counts rows.
#[derive(Default)]
struct Counted(usize);

#[async_trait]
impl RowSink for Counted {
    async fn take(&mut self, _: Table, rows: Vec<Row>) -> Result<(), TransferError> {
        self.0 += rows.len();
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_backup_keeps_no_record_from_being_removed() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    made_before(&world, 1..4);
    for (age, session) in [(3, "a"), (2, "a"), (1, "a"), (1, "b"), (1, "c"), (0, "a")] {
        insert(&world, age, session).await;
    }
    let mut backup = PostgresStore::reader(&world.database.settings())
        .await
        .unwrap();
    let limits = RetentionLimits {
        days: Some(1),
        rows: Some(2),
        ..NONE
    };
    let gone = world.store.enforce_retention(None, limits, now_ms()).await;
    let gone = gone.complete().unwrap();
    assert_eq!((gone.by_age, gone.by_rows), (2, 2));
    let mut copied = Counted::default();
    backup.read(Table::Records, &mut copied).await.unwrap();
    assert_eq!(copied.0, 6, "the snapshot is whole");
    backup.close().await;
    let names = world.database.query(NAMES);
    assert_eq!(names.split(' ').count(), 8, "none is dropped, {names}");
    let again = world.store.enforce_retention(None, limits, now_ms()).await;
    assert_eq!(again.complete().unwrap().records(), 0);
    let names = world.database.query(NAMES);
    assert_eq!(names.split(' ').count(), 6, "two are dropped, {names}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_removed_application_is_cleared_while_a_backup_runs() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let other = ApplicationId::random();
    let added = world
        .store
        .add_application(an_application(other), "test", None);
    added.await.unwrap();
    insert(&world, 0, "a").await;
    // A partition has to be created, and cannot be.
    let last = (now_ms() + 3 * DAY_MS).div_euclid(DAY_MS);
    let name = world.database.query(&format!(
        "SELECT to_char(date 'epoch' + {last}, 'YYYYMMDD')"
    ));
    for table in ["records", "record_bodies", "record_types"] {
        world
            .database
            .execute(&format!("DROP TABLE {table}_{name}"));
    }
    let backup = PostgresStore::reader(&world.database.settings())
        .await
        .unwrap();
    world
        .store
        .remove_application(world.application, 1, None)
        .await
        .unwrap();
    let start = Instant::now();
    while world.number("SELECT count(*) FROM records") > 0 {
        assert!(start.elapsed() < support::PATIENCE, "never cleared");
    }
    backup.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_run_that_fails_says_what_it_had_removed() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let mut tasks = Vec::new();
    for _ in 0..1_050 {
        let (store, record) = (world.store.clone(), world.record(None, "text"));
        tasks.push(tokio::spawn(async move { store.insert(record).await }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    world
        .store
        .insert(world.record(Some("last"), "text"))
        .await
        .unwrap();
    world.database.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON records
             FOR EACH ROW WHEN (OLD.exchange_id = 'last') EXECUTE FUNCTION refuse()",
    );
    let limits = RetentionLimits {
        rows: Some(0),
        ..NONE
    };
    let gone = world.store.enforce_retention(None, limits, now_ms()).await;
    assert!(gone.failure.is_some());
    assert_eq!((gone.removed.by_rows, world.all().await.len()), (1_000, 51));
    assert_eq!(
        gone.removed.above_their_part,
        [(world.application, 1_000)].into()
    );
}
