//! Portable values as the parameters of a statement.

use crate::transfer::Value;
use sqlx::Sqlite;
use sqlx::sqlite::SqliteArguments;

type Query<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

pub(super) fn bind<'q>(query: Query<'q>, values: &[Value]) -> Query<'q> {
    values
        .iter()
        .cloned()
        .fold(query, |query, value| match value {
            Value::Null => query.bind(None::<i64>),
            Value::Number(number) => query.bind(number),
            Value::Flag(flag) => query.bind(flag),
            Value::Id(id) => query.bind(id),
            Value::Bytes(bytes) => query.bind(bytes),
            Value::Text(text) => query.bind(text),
        })
}
