//! The SQL of applications and their versions (CONTRACT 38).

use super::audit;
use crate::error::StoreError;
use crate::settings::applications::{
    Application, ApplicationChange, ApplicationFilter, ApplicationPage, ApplicationStore,
    ApplicationVersion, Changed, NameFilter,
};
use crate::settings::audit::AuditEntry;
use crate::sql::columns::Columns as _;
use crate::sql::settings::{application, named, version};
use crate::sqlite::store::SqliteStore;
use crate::sqlite::values::json_list;
use crate::sqlite::writer::Changing;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqlitePool;

const ADD: &str = "
    INSERT INTO applications (id, name, description, created_at_ms, updated_at_ms, rules_version,
                              rules, policy, changed_by)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
    WHERE NOT EXISTS (SELECT 1 FROM removed_applications WHERE id = ?1)";

const PAGE: &str = "SELECT * FROM applications WHERE seq > ?1 ORDER BY seq LIMIT ?2";
const ONE: &str = "SELECT * FROM applications WHERE id = ?1 AND seq > ?2";
/// All names in one row, which costs a fraction of as many rows.
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

/// Earlier versions beyond the limits, oldest first.
const TRIM_VERSIONS: &str = "
    DELETE FROM application_versions WHERE application_id = ?1 AND version <= (
        SELECT max(version) FROM (
            SELECT version, row_number() OVER newest AS place,
                   sum(octet_length(name) + octet_length(description) + octet_length(rules)
                       + coalesce(octet_length(policy), 0)) OVER newest AS bytes
            FROM application_versions WHERE application_id = ?1
            WINDOW newest AS (ORDER BY version DESC))
        WHERE place > ?2 OR (place > 1 AND bytes > ?3))";

const REMOVE: &str = "
    DELETE FROM tokens WHERE application_id = ?1;
    DELETE FROM application_versions WHERE application_id = ?1;
    DELETE FROM statistics WHERE application_id = ?1;
    DELETE FROM statistics_types WHERE application_id = ?1;
    DELETE FROM traffic WHERE application_id = ?1;
    DELETE FROM traffic_types WHERE application_id = ?1;
    DELETE FROM costs WHERE application_id = ?1;
    DELETE FROM user_days WHERE application_id = ?1;
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

/// Names that a search for one reads at once.
const AT_ONCE: usize = 2_000;

/// By their identifiers, a JSON list in hexadecimal.
const NAMES_OF: &str = "
    SELECT id, name FROM applications WHERE id IN (SELECT unhex(value) FROM json_each(?1))";

#[async_trait]
impl ApplicationStore for SqliteStore {
    async fn first_application(&self) -> Result<Option<Application>, StoreError> {
        let row = sqlx::query("SELECT * FROM applications ORDER BY seq LIMIT 1")
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(application).transpose()
    }

    async fn application(&self, id: ApplicationId) -> Result<Option<Application>, StoreError> {
        let row = sqlx::query("SELECT * FROM applications WHERE id = ?1")
            .bind(id.0)
            .fetch_optional(&self.lookups)
            .await?;
        row.as_ref().map(application).transpose()
    }

    async fn application_names(
        &self,
        ids: &[ApplicationId],
    ) -> Result<Vec<(ApplicationId, String)>, StoreError> {
        let ids = json_list(ids.iter().map(|id| id.0.simple().to_string()));
        let rows = sqlx::query(NAMES_OF).bind(ids);
        let rows = rows.fetch_all(&self.readers).await?;
        rows.iter().map(named).collect()
    }

    async fn applications(
        &self,
        filter: &ApplicationFilter,
    ) -> Result<ApplicationPage, StoreError> {
        page(&self.readers, filter).await
    }

