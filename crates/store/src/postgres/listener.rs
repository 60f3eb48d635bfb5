//! Hears of changes that any server makes to applications and tokens. Where nothing can be heard, as
//! behind a pooler of transactions, or between two connections, time stands in for it.

use super::connect::Connector;
use sqlx::Executor as _;
use sqlx::postgres::PgListener;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

const CHANNEL: &str = "monitor_settings";
/// Longest time without a look, in case something on the way swallows what is announced.
const LOOK: Duration = Duration::from_secs(2);
/// Between two checks that the connection still stands, and how long one may take.
const CHECK: Duration = Duration::from_secs(15);
const CHECK_LIMIT: Duration = Duration::from_secs(5);
/// Between two tries to connect.
const AGAIN: Duration = Duration::from_secs(1);

/// The task that listens.
pub(super) struct Listener {
    // What was changed between two waits is found by the second.
    heard: AsyncMutex<watch::Receiver<()>>,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Listener {
    pub(super) fn start(connector: &Connector) -> Self {
        let (tell, heard) = watch::channel(());
        let (stop, mut stopped) = watch::channel(false);
        let connector = connector.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                () = run(connector, tell) => {}
                _ = stopped.wait_for(|stopped| *stopped) => {}
            }
        });
        Self {
            heard: AsyncMutex::new(heard),
            stop,
            task: Mutex::new(Some(task)),
        }
    }

    /// Waits for a change, or until it is time to look.
    pub(super) async fn changed(&self) {
        let wait = async {
            let mut heard = self.heard.lock().await;
            if heard.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let _ = timeout(LOOK, wait).await;
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
            log::error!("the store's listener ended before its time");
        }
    }
}

async fn run(connector: Connector, tell: watch::Sender<()>) {
    loop {
        // Whatever was announced while nobody listened may have changed everything.
        if let Err(error) = listen(&connector, &tell).await {
            log::debug!("not listening for changes of settings: {error}");
        }
        tell.send_replace(());
        sleep(AGAIN).await;
    }
}

/// Until the connection is lost.
async fn listen(connector: &Connector, tell: &watch::Sender<()>) -> Result<(), sqlx::Error> {
    let pool = connector.listener_pool();
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    tell.send_replace(());
    loop {
        match timeout(CHECK, listener.try_recv()).await {
            Ok(Ok(Some(_))) => {
                tell.send_replace(());
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
