//! Whether the store answers, for readiness, `/status` and `/metrics`.

use monitor_store::{PoolFigures, StoreEngine};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How long the store may take: who asks a readiness probe waits a second.
const LIMIT: Duration = Duration::from_millis(800);

/// Asks the store, on the runtime that its connections outlive.
pub(crate) struct StoreProbe {
    engine: Arc<dyn StoreEngine>,
    runtime: Handle,
}

/// The state of the store.
pub(crate) struct StoreHealth {
    /// `SQLite` or `PostgreSQL`.
    pub(crate) kind: &'static str,
    /// The version of its schema, or why it does not answer.
    pub(crate) schema: Result<i64, String>,
    /// The connections of this process.
    pub(crate) pool: PoolFigures,
}

impl StoreProbe {
    /// On the calling runtime.
    pub(super) fn new(engine: Arc<dyn StoreEngine>) -> Self {
        Self {
            engine,
            runtime: Handle::current(),
        }
    }

    /// Asks the store, whose connections are no part of the caller's runtime.
    pub(crate) async fn ask(&self) -> StoreHealth {
        let engine = self.engine.clone();
        let ping = async move { timeout(LIMIT, engine.ping()).await };
        let schema = match self.runtime.spawn(ping).await {
            Ok(Ok(Ok(schema))) => Ok(schema),
            Ok(Ok(Err(error))) => Err(error.to_string()),
            Ok(Err(_)) => Err(format!("no answer within {LIMIT:?}")),
            Err(_) => Err("the process ends".to_owned()),
        };
        StoreHealth {
            kind: self.engine.kind(),
            schema,
            pool: self.engine.pool(),
        }
    }
}
