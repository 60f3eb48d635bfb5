//! Creates partitions, one per day, ahead of time, and drops them. Both block everybody else for a moment;
//! therefore they give up quickly if they have to wait for a lock, and retry.

use super::seq::{Day, now_ms};
use crate::error::StoreError;
use crate::sql::chain;
use monitor_model::Span;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use std::time::Duration;
use uuid::Uuid;

/// The partitioned tables.
const TABLES: [&str; 3] = ["records", "record_bodies", "record_types"];
/// How many days ahead partitions are created.
const AHEAD: i64 = 3;
/// The lock under which one process at a time creates or drops partitions: "monpart" in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(30804237725921908)";
/// Attempts, and the wait after the first one; it grows with each.
const ATTEMPTS: u32 = 10;
const WAIT: Duration = Duration::from_millis(200);

const DAYS: &str = "
    SELECT to_date(substr(c.relname, 9), 'YYYYMMDD') - date '1970-01-01' AS day
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'records'::regclass AND c.relname ~ '^records_[0-9]{8}$' ORDER BY day";

/// The days that have a partition, oldest first.
pub(super) async fn days(connection: &mut PgConnection) -> Result<Vec<Day>, sqlx::Error> {
    let rows = sqlx::query(DAYS).fetch_all(connection).await?;
    let day = |row: &sqlx::postgres::PgRow| Ok(Day(i64::from(row.try_get::<i32, _>("day")?)));
    rows.iter().map(day).collect()
}

/// Creates the missing partitions of today and the next days; returns all days that have one.
pub(super) async fn create_ahead(connection: &mut PgConnection) -> Result<Vec<Day>, StoreError> {
    let today = Day::of(now_ms());
    let wanted = (0..=AHEAD).map(|ahead| Day(today.0 + ahead));
    let existing = days(connection).await?;
    for day in wanted.filter(|day| !existing.contains(day)) {
        with_retries(connection, Change::Create(day)).await?;
    }
    Ok(days(connection).await?)
}

/// Creates the partition of a day if it is missing.
pub(super) async fn create_day(connection: &mut PgConnection, day: Day) -> Result<(), StoreError> {
    Ok(with_retries(connection, Change::Create(day)).await?)
}

/// The outcome of dropping a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DayDrop {
    /// It is gone with all its records.
    Done,
    /// It has no partition.
    NoPartition,
    /// Something reads it for longer than a drop waits, such as a backup.
    Busy,
}

/// Drops a day with all its records.
pub(super) async fn drop_day(
    connection: &mut PgConnection,
    day: Day,
) -> Result<DayDrop, StoreError> {
    if !days(connection).await?.contains(&day) {
        return Ok(DayDrop::NoPartition);
    }
    match with_retries(connection, Change::Drop(day)).await {
        Ok(()) => Ok(DayDrop::Done),
        Err(error) if is_lock(&error) => Ok(DayDrop::Busy),
        Err(error) => Err(error.into()),
    }
}

#[derive(Clone, Copy)]
enum Change {
    Create(Day),
    Drop(Day),
}

async fn with_retries(connection: &mut PgConnection, change: Change) -> Result<(), sqlx::Error> {
    let mut attempt = 1;
    loop {
        let done = match change {
            Change::Create(day) => create(connection, day).await,
            Change::Drop(day) => drop_tables(connection, day).await,
        };
        match done {
            Ok(()) => return Ok(()),
            Err(error) if attempt == ATTEMPTS || !is_lock(&error) => return Err(error),
            Err(_) => tokio::time::sleep(WAIT * attempt).await,
        }
        attempt += 1;
    }
}

fn is_lock(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| code == "55P03" || code == "40P01")
}

