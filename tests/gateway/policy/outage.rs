//! While the store is unavailable, no policy changes (CONTRACT 14).

use super::world::{Running, new_id, settings, sync};
use monitor_gateway::policy::{Found, PostgresStore};
use monitor_model::Secret;
use support::eventually;
use support::fault::free_port;
use support::postgres::{PASSWORD, Postgres};
use support::stack::Folder;

#[test]
#[ignore = "needs PostgreSQL"]
fn the_last_good_policies_stay_in_force_while_postgresql_is_away_and_it_is_found_again() {
    // CONTRACT 14.
    let mut server = Postgres::start();
    let database = server.database();
    let id = new_id();
    database.add(&id, &sync("first"));
    let running = Running::of(&database);
    for (round, end) in [Postgres::stop, Postgres::crash].into_iter().enumerate() {
        end(&mut server);
        eventually("the outage is seen", || {
            running.policies.status().store_error
        });
        let age = running.policies.age().unwrap();
        eventually("the age grows", || {
            (running.policies.age()? > age).then_some(())
        });
        assert!(running.phrase(&id).is_some());
        server.start_again();
        let phrase = format!("after outage {round}");
        database.set(&id, &sync(&phrase));
        running.await_phrase(&id, &phrase);
        eventually("the outage is over", || {
            running
                .policies
                .status()
                .store_error
                .is_none()
                .then_some(())
        });
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_start_without_the_store_takes_the_copy_on_disk_and_then_the_store() {
    // CONTRACT 14: in memory and on disk.
    let mut server = Postgres::start();
    let (database, folder) = (server.database(), Folder::new());
    let id = new_id();
    database.add(&id, &sync("kept"));
    let running = Running::with_copy(&database, &folder);
    assert!(!running.policies.status().from_copy);
    drop(running);
    server.stop();
    let running = Running::with_copy(&database, &folder);
    let status = running.policies.status();
    assert!(
        status.from_copy && status.store_error.is_some() && status.age.is_some(),
        "{status:?}"
    );
    assert_eq!(running.phrase(&id).as_deref(), Some("kept"));
    assert_eq!(running.phrase(&new_id()), None);
    server.start_again();
    database.set(&id, &sync("fresh"));
    running.await_phrase(&id, "fresh");
    assert!(!running.policies.status().from_copy);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_store_that_was_never_reached_is_no_store_without_policies() {
    // CONTRACT 14: never known is not "no policy".
    let mut server = Postgres::start();
    let (database, folder) = (server.database(), Folder::new());
    let id = new_id();
    database.add(&id, &sync("late"));
    server.stop();
    let running = Running::with_copy(&database, &folder);
    assert_eq!(running.policies.lookup(Some(&id)), Found::NeverKnown);
    assert_eq!(running.policies.lookup(None), Found::NoPolicy);
    assert_eq!(running.policies.lookup(Some("no-uuid")), Found::NoPolicy);
    let status = running.policies.status();
    assert_eq!((status.age, status.applications), (None, 0));
    server.start_again();
    eventually("the store is reached", || {
        (running.policies.lookup(Some(&id)) != Found::NeverKnown).then_some(())
    });
    assert_eq!(running.phrase(&id).as_deref(), Some("late"));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn what_is_wrong_with_the_store_is_said_without_its_password() {
    let server = Postgres::shared();
    let database = server.database();
    let (mut port, mut password, mut db) = (
        settings(&database),
        settings(&database),
        settings(&database),
    );
    port.port = free_port();
    password.password = Some(Secret::new(format!("{PASSWORD}x")));
    db.db = "postgres".to_owned();
    for (settings, expected) in [
        (port, "refused"),
        (password, "password authentication failed"),
        (db, "relation \"gateway_policies\" does not exist"),
    ] {
        let running = Running::over(Box::new(PostgresStore::new(&settings)), None);
        let said = running.policies.status().store_error.unwrap();
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains(PASSWORD), "{said}");
    }
}
