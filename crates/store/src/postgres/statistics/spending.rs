//! What the calls that a budget counts have spent.

use crate::costs::{CostSum, SpendingFilter, SpendingSpan, SpentUnit};
use crate::error::StoreError;
use crate::postgres::seq::first_seq_at;
use crate::postgres::store::PostgresStore;
use crate::sql::spending::{Source, Words, of_record, sums};
use sqlx::AssertSqlSafe;

const WORDS: Words = Words {
    parameter: "$",
    number: "bigint",
};
const DAYS: Source = Source {
    from: "costs",
    narrowed: "application_id = $1 AND by_user = $2 AND day BETWEEN $3 AND $4
        AND application_id IN (SELECT id FROM applications)",
    parameters: 4,
    user: "user_id",
    currency: "currency",
    value: str::to_owned,
};
/// The position leaves out the partitions of earlier days.
const RECORDS: Source = Source {
    from: "records",
    narrowed: "application_id = $1 AND created_at_ms >= $2 AND created_at_ms < $3 AND seq >= $4
        AND priced IS NOT NULL",
    parameters: 4,
    user: "coalesce(user_id, '')",
    currency: "coalesce(currency, '')",
    value: |column| of_record(column, |kind| format!("(usage::json ->> '{kind}')::bigint")),
};
/// How far a position may be from the time of its record.
const SHIFTED_MS: i64 = 3_600_000;

pub(super) async fn read(
    store: &PostgresStore,
    filter: &SpendingFilter,
) -> Result<Vec<CostSum>, StoreError> {
    let users = filter.users.as_ref();
    let source = match filter.span {
        SpendingSpan::Days(_) => DAYS,
        SpendingSpan::Records(_) => RECORDS,
    };
    // Composed of constants.
    let sql = AssertSqlSafe(source.select(users, &WORDS));
    let query = sqlx::query(sql).bind(filter.application_id.0);
    let mut query = match filter.span {
        SpendingSpan::Days((first, last)) => query.bind(users.is_some()).bind(first).bind(last),
        SpendingSpan::Records((from_ms, until_ms)) => query
            .bind(from_ms)
            .bind(until_ms)
            .bind(first_seq_at(from_ms.saturating_sub(SHIFTED_MS))),
    };
    if let Some(users) = users {
        query = query.bind(users.at_least).bind(i64::from(users.most));
        if let SpentUnit::Money { currency } = &users.unit {
            query = query.bind(currency.as_str());
        }
    }
    let rows = store.all(query.persistent(false)).await?;
    sums(&rows, users.is_some())
}
