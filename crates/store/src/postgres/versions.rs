//! Changes of applications, one after another, and what they were before (CONTRACT 38). The versions
//! themselves are kept by the database's triggers, whoever makes a change.

use super::PostgresStore;
use super::order::place;
use super::row::text;
use super::settings::rules;
use super::shared::timed;
use super::text::{shield, shield_json};
use crate::{ApplicationChange, ApplicationVersion, Changed, StoreError};
use monitor_model::{ApplicationId, Policy};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, Row as _};
use std::time::{SystemTime, UNIX_EPOCH};

/// Records of a removed application that were received up to so long after, by a server that had not
/// heard of it, are hidden too.
const LATE_MS: i64 = 5_000;

const CHANGE: &str = "
    UPDATE applications SET name = $2, description = $3, rules = $4::jsonb, policy = $5::jsonb,
        rules_version = $6, updated_at = timestamptz 'epoch' + $7 * interval '1 millisecond',
        updated_by = $8
    WHERE id = $1";

const VERSIONS: &str = "
    SELECT version, name, description, rules::text AS rules, policy::text AS policy, changed_by,
        floor(extract(epoch FROM changed_at) * 1000)::bigint AS changed_at_ms
    FROM (SELECT rules_version AS version, name, description, rules, policy,
              updated_at AS changed_at, updated_by AS changed_by FROM applications WHERE id = $1
          UNION ALL
          SELECT version, name, description, rules, policy, changed_at, changed_by
          FROM application_versions WHERE application_id = $1) AS every
    WHERE $2::bigint IS NULL OR version < $2 ORDER BY version DESC LIMIT $3";

impl PostgresStore {
    pub(super) async fn alter_application(
        &self,
        change: ApplicationChange,
    ) -> Result<Changed, StoreError> {
        let mut lent = self.connections.lend().await?;
        let connection = lent.get();
        let changed = timed(async {
            let mut transaction = connection.begin().await?;
            let found = version_for_update(&mut transaction, change.id).await?;
            if found != Some(change.expected_version) {
                transaction.rollback().await?;
                return Ok(found.map_or(Changed::Unknown, Changed::Conflict));
            }
            let version = change.expected_version + 1;
            apply(&mut transaction, change, version).await?;
            transaction.commit().await?;
            Ok(Changed::Done(version))
        })
        .await?;
        lent.give_back();
        self.policy_written.send_replace(());
        Ok(changed)
    }

    pub(super) async fn delete_application(
        &self,
        id: ApplicationId,
        expected_version: i64,
    ) -> Result<Changed, StoreError> {
        let mut lent = self.connections.lend().await?;
        let connection = lent.get();
        let changed = timed(async {
            let mut transaction = connection.begin().await?;
            let found = version_for_update(&mut transaction, id).await?;
            if found != Some(expected_version) {
                transaction.rollback().await?;
                return Ok(found.map_or(Changed::Unknown, Changed::Conflict));
            }
            remove(&mut transaction, id).await?;
            transaction.commit().await?;
            Ok(Changed::Done(expected_version))
        })
        .await?;
        lent.give_back();
        self.policy_written.send_replace(());
        self.upkeep.wake();
        Ok(changed)
    }

    pub(super) async fn list_versions(
        &self,
        id: ApplicationId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ApplicationVersion>, StoreError> {
        let query = sqlx::query(VERSIONS).bind(id.0).bind(before);
        let rows = self.all(query.bind(i64::from(limit))).await?;
        rows.iter().map(version).collect()
    }
}

/// The application's version; nobody else changes it until the transaction ends.
async fn version_for_update(
    connection: &mut PgConnection,
    id: ApplicationId,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar("SELECT rules_version FROM applications WHERE id = $1 FOR UPDATE")
        .bind(id.0)
        .fetch_optional(connection)
        .await
}

async fn apply(
    connection: &mut PgConnection,
    change: ApplicationChange,
    version: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query(CHANGE)
        .bind(change.id.0)
        .bind(shield(&change.name))
        .bind(shield(&change.description))
        .bind(shield_json(change.rules))
        .bind(change.policy.as_ref().map(Policy::to_json))
        .bind(version)
        .bind(change.changed_at_ms)
        .bind(shield(&change.changed_by))
        .execute(connection)
        .await
        .map(drop)
}

async fn remove(connection: &mut PgConnection, id: ApplicationId) -> Result<(), sqlx::Error> {
    let now_ms = now_ms();
    for statement in [
        "INSERT INTO tokens_removed SELECT true FROM tokens WHERE application_id = $1 LIMIT 1
         ON CONFLICT DO NOTHING",
        "DELETE FROM tokens WHERE application_id = $1",
        "DELETE FROM applications WHERE id = $1",
    ] {
        sqlx::query(statement)
            .bind(id.0)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query("INSERT INTO removed_applications VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
        .bind(id.0)
        .bind(place(now_ms.saturating_add(LATE_MS)))
        .bind(now_ms)
        .execute(connection)
        .await
        .map(drop)
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

fn version(row: &PgRow) -> Result<ApplicationVersion, StoreError> {
    let policy: Option<&str> = row.try_get("policy")?;
    let unreadable = |_| StoreError::Unreadable("version of an application");
    Ok(ApplicationVersion {
        version: row.try_get("version")?,
        name: text(row, "name")?,
        description: text(row, "description")?,
        rules: rules(row)?,
        policy: policy
            .map(serde_json::from_str)
            .transpose()
            .map_err(unreadable)?,
        changed_at_ms: row.try_get("changed_at_ms")?,
        changed_by: text(row, "changed_by")?,
    })
}
