//! Removes records beyond the retention limits (CONTRACT 38): first of each application with limits of its
//! own, then of the whole store; then the files that no record links to. Runs at startup and every hour.

use super::Records;
use super::files::Files;
use crate::analysis::clock::now_ms;
use crate::analysis::error::report;
use crate::analysis::rules::application_rules::Retention as OwnRetention;
use crate::config::RetentionSettings;
use crate::observe::Metrics;
use crate::observe::events::RetentionRan;
use monitor_model::ApplicationId;
use monitor_store::{
    Application, ApplicationFilter, ApplicationStore, RecordRemoval, RetentionLimits, StoreError,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Between two runs.
const INTERVAL: Duration = Duration::from_secs(3_600);
/// After a run that failed, because the store was down or busy.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// Applications read at once.
const PAGE: u32 = 200;

/// The task that keeps the store within its limits.
pub struct RetentionTask {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// What a run works on.
struct Retention {
    removal: Arc<dyn RecordRemoval>,
    applications: Arc<dyn ApplicationStore>,
    files: Files,
    limits: RetentionSettings,
}

impl RetentionTask {
    /// Starts the task on the calling runtime.
    pub fn start(records: &Records, limits: RetentionSettings, metrics: Arc<Metrics>) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let retention = Retention {
            removal: records.removal.clone(),
            applications: records.applications.clone(),
            files: records.files.clone(),
            limits,
        };
        let task = tokio::spawn(async move {
            tokio::select! {
                () = retention.run(&metrics) => {}
                _ = stopped.wait_for(|stopped| *stopped) => {}
            }
        });
        Self { stop, task }
    }

    /// Ends the task, also in the middle of a run: the next start continues.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if self.task.await.is_err() {
            log::error!("the retention task ended unexpectedly");
        }
    }
}

impl Retention {
    async fn run(&self, metrics: &Metrics) {
        loop {
            let mut removed = 0;
            let enforced = self.enforce(&mut removed).await;
            let failure = enforced.and(self.files.collect().await).err();
            failure.iter().for_each(report);
            let ran = RetentionRan {
                removed,
                failure: failure.as_ref().map(ToString::to_string),
            };
            ran.emit(metrics);
            let pause = match failure {
                None => INTERVAL,
                Some(_) => RETRY_INTERVAL,
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// If one application fails, the others and the whole store are still processed.
    async fn enforce(&self, removed: &mut u64) -> Result<(), StoreError> {
        let mut first_failure = Ok(());
        for (id, limits) in self.limited_applications().await? {
            let gone = self.removal.enforce_retention(Some(id), limits, now_ms());
            match gone.await {
                Ok(gone) => *removed += gone,
                Err(error) if first_failure.is_ok() => first_failure = Err(error),
                Err(error) => report(&error),
            }
        }
        let limits = RetentionLimits {
            days: self.limits.days,
            rows: self.limits.rows,
            bytes: self.limits.bytes,
        };
        let gone = self.removal.enforce_retention(None, limits, now_ms());
        *removed += gone.await?;
        first_failure
    }

    /// The applications with limits of their own.
    async fn limited_applications(
        &self,
    ) -> Result<Vec<(ApplicationId, RetentionLimits)>, StoreError> {
        let mut filter = ApplicationFilter {
            limit: PAGE,
            ..ApplicationFilter::default()
        };
        let mut found = Vec::new();
        loop {
            let page = self.applications.applications(&filter).await?;
            let limited = page.applications.iter();
            found.extend(limited.filter_map(|one| Some((one.id, own_limits(one)?))));
            filter.after = page.next_after;
            if filter.after.is_none() {
                return Ok(found);
            }
        }
    }
}

fn own_limits(application: &Application) -> Option<RetentionLimits> {
    let stored = application.rules.get("retention")?;
    let limits: Option<OwnRetention> = serde_json::from_value(stored.clone()).ok()?;
    limits.map(RetentionLimits::from)
}
