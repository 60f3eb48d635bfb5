//! Connections that reads and changes of settings share. One is given back only when its work was
//! done; any other is closed, so that none is ever found between two answers, and the idle ones with
//! it, because what broke one may have broken all.

use super::connect::{self, Connector};
use crate::StoreError;
use sqlx::{Connection as _, PgConnection};
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Connections at once, and how long one waits for its turn.
const CONNECTIONS: usize = 8;
const TURN: Duration = Duration::from_secs(3);
/// Longest time for one piece of work; the server breaks a statement off before.
const WORK: Duration = Duration::from_secs(12);
/// A connection that was idle for this long is tried out first, and for how long.
const TRIED_AFTER: Duration = Duration::from_millis(20);
const TRIAL: Duration = Duration::from_secs(1);

struct Idle {
    connection: PgConnection,
    since: Instant,
}

/// The connections and their turns.
pub(super) struct Connections {
    connector: Connector,
    turns: Semaphore,
    idle: Mutex<Vec<Idle>>,
}

/// One of them, for one piece of work.
pub(super) struct Lent<'c> {
    connection: PgConnection,
    owner: &'c Connections,
    end: End<'c>,
    _turn: SemaphorePermit<'c>,
}

impl Connections {
    pub(super) fn new(connector: Connector) -> Self {
        Self {
            connector,
            turns: Semaphore::new(CONNECTIONS),
            idle: Mutex::default(),
        }
    }

    pub(super) async fn lend(&self) -> Result<Lent<'_>, StoreError> {
        let turn = match timeout(TURN, self.turns.acquire()).await {
            Ok(Ok(turn)) => turn,
            Ok(Err(_)) => return Err(StoreError::Closed),
            Err(_) => {
                let text = format!("all connections were busy for {TURN:?}");
                return Err(StoreError::Unavailable(text));
            }
        };
        let connection = match self.take_idle().await {
            Some(connection) => connection,
            None => self.connector.connect().await?,
        };
        Ok(Lent {
            connection,
            owner: self,
            end: End {
                owner: self,
                well: false,
            },
            _turn: turn,
        })
    }

    /// Later calls get [`StoreError::Closed`]; work under way goes on.
    pub(super) async fn close(&self) {
        self.turns.close();
        let idle = std::mem::take(&mut *self.idle());
        for idle in idle {
            connect::close(idle.connection).await;
        }
    }

    pub(super) fn are_closed(&self) -> bool {
        self.turns.is_closed()
    }

    async fn take_idle(&self) -> Option<PgConnection> {
        loop {
            let mut idle = self.idle().pop()?;
            if idle.since.elapsed() < TRIED_AFTER
                || matches!(timeout(TRIAL, idle.connection.ping()).await, Ok(Ok(())))
            {
                return Some(idle.connection);
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent<'_> {
    pub(super) fn get(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Only after work that came to its end.
    pub(super) fn give_back(self) {
        self.end.came_well();
        if !self.owner.turns.is_closed() {
            self.owner.idle().push(Idle {
                connection: self.connection,
                since: Instant::now(),
            });
        }
    }
}

/// Clears the idle connections unless the work came to its end.
struct End<'c> {
    owner: &'c Connections,
    well: bool,
}

impl End<'_> {
    fn came_well(mut self) {
        self.well = true;
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        if !self.well {
            self.owner.idle().clear();
        }
    }
}

/// A piece of work within its limit.
pub(super) async fn timed<T>(
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match timeout(WORK, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(StoreError::Unavailable(format!(
            "no answer within {WORK:?}"
        ))),
    }
}
