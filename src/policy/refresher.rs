//! Keeps [`Policies`] up to date with their store, and the copy on disk with them. A store that fails changes
//! only the status (CONTRACT 14).

use super::cached::Policies;
use super::copy::{self, DiskCopy};
use super::snapshot::{PolicyFault, PolicySnapshot};
use super::{Content, PolicyStore, PolicyStoreError};
use crate::observe::Throttle;
use log::{info, warn};
use monitor_model::StoredPolicy;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How often an ongoing outage is logged.
const REMIND: Duration = Duration::from_secs(60);
/// The most faulty policies that are logged at once; the status lists all of them.
const NAMED: usize = 10;
/// How long the first read waits for the budgets, behind the policies.
const FIRST_BUDGETS: Duration = Duration::from_secs(1);

/// The task behind [`Policies`].
pub struct Refresher {
    policies: Policies,
    store: Box<dyn PolicyStore>,
    copy: Option<DiskCopy>,
    outage: Throttle,
}

/// What has come of policies that were put in force.
struct Taken {
    /// They are not those that were in force before.
    differs: bool,
    faults: Vec<PolicyFault>,
}

impl Policies {
    /// Policies over a store. If `data_dir` holds the last valid ones of an earlier process, they are in force at
    /// once; None keeps no copy. Nothing else happens before the refresher runs.
    pub fn over(store: Box<dyn PolicyStore>, data_dir: Option<&Path>) -> (Self, Refresher) {
        let policies = Self::new(store.name());
        let mut refresher = Refresher {
            policies: policies.clone(),
            store,
            copy: data_dir.map(DiskCopy::in_folder),
            outage: Throttle::every(REMIND),
        };
        refresher.take_copy();
        (policies, refresher)
    }
}

impl Refresher {
    /// Reads the store once, for at most `limit`, so that the first call of a process finds its policy. A failure
    /// is logged and shown in the status; [`Refresher::run`] tries again.
    pub async fn first_read(&mut self, limit: Duration) {
        if tokio::time::timeout(limit, self.refresh()).await.is_err() {
            let error = PolicyStoreError(format!("no answer within {limit:?}"));
            self.failed(&error);
        }
        // Those that come later are in force then.
        let _ = tokio::time::timeout(FIRST_BUDGETS, self.store.read_spent()).await;
        self.take_spent();
    }

    /// Refreshes until the process ends; may be dropped at any time.
    pub async fn run(mut self) {
        loop {
            self.refresh().await;
            self.store.changed().await;
            self.take_spent();
        }
    }

    async fn refresh(&mut self) {
        let read = self.store.read().await;
        self.take_spent();
        match read {
            Ok(Content::All(rows)) => {
                let taken = self.take(rows, true);
                self.reached();
                self.finish(taken).await;
            }
            Ok(Content::Stale {
                policies,
                is_complete,
                error,
            }) => {
                let taken = self.take(policies, is_complete);
                self.say(taken.faults);
                self.failed(&error);
            }
            Ok(Content::Unchanged) => {
                self.reached();
                self.save(false).await;
            }
            Err(error) => self.failed(&error),
        }
    }

    fn take_spent(&self) {
        self.policies.0.set_spent(self.store.spent());
        self.policies.0.health().budget_count = self.store.budget_count();
    }

    /// Puts the policies of these rows in force. Where they are not all, other applications may have one too.
    fn take(&self, rows: Vec<StoredPolicy>, is_complete: bool) -> Taken {
        let (faults, differs) = self.policies.0.replace(rows, is_complete);
        self.policies.0.health().overridden = self.store.overridden();
        Taken { differs, faults }
    }

    async fn finish(&mut self, taken: Taken) {
        self.say(taken.faults);
        self.save(taken.differs).await;
    }

    fn reached(&self) {
        let mut health = self.policies.0.health();
        health.read_at = Some(SystemTime::now());
        health.from_copy = false;
        if health.store_error.take().is_some() {
            info!(target: "policy", "the policy store answers again");
        }
    }

    fn failed(&self, error: &PolicyStoreError) {
        let count = self.policies.status().applications;
        let mut health = self.policies.0.health();
        let is_new = health.store_error.replace(error.to_string()).is_none();
        let due = self.outage.pass().is_some();
        if is_new || due {
            let rest = match (health.read_at, health.from_copy) {
                (None, _) if count == 0 => {
                    "no policy is known: calls of applications are async".to_owned()
                }
                (None, _) => format!(
                    "{count} policies of the configuration file are in force; calls of other applications are async"
                ),
                (_, true) => format!("{count} last good policies stay in force, from disk"),
                _ => format!("{count} last good policies stay in force"),
            };
            warn!(target: "policy", "the policy store cannot be read ({error}); {rest}");
        }
    }

    /// Logs new faults.
    fn say(&self, faults: Vec<PolicyFault>) {
        let mut health = self.policies.0.health();
        let new = faults.iter().filter(|fault| !health.faults.contains(fault));
        for fault in new.take(NAMED) {
            let rest = match fault.keeps_last_good {
                true => "its last good policy stays in force",
                false => "it never had a good one: its calls are async",
            };
            warn!(target: "policy", "policy of application {}: {}; {rest}", fault.id, fault.reason);
        }
        health.faults = faults;
    }

    fn take_copy(&mut self) {
        let Some(read) = self.copy.as_ref().map(DiskCopy::read) else {
            return;
        };
        match read {
            Ok(Some((rows, read_at))) => {
                self.store.take_copy(&rows);
                let (next, faults) = PolicySnapshot::default().next(rows);
                self.policies.0.snapshot.store(Arc::new(next));
                let mut health = self.policies.0.health();
                (health.read_at, health.from_copy) = (Some(read_at), true);
                drop(health);
                self.say(faults);
            }
            Ok(None) => {}
            Err(reason) => {
                warn!(target: "policy", "the copy of the policies on disk is not used: {reason}");
            }
        }
    }

    /// Writes the copy if it differs, otherwise updates its modification time.
    async fn save(&mut self, differs: bool) {
        let Some(copy) = &mut self.copy else { return };
        let Some(job) = copy.due(differs, || {
            let in_force = self.policies.0.snapshot.load().good();
            self.store.to_keep(in_force)
        }) else {
            return;
        };
        // The disk may be slow, and the threads of the runtime serve other tasks too.
        let written = tokio::task::spawn_blocking(move || job.run()).await;
        copy.done(written.unwrap_or_else(|_| Err(copy::interrupted())));
    }
}
