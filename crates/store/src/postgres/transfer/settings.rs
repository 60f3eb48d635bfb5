//! Applications and their versions: documents and times that COPY does not take as they are.

use crate::error::StoreError;
use crate::postgres::values::{escaped, escaped_json};
use crate::sql::transfer::refused_application;
use crate::transfer::Row;
use sqlx::{AssertSqlSafe, PgConnection};

const APPLICATION: &str = "
    INSERT INTO applications (id, name, description, created_at, rules_version, rules, policy, policy_version,
        policy_updated_at, updated_at, updated_by)
    VALUES ($1, $2, $3, timestamptz 'epoch' + $4 * interval '1 millisecond', $5, $6::jsonb, $7::jsonb, $8,
        timestamptz 'epoch' + $9 * interval '1 millisecond',
        timestamptz 'epoch' + $10 * interval '1 millisecond', $11)";
const VERSION: &str = "
    INSERT INTO application_versions (application_id, version, name, description, rules, policy, changed_at,
        changed_by)
    VALUES ($1, $2, $3, $4, $5::jsonb, $6::jsonb, timestamptz 'epoch' + $7 * interval '1 millisecond', $8)";

/// A policy that was accepted once and is a contradiction now comes back as it was.
const CONTRADICTION: &str = "
    SELECT pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conname = 'policy_without_contradiction' AND conrelid = 'applications'::regclass";

/// Inserts applications with the counts of their policies, which a trigger would begin anew.
pub(super) async fn insert_applications(
    connection: &mut PgConnection,
    rows: &[Row],
) -> Result<(), StoreError> {
    let constraint: String = sqlx::query_scalar(CONTRADICTION)
        .fetch_one(&mut *connection)
        .await?;
    let prepare = "ALTER TABLE applications DISABLE TRIGGER count_policy_version;
        ALTER TABLE applications DROP CONSTRAINT policy_without_contradiction";
    sqlx::raw_sql(prepare).execute(&mut *connection).await?;
    for row in rows {
        let inserted = insert_application(connection, row).await;
        inserted.map_err(|error| refused_application(row, error))?;
    }
    let constraint = constraint.trim_end_matches("NOT VALID");
    let restore = format!(
        "ALTER TABLE applications ADD CONSTRAINT policy_without_contradiction {constraint} NOT VALID;
         ALTER TABLE applications ENABLE TRIGGER count_policy_version"
    );
    // The definition comes from the database itself.
    let restore = sqlx::raw_sql(AssertSqlSafe(restore));
    restore.execute(connection).await?;
    Ok(())
}

async fn insert_application(connection: &mut PgConnection, row: &Row) -> Result<(), StoreError> {
    sqlx::query(APPLICATION)
        .bind(row.required_id("id")?)
        .bind(text(row, "name"))
        .bind(text(row, "description"))
        .bind(row.required("created_at_ms")?)
        .bind(row.required("rules_version")?)
        .bind(document(row)?)
        .bind(row.text("policy"))
        .bind(row.required("policy_version")?)
        .bind(row.required("policy_updated_at_ms")?)
        .bind(row.required("updated_at_ms")?)
        .bind(text(row, "changed_by"))
        .execute(connection)
        .await?;
    Ok(())
}

/// Inserts earlier versions of applications.
pub(super) async fn insert_versions(
    connection: &mut PgConnection,
    rows: &[Row],
) -> Result<(), StoreError> {
    for row in rows {
        sqlx::query(VERSION)
            .bind(row.required_id("application_id")?)
            .bind(row.required("version")?)
            .bind(text(row, "name"))
            .bind(text(row, "description"))
            .bind(document(row)?)
            .bind(row.text("policy"))
            .bind(row.required("changed_at_ms")?)
            .bind(text(row, "changed_by"))
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

fn text(row: &Row, column: &str) -> String {
    escaped(row.text(column).unwrap_or_default()).into_owned()
}

fn document(row: &Row) -> Result<String, StoreError> {
    let rules = serde_json::from_str(row.text("rules").unwrap_or("{}"));
    let rules = rules.map_err(|_| StoreError::Unreadable("set of rules"))?;
    Ok(escaped_json(rules))
}
