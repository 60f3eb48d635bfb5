//! The SQL of applications and their versions (CONTRACT 38).

use super::rows::{bytes, uuid};
use super::text::folded;
use crate::model::{ApplicationId, Policy};
use crate::store::{
    Application, ApplicationChange, ApplicationFilter, ApplicationPage, ApplicationVersion,
    Changed, StoreError,
};
use futures_util::TryStreamExt;
use serde_json::Value;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{Row as _, SqliteConnection};

const ADD: &str = "
    INSERT INTO applications (id, name, description, created_at_ms, updated_at_ms, rules_version,
                              rules, policy, changed_by)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
    WHERE NOT EXISTS (SELECT 1 FROM removed_applications WHERE id = ?1)";

const PAGE: &str = "
    SELECT * FROM applications WHERE seq > ?1 AND (?2 IS NULL OR id = ?2) ORDER BY seq LIMIT ?3";

const KEEP_VERSION: &str = "
    INSERT INTO application_versions (application_id, version, name, description, rules, policy,
                                      changed_at_ms, changed_by)
    SELECT id, rules_version, name, description, rules, policy, max(updated_at_ms, created_at_ms),
           changed_by
    FROM applications WHERE id = ?1";

const CHANGE: &str = "
    UPDATE applications SET name = ?2, description = ?3, rules = ?4, policy = ?5,
        updated_at_ms = ?6, changed_by = ?7, rules_version = rules_version + 1
    WHERE id = ?1";

const REMOVE: &str = "
    DELETE FROM tokens WHERE application_id = ?1;
    DELETE FROM application_versions WHERE application_id = ?1;
    DELETE FROM statistics WHERE application_id = ?1;
    DELETE FROM statistics_types WHERE application_id = ?1;
    DELETE FROM traffic WHERE application_id = ?1;
    DELETE FROM traffic_types WHERE application_id = ?1;
    INSERT INTO removed_applications (id) VALUES (?1);
    DELETE FROM applications WHERE id = ?1";

const VERSIONS: &str = "
    SELECT * FROM (
        SELECT rules_version AS version, name, description, rules, policy,
               max(updated_at_ms, created_at_ms) AS changed_at_ms, changed_by
        FROM applications WHERE id = ?1
        UNION ALL
        SELECT version, name, description, rules, policy, changed_at_ms, changed_by
        FROM application_versions WHERE application_id = ?1)
    WHERE version < ?2 ORDER BY version DESC LIMIT ?3";

/// By their identifiers, a JSON list in hexadecimal.
const CALLED: &str = "
    SELECT id, name FROM applications WHERE id IN (SELECT unhex(value) FROM json_each(?1))";

pub(super) async fn first(readers: &SqlitePool) -> Result<Option<Application>, StoreError> {
    let row = sqlx::query("SELECT * FROM applications ORDER BY seq LIMIT 1")
        .fetch_optional(readers)
        .await?;
    row.as_ref().map(application).transpose()
}

pub(super) async fn one(
    readers: &SqlitePool,
    id: ApplicationId,
) -> Result<Option<Application>, StoreError> {
    let row = sqlx::query("SELECT * FROM applications WHERE id = ?1")
        .bind(bytes(id.0))
        .fetch_optional(readers)
        .await?;
    row.as_ref().map(application).transpose()
}

pub(super) async fn page(
    readers: &SqlitePool,
    filter: &ApplicationFilter,
) -> Result<ApplicationPage, StoreError> {
    // A name is looked for here, in any letter case of any alphabet; there are few applications.
    let wanted = filter.name.as_deref().map(folded);
    let limit = filter.limit as usize;
    let most = match wanted {
        Some(_) => i64::MAX,
        None => i64::from(filter.limit) + 1,
    };
    let mut found = sqlx::query(PAGE)
        .bind(filter.after.unwrap_or(0))
        .bind(filter.id.map(|id| bytes(id.0)))
        .bind(most)
        .fetch(readers);
    let (mut applications, mut last, mut next_after) = (Vec::new(), None, None);
    while let Some(row) = found.try_next().await? {
        let name = folded(row.try_get("name")?);
        if wanted.as_ref().is_some_and(|wanted| !name.contains(wanted)) {
            continue;
        }
        if applications.len() == limit {
            next_after = last;
            break;
        }
        last = Some(row.try_get("seq")?);
        applications.push(application(&row)?);
    }
    Ok(ApplicationPage {
        applications,
        next_after,
    })
}

