//! Reads the sums of costs.

use crate::costs::{CostFilter, CostSum};
use crate::error::StoreError;
use crate::postgres::store::PostgresStore;
use crate::postgres::values::escaped;
use crate::sql::costs::{select, sum};
use sqlx::AssertSqlSafe;

const NARROWED: &str =
    "by_user = $7 AND day BETWEEN $1 AND $2 AND ($3::uuid IS NULL OR application_id = $3)
    AND ($4::text IS NULL OR user_id = $4) AND ($5::text IS NULL OR model = $5)
    AND application_id IN (SELECT id FROM applications)";

pub(super) async fn read(
    store: &PostgresStore,
    filter: &CostFilter,
) -> Result<Vec<CostSum>, StoreError> {
    // Composed of constants.
    let sql = AssertSqlSafe(select(filter.groups, NARROWED, "$6", "bigint"));
    let user = filter.user_id.as_deref().map(escaped);
    let model = filter.model.as_deref().map(escaped);
    let query = sqlx::query(sql)
        .bind(filter.days.0)
        .bind(filter.days.1)
        .bind(filter.application_id.map(|id| id.0))
        .bind(user)
        .bind(model)
        .bind(i64::from(filter.limit))
        .bind(filter.is_by_user())
        .persistent(false);
    let rows = store.all(query).await?;
    rows.iter().map(|row| sum(row, filter.groups)).collect()
}
