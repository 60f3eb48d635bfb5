//! Shares the reports of gateways with the other servers over the same store, so that each shows all of them. A
//! server writes what it received at most every few seconds, in one statement.

use super::registry::{GatewayRegistry, MOST_GATEWAYS, ReceivedReport};
use crate::analysis::clock::now_ms;
use crate::analysis::error::ApiError;
use crate::observe::Throttle;
use monitor_store::{GatewayReportStore, StoreError};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// The time between two writes.
const WRITE_EVERY: Duration = Duration::from_secs(5);
/// How often the gateway of this process is looked at, and how old its written report may become while it idles.
const OWN_EVERY: Duration = Duration::from_secs(30);
const OWN_OLDEST_MS: i64 = 120_000;
/// A gateway that said nothing for so long is forgotten.
const FORGOTTEN_AFTER_MS: i64 = 7 * 86_400_000;
/// How long the end of the process waits for the last write.
const LAST_WRITE: Duration = Duration::from_secs(1);

static FAILED: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(60)));

/// The reports of all servers; the task that writes those of this one ends with [`GatewayReports::stop`].
pub(crate) struct GatewayReports {
    registry: Arc<GatewayRegistry>,
    store: Arc<dyn GatewayReportStore>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl GatewayReports {
    /// Starts the task on the calling runtime.
    pub(crate) fn start(
        registry: Arc<GatewayRegistry>,
        store: Arc<dyn GatewayReportStore>,
    ) -> Self {
        let task = tokio::spawn(write_all(registry.clone(), store.clone()));
        Self {
            registry,
            store,
            task: Mutex::new(Some(task)),
        }
    }

    /// The latest report of each gateway, whichever server received it; that of this process as of now.
    pub(crate) async fn all(&self) -> Result<BTreeMap<Uuid, ReceivedReport>, ApiError> {
        let mut all = self.registry.reports();
        for stored in self.store.gateway_reports(MOST_GATEWAYS).await? {
            let known = all.get(&stored.report.gateway);
            if known.is_none_or(|known| known.at_ms < stored.at_ms) {
                all.insert(stored.report.gateway, stored);
            }
        }
        let now_ms = now_ms();
        all.retain(|_, received| received.at_ms >= now_ms - FORGOTTEN_AFTER_MS);
        if let Some(report) = self.registry.own_report() {
            let at_ms = now_ms;
            all.insert(report.gateway, ReceivedReport { report, at_ms });
        }
        Ok(all)
    }

    /// Ends the task, and writes what the other servers do not know yet.
    pub(crate) async fn stop(&self) {
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            task.abort();
            // Its only outcome is that it was aborted.
            let _ = task.await;
            // Whoever asks another server sees an older report otherwise, no wrong one.
            let _ = timeout(LAST_WRITE, write(&self.registry, &*self.store)).await;
        }
    }
}

async fn write_all(registry: Arc<GatewayRegistry>, store: Arc<dyn GatewayReportStore>) {
    let mut own = None;
    loop {
        // News end the wait early; the gateway of this process makes none.
        let _ = timeout(OWN_EVERY, registry.news()).await;
        note_own(&registry, &mut own);
        if let Err(error) = write(&registry, &*store).await
            && let Some(times) = FAILED.pass()
        {
            log::warn!(
                "reports of gateways cannot be shared with other servers ({times} times since the last message): \
                 {error}"
            );
        }
        sleep(WRITE_EVERY).await;
    }
}

/// Notes the report of the gateway of this process if it changed, or was noted long ago.
fn note_own(registry: &GatewayRegistry, noted: &mut Option<ReceivedReport>) {
    let (Some(report), at_ms) = (registry.own_report(), now_ms()) else {
        return;
    };
    let is_current = noted
        .as_ref()
        .is_some_and(|noted| noted.report == report && at_ms - noted.at_ms < OWN_OLDEST_MS);
    if !is_current {
        registry.record_at(report.clone(), at_ms);
        *noted = Some(ReceivedReport { report, at_ms });
    }
}

async fn write(
    registry: &GatewayRegistry,
    store: &dyn GatewayReportStore,
) -> Result<(), StoreError> {
    let reports = registry.take_unwritten();
    if reports.is_empty() {
        return Ok(());
    }
    let forgotten_ms = now_ms() - FORGOTTEN_AFTER_MS;
    let written = store
        .put_gateway_reports(&reports, forgotten_ms, MOST_GATEWAYS)
        .await;
    if written.is_err() {
        registry.give_back(&reports);
    }
    written
}
