//! The gateway's policies at work, and how these tests inspect them.

use monitor_gateway::config::{StoreSettings, StoreSsl};
use monitor_gateway::policy::{Found, Policies, PolicyStore, PostgresStore};
use monitor_model::{Policy, Secret};
use std::sync::Arc;
use std::time::Duration;
use support::eventually;
use support::postgres::{Database, GATEWAY, PASSWORD};
use support::stack::Folder;
use tokio::runtime::Runtime;

/// Policies whose refresher runs until the value is dropped.
pub(crate) struct Running {
    pub(crate) policies: Policies,
    _runtime: Runtime,
}

impl Running {
    /// Over any store, with the copy in that folder; the first read is done.
    pub(crate) fn over(store: Box<dyn PolicyStore>, folder: Option<&Arc<Folder>>) -> Self {
        let runtime = Runtime::new().unwrap();
        let (policies, mut refresher) = Policies::over(store, folder.map(|folder| folder.path()));
        runtime.block_on(refresher.first_read(Duration::from_secs(10)));
        runtime.spawn(refresher.run());
        Self {
            policies,
            _runtime: runtime,
        }
    }

    /// Over a database, without a copy.
    pub(crate) fn of(database: &Database) -> Self {
        Self::over(Box::new(PostgresStore::new(&settings(database))), None)
    }

    /// Over a database, with a copy.
    pub(crate) fn with_copy(database: &Database, folder: &Arc<Folder>) -> Self {
        Self::over(
            Box::new(PostgresStore::new(&settings(database))),
            Some(folder),
        )
    }

    /// The phrase in force, None for no policy; fails the test where none can be told.
    #[track_caller]
    pub(crate) fn phrase(&self, id: &str) -> Option<String> {
        match self.policies.lookup(Some(id)) {
            Found::Policy(policy) => Some(policy.phrase.clone()),
            Found::NoPolicy => None,
            Found::NeverKnown => panic!("no policy can be told: {:?}", self.policies.status()),
        }
    }

    /// Waits until this phrase is in force.
    #[track_caller]
    pub(crate) fn await_phrase(&self, id: &str, phrase: &str) {
        let what = format!("{phrase} is in force");
        eventually(&what, || {
            (self.phrase(id).as_deref() == Some(phrase)).then_some(())
        });
    }
}

/// A gateway's settings for a database.
pub(crate) fn settings(database: &Database) -> StoreSettings {
    StoreSettings {
        host: "127.0.0.1".to_owned(),
        port: database.port,
        db: database.name.clone(),
        user: GATEWAY.to_owned(),
        password: Some(Secret::new(PASSWORD)),
        ssl: StoreSsl::Off,
        ca: None,
    }
}

/// A policy in sync mode as a store holds it.
pub(crate) fn sync(phrase: &str) -> String {
    let policy = format!(r#"{{"app_mode":"sync","phrase":"{phrase}"}}"#);
    Policy::from_json(&policy).unwrap();
    policy
}

/// A new application id.
pub(crate) fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}
