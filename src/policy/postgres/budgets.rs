//! What analysis servers say of budgets in the view `gateway_policies`. It is read behind the policies and over a
//! connection of its own, so that neither its size nor a failure of it delays a policy. The connection is opened when
//! somebody has spent something.

use crate::observe::Throttle;
use crate::policy::{BudgetCount, SpentBudgets};
use log::warn;
use monitor_model::{ApplicationId, BudgetState};
use serde::Deserialize;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{ConnectOptions as _, Row as _};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit of a read.
const LIMIT: Duration = Duration::from_secs(10);
/// The time between a failure and the next attempt.
const RETRY: Duration = Duration::from_secs(5);
/// How often an ongoing failure is logged.
const REMIND: Duration = Duration::from_secs(60);

/// Reads what is spent whenever it has changed.
pub(super) struct SpentReader {
    options: PgConnectOptions,
    /// While no read is under way.
    connection: Option<PgConnection>,
    reading: Option<Reading>,
    /// That of what was read last; None where nobody has spent anything.
    digest: Option<String>,
    /// A read may take half of the time.
    not_before: Instant,
    spent: Arc<SpentBudgets>,
    /// When the budgets of an application were counted; None if this version cannot read it.
    counted: HashMap<ApplicationId, Option<i64>>,
    /// Something was said that this version does not know.
    has_unknown: bool,
    failures: Throttle,
}

/// A read that is under way.
type Reading = Pin<Box<dyn Future<Output = ReadEnd> + Send>>;

/// How a read has ended.
struct ReadEnd {
    digest: String,
    took: Duration,
    outcome: Result<SpentRead, String>,
}

/// What was read, over which connection.
struct SpentRead {
    connection: PgConnection,
    spent: Vec<Spent>,
}

/// What a server says of the budgets of an application.
struct Spent {
    id: ApplicationId,
    /// When it counted them, milliseconds since 1970; None if this version cannot read it.
    counted_ms: Option<i64>,
    states: Vec<BudgetState>,
    /// Something was said in a way that this version does not know.
    has_unknown: bool,
}

/// What [`monitor_model::CountedBudgets`] has, as far as this version knows it.
#[derive(Deserialize)]
struct Counted {
    counted_ms: i64,
    states: Vec<serde_json::Value>,
}

impl SpentReader {
    pub(super) fn new(options: PgConnectOptions) -> Self {
        Self {
            options,
            connection: None,
            reading: None,
            digest: None,
            not_before: Instant::now(),
            spent: Arc::default(),
            counted: HashMap::new(),
            has_unknown: false,
            failures: Throttle::every(REMIND),
        }
    }

    /// Begins to read with the statement `rows`, unless what was read last has this digest. None says that nobody has
    /// spent anything. What changes during a read is read by a later call.
    pub(super) fn follow(&mut self, digest: Option<String>, rows: &'static str) {
        let Some(digest) = digest else {
            self.reading = None;
            self.take(None, Vec::new());
            return;
        };
        if self.reading.is_some() || self.digest.as_ref() == Some(&digest) {
            return;
        }
        let wait = self.not_before.saturating_duration_since(Instant::now());
        let (options, kept) = (self.options.clone(), self.connection.take());
        self.reading = Some(Box::pin(async move {
            tokio::time::sleep(wait).await;
            let began = Instant::now();
            let read = tokio::time::timeout(LIMIT, read(&options, kept, rows)).await;
            let outcome = match read {
                Ok(read) => read.map_err(|error| error.to_string()),
                Err(_) => Err(format!("no answer within {LIMIT:?}")),
            };
            ReadEnd {
                digest,
                took: began.elapsed(),
                outcome,
            }
        }));
    }

    /// Waits for the read that is under way, without end where there is none. It may be dropped: the next call goes on
    /// with the same read.
    pub(super) async fn finished(&mut self) {
        let Some(reading) = &mut self.reading else {
            return std::future::pending().await;
        };
        let end = reading.await;
        self.reading = None;
        match end.outcome {
            Ok(SpentRead { connection, spent }) => {
                self.connection = Some(connection);
                self.not_before = Instant::now() + end.took;
                self.take(Some(end.digest), spent);
            }
            Err(error) => {
                self.not_before = Instant::now() + RETRY;
                if self.failures.pass().is_some() {
                    warn!(
                        target: "policy",
                        "what is spent of budgets cannot be read ({error}); what was read last stays in force"
                    );
                }
            }
        }
    }