pub(super) async fn versions(
    readers: &SqlitePool,
    id: ApplicationId,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<ApplicationVersion>, StoreError> {
    let rows = sqlx::query(VERSIONS)
        .bind(bytes(id.0))
        .bind(before.unwrap_or(i64::MAX))
        .bind(i64::from(limit))
        .fetch_all(readers)
        .await?;
    rows.iter().map(version).collect()
}

/// What these are called.
pub(super) async fn names(
    readers: &SqlitePool,
    ids: &[ApplicationId],
) -> Result<Vec<(ApplicationId, String)>, StoreError> {
    let ids: Vec<_> = ids.iter().map(|id| id.0.simple().to_string()).collect();
    let rows = sqlx::query(CALLED).bind(Value::from(ids).to_string());
    let rows = rows.fetch_all(readers).await?;
    let named = |row: &SqliteRow| {
        let id = ApplicationId(uuid(row.try_get("id")?)?);
        Ok((id, row.try_get("name")?))
    };
    rows.iter().map(named).collect()
}

pub(super) async fn add(
    connection: &mut SqliteConnection,
    application: Application,
    by: String,
) -> Result<(), StoreError> {
    let policy = match application.policy {
        None => None,
        Some(Ok(policy)) => Some(policy.to_json()),
        Some(Err(_)) => return Err(StoreError::Unreadable("policy")),
    };
    let done = sqlx::query(ADD)
        .bind(bytes(application.id.0))
        .bind(application.name)
        .bind(application.description)
        .bind(application.created_at_ms)
        .bind(application.updated_at_ms)
        .bind(application.version)
        .bind(application.rules.to_string())
        .bind(policy)
        .bind(by)
        .execute(connection)
        .await?;
    match done.rows_affected() {
        0 => Err(StoreError::Unavailable(
            "records of an application with this id are still being removed".to_owned(),
        )),
        _ => Ok(()),
    }
}

pub(super) async fn change(
    connection: &mut SqliteConnection,
    change: ApplicationChange,
) -> Result<Changed, StoreError> {
    match version_in_store(connection, change.id).await? {
        None => return Ok(Changed::Unknown),
        Some(other) if other != change.expected_version => return Ok(Changed::Conflict(other)),
        Some(_) => {}
    }
    sqlx::query(KEEP_VERSION)
        .bind(bytes(change.id.0))
        .execute(&mut *connection)
        .await?;
    sqlx::query(CHANGE)
        .bind(bytes(change.id.0))
        .bind(change.name)
        .bind(change.description)
        .bind(change.rules.to_string())
        .bind(change.policy.map(|policy| policy.to_json()))
        .bind(change.changed_at_ms)
        .bind(change.changed_by)
        .execute(connection)
        .await?;
    Ok(Changed::Done(change.expected_version + 1))
}

pub(super) async fn remove(
    connection: &mut SqliteConnection,
    id: ApplicationId,
    expected_version: i64,
) -> Result<Changed, StoreError> {
    match version_in_store(connection, id).await? {
        None => return Ok(Changed::Unknown),
        Some(other) if other != expected_version => return Ok(Changed::Conflict(other)),
        Some(_) => {}
    }
    sqlx::query(REMOVE)
        .bind(bytes(id.0))
        .execute(connection)
        .await?;
    Ok(Changed::Done(expected_version))
}

async fn version_in_store(
    connection: &mut SqliteConnection,
    id: ApplicationId,
) -> Result<Option<i64>, StoreError> {
    Ok(
        sqlx::query_scalar("SELECT rules_version FROM applications WHERE id = ?1")
            .bind(bytes(id.0))
            .fetch_optional(connection)
            .await?,
    )
}

fn application(row: &SqliteRow) -> Result<Application, StoreError> {
    let created_at_ms = row.try_get("created_at_ms")?;
    Ok(Application {
        id: ApplicationId(uuid(row.try_get("id")?)?),
        name: row.try_get("name")?,
        description: row.try_get("description")?,
        created_at_ms,
        updated_at_ms: row.try_get::<i64, _>("updated_at_ms")?.max(created_at_ms),
        version: row.try_get("rules_version")?,
        policy: row
            .try_get::<Option<&str>, _>("policy")?
            .map(Policy::from_json),
        rules: from_json(row.try_get("rules")?)?,
    })
}

fn version(row: &SqliteRow) -> Result<ApplicationVersion, StoreError> {
    let policy: Option<&str> = row.try_get("policy")?;
    Ok(ApplicationVersion {
        version: row.try_get("version")?,
        name: row.try_get("name")?,
        description: row.try_get("description")?,
        rules: from_json(row.try_get("rules")?)?,
        policy: policy.map(from_json).transpose()?,
        changed_at_ms: row.try_get("changed_at_ms")?,
        changed_by: row.try_get("changed_by")?,
    })
}

fn from_json(text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Unreadable("set of rules"))
}
