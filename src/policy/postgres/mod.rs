//! Policies of the analysis server's PostgreSQL (CONTRACT 16): a connection that reads the view
//! `gateway_policies` and listens for changes of it. It needs the right to read that view and no other. The view also
//! says what is spent of budgets; `budgets` reads that apart from the policies.
//!
//! A notification makes a change take effect at once. If none can arrive, because of a pooler in between or
//! because the server is a standby, the view is asked every few seconds whether something changed.

mod budgets;

use super::{BudgetCount, Content, PolicyStore, PolicyStoreError, SpentBudgets};
use async_trait::async_trait;
use budgets::SpentReader;
use monitor_model::{
    ApplicationId, Policy, PolicyProblem, PolicyProblems, StoreSettings, StoredPolicy,
};
use monitor_store::postgres_options;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions, PgRow};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};
use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The channel that announces changes of the view `gateway_policies`.
const CHANNEL: &str = "gateway_policies";
/// Time limit of a connection attempt, and of one statement.
const LIMIT: Duration = Duration::from_secs(5);
/// The time between two reads while notifications arrive, in case something on the way drops them.
const POLL: Duration = Duration::from_secs(5);
/// The time between two reads while none can arrive.
const POLL_WITHOUT_NOTIFY: Duration = Duration::from_secs(2);
/// The time between two attempts to listen if the server refuses it.
const RETRY_LISTEN: Duration = Duration::from_secs(60);
/// A wait after a notification, so that a change in many transactions is not read once for each.
const SETTLE: Duration = Duration::from_millis(50);
/// The wait after the first failure; it doubles up to the longest one.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Whether the server counts the changes of the view.
const COUNTS_CHANGES: &str = "SELECT EXISTS (SELECT FROM pg_attribute \
     WHERE attrelid = 'gateway_policies'::regclass AND attname = 'spent_changes' AND NOT attisdropped)";
const ROWS: &str = "SELECT application_id::text, name, policy::text FROM gateway_policies";

/// The statements for a view.
struct Statements {
    /// What changes whenever a policy does, as long as it is the view of one database; and what changes whenever
    /// something else is said of budgets, NULL where nothing is.
    digests: &'static str,
    /// What is said of budgets.
    spent: &'static str,
}

/// For a server that counts the changes.
const COUNTED: Statements = Statements {
    digests: "SELECT count(*)::text || ':' || coalesce(max(policy_changes), ''), max(spent_changes) \
              FROM gateway_policies",
    spent: "SELECT application_id::text, spent FROM gateway_policies WHERE spent IS NOT NULL",
};
/// For one that does not. The view of a server that knows no budgets has no column `spent`.
const UNCOUNTED: Statements = Statements {
    digests: "SELECT count(*)::text || ':' || coalesce(sum(hashtextextended(concat_ws(\
              chr(31), application_id, name, version, updated_at, policy), 0)), 0)::text, \
              sum(hashtextextended(application_id::text || (to_jsonb(known) ->> 'spent'), 0))::text \
              FROM gateway_policies AS known",
    spent: "SELECT application_id::text, to_jsonb(known) ->> 'spent' FROM gateway_policies AS known",
};

/// The policy store; it connects when it is first read.
pub struct PostgresStore {
    options: PgConnectOptions,
    connection: Option<Connection>,
    digest: Option<String>,
    spent: SpentReader,
    /// The applications whose policy has budgets.
    with_budgets: Vec<ApplicationId>,
    failures: u32,
}

/// An open connection.
struct Connection {
    listener: PgListener,
    statements: &'static Statements,
    is_listening: bool,
    /// When to try again to listen.
    retry_at: Instant,
}

/// What a connection is like after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterWait {
    Usable,
    Lost,
}

impl PostgresStore {
    /// The store that these settings name. Does not connect yet.
    pub fn new(settings: &StoreSettings) -> Self {
        let options = postgres_options(settings, "monitor-gateway").disable_statement_logging();
        Self {
            spent: SpentReader::new(options.clone()),
            options,
            connection: None,
            digest: None,
            with_budgets: Vec::new(),
            failures: 0,
        }
    }

