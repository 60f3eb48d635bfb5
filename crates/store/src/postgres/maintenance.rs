//! The store's own maintenance: creates partitions ahead of time, renews the lease of the lanes, and removes what
//! removed applications left behind. Limits that an operator sets are enforced by `removal::retention`.

use super::connect::{self, Connector};
use super::partitions;
use super::removal::cleanup;
use super::seq::Day;
use super::statistics::counter_lanes::CounterLanes;
use crate::error::StoreError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// The time between two rounds.
const INTERVAL: Duration = Duration::from_secs(60);

/// The maintenance task.
pub(super) struct Maintenance {
    wanted: Arc<Notify>,
    /// Records of removed applications that were removed and that no retention run has counted yet.
    cleared: Arc<AtomicU64>,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Maintenance {
    pub(super) fn start(
        connector: Connector,
        days: Arc<watch::Sender<Vec<Day>>>,
        lanes: Arc<CounterLanes>,
    ) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let wanted = Arc::new(Notify::new());
        let woken = wanted.clone();
        let cleared = Arc::new(AtomicU64::new(0));
        let clearing = cleared.clone();
        let task = tokio::spawn(async move {
            let rounds = async {
                loop {
                    let _ = tokio::time::timeout(INTERVAL, woken.notified()).await;
                    if let Err(error) = round(&connector, &days, &lanes, &clearing).await {
                        log::warn!(
                            "the store's maintenance failed, next attempt in {INTERVAL:?}: {error}"
                        );
                    }
                }
            };
            tokio::select! {
                () = rounds => {}
                _ = stopped.wait_for(|stopped| *stopped) => {}
            }
        });
        Self {
            wanted,
            cleared,
            stop,
            task: Mutex::new(Some(task)),
        }
    }

    /// Starts a round now.
    pub(super) fn wake(&self) {
        self.wanted.notify_one();
    }

    /// How many records of removed applications went since this was last asked.
    pub(super) fn take_cleared(&self) -> u64 {
        self.cleared.swap(0, Ordering::Relaxed)
    }

    pub(super) async fn stop(&self) {
        self.stop.send_replace(true);
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task
            && task.await.is_err()
        {
            log::error!("the store's maintenance task ended unexpectedly");
        }
    }
}

/// If the partitions cannot be created now, removed applications are cleared nevertheless.
async fn round(
    connector: &Connector,
    days: &watch::Sender<Vec<Day>>,
    lanes: &CounterLanes,
    cleared: &AtomicU64,
) -> Result<(), StoreError> {
    let mut connection = connector.connect_for_maintenance().await?;
    let leased = lanes.lease(&mut connection).await;
    let created = partitions::create_ahead(&mut connection).await;
    let created = created.map(|created| drop(days.send_replace(created)));
    let mut removed = 0;
    let result = cleanup::clear_removed(&mut connection, &mut removed).await;
    cleared.fetch_add(removed, Ordering::Relaxed);
    connect::close(connection).await;
    leased?;
    created.and(result)
}
