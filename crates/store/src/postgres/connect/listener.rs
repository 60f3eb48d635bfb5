//! Listens for notifications of changes that any server makes to applications and tokens. Where none can
//! arrive, behind a transaction pooler or between two connections, a periodic check takes their place.

use super::Connector;
use sqlx::Executor as _;
use sqlx::postgres::PgListener;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const CHANNEL: &str = "monitor_settings";
/// The longest time without a check, in case something on the way drops notifications.
const CHECK_SETTINGS: Duration = Duration::from_secs(2);
/// The time between two checks of the connection, and how long one may take.
const CHECK_CONNECTION: Duration = Duration::from_secs(15);
const CHECK_LIMIT: Duration = Duration::from_secs(5);
/// The time between two attempts to connect.
const RETRY: Duration = Duration::from_secs(1);

/// The listening task.
pub(in crate::postgres) struct Listener {
    // Shared by all who wait, so that a change between two waits ends the second one.
    changes: AsyncMutex<watch::Receiver<()>>,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Listener {
    pub(in crate::postgres) fn start(connector: &Connector) -> Self {
        let (notify, changes) = watch::channel(());
        let (stop, mut stopped) = watch::channel(false);
        let connector = connector.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                () = run(connector, notify) => {}
                _ = stopped.wait_for(|stopped| *stopped) => {}
            }
        });
        Self {
            changes: AsyncMutex::new(changes),
            stop,
            task: Mutex::new(Some(task)),
        }
    }

    /// Waits for a change, or until the periodic check is due.
    pub(in crate::postgres) async fn changed(&self) {
        let wait = async {
            let mut changes = self.changes.lock().await;
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let _ = timeout(CHECK_SETTINGS, wait).await;
    }

    pub(in crate::postgres) async fn stop(&self) {
        self.stop.send_replace(true);
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task
            && task.await.is_err()
        {
            log::error!("the store's listener task ended unexpectedly");
        }
    }
}

async fn run(connector: Connector, notify: watch::Sender<()>) {
    loop {
        // Everything may have changed while nobody listened.
        if let Err(error) = listen(&connector, &notify).await {
            log::debug!("not listening for changes of settings: {error}");
        }
        notify.send_replace(());
        sleep(RETRY).await;
    }
}

/// Returns when the connection is lost.
async fn listen(connector: &Connector, notify: &watch::Sender<()>) -> Result<(), sqlx::Error> {
    let pool = connector.listener_pool();
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    notify.send_replace(());
    loop {
        match timeout(CHECK_CONNECTION, listener.try_recv()).await {
            Ok(Ok(Some(_))) => {
                notify.send_replace(());
            }
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                let check = listener.execute("SELECT 1");
                match timeout(CHECK_LIMIT, check).await {
                    Ok(checked) => checked?,
                    Err(_) => return Ok(()),
                };
            }
        }
    }
}
