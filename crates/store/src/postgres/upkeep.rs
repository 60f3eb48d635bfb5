//! The store's own housekeeping: partitions made ahead, and what removed applications have left taken
//! away. Bounds that an operator sets are `retention`.

use super::connect::{self, Connector};
use super::order::Day;
use super::{leftovers, partitions};
use crate::StoreError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// Between two rounds.
const EVERY: Duration = Duration::from_secs(60);

/// The task that does it.
pub(super) struct Upkeep {
    wanted: Arc<Notify>,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Upkeep {
    pub(super) fn start(connector: Connector, days: Arc<watch::Sender<Vec<Day>>>) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let wanted = Arc::new(Notify::new());
        let woken = wanted.clone();
        let task = tokio::spawn(async move {
            let rounds = async {
                loop {
                    let _ = tokio::time::timeout(EVERY, woken.notified()).await;
                    if let Err(error) = round(&connector, &days).await {
                        log::warn!("the store's housekeeping has to wait: {error}");
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
            stop,
            task: Mutex::new(Some(task)),
        }
    }

    /// Has a round begin now.
    pub(super) fn wake(&self) {
        self.wanted.notify_one();
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
            log::error!("the store's housekeeping ended before its time");
        }
    }
}

async fn round(connector: &Connector, days: &watch::Sender<Vec<Day>>) -> Result<(), StoreError> {
    let mut connection = connector.connect_patient().await?;
    days.send_replace(partitions::make_ahead(&mut connection).await?);
    leftovers::clear_removed(&mut connection).await?;
    connect::close(connection).await;
    Ok(())
}
