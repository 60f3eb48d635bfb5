//! Sums of costs that an erasure and a writer change at once.

use super::world::{DAY_MS, World, now_ms};
use monitor_model::{CallTokens, Priced, Stage};
use monitor_store::{
    CallCost, Erasure, NewRecord, RecordRemoval, RecordStore, RetentionLimits, SumNames, Usage,
};
use support::eventually;
use support::postgres::{Database, Postgres};
use tokio::runtime::Handle;
use uuid::Uuid;

/// A writer's transaction: takes the first sum of the user, and the second one once somebody waits for the first.
const WRITER: &str = "DO $$ BEGIN
    PERFORM 1 FROM costs WHERE user_id = 'anna' AND model = 'a' FOR UPDATE;
    FOR look IN 1..3000 LOOP
        EXIT WHEN EXISTS (
            SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)));
        IF look = 3000 THEN RAISE EXCEPTION 'nobody waits for the first sum'; END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
    UPDATE costs SET calls = calls + 1 WHERE user_id = 'anna' AND model = 'z';
    END $$";
const OF_ANNA: &str = "SELECT count(*) FROM costs WHERE user_id = 'anna'";
const TAKEN: &str = "SELECT count(*) FROM pg_locks
    WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND relation = 'costs'::regclass AND mode = 'RowShareLock' AND granted";

fn answer(world: &World, model: &str) -> NewRecord {
    NewRecord {
        stage: Stage::PostCall,
        user_id: Some("anna".to_owned()),
        cost: Some(CallCost {
            model: Some(model.to_owned()),
            usage: Usage {
                tokens: CallTokens::default(),
                estimated: false,
            },
            priced: Some(Priced::Unpriced),
            amount: None,
            currency: None,
            counted_as: SumNames::default(),
        }),
        ..world.record(None, "said")
    }
}

fn wait_until_taken(database: &Database) {
    eventually("the writer has the first sum", || {
        (database.query(TAKEN) != "0").then_some(())
    });
}

/// Two sums of a user; the table has them in the other order than a writer takes them.
async fn add_sums(world: &World) {
    for model in ["z", "a"] {
        world.store.insert(answer(world, model)).await.unwrap();
    }
}

/// Runs this while a writer has the first sum, and waits for the second one.
fn beside_a_writer<T>(world: &World, work: impl Future<Output = T>) -> T {
    let runtime = Handle::current();
    let (written, done) = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| world.database.try_query(WRITER));
            wait_until_taken(&world.database);
            let done = runtime.block_on(work);
            (writer.join().unwrap(), done)
        })
    });
    assert_eq!(written.err(), None);
    done
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn retention_takes_sums_in_the_order_of_a_writer() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    add_sums(&world).await;
    let limits = RetentionLimits {
        days: None,
        rows: None,
        bytes: None,
        cost_days: Some(1),
    };
    let later_ms = now_ms() + 3 * DAY_MS;
    let run = world.store.enforce_retention(None, limits, later_ms);
    beside_a_writer(&world, run).complete().unwrap();
    assert_eq!(world.number(OF_ANNA), 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn an_erasure_takes_sums_in_the_order_of_a_writer() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    add_sums(&world).await;
    let erasure = Erasure {
        id: Uuid::new_v4(),
        user_id: "anna".to_owned(),
        application_id: None,
        at_ms: now_ms(),
    };
    assert_eq!(world.store.erase_step(&erasure).await.unwrap().records, 2);
    let erased = beside_a_writer(&world, world.store.erase_step(&erasure));
    assert!(erased.is_ok(), "{erased:?}");
    assert_eq!(world.number(OF_ANNA), 0);
    let calls = "SELECT sum(calls) FROM costs WHERE by_user";
    assert_eq!(world.number(calls), 3);
}