    async fn read_now(&mut self) -> Result<Content, sqlx::Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                // It may be another database by now, whose counts say nothing about those of the one before.
                self.digest = None;
                self.spent.reconnect();
                Connection::open(&self.options).await?
            }
        };
        connection.listen().await?;
        let row = sqlx::raw_sql(connection.statements.digests)
            .fetch_one(&mut connection.listener)
            .await?;
        let digest: String = row.try_get(0)?;
        let spent_digest: Option<String> = row.try_get(1)?;
        let mut content = Content::Unchanged;
        if self.digest.as_ref() != Some(&digest) {
            let rows = sqlx::raw_sql(ROWS)
                .fetch_all(&mut connection.listener)
                .await?;
            let policies: Result<Vec<_>, _> = rows.iter().map(stored_policy).collect();
            let policies = policies?;
            self.with_budgets = with_budgets(&policies);
            content = Content::All(policies);
        }
        self.spent.follow(spent_digest, connection.statements.spent);
        // Only now is it certain that no answer is pending on the connection.
        self.connection = Some(connection);
        self.digest = Some(digest);
        Ok(content)
    }

    /// Random, so that the gateways of a fleet do not reconnect at the same moment.
    fn wait_after_failure(&self) -> Duration {
        let doubled = FIRST_WAIT * 2_u32.pow(self.failures.clamp(1, 7) - 1);
        let longest = doubled.min(LONGEST_WAIT);
        let part = RandomState::new().build_hasher().finish() % 500;
        longest.mul_f64(0.5 + part as f64 / 1_000.0)
    }
}

#[async_trait]
impl PolicyStore for PostgresStore {
    fn name(&self) -> Cow<'static, str> {
        "postgres".into()
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

    async fn read_spent(&mut self) {
        self.spent.settled().await;
    }

    fn spent(&self) -> Arc<SpentBudgets> {
        self.spent.spent()
    }

    fn budget_count(&self) -> BudgetCount {
        self.spent.count(&self.with_budgets)
    }

    async fn changed(&mut self) {
        let after_failure = self.wait_after_failure();
        let connection = &mut self.connection;
        let waited = async {
            match connection {
                Some(connection) => connection.wait_for_change().await,
                None => {
                    tokio::time::sleep(after_failure).await;
                    AfterWait::Usable
                }
            }
        };
        let after = tokio::select! {
            after = waited => after,
            () = self.spent.finished() => AfterWait::Usable,
        };
        if after == AfterWait::Lost {
            // The next read reconnects.
            self.connection = None;
        }
    }
}

impl Connection {
    async fn open(options: &PgConnectOptions) -> Result<Self, sqlx::Error> {
        // Without a pool first: a pool retries by itself and then reports nothing but a timeout.
        let probe = async { options.connect().await?.close().await };
        tokio::time::timeout(LIMIT, probe)
            .await
            .unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        // A pool for each connection, because one that hangs would occupy its slot in a shared pool.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(LIMIT)
            .max_lifetime(None)
            .idle_timeout(None)
            .connect_lazy_with(options.clone());
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        let row = sqlx::raw_sql(COUNTS_CHANGES)
            .fetch_one(&mut listener)
            .await?;
        let counts_changes: bool = row.try_get(0)?;
        Ok(Self {
            statements: match counts_changes {
                true => &COUNTED,
                false => &UNCOUNTED,
            },
            listener,
            is_listening: false,
            retry_at: Instant::now(),
        })
    }

    /// Starts to listen; called before the view is read, so that no change is missed in between.
    async fn listen(&mut self) -> Result<(), sqlx::Error> {
        if self.is_listening || Instant::now() < self.retry_at {
            return Ok(());
        }
        match self.listener.listen(CHANNEL).await {
            Ok(()) => self.is_listening = true,
            // Refused, for example by a standby: the connection still serves for reading.
            Err(sqlx::Error::Database(_)) => self.retry_at = Instant::now() + RETRY_LISTEN,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Waits for a notification, or until the next periodic read is due.
    async fn wait_for_change(&mut self) -> AfterWait {
        if !self.is_listening {
            tokio::time::sleep(POLL_WITHOUT_NOTIFY).await;
            return AfterWait::Usable;
        }
        match tokio::time::timeout(POLL, self.listener.try_recv()).await {
            Ok(Ok(Some(_))) => {
                tokio::time::sleep(SETTLE).await;
                while self.listener.next_buffered().is_some() {}
                AfterWait::Usable
            }
            Ok(Ok(None) | Err(_)) => AfterWait::Lost,
            Err(_) => AfterWait::Usable,
        }
    }
}

fn application_id(row: &PgRow) -> Result<ApplicationId, sqlx::Error> {
    let id: &str = row.try_get(0)?;
    id.parse()
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Those of them that have budgets.
fn with_budgets(policies: &[StoredPolicy]) -> Vec<ApplicationId> {
    let has_budgets = |it: &&StoredPolicy| {
        let policy = it.policy.as_ref();
        policy.is_ok_and(|policy| !policy.budgets.is_empty())
    };
    policies
        .iter()
        .filter(has_budgets)
        .map(|it| it.id)
        .collect()
}

fn stored_policy(row: &PgRow) -> Result<StoredPolicy, sqlx::Error> {
    let name: Option<String> = row.try_get(1)?;
    let policy: Option<&str> = row.try_get(2)?;
    let empty = || PolicyProblems(vec![PolicyProblem::new("", "is empty")]);
    Ok(StoredPolicy {
        id: application_id(row)?,
        name: name.unwrap_or_default(),
        policy: policy.ok_or_else(empty).and_then(Policy::from_json),
    })
}
