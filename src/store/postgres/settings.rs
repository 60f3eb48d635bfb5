//! The SQL of applications, and the trait's way to that of tokens (CONTRACT 30 and 38).

use super::PostgresStore;
use super::row::text;
use super::text::{map_strings, shield, shield_json, unshield};
use crate::model::{ApplicationId, Policy};
use crate::store::{
    Application, ApplicationChange, ApplicationFilter, ApplicationPage, ApplicationVersion,
    AuditEntry, AuditFilter, Changed, SettingsStore, StoreError, Token, TokenChange, TokenHash,
    TokenId,
};
use async_trait::async_trait;
use serde_json::Value;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

/// Times as the program counts them.
pub(super) const COLUMNS: &str = "seq, id, name, description, rules_version, rules::text AS rules,
    policy::text AS policy, floor(extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms,
    floor(extract(epoch FROM updated_at) * 1000)::bigint AS updated_at_ms";

/// Applications read at once by a search for a name.
const AT_ONCE: i64 = 500;

impl PostgresStore {
    async fn applications_where(
        &self,
        condition: &str,
        after: Option<i64>,
        limit: i64,
    ) -> Result<Vec<PgRow>, StoreError> {
        let mut query = sqlx::QueryBuilder::new("SELECT ");
        query.push(COLUMNS).push(" FROM applications WHERE seq > ");
        query.push_bind(after.unwrap_or(i64::MIN));
        query.push(condition).push(" ORDER BY seq LIMIT ");
        query.push_bind(limit);
        self.all(query.build()).await
    }
}

#[async_trait]
impl SettingsStore for PostgresStore {
    async fn first_application(&self) -> Result<Option<Application>, StoreError> {
        let rows = self.applications_where("", None, 1).await?;
        rows.first().map(application).transpose()
    }

    async fn application(&self, id: ApplicationId) -> Result<Option<Application>, StoreError> {
        let mut query = sqlx::QueryBuilder::new("SELECT ");
        query.push(COLUMNS).push(" FROM applications WHERE id = ");
        query.push_bind(id.0);
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
        let wanted = filter.name.as_deref().map(str::to_lowercase);
        let limit = filter.limit as usize;
        let (mut found, mut after, mut place) = (Vec::new(), filter.after, None);
        loop {
            let rows = self.applications_where("", after, AT_ONCE).await?;
            for row in &rows {
                after = Some(row.try_get("seq")?);
                let application = application(row)?;
                let named = wanted.as_ref().is_none_or(|wanted| {
                    // Here and not in the database, whose letter case follows its locale.
                    application.name.to_lowercase().contains(wanted)
                });
                if !named || filter.id.is_some_and(|id| id != application.id) {
                    continue;
                }
                if found.len() == limit {
                    return Ok(ApplicationPage {
                        applications: found,
                        next_after: place,
                    });
                }
                found.push(application);
                place = after;
            }
            if rows.len() < AT_ONCE as usize {
                return Ok(ApplicationPage {
                    applications: found,
                    next_after: None,
                });
            }
        }
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
