//! The SQL of applications and their versions (CONTRACT 38).

use super::rows::{bytes, uuid};
use crate::{
    Application, ApplicationChange, ApplicationFilter, ApplicationPage, ApplicationVersion,
    Changed, NameFilter, StoreError,
};
use monitor_model::{ApplicationId, Policy};
use serde_json::Value;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{Row as _, SqliteConnection};

const ADD: &str = "
    INSERT INTO applications (id, name, description, created_at_ms, updated_at_ms, rules_version,
                              rules, policy, changed_by)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
    WHERE NOT EXISTS (SELECT 1 FROM removed_applications WHERE id = ?1)";

const PAGE: &str = "SELECT * FROM applications WHERE seq > ?1 ORDER BY seq LIMIT ?2";
const ONE: &str = "SELECT * FROM applications WHERE id = ?1 AND seq > ?2";
/// Many as one row, which costs a fraction of as many rows.
const NAMES: &str = "
    SELECT json_group_array(json_array(seq, name))
    FROM (SELECT seq, name FROM applications WHERE seq > ?1 ORDER BY seq LIMIT ?2)";
const THESE: &str = "
    SELECT * FROM applications WHERE seq IN (SELECT value FROM json_each(?1)) ORDER BY seq";

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

/// Names read at once by a search for one.
const AT_ONCE: usize = 2_000;

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
    let (after, limit) = (filter.after.unwrap_or(0), filter.limit as usize);
    // One more than is shown tells that there is a next page.
    let wanted = limit.saturating_add(1);
    let query = match (filter.id, &filter.name) {
        (Some(id), _) => sqlx::query(ONE).bind(bytes(id.0)).bind(after),
        (None, None) => sqlx::query(PAGE).bind(after).bind(wanted as i64),
        (None, Some(name)) => {
            let places = named(readers, name, (after, wanted)).await?;
            sqlx::query(THESE).bind(Value::from(places).to_string())
        }
    };
    let mut rows = query.fetch_all(readers).await?;
    if let (Some(_), Some(name)) = (filter.id, &filter.name) {
        rows.retain(|row| row.try_get("name").is_ok_and(|given| name.takes(given)));
    }
    let is_last = rows.len() <= limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| !is_last);
    Ok(ApplicationPage {
        next_after: last.map(|row| row.try_get("seq")).transpose()?,
        applications: rows.iter().map(application).collect::<Result<_, _>>()?,
    })
}

/// The places of applications with these names, in order, so many of them at most.
async fn named(
    readers: &SqlitePool,
    name: &NameFilter,
    (mut after, wanted): (i64, usize),
) -> Result<Vec<i64>, StoreError> {
    let mut places = Vec::new();
    loop {
        let query = sqlx::query_scalar(NAMES).bind(after).bind(AT_ONCE as i64);
        let names: String = query.fetch_one(readers).await?;
        let names: Vec<(i64, String)> =
            serde_json::from_str(&names).map_err(|_| StoreError::Unreadable("list of names"))?;
        let fitting = names.iter().filter(|(_, own)| name.takes(own));
        places.extend(fitting.map(|(place, _)| *place));
        if places.len() >= wanted || names.len() < AT_ONCE {
            places.truncate(wanted);
            return Ok(places);
        }
        after = names.last().map_or(after, |(place, _)| *place);
    }
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
