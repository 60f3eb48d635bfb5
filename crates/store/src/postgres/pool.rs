//! Connections that reads, and changes of settings, share. A connection returns to the pool only after its
//! work was completed; otherwise it is closed, so that no connection is ever reused with an answer pending.
//! All idle connections are closed with it: what broke one may have broken all.

use super::connect::{self, Connector};
use crate::engine::PoolFigures;
use crate::error::StoreError;
use sqlx::{Connection as _, PgConnection};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit, TryAcquireError};
use tokio::time::timeout;

/// How long a caller waits for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest time for one piece of work; the server cancels a statement earlier.
const WORK_TIMEOUT: Duration = Duration::from_secs(12);
/// How often a change is tried that others may be in the way of.
const ATTEMPTS: u32 = 4;
/// A connection that was idle for this long is pinged before reuse, and how long the ping may take.
const PING_AFTER: Duration = Duration::from_millis(20);
const PING_TIMEOUT: Duration = Duration::from_secs(1);

struct Idle {
    connection: PgConnection,
    since: Instant,
}

/// Connections, and permits to use them.
pub(super) struct ConnectionPool {
    connector: Connector,
    /// The most connections at a time.
    limit: usize,
    permits: Semaphore,
    idle: Mutex<Vec<Idle>>,
    /// Microseconds that callers waited for a permit.
    waited_us: AtomicU64,
    /// When a connection last completed its work.
    completed: Mutex<Option<Instant>>,
}

/// A connection acquired for one piece of work.
pub(super) struct PooledConnection<'p> {
    connection: PgConnection,
    pool: &'p ConnectionPool,
    guard: FailureGuard<'p>,
    _permit: SemaphorePermit<'p>,
}

impl ConnectionPool {
    pub(super) fn new(connector: Connector, limit: usize) -> Self {
        Self {
            connector,
            limit,
            permits: Semaphore::new(limit),
            idle: Mutex::default(),
            waited_us: AtomicU64::new(0),
            completed: Mutex::default(),
        }
    }

    /// Whether the database completed a piece of work within the last `period`.
    pub(super) fn has_completed_within(&self, period: Duration) -> bool {
        let completed = *self.completed();
        completed.is_some_and(|at| at.elapsed() < period)
    }

    /// The connections of this process; those of its writer and its listener are others.
    pub(super) fn figures(&self) -> PoolFigures {
        let in_use = self.limit.saturating_sub(self.permits.available_permits());
        PoolFigures {
            limit: self.limit as u64,
            in_use: in_use as u64,
            idle: self.idle().len() as u64,
            waited: Duration::from_micros(self.waited_us.load(Ordering::Relaxed)),
        }
    }

    /// A connection without a wait for others; None while all are at work.
    pub(super) async fn try_acquire(&self) -> Result<Option<PooledConnection<'_>>, StoreError> {
        match self.permits.try_acquire() {
            Ok(permit) => Ok(Some(self.with_permit(permit).await?)),
            Err(TryAcquireError::NoPermits) => Ok(None),
            Err(TryAcquireError::Closed) => Err(StoreError::Closed),
        }
    }

    pub(super) async fn acquire(&self) -> Result<PooledConnection<'_>, StoreError> {
        if let Ok(permit) = self.permits.try_acquire() {
            return self.with_permit(permit).await;
        }
        let began = Instant::now();
        let acquired = timeout(ACQUIRE_TIMEOUT, self.permits.acquire()).await;
        let waited = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.waited_us.fetch_add(waited, Ordering::Relaxed);
        match acquired {
            Ok(Ok(permit)) => self.with_permit(permit).await,
            Ok(Err(_)) => Err(StoreError::Closed),
            Err(_) => {
                let text = format!("all connections were busy for {ACQUIRE_TIMEOUT:?}");
                Err(StoreError::Unavailable(text))
            }
        }
    }

    async fn with_permit<'p>(
        &'p self,
        permit: SemaphorePermit<'p>,
    ) -> Result<PooledConnection<'p>, StoreError> {
        let connection = match self.take_idle().await {
            Some(connection) => connection,
            None => self.connector.connect().await?,
        };
        Ok(PooledConnection {
            connection,
            pool: self,
            guard: FailureGuard {
                pool: self,
                has_succeeded: false,
            },
            _permit: permit,
        })
    }

    /// Later calls get [`StoreError::Closed`]; work in progress continues.
    pub(super) async fn close(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle());
        for idle in idle {
            connect::close(idle.connection).await;
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    async fn take_idle(&self) -> Option<PgConnection> {
        loop {
            let mut idle = self.idle().pop()?;
            if idle.since.elapsed() < PING_AFTER
                || matches!(
                    timeout(PING_TIMEOUT, idle.connection.ping()).await,
                    Ok(Ok(()))
                )
            {
                return Some(idle.connection);
            }
        }
    }

    fn completed(&self) -> MutexGuard<'_, Option<Instant>> {
        self.completed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PooledConnection<'_> {
    pub(super) fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Returns the connection to the pool; only after its work was completed.
    pub(super) fn release(self) {
        self.guard.defuse();
        *self.pool.completed() = Some(Instant::now());
        if !self.pool.is_closed() {
            self.pool.idle().push(Idle {
                connection: self.connection,
                since: Instant::now(),
            });
        }
    }
}

/// Closes the idle connections unless the work was completed.
struct FailureGuard<'p> {
    pool: &'p ConnectionPool,
    has_succeeded: bool,
}

impl FailureGuard<'_> {
    fn defuse(mut self) {
        self.has_succeeded = true;
    }
}

impl Drop for FailureGuard<'_> {
    fn drop(&mut self) {
        if !self.has_succeeded {
            self.pool.idle().clear();
        }
    }
}

/// Counts how often a change was tried that the database undid because others changed the same rows.
#[derive(Default)]
pub(super) struct Attempts(u32);

impl Attempts {
    /// Whether to try once more.
    pub(super) fn again<T>(&mut self, done: &Result<T, StoreError>) -> bool {
        match done {
            Err(StoreError::Conflict) => self.0 += 1,
            _ => self.0 = ATTEMPTS,
        }
        self.0 < ATTEMPTS
    }
}

/// Bounds a piece of work by its time limit.
pub(super) async fn with_timeout<T>(
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match timeout(WORK_TIMEOUT, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(StoreError::Unavailable(format!(
            "no answer within {WORK_TIMEOUT:?}"
        ))),
    }
}
