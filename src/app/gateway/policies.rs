//! Which policy store a gateway reads (CONTRACT 16), and the first read of it, before any call.

use crate::analysis::Services;
use crate::config::Settings;
use crate::observe::Metrics;
use crate::policy::{
    BudgetCount, FileList, FileStore, LayeredPolicyStore, Policies, PolicyStore, PostgresStore,
};
use anyhow::{Context, Result};
use monitor_model::ApplicationPolicy;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
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
    policies: Policies,
    /// None in a gateway alone.
    analysis: Option<LocalAnalysis>,
}

/// The analysis in the same process, which answers only for applications that its store has.
struct LocalAnalysis {
    services: Arc<Services>,
    runtime: Handle,
}

impl ListedApplications {
    /// With the list of the start.
    fn new(
        list: FileList,
        policies: Policies,
        services: Option<&Arc<Services>>,
        runtime: &Runtime,
    ) -> Self {
        let analysis = services.map(|services| {
            services.admin.list_in_file(list.clone());
            LocalAnalysis {
                services: services.clone(),
                runtime: runtime.handle().clone(),
            }
        });
        policies.list(list.all());
        Self {
            list,
            policies,
            analysis,
        }
    }

    /// Makes those known that are new, after their policies are in force: nobody calls for them without. Blocks.
    ///
    /// # Errors
    /// When the store cannot be read or written; then nothing has changed.
    pub(crate) fn add(&self, listed: &[ApplicationPolicy]) -> Result<()> {
        let before = self.list.all();
        let is_new = |it: &&ApplicationPolicy| before.iter().all(|known| known.id != it.id);
        let new = listed.iter().filter(is_new).cloned();
        self.replace(before.iter().cloned().chain(new).collect());
        let created = self.create_missing(listed);
        if created.is_err() {
            self.replace(before);
        }
        created
    }

    /// Creates those that the store of this process does not have. Blocks.
    fn create_missing(&self, listed: &[ApplicationPolicy]) -> Result<()> {
        let Some(analysis) = &self.analysis else {
            return Ok(());
        };
        let added = analysis.services.admin.add_listed(listed);
        let added = analysis.runtime.block_on(added);
        added.context("cannot add the applications of the configuration to the store")
    }

    /// Puts their policies in force, and returns once they are.
    pub(crate) fn replace(&self, listed: Vec<ApplicationPolicy>) {
        self.policies.list(listed.clone());
        // The refresher reads the store again, for the policies of applications that are no longer listed.
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
    let stored = match (stored, services) {
        (Some(stored), Some(services)) => Some(services.admin.with_own_count(stored)),
        (stored, _) => stored,
    };
    let (store, list): (Box<dyn PolicyStore>, _) = match (stored, gateway.applications.as_slice()) {
        (None, []) => return Ok(None),
        (Some(stored), []) => (stored, None),
        (stored, applications) => {
            let (file, list) = FileStore::new(applications.to_vec());
            match stored {
                Some(stored) => (Box::new(LayeredPolicyStore::new(file, stored)), Some(list)),
                None => (Box::new(file), Some(list)),
            }
        }
    };
    let (policies, mut refresher) = Policies::over(store, copy);
    let listed = list.map(|list| {
        let listed = ListedApplications::new(list, policies.clone(), services, runtime);
        listed
            .create_missing(&gateway.applications)
            .map(|()| listed)
    });
    let listed = listed.transpose()?;
    // After the file is listed, which has budgets too.
    if let Some(services) = services {
        runtime.block_on(services.count_budgets());
        runtime.block_on(async { services.start_alerts() });
    }
    runtime.block_on(refresher.first_read(FIRST_READ));
    runtime.spawn(refresher.run());
    Ok(Some(Opened { policies, listed }))
}

/// Brings the gauges up to date for a look at them. `own` is what an analysis in this process has counted of budgets.
pub(crate) fn measure(policies: &Policies, own: BudgetCount, metrics: &Metrics) {
    let status = policies.status();
    // A file is read once and does not age.
    let age = match (&*status.store, status.age) {
        ("file", _) => 0.0,
        (_, Some(age)) => age.as_secs_f64(),
        (_, None) => f64::INFINITY,
    };
    metrics.policies_age.set(age);
    metrics.policies_problems.set(status.faults.len() as i64);
    let count = policies.budget_count().max(own);
    let age = count.age_seconds(SystemTime::now());
    metrics.limits.budget_count_age.set(age);
}
