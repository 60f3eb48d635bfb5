//! Policies of the analysis server's PostgreSQL (CONTRACT 16): one connection that reads the view
//! `gateway_policies` and listens for changes of it. It needs the right to read that view and no other.
//!
//! A notification makes a change live at once. Where none can come, because a pooler stands between
//! or the server is a standby, the view is asked every few seconds for a digest of what it holds.

use super::{Content, PolicyStore, PolicyStoreError};
use async_trait::async_trait;
use monitor_model::{Policy, PolicyProblem, PolicyProblems, StoreSettings, StoredPolicy};
use monitor_store::postgres_options;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions, PgRow};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

/// The view, and the channel on which its changes are announced.
const CHANNEL: &str = "gateway_policies";
/// Time to connect, and for one statement.
const LIMIT: Duration = Duration::from_secs(5);
/// Between two looks while notifications come, in case something on the way swallows them.
const LOOK: Duration = Duration::from_secs(5);
/// Between two looks while none can come.
const LOOK_WITHOUT_NOTIFY: Duration = Duration::from_secs(2);
/// Between two tries to listen where the server refuses it.
const LISTEN_AGAIN: Duration = Duration::from_secs(60);
/// A change in many transactions is read a few times, not once for each.
const SETTLE: Duration = Duration::from_millis(50);
/// The wait after a first failure; it doubles up to the longest one.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Differs whenever the view holds something else.
const DIGEST: &str = "SELECT count(*)::text || ':' || coalesce(sum(hashtextextended(concat_ws(\
     chr(31), application_id, name, version, updated_at, policy), 0)), 0)::text \
     FROM gateway_policies";
const ROWS: &str = "SELECT application_id::text, name, policy::text FROM gateway_policies";

/// A connection to the policy store, made when it is first read.
pub struct PostgresStore {
    options: PgConnectOptions,
    link: Option<Link>,
    digest: Option<String>,
    failures: u32,
}

/// An open connection.
struct Link {
    connection: PgListener,
    listens: bool,
    listen_again: Instant,
}

impl PostgresStore {
    /// The store that these settings name. Nothing is connected yet.
    pub fn new(settings: &StoreSettings) -> Self {
        let options = postgres_options(settings, "monitor-gateway").disable_statement_logging();
        Self {
            options,
            link: None,
            digest: None,
            failures: 0,
        }
    }

    async fn read_now(&mut self) -> Result<Content, sqlx::Error> {
        let mut link = match self.link.take() {
            Some(link) => link,
            None => Link::open(&self.options).await?,
        };
        link.listen().await?;
        let row = sqlx::raw_sql(DIGEST)
            .fetch_one(&mut link.connection)
            .await?;
        let digest: String = row.try_get(0)?;
        let mut content = Content::Unchanged;
        if self.digest.as_ref() != Some(&digest) {
            let rows = sqlx::raw_sql(ROWS).fetch_all(&mut link.connection).await?;
            let rows: Result<Vec<_>, _> = rows.iter().map(stored_policy).collect();
            content = Content::All(rows?);
        }
        // Only now is the connection known to stand between two statements.
        self.link = Some(link);
        self.digest = Some(digest);
        Ok(content)
    }

    /// Different for each gateway, so that a fleet does not come back in one moment.
    fn wait_after_failure(&self) -> Duration {
        let doubled = FIRST_WAIT * 2_u32.pow(self.failures.clamp(1, 7) - 1);
        let longest = doubled.min(LONGEST_WAIT);
        let part = RandomState::new().build_hasher().finish() % 500;
        longest.mul_f64(0.5 + part as f64 / 1_000.0)
    }
}

#[async_trait]
impl PolicyStore for PostgresStore {
    fn name(&self) -> &'static str {
        "postgres"
    }

    async fn read(&mut self) -> Result<Content, PolicyStoreError> {
        let read = tokio::time::timeout(LIMIT * 2, self.read_now()).await;
        let error = match read {
            Ok(Ok(content)) => {
                self.failures = 0;
                return Ok(content);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {:?}", LIMIT * 2),
        };
        self.failures = self.failures.saturating_add(1);
        Err(PolicyStoreError(error))
    }

    async fn changed(&mut self) {
        let Some(link) = &mut self.link else {
            return tokio::time::sleep(self.wait_after_failure()).await;
        };
        if link.is_lost_while_waiting().await {
            // The next read connects anew.
            self.link = None;
        }
    }
}

impl Link {
    async fn open(options: &PgConnectOptions) -> Result<Self, sqlx::Error> {
        // Alone first: a pool tries again by itself and then says no more than that time is up.
        let probe = async { options.connect().await?.close().await };
        tokio::time::timeout(LIMIT, probe)
            .await
            .unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        // A pool for each connection, because one that hangs would keep its place in the next.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(LIMIT)
            .max_lifetime(None)
            .idle_timeout(None)
            .connect_lazy_with(options.clone());
        let mut connection = PgListener::connect_with(&pool).await?;
        connection.eager_reconnect(false);
        Ok(Self {
            connection,
            listens: false,
            listen_again: Instant::now(),
        })
    }

    /// Before the view is read, so that no change falls between the two.
    async fn listen(&mut self) -> Result<(), sqlx::Error> {
        if self.listens || Instant::now() < self.listen_again {
            return Ok(());
        }
        match self.connection.listen(CHANNEL).await {
            Ok(()) => self.listens = true,
            // Refused, by a standby for one: the connection is good for reading.
            Err(sqlx::Error::Database(_)) => self.listen_again = Instant::now() + LISTEN_AGAIN,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Waits for a notification or the next look; true when the connection is gone.
    async fn is_lost_while_waiting(&mut self) -> bool {
        if !self.listens {
            tokio::time::sleep(LOOK_WITHOUT_NOTIFY).await;
            return false;
        }
        match tokio::time::timeout(LOOK, self.connection.try_recv()).await {
            Ok(Ok(Some(_))) => {
                tokio::time::sleep(SETTLE).await;
                while self.connection.next_buffered().is_some() {}
                false
            }
            Ok(Ok(None) | Err(_)) => true,
            Err(_) => false,
        }
    }
}

fn stored_policy(row: &PgRow) -> Result<StoredPolicy, sqlx::Error> {
    let id: &str = row.try_get(0)?;
    let name: Option<String> = row.try_get(1)?;
    let policy: Option<&str> = row.try_get(2)?;
    let empty = || PolicyProblems(vec![PolicyProblem::new("", "is empty")]);
    Ok(StoredPolicy {
        id: id
            .parse()
            .map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
        name: name.unwrap_or_default(),
        policy: policy.ok_or_else(empty).and_then(Policy::from_json),
    })
}
