//! Removes records beyond the retention limits (CONTRACT 38): first of each application with limits of its
//! own, then of the whole store; then files whose message did not arrive, and those that no record links to. Runs at
//! startup and every hour, and for the whole store as soon as it is clearly beyond its rows or bytes: a flood must
//! not fill the disk for an hour. Files ask for it before they are stored (`file_room`), and those that were refused are
//! removed within seconds.

use super::Records;
use super::files::Files;
use super::files::file_room::{FileRoom, is_clearly_over};
use crate::analysis::error::report;
use crate::analysis::rules::application_rules::Retention as OwnRetention;
use crate::config::RetentionSettings;
use crate::observe::clock::{note_earlier, settled_ms, watch_clock};
use crate::observe::events::{AboveItsPart, RemovedBy, RetentionRan};
use crate::observe::{Metrics, RemovalCause};
use monitor_model::ApplicationId;
use monitor_store::{
    Application, ApplicationFilter, ApplicationStore, RecordFilter, RecordRemoval, RecordStore,
    Removed, RetentionLimits, RetentionRun, StoreError, StoredAmount,
};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Between two runs.
const INTERVAL: Duration = Duration::from_secs(3_600);
/// After a run that failed, because the store was down or busy, or that removed nothing.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// Between two looks at what the store takes. A look is allowed a hundredth of the time: after one that takes
/// longer than 50 ms, the next waits longer.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
const LOOK_SHARE: u32 = 100;
/// Applications read at once.
const PAGE: u32 = 200;

/// The task that keeps the store within its limits.
pub struct RetentionTask {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// What a run works on.
struct Retention {
    records: Arc<dyn RecordStore>,
    removal: Arc<dyn RecordRemoval>,
    applications: Arc<dyn ApplicationStore>,
    files: Files,
    room: Arc<FileRoom>,
    limits: RetentionSettings,
}

impl RetentionTask {
    /// Starts the task on the calling runtime.
    pub fn start(records: &Records, limits: RetentionSettings, metrics: Arc<Metrics>) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let retention = Retention {
            records: records.records.clone(),
            removal: records.removal.clone(),
            applications: records.applications.clone(),
            files: records.files.clone(),
            room: records.room.clone(),
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
        let _ = self.look().await;
        // Nothing is removed before it is known when the newest record came.
        while let Err(error) = self.note_newest().await {
            report(&error);
            self.keep_bounded(metrics, RETRY_INTERVAL, None).await;
        }
        loop {
            let mut removed = Removed::default();
            let enforced = self.answering(self.enforce(&mut removed)).await;
            match self
                .remove_files_and_report(metrics, removed, enforced)
                .await
            {
                Ok(()) => {
                    self.keep_bounded(metrics, INTERVAL, Some(Duration::ZERO))
                        .await;
                }
                Err(_) => {
                    self.keep_bounded(metrics, RETRY_INTERVAL, Some(RETRY_INTERVAL))
                        .await;
                }
            }
        }
    }

    /// A run of all limits may take minutes. Files that ask for room meanwhile are stored one at a time.
    async fn answering<T>(&self, run: impl Future<Output = T>) -> T {
        let (mut run, mut requests) = (pin!(run), self.room.requests());
        loop {
            tokio::select! {
                biased;
                ended = &mut run => return ended,
                _ = requests.changed() => {
                    let request = *requests.borrow_and_update();
                    let _ = self.look().await;
                    self.room.answer(request);
                }
            }
        }
    }

    /// Tells the clock when the newest record came: one that is wrong at the start must not remove any. A record that
    /// cannot be read tells nothing.
    async fn note_newest(&self) -> Result<(), StoreError> {
        let one = RecordFilter {
            limit: 1,
            ..RecordFilter::default()
        };
        let page = match self.records.page(&one).await {
            Err(StoreError::Unreadable(_)) => return Ok(()),
            page => page?,
        };
        if let Some(newest) = page.records.into_iter().next() {
            note_earlier(newest.created_at_ms);
        }
        Ok(())
    }

    /// Removes the files without a record, and those that waited for one too long; counts and logs what the round did.
    async fn remove_files_and_report(
        &self,
        metrics: &Metrics,
        removed: Removed,
        enforced: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let expired = self.files.expire_waiting().await.map(drop);
        let result = enforced.and(expired).and(self.files.collect().await);
        result.as_ref().err().into_iter().for_each(report);
        let above = removed.above_their_part.iter();
        let above = above.map(|(application, records)| AboveItsPart {
            application: *application,
            records: *records,
        });
        let mut ran = RetentionRan {
            above_their_part: above.collect(),
            removed: by_cause(&removed),
            failure: result.as_ref().err().map(ToString::to_string),
        };
        ran.emit(metrics);
        result
    }

