//! What was found in records, as hashes: the records that have the same.

use super::list::NOT_REMOVED;
use crate::error::StoreError;
use crate::found_values::{
    FoundValue, MOST_COUNTED, MOST_KINDS, MOST_SAME, SameValues, ValueFilter,
};
use crate::postgres::store::PostgresStore;
use crate::records::{PageInProgress, RecordPage};
use crate::sql::columns::Columns as _;
use crate::sql::found_values::found_value;
use crate::sql::records::summary;
use sqlx::postgres::PgRow;
use sqlx::{Postgres, QueryBuilder};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The newest records before position $2 with any of these hashes, at most $3. Of each hash no more than these are
/// read.
const PAGE: &str = "
    SELECT DISTINCT found.seq AS seq FROM unnest($1::bytea[]) AS wanted (hash)
    CROSS JOIN LATERAL (SELECT f.seq FROM found_values f WHERE f.hash = wanted.hash AND f.seq < $2
        ORDER BY f.seq DESC LIMIT $3) AS found
    ORDER BY found.seq DESC LIMIT $3";

const OF_RECORD: &str = "SELECT * FROM found_values WHERE seq = $1 ORDER BY hash";

/// Of each value the newest records are looked at. The bound excludes none: with it the index is read in its order
/// instead of every record with a frequent value being sorted.
const SAME: &str = "
    SELECT own.kind AS kind, other.seq AS seq
    FROM (SELECT kind, hash FROM found_values WHERE seq = $1 ORDER BY hash LIMIT $2) AS own
    CROSS JOIN LATERAL (SELECT f.seq FROM found_values f WHERE f.hash = own.hash AND f.seq < 9223372036854775807
        ORDER BY f.seq DESC LIMIT $3) AS other
    WHERE other.seq <> $1";

impl PostgresStore {
    /// One page of the records that have one of these values.
    pub(super) async fn records_with_values(
        &self,
        filter: &ValueFilter,
    ) -> Result<RecordPage, StoreError> {
        let hashes: Vec<&[u8]> = filter.hashes.iter().map(|hash| &hash.0[..]).collect();
        let query = sqlx::query(PAGE)
            .bind(hashes)
            .bind(filter.before.unwrap_or(i64::MAX))
            .bind(i64::from(filter.limit) + 1);
        let rows = self.all(query.persistent(false)).await?;
        let seqs: Vec<i64> = rows
            .iter()
            .map(|row| row.number("seq"))
            .collect::<Result<_, _>>()?;
        let mut page = PageInProgress::new(filter.limit);
        for row in self.at_positions("r.*", seqs).await? {
            if !page.push(summary(&row)?) {
                break;
            }
        }
        Ok(page.finish())
    }

    /// The values of a record.
    pub(super) async fn values_of_record(&self, seq: i64) -> Result<Vec<FoundValue>, StoreError> {
        let rows = self.all(sqlx::query(OF_RECORD).bind(seq)).await?;
        rows.iter().map(found_value).collect()
    }

    /// In how many other records the values of a record are.
    pub(super) async fn same_as_record(&self, seq: i64) -> Result<Vec<SameValues>, StoreError> {
        let query = sqlx::query(SAME).bind(seq).bind(MOST_COUNTED);
        let query = query.bind(MOST_SAME as i64 + 2).persistent(false);
        let mut others: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
        for row in &self.all(query).await? {
            let of_kind = others.entry(row.text("kind")?).or_default();
            of_kind.insert(row.number("seq")?);
        }
        let seqs: BTreeSet<i64> = others.values().flatten().copied().collect();
        let mut users = HashMap::with_capacity(seqs.len());
        let columns = "r.seq, r.user_id";
        for row in &self
            .at_positions(columns, seqs.into_iter().collect())
            .await?
        {
            users.insert(row.number("seq")?, row.optional_text("user_id")?);
        }
        Ok(counted(others, &users))
    }

    /// The rows of the records at these positions, newest first. The bounds let the planner leave out partitions.
    async fn at_positions(
        &self,
        columns: &'static str,
        seqs: Vec<i64>,
    ) -> Result<Vec<PgRow>, StoreError> {
        let (Some(first), Some(last)) = (seqs.iter().min().copied(), seqs.iter().max().copied())
        else {
            return Ok(Vec::new());
        };
        let mut query: QueryBuilder<Postgres> = QueryBuilder::new("SELECT ");
        query
            .push(columns)
            .push(" FROM records r WHERE r.seq = ANY (");
        query
            .push_bind(seqs)
            .push(") AND r.seq >= ")
            .push_bind(first);
        query.push(" AND r.seq <= ").push_bind(last);
        query.push(NOT_REMOVED).push(" ORDER BY r.seq DESC");
        self.all(query.build().persistent(false)).await
    }
}

/// How many of these records are there, and how many users they name.
fn counted(
    others: BTreeMap<String, BTreeSet<i64>>,
    users: &HashMap<i64, Option<String>>,
) -> Vec<SameValues> {
    let same = |(kind, seqs): (String, BTreeSet<i64>)| {
        let there: Vec<_> = seqs.iter().filter_map(|seq| users.get(seq)).collect();
        let named: BTreeSet<&String> = there.iter().copied().flatten().collect();
        SameValues {
            kind,
            records: there.len() as u64,
            users: named.len() as u64,
        }
    };
    let mut counts: Vec<SameValues> = others.into_iter().map(same).collect();
    counts.retain(|same| same.records > 0);
    counts.sort_by_key(|same| Reverse(same.records));
    counts.truncate(MOST_KINDS as usize);
    counts
}
