//! Changes of applications, which are serialized per application (CONTRACT 38). Triggers of the database keep
//! the previous versions, whoever makes a change.

use super::audit;
use crate::error::StoreError;
use crate::postgres::pool::with_timeout;
use crate::postgres::seq::{first_seq_at, now_ms};
use crate::postgres::store::PostgresStore;
use crate::postgres::values::{escaped, escaped_json};
use crate::settings::applications::{ApplicationChange, Changed, VersionLimits};
use crate::settings::audit::AuditEntry;
use monitor_model::{ApplicationId, Policy};
use sqlx::{Connection as _, PgConnection};

/// Records that another server received for a removed application this long after its removal, before it was
/// notified, are hidden too.
const LATE_MS: i64 = 5_000;

const CHANGE: &str = "
    UPDATE applications SET name = $2, description = $3, rules = $4::jsonb, policy = $5::jsonb,
        rules_version = $6, updated_at = timestamptz 'epoch' + $7 * interval '1 millisecond',
        updated_by = $8
    WHERE id = $1";

/// Earlier versions beyond the limits, oldest first, also those that other programs made.
const TRIM_VERSIONS: &str = "
    DELETE FROM application_versions WHERE application_id = $1 AND version <= (
        SELECT max(version) FROM (
            SELECT version, row_number() OVER newest AS place,
                   sum(octet_length(name) + octet_length(description) + pg_column_size(rules)
                       + coalesce(pg_column_size(policy), 0)) OVER newest AS bytes
            FROM application_versions WHERE application_id = $1
            WINDOW newest AS (ORDER BY version DESC)) AS earlier
        WHERE place > $2 OR (place > 1 AND bytes > $3))";

impl PostgresStore {
    pub(super) async fn alter_application(
        &self,
        change: ApplicationChange,
        audit: Option<AuditEntry>,
    ) -> Result<Changed, StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let changed = with_timeout(async {
            let mut transaction = connection.begin().await?;
            let found = version_for_update(&mut transaction, change.id).await?;
            if found != Some(change.expected_version) {
                transaction.rollback().await?;
                return Ok(found.map_or(Changed::Unknown, Changed::Conflict));
            }
            let version = change.expected_version + 1;
            let (id, keep) = (change.id, change.keep);
            apply(&mut transaction, change, version).await?;
            trim_versions(&mut transaction, id, keep).await?;
            audit::append(&mut transaction, audit).await?;
            transaction.commit().await?;
            Ok(Changed::Done(version))
        })
        .await?;
        pooled.release();
        self.policy_written.send_replace(());
        Ok(changed)
    }

    pub(super) async fn delete_application(
        &self,
        id: ApplicationId,
        expected_version: i64,
        audit: Option<AuditEntry>,
    ) -> Result<Changed, StoreError> {
        let mut pooled = self.pool.acquire().await?;
        let connection = pooled.connection();
        let changed = with_timeout(async {
            let mut transaction = connection.begin().await?;
            let found = version_for_update(&mut transaction, id).await?;
            if found != Some(expected_version) {
                transaction.rollback().await?;
                return Ok(found.map_or(Changed::Unknown, Changed::Conflict));
            }
            remove(&mut transaction, id).await?;
            audit::append(&mut transaction, audit).await?;
            transaction.commit().await?;
            Ok(Changed::Done(expected_version))
        })
        .await?;
        pooled.release();
        self.policy_written.send_replace(());
        self.maintenance.wake();
        Ok(changed)
    }
}

/// The application's version; nobody else can change it until the transaction ends.
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
        .bind(escaped(&change.name))
        .bind(escaped(&change.description))
        .bind(escaped_json(change.rules))
        .bind(change.policy.as_ref().map(Policy::to_json))
        .bind(version)
        .bind(change.changed_at_ms)
        .bind(escaped(&change.changed_by))
        .execute(connection)
        .await
        .map(drop)
}

async fn trim_versions(
    connection: &mut PgConnection,
    id: ApplicationId,
    keep: VersionLimits,
) -> Result<(), sqlx::Error> {
    sqlx::query(TRIM_VERSIONS)
        .bind(id.0)
        .bind(i64::try_from(keep.versions.max(1)).unwrap_or(i64::MAX))
        .bind(i64::try_from(keep.bytes).unwrap_or(i64::MAX))
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
        .bind(first_seq_at(now_ms.saturating_add(LATE_MS)))
        .bind(now_ms)
        .execute(connection)
        .await
        .map(drop)
}
