//! The SQL of saved filters.

use super::SqliteStore;
use super::rows::{bytes, uuid};
use super::write::Write;
use super::writer::{Outcome, Written};
use crate::saved::MOST_SHOWN;
use crate::{AccountId, FilterId, SavedFilter, SavedFilterStore, SeenFilter, StoreError};
use async_trait::async_trait;
use monitor_model::ApplicationId;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

const LIST: &str = "
    SELECT f.*, a.name AS owner_name FROM saved_filters f JOIN accounts a ON a.id = f.account_id
    WHERE f.account_id = ?1 OR (f.is_shared = 1 AND a.application_id IS ?2)
    ORDER BY f.name, f.id LIMIT ?3";
const KEEP: &str = "
    INSERT INTO saved_filters (id, account_id, name, query, is_shared, created_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (account_id, name) DO UPDATE SET query = excluded.query, is_shared = excluded.is_shared";

/// A change of the table.
pub(super) enum Change {
    Keep(SavedFilter),
    Remove(FilterId),
}

#[async_trait]
impl SavedFilterStore for SqliteStore {
    async fn saved_filters(
        &self,
        viewer: AccountId,
        tenant: Option<ApplicationId>,
    ) -> Result<Vec<SeenFilter>, StoreError> {
        let rows = sqlx::query(LIST)
            .bind(bytes(viewer.0))
            .bind(tenant.map(|id| bytes(id.0)))
            .bind(i64::from(MOST_SHOWN))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(seen).collect()
    }

    async fn keep_filter(&self, filter: SavedFilter) -> Result<(), StoreError> {
        let write = Write::Filter(Box::new(Change::Keep(filter)));
        self.writer.write(write).await.map(drop)
    }

    async fn remove_filter(&self, id: FilterId) -> Result<(), StoreError> {
        let write = Write::Filter(Box::new(Change::Remove(id)));
        self.writer.write(write).await.map(drop)
    }
}

/// Makes one change, within the writer's transaction.
pub(super) async fn carry_out(connection: &mut SqliteConnection, change: Change) -> Outcome {
    let query = match change {
        Change::Keep(filter) => sqlx::query(KEEP)
            .bind(bytes(filter.id.0))
            .bind(bytes(filter.owner.0))
            .bind(filter.name)
            .bind(filter.query)
            .bind(filter.is_shared)
            .bind(filter.created_at_ms),
        Change::Remove(id) => {
            sqlx::query("DELETE FROM saved_filters WHERE id = ?1").bind(bytes(id.0))
        }
    };
    query.execute(connection).await?;
    Ok(Written::New)
}

fn seen(row: &SqliteRow) -> Result<SeenFilter, StoreError> {
    Ok(SeenFilter {
        filter: SavedFilter {
            id: FilterId(uuid(row.try_get("id")?)?),
            owner: AccountId(uuid(row.try_get("account_id")?)?),
            name: row.try_get("name")?,
            query: row.try_get("query")?,
            is_shared: row.try_get("is_shared")?,
            created_at_ms: row.try_get("created_at_ms")?,
        },
        owner_name: row.try_get("owner_name")?,
    })
}
