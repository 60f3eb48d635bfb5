//! The SQL of saved filters.

use crate::error::StoreError;
use crate::people::accounts::AccountId;
use crate::people::saved_filters::{
    FilterId, MOST_SHOWN, SavedFilter, SavedFilterStore, SeenFilter,
};
use crate::postgres::store::PostgresStore;
use crate::sql::people::seen_filter;
use async_trait::async_trait;
use monitor_model::ApplicationId;

const LIST: &str = "
    SELECT f.*, a.name AS owner_name FROM saved_filters f JOIN accounts a ON a.id = f.account_id
    WHERE f.account_id = $1 OR (f.is_shared AND a.application_id IS NOT DISTINCT FROM $2)
    ORDER BY f.name, f.id LIMIT $3";
const PUT: &str = "
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
        self.all(query).await?.iter().map(seen_filter).collect()
    }

    async fn keep_filter(&self, filter: SavedFilter) -> Result<(), StoreError> {
        let query = sqlx::query(PUT)
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