    /// Waits for the read that is under way, if there is one.
    pub(super) async fn settled(&mut self) {
        if self.reading.is_some() {
            self.finished().await;
        }
    }

    /// The server may be another one by now.
    pub(super) fn reconnect(&mut self) {
        self.connection = None;
    }

    pub(super) fn spent(&self) -> Arc<SpentBudgets> {
        self.spent.clone()
    }

    /// The oldest count among these applications.
    pub(super) fn count(&self, with_budgets: &[ApplicationId]) -> BudgetCount {
        let ids = with_budgets.iter();
        BudgetCount::oldest(ids.map(|id| self.counted.get(id).copied().flatten()))
    }

    fn take(&mut self, digest: Option<String>, spent: Vec<Spent>) {
        self.digest = digest;
        self.counted = spent.iter().map(|it| (it.id, it.counted_ms)).collect();
        let has_unknown = spent.iter().any(|it| it.has_unknown);
        if has_unknown && !self.has_unknown {
            warn!(
                target: "policy",
                "the analysis server says more of budgets than this version knows; that part is not in force"
            );
        }
        self.has_unknown = has_unknown;
        let spent = spent.into_iter().filter(|it| !it.states.is_empty());
        let states = spent.map(|it| (it.id, it.states));
        self.spent = Arc::new(states.collect());
    }
}

/// Reads over the connection that was kept, or else over a new one.
async fn read(
    options: &PgConnectOptions,
    kept: Option<PgConnection>,
    rows: &'static str,
) -> Result<SpentRead, sqlx::Error> {
    if let Some(kept) = kept {
        // The server may have ended it.
        if let Ok(read) = read_over(kept, rows).await {
            return Ok(read);
        }
    }
    read_over(options.connect().await?, rows).await
}

async fn read_over(
    mut connection: PgConnection,
    rows: &'static str,
) -> Result<SpentRead, sqlx::Error> {
    let rows = sqlx::raw_sql(rows).fetch_all(&mut connection).await?;
    let spent = rows.iter().filter_map(|row| spent_budgets(row).transpose());
    Ok(SpentRead {
        spent: spent.collect::<Result<_, _>>()?,
        connection,
    })
}

/// None where nothing was counted.
fn spent_budgets(row: &PgRow) -> Result<Option<Spent>, sqlx::Error> {
    let Some(text) = row.try_get::<Option<&str>, _>(1)? else {
        return Ok(None);
    };
    let id: &str = row.try_get(0)?;
    let id = id.parse::<ApplicationId>();
    let id = id.map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    Ok(Some(known(id, text)))
}

/// The states that this version can read.
fn known(id: ApplicationId, text: &str) -> Spent {
    let Ok(counted) = serde_json::from_str::<Counted>(text) else {
        return Spent {
            id,
            counted_ms: None,
            states: Vec::new(),
            has_unknown: true,
        };
    };
    let count = counted.states.len();
    let states = counted.states.into_iter();
    let states = states.map(serde_json::from_value::<BudgetState>);
    let states: Vec<_> = states.filter_map(Result::ok).collect();
    Spent {
        id,
        counted_ms: Some(counted.counted_ms),
        has_unknown: states.len() < count,
        states,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_later_version_says_of_one_budget_hides_no_other() {
        let budget = json!({"per": "application", "window": "day", "tokens": 1, "action": "stop", "warn_at": 80});
        let mut later = budget.clone();
        later["window"] = json!("week");
        let state = |budget| json!({"budget": budget, "until_ms": 7, "spent": [""], "warned": []});
        let read = |states: serde_json::Value| {
            let text = json!({"counted_ms": 5, "states": states}).to_string();
            known(ApplicationId(uuid::Uuid::nil()), &text)
        };
        let found = read(json!([state(later), state(budget.clone())]));
        let states = &found.states;
        assert_eq!((json!(states[0].budget), states.len()), (budget.clone(), 1));
        assert!(found.has_unknown);
        let found = read(json!([state(budget)]));
        assert_eq!((found.states.len(), found.has_unknown), (1, false));
        assert_eq!(found.counted_ms, Some(5));
        let found = known(ApplicationId(uuid::Uuid::nil()), "{}");
        assert_eq!(
            (found.counted_ms, found.states, found.has_unknown),
            (None, vec![], true)
        );
    }
}