    async fn add_application(
        &self,
        application: Application,
        by: &str,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError> {
        let by = by.to_owned();
        self.write_setting(move |connection| Box::pin(add(connection, application, by, audit)))
            .await
    }

    async fn change_application(
        &self,
        new: ApplicationChange,
        audit: Option<AuditEntry>,
    ) -> Result<Changed, StoreError> {
        self.write_setting(move |connection| Box::pin(change(connection, new, audit)))
            .await
    }

    async fn remove_application(
        &self,
        id: ApplicationId,
        expected_version: i64,
        audit: Option<AuditEntry>,
    ) -> Result<Changed, StoreError> {
        self.write_setting(move |connection| {
            Box::pin(remove(connection, id, expected_version, audit))
        })
        .await
    }

    async fn application_versions(
        &self,
        id: ApplicationId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ApplicationVersion>, StoreError> {
        let rows = sqlx::query(VERSIONS)
            .bind(id.0)
            .bind(before.unwrap_or(i64::MAX))
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(version).collect()
    }

    async fn settings_changed(&self) {
        self.settings_watch.changed(&self.lookups).await;
    }
}

impl SqliteStore {
    /// Makes a change of settings, and wakes everybody in this process who waits for one.
    pub(super) async fn write_setting<T, F>(&self, change: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> Changing<'c, T> + Send + 'static,
    {
        let outcome = self.writer.write(change).await?;
        self.settings_watch.notify();
        self.policy_written.send_replace(());
        Ok(outcome)
    }
}

async fn page(
    readers: &SqlitePool,
    filter: &ApplicationFilter,
) -> Result<ApplicationPage, StoreError> {
    let (after, limit) = (filter.after.unwrap_or(0), filter.limit as usize);
    // One more than the page shows tells whether a next page exists.
    let wanted = limit.saturating_add(1);
    let query = match (filter.id, &filter.name) {
        (Some(id), _) => sqlx::query(ONE).bind(id.0).bind(after),
        (None, None) => sqlx::query(PAGE).bind(after).bind(wanted as i64),
        (None, Some(name)) => {
            let seqs = seqs_named(readers, name, after, wanted).await?;
            sqlx::query(THESE).bind(json_list(seqs))
        }
    };
    let mut rows = query.fetch_all(readers).await?;
    if let (Some(_), Some(name)) = (filter.id, &filter.name) {
        rows.retain(|row| row.raw("name").is_ok_and(|given| name.takes(given)));
    }
    let is_last = rows.len() <= limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| !is_last);
    Ok(ApplicationPage {
        next_after: last.map(|row| row.number("seq")).transpose()?,
        applications: rows.iter().map(application).collect::<Result<_, _>>()?,
    })
}

/// The positions of the first `wanted` applications after `after` whose names the filter accepts, in order.
async fn seqs_named(
    readers: &SqlitePool,
    name: &NameFilter,
    after: i64,
    wanted: usize,
) -> Result<Vec<i64>, StoreError> {
    let (mut seqs, mut after) = (Vec::new(), after);
    loop {
        let query = sqlx::query_scalar(NAMES).bind(after).bind(AT_ONCE as i64);
        let names: String = query.fetch_one(readers).await?;
        let names: Vec<(i64, String)> =
            serde_json::from_str(&names).map_err(|_| StoreError::Unreadable("list of names"))?;
        let accepted = names.iter().filter(|(_, given)| name.takes(given));
        seqs.extend(accepted.map(|(seq, _)| *seq));
        if seqs.len() >= wanted || names.len() < AT_ONCE {
            seqs.truncate(wanted);
            return Ok(seqs);
        }
        after = names.last().map_or(after, |(seq, _)| *seq);
    }
}

async fn add(
    connection: &mut SqliteConnection,
    application: Application,
    by: String,
    audit: Option<AuditEntry>,
) -> Result<(), StoreError> {
    let policy = match application.policy {
        None => None,
        Some(Ok(policy)) => Some(policy.to_json()),
        Some(Err(_)) => return Err(StoreError::Unreadable("policy")),
    };
    let done = sqlx::query(ADD)
        .bind(application.id.0)
        .bind(application.name)
        .bind(application.description)
        .bind(application.created_at_ms)
        .bind(application.updated_at_ms)
        .bind(application.version)
        .bind(application.rules.to_string())
        .bind(policy)
        .bind(by)
        .execute(&mut *connection)
        .await?;
    match done.rows_affected() {
        0 => Err(StoreError::Unavailable(
            "records of an application with this id are still being removed".to_owned(),
        )),
        _ => audit::append(connection, audit).await,
    }
}

async fn change(
    connection: &mut SqliteConnection,
    change: ApplicationChange,
    audit: Option<AuditEntry>,
) -> Result<Changed, StoreError> {
    match stored_version(connection, change.id).await? {
        None => return Ok(Changed::Unknown),
        Some(other) if other != change.expected_version => return Ok(Changed::Conflict(other)),
        Some(_) => {}
    }
    sqlx::query(KEEP_VERSION)
        .bind(change.id.0)
        .execute(&mut *connection)
        .await?;
    sqlx::query(CHANGE)
        .bind(change.id.0)
        .bind(change.name)
        .bind(change.description)
        .bind(change.rules.to_string())
        .bind(change.policy.map(|policy| policy.to_json()))
        .bind(change.changed_at_ms)
        .bind(change.changed_by)
        .execute(&mut *connection)
        .await?;
    sqlx::query(TRIM_VERSIONS)
        .bind(change.id.0)
        .bind(i64::try_from(change.keep.versions.max(1)).unwrap_or(i64::MAX))
        .bind(i64::try_from(change.keep.bytes).unwrap_or(i64::MAX))
        .execute(&mut *connection)
        .await?;
    audit::append(connection, audit).await?;
    Ok(Changed::Done(change.expected_version + 1))
}

async fn remove(
    connection: &mut SqliteConnection,
    id: ApplicationId,
    expected_version: i64,
    audit: Option<AuditEntry>,
) -> Result<Changed, StoreError> {
    match stored_version(connection, id).await? {
        None => return Ok(Changed::Unknown),
        Some(other) if other != expected_version => return Ok(Changed::Conflict(other)),
        Some(_) => {}
    }
    sqlx::query(REMOVE)
        .bind(id.0)
        .execute(&mut *connection)
        .await?;
    audit::append(connection, audit).await?;
    Ok(Changed::Done(expected_version))
}

async fn stored_version(
    connection: &mut SqliteConnection,
    id: ApplicationId,
) -> Result<Option<i64>, StoreError> {
    let version = sqlx::query_scalar("SELECT rules_version FROM applications WHERE id = ?1");
    Ok(version.bind(id.0).fetch_optional(connection).await?)
}
