//! Which policy store a gateway reads (CONTRACT 16), and the first read of it, before any call.

use crate::analysis::Services;
use crate::config::Settings;
use crate::observe::Metrics;
use crate::policy::{
    FileList, FileStore, LayeredPolicyStore, Policies, PolicyStore, PostgresStore,
};
use anyhow::{Context, Result};
use monitor_model::ApplicationPolicy;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};

/// How long a start waits for the store; the last good copy is in force meanwhile.
const FIRST_READ: Duration = Duration::from_secs(5);

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
    fn new(list: FileList, services: Option<&Arc<Services>>, runtime: &Runtime) -> Self {
        let analysis = services.map(|services| {
            services.admin.list_in_file(list.clone());
            LocalAnalysis {
                services: services.clone(),
                runtime: runtime.handle().clone(),
            }
        });
        Self { list, analysis }
    }

    /// Creates those that the store of this process does not have. Blocks.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub(crate) fn create_missing(&self, listed: &[ApplicationPolicy]) -> Result<()> {
        let Some(analysis) = &self.analysis else {
            return Ok(());
        };
        let added = analysis.services.admin.add_listed(listed);
        let added = analysis.runtime.block_on(added);
        added.context("cannot add the applications of the configuration to the store")
    }

    /// Puts their policies in force.
    pub(crate) fn replace(&self, listed: Vec<ApplicationPolicy>) {
        self.list.replace(listed);
    }
}

/// Policies under refresh: those of the file, and those of PostgreSQL or else of the store of this process, where there
/// are any (CONTRACT 47).
pub(crate) fn open(
    settings: &Settings,
    runtime: &Runtime,
    services: Option<&Arc<Services>>,
) -> Result<Option<Opened>> {
    let gateway = &settings.gateway;
    let (stored, copy): (Option<Box<dyn PolicyStore>>, _) = match (&gateway.store, services) {
        (Some(store), _) => (
            Some(Box::new(PostgresStore::new(store))),
            Some(settings.data_dir.as_path()),
        ),
        (None, Some(services)) => (Some(services.admin.policy_store()), None),
        (None, None) => (None, None),
    };
    let (store, listed): (Box<dyn PolicyStore>, _) = match (stored, gateway.applications.as_slice())
    {
        (None, []) => return Ok(None),
        (Some(stored), []) => (stored, None),
        (stored, applications) => {
            let (file, list) = FileStore::new(applications.to_vec());
            let listed = ListedApplications::new(list, services, runtime);
            listed.create_missing(applications)?;
            match stored {
                Some(stored) => (
                    Box::new(LayeredPolicyStore::new(file, stored)),
                    Some(listed),
                ),
                None => (Box::new(file), Some(listed)),
            }
        }
    };
    let (policies, mut refresher) = Policies::over(store, copy);
    runtime.block_on(refresher.first_read(FIRST_READ));
    runtime.spawn(refresher.run());
    Ok(Some(Opened { policies, listed }))
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
