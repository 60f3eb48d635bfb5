//! The SQL of saved filters.

use super::PostgresStore;
use crate::saved::MOST_SHOWN;
use crate::{AccountId, FilterId, SavedFilter, SavedFilterStore, SeenFilter, StoreError};
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

const LIST: &str = "
    SELECT f.*, a.name AS owner_name FROM saved_filters f JOIN accounts a ON a.id = f.account_id
    WHERE f.account_id = $1 OR (f.is_shared AND a.application_id IS NOT DISTINCT FROM $2)
    ORDER BY f.name, f.id LIMIT $3";
const KEEP: &str = "
    INSERT INTO saved_filters (id, account_id, name, query, is_shared, created_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (account_id, name) DO UPDATE SET query = excluded.query, is_shared = excluded.is_shared";

#[async_trait]
impl SavedFilterStore for PostgresStore {
    async fn saved_filters(
        &self,
        viewer: AccountId,
        tenant: Option<ApplicationId>,
    ) -> Result<Vec<SeenFilter>, StoreError> {
        let query = sqlx::query(LIST)
            .bind(viewer.0)
            .bind(tenant.map(|id| id.0))
            .bind(i64::from(MOST_SHOWN));
        self.all(query).await?.iter().map(seen).collect()
    }

    async fn keep_filter(&self, filter: SavedFilter) -> Result<(), StoreError> {
        let query = sqlx::query(KEEP)
            .bind(filter.id.0)
            .bind(filter.owner.0)
            .bind(filter.name)
            .bind(filter.query)
            .bind(filter.is_shared)
            .bind(filter.created_at_ms);
        self.all(query).await.map(drop)
    }

    async fn remove_filter(&self, id: FilterId) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM saved_filters WHERE id = $1").bind(id.0);
        self.all(query).await.map(drop)
    }
}

fn seen(row: &PgRow) -> Result<SeenFilter, StoreError> {
    Ok(SeenFilter {
        filter: SavedFilter {
            id: FilterId(row.try_get("id")?),
            owner: AccountId(row.try_get("account_id")?),
            name: row.try_get("name")?,
            query: row.try_get("query")?,
            is_shared: row.try_get("is_shared")?,
            created_at_ms: row.try_get("created_at_ms")?,
        },
        owner_name: row.try_get("owner_name")?,
    })
}