    /// Looks at what the store takes for this long, by itself and when a file asks for room, and runs where it is
    /// clearly beyond a limit, but not during the first `rest`; without one it removes nothing. A failed look is no
    /// event: if the store is down, others say so.
    async fn keep_bounded(&self, metrics: &Metrics, period: Duration, rest: Option<Duration>) {
        let now = Instant::now();
        let (end, mut next_run) = (now + period, rest.map(|rest| now + rest));
        let (mut wait, mut requests) = (LOOK_INTERVAL, self.room.requests());
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            // What was asked for during a run is answered by the look that follows.
            let _ = timeout(wait.min(left), requests.changed()).await;
            let request = *requests.borrow_and_update();
            watch_clock(metrics);
            let start = Instant::now();
            let stored = self.look().await;
            wait = LOOK_INTERVAL.max(start.elapsed() * LOOK_SHARE);
            let may_run = next_run.is_some_and(|at| start >= at);
            if may_run && stored.is_ok_and(|stored| is_clearly_beyond(stored, self.limits)) {
                let mut removed = Removed::default();
                let enforced = self.enforce_whole(&mut removed).await;
                let has_removed = removed.records() > 0;
                let ended = self
                    .remove_files_and_report(metrics, removed, enforced)
                    .await;
                // A run that removes nothing would not do so in five seconds either.
                if ended.is_err() || !has_removed {
                    next_run = Some(Instant::now() + RETRY_INTERVAL);
                }
                let _ = self.look().await;
            } else if self.room.take_unlinked()
                && let Err(error) = self.files.collect().await
            {
                self.room.note_unlinked();
                report(&error);
            }
            self.room.answer(request);
        }
    }

    /// Reads what the store takes, also for those who want to store files.
    async fn look(&self) -> Result<StoredAmount, StoreError> {
        let settled = self.room.settled();
        let stored = self.removal.stored_amount().await?;
        self.room.note(stored.bytes, settled);
        Ok(stored)
    }

    /// If one application fails, the others and the whole store are still processed.
    async fn enforce(&self, removed: &mut Removed) -> Result<(), StoreError> {
        let mut first_failure = Ok(());
        for (id, limits) in self.limited_applications().await? {
            let gone = self
                .removal
                .enforce_retention(Some(id), limits, settled_ms());
            let RetentionRun {
                removed: gone,
                failure,
            } = gone.await;
            removed.add(gone);
            match failure {
                None => {}
                Some(error) if first_failure.is_ok() => first_failure = Err(error),
                Some(error) => report(&error),
            }
        }
        self.enforce_whole(removed).await?;
        first_failure
    }

    async fn enforce_whole(&self, removed: &mut Removed) -> Result<(), StoreError> {
        let limits = RetentionLimits {
            days: self.limits.days,
            rows: self.limits.rows,
            bytes: self.limits.bytes,
            cost_days: Some(self.limits.cost_days),
        };
        let gone = self.removal.enforce_retention(None, limits, settled_ms());
        let RetentionRun {
            removed: gone,
            failure,
        } = gone.await;
        removed.add(gone);
        failure.map_or(Ok(()), Err)
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

fn by_cause(removed: &Removed) -> Vec<RemovedBy> {
    let by = |cause, records| RemovedBy { cause, records };
    vec![
        by(RemovalCause::Age, removed.by_age),
        by(RemovalCause::Rows, removed.by_rows),
        by(RemovalCause::Bytes, removed.by_bytes),
        by(RemovalCause::ApplicationLimits, removed.by_own_limits),
        by(
            RemovalCause::ApplicationRemoved,
            removed.of_removed_applications,
        ),
    ]
}

/// Beyond the rows or the bytes by more than the margin.
fn is_clearly_beyond(stored: StoredAmount, limits: RetentionSettings) -> bool {
    is_clearly_over(stored.records, limits.rows) || is_clearly_over(stored.bytes, limits.bytes)
}

fn own_limits(application: &Application) -> Option<RetentionLimits> {
    let stored = application.rules.get("retention")?;
    let limits: Option<OwnRetention> = serde_json::from_value(stored.clone()).ok()?;
    limits.map(RetentionLimits::from)
}
