//! Several servers over one database (CONTRACT 23): every cache is invalidated by a notification.

use super::world::{World, a_record, an_application, open};
use monitor_model::{ApplicationId, Secret};
use monitor_store::{
    ApplicationStore, RecordStore, Scope, Scopes, StatisticsFilter, StatisticsStore, StoreEngine,
    Token, TokenChange, TokenHash, TokenId, TokenStore,
};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use support::postgres::Postgres;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn the_same_exchanges_at_two_servers_at_once_are_each_kept_once() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let other = open(&world.database).await;
    let mut tasks = Vec::new();
    for number in 0..1_200 {
        // Neighbours of one exchange go to different servers, in different orders.
        let exchange = format!("x{}", (number / 2 * 7) % 600);
        let mut record = world.record(Some(&exchange), "text");
        record.session_id = Some(format!("s{}", number % 13));
        let store = [&world.store, &other][number % 2].clone();
        tasks.push(tokio::spawn(async move {
            (exchange, store.insert(record).await.unwrap().request_id)
        }));
    }
    let mut answers = HashMap::new();
    for task in tasks {
        let (exchange, id) = task.await.unwrap();
        assert_eq!(*answers.entry(exchange).or_insert(id), id);
    }
    assert_eq!(answers.len(), 600);
    assert_eq!(world.all().await.len(), 600);
    let statistics = other
        .statistics(&StatisticsFilter::whole((0, i64::MAX)))
        .await
        .unwrap();
    assert_eq!(statistics.iter().map(|day| day.messages).sum::<u64>(), 600);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn no_two_servers_count_in_the_same_rows() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let mut stores = vec![world.store.clone()];
    for _ in 0..7 {
        stores.push(open(&world.database).await);
    }
    for store in &stores {
        store.insert(world.record(None, "text")).await.unwrap();
    }
    let pairs = "SELECT count(DISTINCT lane / 2) FROM statistics WHERE messages > 0";
    assert_eq!(world.number(pairs), 8);
    let leased = "SELECT count(*) FROM counter_lanes WHERE ends_at > now()";
    assert_eq!(world.number(leased), 8);
    for store in &stores[1..] {
        store.close().await;
    }
    assert_eq!(world.number(leased), 1, "the others gave theirs back");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_change_at_one_server_wakes_the_other() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let other = open(&world.database).await;
    let token = Token {
        id: TokenId(uuid::Uuid::new_v4()),
        name: "t".to_owned(),
        scopes: Scopes::of(&[Scope::Read]),
        application_id: None,
        created_at_ms: 1,
        expires_at_ms: None,
        revoked_at_ms: None,
        last_used_at_ms: None,
    };
    let id = token.id;
    let hash = TokenHash::of(&Secret::new("mon_x"));
    world.store.add_token(hash, token, None).await.unwrap();
    // What is announced before is forgotten; from here on every wait has one cause.
    other.settings_changed().await;
    let mut heard = 0;
    for revoked_at_ms in [None, Some(5)] {
        let wait = tokio::spawn({
            let other = other.clone();
            async move {
                let start = Instant::now();
                other.settings_changed().await;
                start.elapsed()
            }
        });
        let change = TokenChange {
            name: Some("renamed".to_owned()),
            revoked_at_ms,
            ..TokenChange::default()
        };
        world.store.change_token(id, change, None).await.unwrap();
        // Under the time after which it would have looked by itself.
        heard += u32::from(wait.await.unwrap() < Duration::from_millis(1_900));
        let seen = other.token(&hash).await.unwrap().unwrap();
        assert_eq!(seen.revoked_at_ms, revoked_at_ms);
    }
    assert!(heard > 0, "no announcement was heard");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn servers_that_start_together_over_an_empty_database_all_come_up() {
    let server = Postgres::shared();
    let database = tokio::task::block_in_place(|| server.empty_database());
    let stores = futures_util::future::join_all((0..4).map(|_| open(&database))).await;
    let application = ApplicationId::random();
    stores[0]
        .add_application(an_application(application), "test", None)
        .await
        .unwrap();
    for store in &stores {
        let record = a_record(application, None, "text");
        store.insert(record).await.unwrap();
    }
    let partitions = tokio::task::block_in_place(|| {
        database.query("SELECT count(*) FROM pg_inherits WHERE inhparent = 'records'::regclass")
    });
    assert_eq!(partitions, "5", "today, three days and the default");
}