/// Creates tables and then attaches them: this takes no lock that inserts would wait for. Records of the day
/// in the default partition are moved.
async fn create(connection: &mut PgConnection, day: Day) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    sqlx::raw_sql(LOCK).execute(&mut *transaction).await?;
    if days(&mut transaction).await?.contains(&day) {
        return Ok(());
    }
    let (first, end) = (day.first(), day.next().first());
    for table in TABLES {
        let sql = format!(
            "CREATE TABLE {table}_{day} (LIKE {table} INCLUDING ALL);
             WITH moved AS (DELETE FROM {table}_default WHERE seq >= {first} AND seq < {end} RETURNING *)
                 INSERT INTO {table}_{day} SELECT * FROM moved;
             ALTER TABLE {table} ATTACH PARTITION {table}_{day} FOR VALUES FROM ({first}) TO ({end})"
        );
        // Composed of constants and numbers.
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

async fn drop_tables(connection: &mut PgConnection, day: Day) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    sqlx::raw_sql(LOCK).execute(&mut *transaction).await?;
    if !days(&mut transaction).await?.contains(&day) {
        return Ok(());
    }
    require_locks(&mut transaction, day).await?;
    subtract_sessions(&mut transaction, day).await?;
    let numbers = numbers(&mut transaction, day).await?;
    for table in TABLES {
        let sql = format!("DROP TABLE {table}_{day}");
        // Composed of constants and numbers.
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut *transaction)
            .await?;
    }
    // Bytes of files may stand in a row of their own, which counts no records.
    sqlx::query(
        "UPDATE statistics SET kept_rows = 0, kept_bytes = 0
         WHERE day = $1 AND (kept_rows <> 0 OR kept_bytes <> 0)",
    )
    .bind(day.0)
    .execute(&mut *transaction)
    .await?;
    chain::leave_stubs(&mut *transaction, numbers).await?;
    transaction.commit().await
}

/// Fails where the drop would not get its locks, before anything costly is done. The day's tables come first: as long
/// as something reads them, nothing else waits. The locks are released again, so that others go on meanwhile.
async fn require_locks(connection: &mut PgConnection, day: Day) -> Result<(), sqlx::Error> {
    let of_day = TABLES.map(|table| format!("{table}_{day}"));
    for table in of_day.into_iter().chain(TABLES.map(str::to_owned)) {
        let sql = format!(
            "SAVEPOINT unlocked; LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE;
             ROLLBACK TO SAVEPOINT unlocked; RELEASE SAVEPOINT unlocked"
        );
        // Composed of constants and numbers.
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Subtracts the records of a day from their sessions, as `removal::totals` does it for single records.
async fn subtract_sessions(connection: &mut PgConnection, day: Day) -> Result<(), sqlx::Error> {
    let sql = format!(
        "CREATE TEMPORARY TABLE gone ON COMMIT DROP AS
             SELECT application_id, session_key, count(*) AS messages,
                 count(*) FILTER (WHERE flagged) AS flagged, sum(token_count)::bigint AS tokens
             FROM records_{day} WHERE session_key IS NOT NULL GROUP BY application_id, session_key;
         SELECT FROM sessions WHERE (application_id, session_key) IN
             (SELECT application_id, session_key FROM gone)
             ORDER BY application_id, session_key FOR UPDATE;
         UPDATE sessions s SET messages = s.messages - gone.messages,
             flagged = s.flagged - gone.flagged, tokens = s.tokens - gone.tokens
             FROM gone WHERE s.application_id = gone.application_id AND s.session_key = gone.session_key;
         DELETE FROM sessions s USING gone WHERE s.messages <= 0
             AND s.application_id = gone.application_id AND s.session_key = gone.session_key"
    );
    // Composed of constants and numbers.
    let sql = sqlx::raw_sql(AssertSqlSafe(sql));
    sql.execute(connection).await.map(drop)
}

/// The numbers of a day's records, with their gateways.
async fn numbers(
    connection: &mut PgConnection,
    day: Day,
) -> Result<Vec<(Uuid, Span)>, sqlx::Error> {
    let sql = format!(
        "SELECT gateway, min(number), max(number) FROM (
             SELECT chain_gateway AS gateway, chain_sequence AS number, chain_sequence - row_number()
                 OVER (PARTITION BY chain_gateway ORDER BY chain_sequence) AS island
             FROM records_{day} WHERE chain_sequence IS NOT NULL) AS numbered
         GROUP BY gateway, island"
    );
    // Composed of constants and a number.
    let query = sqlx::query_as::<_, (Uuid, i64, i64)>(AssertSqlSafe(sql));
    let rows = query.fetch_all(connection).await?;
    let span = |(gateway, first, last): (Uuid, i64, i64)| {
        (
            gateway,
            Span::new(first.unsigned_abs(), last.unsigned_abs()),
        )
    };
    Ok(rows.into_iter().map(span).collect())
}
