//! The SQL of applications and their versions (CONTRACT 38).

use crate::error::StoreError;
use crate::postgres::store::PostgresStore;
use crate::postgres::values::{escaped, escaped_json};
use crate::settings::applications::{
    Application, ApplicationChange, ApplicationFilter, ApplicationPage, ApplicationStore,
    ApplicationVersion, Changed, NameFilter,
};
use crate::settings::audit::AuditEntry;
use crate::sql::columns::Columns as _;
use crate::sql::settings::{application, named, version};
use async_trait::async_trait;
use monitor_model::{ApplicationId, Policy};
use sqlx::QueryBuilder;
use sqlx::postgres::Postgres;

/// With times in milliseconds since 1970.
const COLUMNS: &str = "seq, id, name, description, rules_version, rules::text AS rules,
    policy::text AS policy, floor(extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms,
    floor(extract(epoch FROM updated_at) * 1000)::bigint AS updated_at_ms";

/// Names that a search for one reads at once.
const AT_ONCE: i64 = 2_000;

const ADD: &str = "
    INSERT INTO applications (id, name, description, rules_version, rules, policy, created_at,
                              updated_at, updated_by)
    VALUES ($1, $2, $3, $4, $5::jsonb, $6::jsonb,
            timestamptz 'epoch' + $7 * interval '1 millisecond',
            timestamptz 'epoch' + $8 * interval '1 millisecond', $9)
    RETURNING id";

const VERSIONS: &str = "
    SELECT version, name, description, rules::text AS rules, policy::text AS policy, changed_by,
        floor(extract(epoch FROM changed_at) * 1000)::bigint AS changed_at_ms
    FROM (SELECT rules_version AS version, name, description, rules, policy,
              updated_at AS changed_at, updated_by AS changed_by FROM applications WHERE id = $1
          UNION ALL
          SELECT version, name, description, rules, policy, changed_at, changed_by
          FROM application_versions WHERE application_id = $1) AS every
    WHERE $2::bigint IS NULL OR version < $2 ORDER BY version DESC LIMIT $3";

#[async_trait]
impl ApplicationStore for PostgresStore {
    async fn first_application(&self) -> Result<Option<Application>, StoreError> {
        let mut query = applications_where();
        query.push("true ORDER BY seq LIMIT 1");
        let rows = self.all(query.build()).await?;
        rows.first().map(application).transpose()
    }

    async fn application(&self, id: ApplicationId) -> Result<Option<Application>, StoreError> {
        let mut query = applications_where();
        query.push("id = ").push_bind(id.0);
        let rows = self.look_up(query.build()).await?;
        rows.first().map(application).transpose()
    }

    async fn application_names(
        &self,
        ids: &[ApplicationId],
    ) -> Result<Vec<(ApplicationId, String)>, StoreError> {
        let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
        let query = sqlx::query("SELECT id, name FROM applications WHERE id = ANY ($1)").bind(ids);
        self.all(query).await?.iter().map(named).collect()
    }

    async fn applications(
        &self,
        filter: &ApplicationFilter,
    ) -> Result<ApplicationPage, StoreError> {
        let (after, limit) = (filter.after.unwrap_or(i64::MIN), filter.limit as usize);
        // One more than the page shows tells whether a next page exists.
        let wanted = limit.saturating_add(1);
        let mut query = applications_where();
        query.push("seq > ").push_bind(after);
        match (filter.id, &filter.name) {
            (Some(id), _) => query.push(" AND id = ").push_bind(id.0),
            (None, None) => &mut query,
            (None, Some(name)) => {
                let seqs = self.seqs_named(name, after, wanted).await?;
                query.push(" AND seq = ANY(").push_bind(seqs).push(")")
            }
        };
        query.push(" ORDER BY seq LIMIT ").push_bind(wanted as i64);
        let mut rows = self.all(query.build()).await?;
        if let (Some(_), Some(name)) = (filter.id, &filter.name) {
            rows.retain(|row| row.text("name").is_ok_and(|given| name.takes(&given)));
        }
        let is_last = rows.len() <= limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| !is_last);
        Ok(ApplicationPage {
            next_after: last.map(|row| row.number("seq")).transpose()?,
            applications: rows.iter().map(application).collect::<Result<_, _>>()?,
        })
    }

    async fn add_application(
        &self,
        application: Application,
        by: &str,
        audit: Option<AuditEntry>,
    ) -> Result<(), StoreError> {
        let policy = application.policy.and_then(Result::ok);
        let query = sqlx::query(ADD)
            .bind(application.id.0)
            .bind(escaped(&application.name))
            .bind(escaped(&application.description))
            .bind(application.version)
            .bind(escaped_json(application.rules))
            .bind(policy.as_ref().map(Policy::to_json))
            .bind(application.created_at_ms)
            .bind(application.updated_at_ms)
            .bind(escaped(by));
        self.change(query, audit).await?;
        if policy.is_some() {
            self.policy_written.send_replace(());
        }
        Ok(())
    }

    async fn change_application(
        &self,
        change: ApplicationChange,
        audit: Option<AuditEntry>,
    ) -> Result<Changed, StoreError> {
        self.alter_application(change, audit).await
    }

    async fn remove_application(
        &self,
        id: ApplicationId,
        expected_version: i64,
        audit: Option<AuditEntry>,
    ) -> Result<Changed, StoreError> {
        self.delete_application(id, expected_version, audit).await
    }

    async fn application_versions(
        &self,
        id: ApplicationId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ApplicationVersion>, StoreError> {
        let query = sqlx::query(VERSIONS).bind(id.0).bind(before);
        let rows = self.all(query.bind(i64::from(limit))).await?;
        rows.iter().map(version).collect()
    }

    async fn settings_changed(&self) {
        self.listener.changed().await;
    }
}

impl PostgresStore {
    /// The positions, in order, of the first `wanted` applications after `after` whose names the filter accepts.
    async fn seqs_named(
        &self,
        name: &NameFilter,
        after: i64,
        wanted: usize,
    ) -> Result<Vec<i64>, StoreError> {
        let (mut seqs, mut after) = (Vec::new(), after);
        loop {
            let names = "SELECT seq, name FROM applications WHERE seq > $1 ORDER BY seq LIMIT $2";
            let rows = self
                .all(sqlx::query(names).bind(after).bind(AT_ONCE))
                .await?;
            for row in &rows {
                after = row.number("seq")?;
                if name.takes(&row.text("name")?) {
                    seqs.push(after);
                }
                if seqs.len() == wanted {
                    return Ok(seqs);
                }
            }
            if rows.len() < AT_ONCE as usize {
                return Ok(seqs);
            }
        }
    }
}

/// A query for applications, up to its condition.
fn applications_where() -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("SELECT ");
    query.push(COLUMNS).push(" FROM applications WHERE ");
    query
}
