//! The SQL of applications, and the trait's way to that of tokens (CONTRACT 30 and 38).

use super::PostgresStore;
use super::row::text;
use super::text::{map_strings, shield, shield_json, unshield};
use crate::{
    Application, ApplicationChange, ApplicationFilter, ApplicationPage, ApplicationVersion,
    AuditEntry, AuditFilter, Changed, NameFilter, SettingsStore, StoreError, Token, TokenChange,
    TokenHash, TokenId,
};
use async_trait::async_trait;
use monitor_model::{ApplicationId, Policy};
use serde_json::Value;
use sqlx::postgres::{PgRow, Postgres};
use sqlx::{QueryBuilder, Row as _};

/// Times as the program counts them.
pub(super) const COLUMNS: &str = "seq, id, name, description, rules_version, rules::text AS rules,
    policy::text AS policy, floor(extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms,
    floor(extract(epoch FROM updated_at) * 1000)::bigint AS updated_at_ms";

/// Names read at once by a search for one.
const AT_ONCE: i64 = 2_000;

impl PostgresStore {
    /// The places of applications with these names, in order, so many of them at most.
    async fn places_named(
        &self,
        name: &NameFilter,
        (after, wanted): (i64, usize),
    ) -> Result<Vec<i64>, StoreError> {
        let (mut places, mut after) = (Vec::new(), after);
        loop {
            let names = "SELECT seq, name FROM applications WHERE seq > $1 ORDER BY seq LIMIT $2";
            let rows = self
                .all(sqlx::query(names).bind(after).bind(AT_ONCE))
                .await?;
            for row in &rows {
                after = row.try_get("seq")?;
                if name.takes(&text(row, "name")?) {
                    places.push(after);
                }
                if places.len() == wanted {
                    return Ok(places);
                }
            }
            if rows.len() < AT_ONCE as usize {
                return Ok(places);
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

#[async_trait]
impl SettingsStore for PostgresStore {
    async fn first_application(&self) -> Result<Option<Application>, StoreError> {
        let mut query = applications_where();
        query.push("true ORDER BY seq LIMIT 1");
        let rows = self.all(query.build()).await?;
        rows.first().map(application).transpose()
    }

    async fn application(&self, id: ApplicationId) -> Result<Option<Application>, StoreError> {
        let mut query = applications_where();
        query.push("id = ").push_bind(id.0);
        let rows = self.all(query.build()).await?;
        rows.first().map(application).transpose()
    }

    async fn add_application(&self, application: Application, by: &str) -> Result<(), StoreError> {
        let policy = application.policy.and_then(Result::ok);
        let query = sqlx::query(
            "INSERT INTO applications (id, name, description, rules_version, rules, policy,
                                       created_at, updated_at, updated_by)
             VALUES ($1, $2, $3, $4, $5::jsonb, $6::jsonb,
                     timestamptz 'epoch' + $7 * interval '1 millisecond',
                     timestamptz 'epoch' + $8 * interval '1 millisecond', $9)",
        );
        let query = query
            .bind(application.id.0)
            .bind(shield(&application.name))
            .bind(shield(&application.description))
            .bind(application.version)
            .bind(shield_json(application.rules))
            .bind(policy.as_ref().map(Policy::to_json))
            .bind(application.created_at_ms)
            .bind(application.updated_at_ms)
            .bind(shield(by));
        self.all(query).await?;
        if policy.is_some() {
            self.policy_written.send_replace(());
        }
        Ok(())
    }

    async fn has_tokens(&self) -> Result<bool, StoreError> {
        let query = sqlx::query("SELECT FROM tokens UNION ALL SELECT FROM tokens_removed LIMIT 1");
        Ok(!self.all(query).await?.is_empty())
    }

    async fn application_names(
        &self,
        ids: &[ApplicationId],
    ) -> Result<Vec<(ApplicationId, String)>, StoreError> {
        let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
        let query = sqlx::query("SELECT id, name FROM applications WHERE id = ANY ($1)").bind(ids);
        let named = |row: &PgRow| Ok((ApplicationId(row.try_get("id")?), text(row, "name")?));
        self.all(query).await?.iter().map(named).collect()
    }

    async fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
        self.find_token(hash).await
    }

    async fn token_by_id(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        self.token_of_id(id).await
    }

    async fn add_token(&self, hash: TokenHash, token: Token) -> Result<(), StoreError> {
        self.insert_token(hash, token).await
    }

    fn touch_token(&self, id: TokenId, used_at_ms: i64) {
        self.writer.touch(id, used_at_ms);
    }

    async fn applications(
        &self,
        filter: &ApplicationFilter,
    ) -> Result<ApplicationPage, StoreError> {
        let (after, limit) = (filter.after.unwrap_or(i64::MIN), filter.limit as usize);
        // One more than is shown tells that there is a next page.
        let wanted = limit.saturating_add(1);
        let mut query = applications_where();
        query.push("seq > ").push_bind(after);
        match (filter.id, &filter.name) {
            (Some(id), _) => query.push(" AND id = ").push_bind(id.0),
            (None, None) => &mut query,
            (None, Some(name)) => {
                let places = self.places_named(name, (after, wanted)).await?;
                query.push(" AND seq = ANY(").push_bind(places).push(")")
            }
        };
        query.push(" ORDER BY seq LIMIT ").push_bind(wanted as i64);
        let mut rows = self.all(query.build()).await?;
        if let (Some(_), Some(name)) = (filter.id, &filter.name) {
            rows.retain(|row| text(row, "name").is_ok_and(|given| name.takes(&given)));
        }
        let is_last = rows.len() <= limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| !is_last);
        Ok(ApplicationPage {
            next_after: last.map(|row| row.try_get("seq")).transpose()?,
            applications: rows.iter().map(application).collect::<Result<_, _>>()?,
        })
    }

    async fn change_application(&self, change: ApplicationChange) -> Result<Changed, StoreError> {
        self.alter_application(change).await
    }

    async fn remove_application(
        &self,
        id: ApplicationId,
        expected_version: i64,
    ) -> Result<Changed, StoreError> {
        self.delete_application(id, expected_version).await
    }

    async fn application_versions(
        &self,
        id: ApplicationId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ApplicationVersion>, StoreError> {
        self.list_versions(id, before, limit).await
    }

    async fn tokens(
        &self,
        application: Option<ApplicationId>,
        before: Option<(i64, TokenId)>,
        limit: u32,
    ) -> Result<Vec<Token>, StoreError> {
        self.list_tokens(application, before, limit).await
    }

    async fn change_token(
        &self,
        id: TokenId,
        change: TokenChange,
    ) -> Result<Option<Token>, StoreError> {
        self.alter_token(id, change).await
    }

    async fn add_audit(&self, entry: AuditEntry) -> Result<(), StoreError> {
        self.insert_audit(entry).await
    }

    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError> {
        self.list_audit(filter).await
    }

    async fn settings_changed(&self) {
        self.listener.changed().await;
    }
}

fn application(row: &PgRow) -> Result<Application, StoreError> {
    Ok(Application {
        id: ApplicationId(row.try_get("id")?),
        name: text(row, "name")?,
        description: text(row, "description")?,
        created_at_ms: row.try_get("created_at_ms")?,
        updated_at_ms: row.try_get("updated_at_ms")?,
        version: row.try_get("rules_version")?,
        rules: rules(row)?,
        policy: row
            .try_get::<Option<&str>, _>("policy")?
            .map(Policy::from_json),
    })
}

/// The document of an application's rules.
pub(super) fn rules(row: &PgRow) -> Result<Value, StoreError> {
    let stored: Value = serde_json::from_str(row.try_get("rules")?)
        .map_err(|_| StoreError::Unreadable("set of rules"))?;
    Ok(map_strings(stored, &unshield))
}
