//! Which policy store a gateway reads (CONTRACT 16), and the first read of it, before any call.

use crate::analysis::Services;
use crate::config::Settings;
use crate::observe::Metrics;
use crate::policy::{
    FileList, FileStore, LayeredPolicyStore, Policies, PolicyStore, PostgresStore,
};
use anyhow::{Context, Result};
use log::warn;
use monitor_model::{ApplicationId, ApplicationPolicy};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};

/// How long a start waits for the store; the last good copy is in force meanwhile.
const FIRST_READ: Duration = Duration::from_secs(5);
/// The most applications that a warning names.
const MOST_NAMED: usize = 10;

/// Policies, and the way to change them where they come from the configuration file.
pub(crate) struct Opened {
    pub(crate) policies: Policies,
    pub(crate) listed: Option<ListedApplications>,
}

/// The applications of the configuration file, which a reload replaces.
pub(crate) struct ListedApplications {
    list: FileList,
    /// None in a gateway alone.
    analysis: Option<LocalAnalysis>,
}

/// The analysis in the same process, which answers only for applications that its store has.
struct LocalAnalysis {
    services: Arc<Services>,
    runtime: Handle,
}

impl ListedApplications {
    /// Creates those that the store of this process does not have, and warns about those for which it has another
    /// policy (CONTRACT 47). Blocks.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub(crate) fn create_missing(&self, listed: &[ApplicationPolicy]) -> Result<()> {
        let Some(analysis) = &self.analysis else {
            return Ok(());
        };
        let added = analysis.services.admin.add_listed(listed);
        let added = analysis.runtime.block_on(added);
        let overridden =
            added.context("cannot add the applications of the configuration to the store")?;
        warn_overridden(&overridden);
        Ok(())
    }

    /// Puts their policies in force.
    pub(crate) fn replace(&self, listed: Vec<ApplicationPolicy>) {
        self.list.replace(listed);
    }
}

/// Policies under refresh: from PostgreSQL, else from the file and the store of this process, where there are any.
pub(crate) fn open(
    settings: &Settings,
    runtime: &Runtime,
    services: Option<&Arc<Services>>,
) -> Result<Option<Opened>> {
    let gateway = &settings.gateway;
    let mut listed = None;
    let (store, copy): (Box<dyn PolicyStore>, _) = if let Some(store) = &gateway.store {
        let copy = Some(settings.data_dir.as_path());
        (Box::new(PostgresStore::new(store)), copy)
    } else if !gateway.applications.is_empty() {
        let (file, list) = FileStore::new(gateway.applications.clone());
        let analysis = services.map(|services| LocalAnalysis {
            services: services.clone(),
            runtime: runtime.handle().clone(),
        });
        let applications = listed.insert(ListedApplications {
            list: list.clone(),
            analysis,
        });
        applications.create_missing(&gateway.applications)?;
        match services {
            None => (Box::new(file), None),
            Some(services) => {
                services.admin.list_in_file(list);
                let stored = services.admin.policy_store();
                (Box::new(LayeredPolicyStore::new(file, stored)), None)
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
    Ok(Some(Opened { policies, listed }))
}

fn warn_overridden(applications: &[ApplicationId]) {
    if applications.is_empty() {
        return;
    }
    let named = applications.iter().take(MOST_NAMED);
    let named: Vec<String> = named.map(ToString::to_string).collect();
    let more = match applications.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    warn!(
        target: "policy",
        "stored policies are not in force, because the configuration file (applications) has others for {}{more}",
        named.join(", "),
    );
}

/// Brings the gauges up to date for a look at them.
pub(crate) fn measure(policies: &Policies, metrics: &Metrics) {
    let status = policies.status();
    // A file is read once and does not age.
    let age = match (&*status.store, status.age) {
        ("file", _) => 0.0,
        (_, Some(age)) => age.as_secs_f64(),
        (_, None) => f64::INFINITY,
    };
    metrics.policies_age.set(age);
    metrics.policies_problems.set(status.faults.len() as i64);
}
