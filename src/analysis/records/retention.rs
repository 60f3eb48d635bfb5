//! Removes records beyond the retention limits (CONTRACT 38): first of each application with limits of its
//! own, then of the whole store; then the files that no record links to. Runs at startup and every hour.

use super::Records;
use super::files::Files;
use crate::analysis::clock::now_ms;
use crate::analysis::rules::application_rules::Retention;
use crate::config::RetentionSettings;
use crate::observe::Metrics;
use crate::observe::events::RetentionRan;
use monitor_model::ApplicationId;
use monitor_store::{Application, ApplicationFilter, RetentionLimits, Store, StoreError};
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

impl RetentionTask {
    /// Starts the task on the calling runtime.
    pub fn start(records: &Records, limits: RetentionSettings, metrics: Arc<Metrics>) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let files = records.files.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                () = run(&files, limits, &metrics) => {}
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

async fn run(files: &Files, limits: RetentionSettings, metrics: &Metrics) {
    loop {
        let mut removed = 0;
        let kept = round(&*files.store, limits, &mut removed).await;
        let failure = kept.and(files.collect().await).err();
        let ran = RetentionRan {
            removed,
            failure: failure.as_ref().map(ToString::to_string),
        };
        ran.emit(metrics);
        tokio::time::sleep(if failure.is_none() {
            INTERVAL
        } else {
            RETRY_INTERVAL
        })
        .await;
    }
}

/// If one application fails, the others and the whole store are still processed.
async fn round(
    store: &dyn Store,
    limits: RetentionSettings,
    removed: &mut u64,
) -> Result<(), StoreError> {
    let mut first_failure = Ok(());
    for (id, limits) in of_applications(store).await? {
        match store.enforce_retention(Some(id), limits, now_ms()).await {
            Ok(gone) => *removed += gone,
            Err(error) => first_failure = first_failure.and(Err(error)),
        }
    }
    let limits = RetentionLimits {
        days: limits.days,
        rows: limits.rows,
        bytes: limits.bytes,
    };
    *removed += store.enforce_retention(None, limits, now_ms()).await?;
    first_failure
}

/// The applications with limits of their own.
async fn of_applications(
    store: &dyn Store,
) -> Result<Vec<(ApplicationId, RetentionLimits)>, StoreError> {
    let mut filter = ApplicationFilter {
        limit: PAGE,
        ..ApplicationFilter::default()
    };
    let mut found = Vec::new();
    loop {
        let page = store.applications(&filter).await?;
        let limited = page.applications.iter();
        found.extend(limited.filter_map(|one| Some((one.id, own_limits(one)?))));
        filter.after = page.next_after;
        if filter.after.is_none() {
            return Ok(found);
        }
    }
}

fn own_limits(application: &Application) -> Option<RetentionLimits> {
    let stored = application.rules.get("retention")?;
    let limits: Option<Retention> = serde_json::from_value(stored.clone()).ok()?;
    limits.map(RetentionLimits::from)
}
