//! Which policy store a gateway reads (CONTRACT 16), and the first read of it, before any call.

use crate::analysis::Services;
use crate::config::Settings;
use crate::observe::Metrics;
use crate::policy::{FileList, FileStore, ListedFirst, Policies, PolicyStore, PostgresStore};
use anyhow::{Context, Result};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long a start waits for the store; the last good copy is in force meanwhile.
const FIRST_READ: Duration = Duration::from_secs(5);

/// Policies, and the way to change them where they come from the configuration file.
pub(crate) struct Opened {
    pub(crate) policies: Policies,
    pub(crate) list: Option<FileList>,
}

/// Policies under refresh: from PostgreSQL, else from the file and the store of this process, where there are any.
pub(crate) fn open(
    settings: &Settings,
    runtime: &Runtime,
    services: Option<&Services>,
) -> Result<Option<Opened>> {
    let gateway = &settings.gateway;
    let mut list = None;
    let (store, copy): (Box<dyn PolicyStore>, _) = if let Some(store) = &gateway.store {
        let copy = Some(settings.data_dir.as_path());
        (Box::new(PostgresStore::new(store)), copy)
    } else if !gateway.applications.is_empty() {
        let (file, changes) = FileStore::new(gateway.applications.clone());
        list = Some(changes.clone());
        match services {
            None => (Box::new(file), None),
            Some(services) => {
                let listed = services.admin.list_in_file(&gateway.applications, changes);
                let added = runtime.block_on(listed);
                added.context("cannot add the applications of the configuration to the store")?;
                let stored = services.admin.policy_store();
                (Box::new(ListedFirst::new(file, stored)), None)
            }
        }
    } else if let Some(services) = services {
        (services.admin.policy_store(), None)
    } else {
        return Ok(None);
    };
    let (policies, mut refresher) = Policies::over(store, copy);
    runtime.block_on(refresher.first_read(FIRST_READ));
    runtime.spawn(refresher.run());
    Ok(Some(Opened { policies, list }))
}

/// Brings the gauges up to date for a look at them.
pub(crate) fn measure(policies: &Policies, metrics: &Metrics) {
    let status = policies.status();
    // A file is read once and does not age.
    let age = match (status.store, status.age) {
        ("file", _) => 0.0,
        (_, Some(age)) => age.as_secs_f64(),
        (_, None) => f64::INFINITY,
    };
    metrics.policies_age.set(age);
    metrics.policies_problems.set(status.faults.len() as i64);
}
