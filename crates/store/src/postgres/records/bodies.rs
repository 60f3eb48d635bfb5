//! Reads the texts of records by their positions.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Postgres, Row as _};
use std::collections::HashMap;

const BODIES: &str = "SELECT * FROM record_bodies WHERE seq = ANY ($1) AND seq >= $2 AND seq <= $3";

/// Queries the bodies of the records at these positions.
pub(super) fn bodies(seqs: &[i64]) -> Query<'static, Postgres, PgArguments> {
    at(BODIES, seqs)
}

/// A query at these positions ($1). The bounds ($2, $3) let the planner leave out partitions.
pub(super) fn at(query: &'static str, seqs: &[i64]) -> Query<'static, Postgres, PgArguments> {
    sqlx::query(query)
        .bind(seqs)
        .bind(seqs.iter().min())
        .bind(seqs.iter().max())
        .persistent(false)
}

/// Rows by the position in their column `seq`.
pub(super) fn by_seq(rows: Vec<PgRow>) -> Result<HashMap<i64, PgRow>, sqlx::Error> {
    let keyed = rows.into_iter().map(|row| Ok((row.try_get("seq")?, row)));
    keyed.collect()
}
