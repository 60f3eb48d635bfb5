//! The SQL of saved filters.

use crate::error::StoreError;
use crate::people::accounts::AccountId;
use crate::people::saved_filters::{
    FilterId, MOST_SHOWN, SavedFilter, SavedFilterStore, SeenFilter,
};
use crate::sql::people::seen_filter;
use crate::sqlite::store::SqliteStore;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::SqliteConnection;

const LIST: &str = "
    SELECT f.*, a.name AS owner_name FROM saved_filters f JOIN accounts a ON a.id = f.account_id
    WHERE f.account_id = ?1 OR (f.is_shared = 1 AND a.application_id IS ?2)
    ORDER BY f.name, f.id LIMIT ?3";
const PUT: &str = "
    INSERT INTO saved_filters (id, account_id, name, query, is_shared, created_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (account_id, name) DO UPDATE SET query = excluded.query, is_shared = excluded.is_shared";

#[async_trait]
impl SavedFilterStore for SqliteStore {
    async fn saved_filters(
        &self,
        viewer: AccountId,
        tenant: Option<ApplicationId>,
    ) -> Result<Vec<SeenFilter>, StoreError> {
        let rows = sqlx::query(LIST)
            .bind(viewer.0)
            .bind(tenant.map(|id| id.0))
            .bind(i64::from(MOST_SHOWN))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(seen_filter).collect()
    }

    async fn keep_filter(&self, filter: SavedFilter) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(put(connection, filter)))
            .await
    }

    async fn remove_filter(&self, id: FilterId) -> Result<(), StoreError> {
        self.writer
            .write(move |connection| Box::pin(remove(connection, id)))
            .await
    }
}

async fn put(connection: &mut SqliteConnection, filter: SavedFilter) -> Result<(), StoreError> {
    sqlx::query(PUT)
        .bind(filter.id.0)
        .bind(filter.owner.0)
        .bind(filter.name)
        .bind(filter.query)
        .bind(filter.is_shared)
        .bind(filter.created_at_ms)
        .execute(connection)
        .await?;
    Ok(())
}

async fn remove(connection: &mut SqliteConnection, id: FilterId) -> Result<(), StoreError> {
    let query = sqlx::query("DELETE FROM saved_filters WHERE id = ?1").bind(id.0);
    query.execute(connection).await?;
    Ok(())
}
