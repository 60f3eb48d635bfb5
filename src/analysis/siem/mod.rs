//! Sends verdicts and the audit log to other systems (docs/siem.md). The store queues an event in the transaction
//! that writes what it is about; a task for each destination sends what waits. `event` is what they say, `ocsf` and
//! `cef` how it is written, `syslog` and `hec` how it travels.

mod cef;
mod delivery;
mod event;
mod hec;
mod ocsf;
mod reader;
mod syslog;

use super::clock::now_ms;
use super::error::{ApiError, report};
use crate::config::{AnalysisSettings, DestinationKind, DestinationSettings};
use crate::http_client::{HttpClient, ReloadableTls, StreamClient};
use crate::observe::events::SiemEventsLeft;
use crate::observe::{Metrics, SiemResult};
use delivery::{Delivery, Sender};
use event::EventWording;
use hec::HecSender;
use monitor_store::{SiemDestination, SiemLag, Store, StoreError};
use reader::EventReader;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use syslog::SyslogSender;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// How often the queues are measured, and cut to their limit.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// How long the end of the process waits for its leases to end.
const RELEASING: Duration = Duration::from_secs(1);

/// The tasks that send; they end with [`SiemTasks::stop`].
pub(crate) struct SiemTasks {
    store: Arc<dyn Store>,
    /// This server, as it leases destinations.
    holder: Uuid,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// A destination on the status page.
pub(crate) struct DestinationState {
    /// The name in the configuration.
    pub(crate) name: String,
    /// Events that wait.
    pub(crate) waiting: u64,
    /// How long the oldest of them has waited, in seconds.
    pub(crate) oldest_seconds: u64,
    /// Why the last attempt failed, in fixed words.
    pub(crate) error: Option<String>,
}

impl SiemTasks {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            holder: Uuid::new_v4(),
            tasks: Mutex::default(),
        }
    }

    /// Tells the store the destinations, and starts to send to them on the calling runtime.
    ///
    /// # Errors
    /// When the store cannot be written, or an authority's file cannot be used.
    pub(crate) async fn start(
        &self,
        settings: &AnalysisSettings,
        metrics: &Arc<Metrics>,
    ) -> io::Result<()> {
        let siem = &settings.siem;
        self.set_destinations(&siem.destinations)
            .await
            .map_err(io::Error::other)?;
        if siem.destinations.is_empty() {
            return Ok(());
        }
        let wording = EventWording {
            link_base: settings.public_url.clone().unwrap_or_default(),
            has_user: siem.include_user,
        };
        let mut deliveries = Vec::with_capacity(siem.destinations.len());
        for destination in &siem.destinations {
            metrics.siem.add_destination(&destination.name);
            deliveries.push(Delivery {
                name: destination.name.clone(),
                sender: sender(destination)?,
                store: self.store.clone(),
                reader: EventReader {
                    store: self.store.clone(),
                    wording: wording.clone(),
                },
                metrics: metrics.clone(),
                holder: self.holder,
                leased_until: None,
                batch: delivery::BATCH,
                failure: None,
                is_noted_as_working: false,
            });
        }
        let look = look(self.store.clone(), metrics.clone(), siem.outbox_rows);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.push(tokio::spawn(look));
        tasks.extend(deliveries.into_iter().map(|it| tokio::spawn(it.run())));
        Ok(())
    }

    async fn set_destinations(&self, settings: &[DestinationSettings]) -> Result<(), StoreError> {
        // A server without any writes nothing at its start.
        if settings.is_empty() && self.store.siem_lag().await?.is_empty() {
            return Ok(());
        }
        let destinations = settings.iter().map(|it| SiemDestination {
            name: it.name.clone(),
            verdicts: it.verdicts,
            audit: it.audit,
        });
        let destinations: Vec<SiemDestination> = destinations.collect();
        self.store.set_siem_destinations(&destinations).await
    }

    /// Ends the tasks, so that another server sends at once. What was sent and not deleted yet is sent again.
    pub(crate) async fn stop(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        if tasks.is_empty() {
            return;
        }
        for task in tasks {
            task.abort();
            // Its only outcome is that it was aborted.
            let _ = task.await;
        }
        // Otherwise the leases end by themselves.
        let _ = timeout(RELEASING, self.store.release_siem(self.holder)).await;
    }

    /// The destinations as they are now, whichever server sends to them.
    pub(crate) async fn states(&self) -> Result<Vec<DestinationState>, ApiError> {
        let now_ms = now_ms();
        let lags = self.store.siem_lag().await?.into_iter();
        let states = lags.map(|lag| DestinationState {
            waiting: lag.waiting,
            oldest_seconds: age(&lag, now_ms),
            name: lag.name,
            error: lag.error,
        });
        Ok(states.collect())
    }
}

/// How long the oldest event has waited, in seconds.
fn age(lag: &SiemLag, now_ms: i64) -> u64 {
    let since = lag.oldest_ms.map_or(0, |oldest| now_ms - oldest);
    u64::try_from(since / 1_000).unwrap_or(0)
}

fn sender(destination: &DestinationSettings) -> io::Result<Sender> {
    let url = &destination.url;
    let tls = ReloadableTls::new(destination.ca.as_deref(), None).map_err(io::Error::other)?;
    Ok(match &destination.kind {
        DestinationKind::Syslog(format) => {
            let client = StreamClient::new(url, tls.as_ref())?;
            Sender::Syslog(Box::new(SyslogSender::new(client, *format)))
        }
        DestinationKind::SplunkHec(token) => {
            let client = HttpClient::pooled(url.tls, tls.as_ref())?;
            Sender::Hec(Box::new(HecSender::new(client, &url.to_string(), token)?))
        }
    })
}

/// Measures the queues, and deletes the oldest events of those beyond `most`. Never ends.
async fn look(store: Arc<dyn Store>, metrics: Arc<Metrics>, most: u32) {
    loop {
        if let Err(error) = look_once(&*store, &metrics, most).await {
            report(&error);
        }
        sleep(LOOK_INTERVAL).await;
    }
}

async fn look_once(store: &dyn Store, metrics: &Metrics, most: u32) -> Result<(), StoreError> {
    for lag in store.siem_lag().await? {
        let dropped = match lag.waiting > u64::from(most) {
            true => store.drop_siem(&lag.name, most).await?,
            false => 0,
        };
        let left = SiemEventsLeft {
            destination: &lag.name,
            result: SiemResult::Dropped,
            events: dropped,
        };
        left.emit(metrics);
        let waiting = lag.waiting.saturating_sub(dropped);
        metrics.siem.lag(&lag.name, waiting, age(&lag, now_ms()));
    }
    Ok(())
}
