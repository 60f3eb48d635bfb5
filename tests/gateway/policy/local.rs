//! Policies in the embedded database, for the gateway of the same process (CONTRACT 16).

use super::world::Running;
use monitor_gateway::analysis::{Services, SetPolicyError};
use monitor_gateway::config::{self, Overrides, Role};
use monitor_model::{AppMode, ApplicationId, ApplicationPolicy, Policy};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::eventually;
use support::stack::Folder;
use tokio::runtime::Runtime;

struct World {
    folder: Arc<Folder>,
    runtime: Runtime,
    service: Arc<Services>,
    first: ApplicationId,
}

impl World {
    fn new() -> Self {
        let (folder, runtime) = (Folder::new(), Runtime::new().unwrap());
        let settings = config::load(Role::All, None, &Overrides::default(), &|_| None).unwrap();
        let opened = Services::open(&settings.analysis, folder.path());
        let (service, first) = runtime.block_on(opened).unwrap();
        Self {
            folder,
            runtime,
            service,
            first: first.application_id,
        }
    }

    fn set(&self, id: ApplicationId, policy: Policy) -> Result<(), SetPolicyError> {
        self.runtime
            .block_on(self.service.admin.set_policy(id, policy))
    }
}

fn blocking(phrase: &str) -> Policy {
    Policy::new(AppMode::Sync, phrase)
}

#[test]
fn a_policy_set_in_process_is_in_force_in_under_a_second() {
    // CONTRACT 16.
    let world = World::new();
    let running = Running::over(world.service.admin.policy_store(), None);
    let id = world.first.to_string();
    assert_eq!(
        running.phrase(&id),
        None,
        "the first application has no policy"
    );
    for phrase in ["first", "second"] {
        world.set(world.first, blocking(phrase)).unwrap();
        let set = Instant::now();
        running.await_phrase(&id, phrase);
        assert!(
            set.elapsed() < Duration::from_secs(1),
            "{:?}",
            set.elapsed()
        );
    }
    let stored = world
        .runtime
        .block_on(world.service.admin.policies())
        .unwrap();
    assert_eq!((stored.len(), stored[0].id), (1, world.first));
    assert_eq!(stored[0].policy, Ok(blocking("second")));
    assert_eq!(running.policies.status().store, "sqlite");
}

#[test]
fn a_policy_set_by_another_process_is_in_force_in_under_a_second() {
    // CONTRACT 16.
    let world = World::new();
    let running = Running::over(world.service.admin.policy_store(), None);
    let file = world.folder.path().join("monitor.db");
    world.runtime.block_on(async {
        let mut other = SqliteConnectOptions::new()
            .filename(file)
            .connect()
            .await
            .unwrap();
        let sql =
            "UPDATE applications SET policy = '{\"app_mode\":\"sync\",\"phrase\":\"outside\"}'";
        sqlx::query(sql).execute(&mut other).await.unwrap();
    });
    let set = Instant::now();
    running.await_phrase(&world.first.to_string(), "outside");
    assert!(
        set.elapsed() < Duration::from_secs(1),
        "{:?}",
        set.elapsed()
    );
}

#[test]
fn what_cannot_be_meant_is_refused_and_changes_nothing() {
    let world = World::new();
    world.set(world.first, blocking("kept")).unwrap();
    let refused = world.set(world.first, blocking("  ")).unwrap_err();
    assert!(matches!(refused, SetPolicyError::Refused(_)), "{refused}");
    let unknown = world
        .set(ApplicationId::random(), blocking("x"))
        .unwrap_err();
    assert!(
        matches!(unknown, SetPolicyError::UnknownApplication),
        "{unknown}"
    );
    let stored = world
        .runtime
        .block_on(world.service.admin.policies())
        .unwrap();
    assert_eq!(stored[0].policy, Ok(blocking("kept")));
}

#[test]
fn applications_of_a_file_are_made_once_and_kept_as_they_are() {
    let world = World::new();
    let listed: Vec<ApplicationPolicy> = [world.first, ApplicationId::random()]
        .map(|id| ApplicationPolicy {
            id,
            name: "listed".to_owned(),
            policy: blocking("in the file"),
        })
        .into();
    for _ in 0..2 {
        let made = world.service.admin.add_listed(&listed);
        world.runtime.block_on(made).unwrap();
    }
    // A policy can be set for an application that exists, and for no other.
    world.set(listed[1].id, blocking("now")).unwrap();
    let stored = world
        .runtime
        .block_on(world.service.admin.policies())
        .unwrap();
    assert_eq!((stored.len(), stored[0].name.as_str()), (1, "listed"));
}

#[test]
fn the_end_of_the_store_is_no_outage() {
    let world = World::new();
    world.set(world.first, blocking("kept")).unwrap();
    let running = Running::over(world.service.admin.policy_store(), None);
    world.runtime.block_on(world.service.shutdown());
    let read = running.policies.age();
    eventually("the store was asked again", || {
        (running.policies.age() < read).then_some(())
    });
    assert_eq!(running.policies.status().store_error, None);
    running.await_phrase(&world.first.to_string(), "kept");
}
