//! The text condition of a list: reads records in the order of the list and searches their texts here, within
//! the limits of `crate::text_search`. The database does not search, because its letter case follows its
//! locale. First it returns positions, then texts in portions, then the summaries of the records found.

use super::bodies::by_seq;
use crate::error::StoreError;
use crate::postgres::store::PostgresStore;
use crate::record_filter::RecordFilter;
use crate::records::RecordPage;
use crate::sql::columns::Columns as _;
use crate::sql::records::summary;
use crate::text_search::{Examined, TextSearch};
use sqlx::postgres::PgRow;
use std::collections::HashMap;

/// Positions that are read at once.
const AT_ONCE: u32 = 200;
/// The most bytes of records whose texts are read at once; one record is always read, however long.
const PORTION_BYTES: i64 = 4 << 20;

const COLUMNS: &str = "r.seq, r.created_at_ms, r.bytes";
const TEXTS: &str = "
    SELECT seq, message, cleaned_text FROM record_bodies
    WHERE seq = ANY ($1) AND seq >= $2 AND seq <= $3";
const SUMMARIES: &str = "
    SELECT * FROM records WHERE seq = ANY ($1) AND seq >= $2 AND seq <= $3 ORDER BY seq DESC";

/// A record to examine.
struct Candidate {
    seq: i64,
    created_at_ms: i64,
    bytes: i64,
}

impl PostgresStore {
    /// One page of the records that contain this text.
    pub(super) async fn search(
        &self,
        filter: &RecordFilter,
        text: &str,
    ) -> Result<RecordPage, StoreError> {
        let mut search = TextSearch::new(text);
        let (mut filter, mut found) = (filter.clone(), Vec::new());
        loop {
            let candidates = self.candidates(&filter).await?;
            let mut rest = candidates.as_slice();
            while let Some((portion, behind)) = rest.split_at_checked(fitting(rest)) {
                if portion.is_empty() {
                    break;
                }
                let seqs = portion.iter().map(|one| one.seq);
                let texts = by_seq(self.rows_at(TEXTS, seqs).await?)?;
                for candidate in portion {
                    filter.before = Some(candidate.seq);
                    if matches(&mut search, candidate, &texts)? {
                        found.push(candidate.seq);
                    }
                    if found.len() >= filter.limit as usize {
                        return self.found_page(&found, search, false).await;
                    }
                }
                if search.is_exhausted() {
                    return self.found_page(&found, search, false).await;
                }
                rest = behind;
            }
            if candidates.len() < AT_ONCE as usize {
                return self.found_page(&found, search, true).await;
            }
        }
    }

    async fn candidates(&self, filter: &RecordFilter) -> Result<Vec<Candidate>, StoreError> {
        let rows = self.newest(filter, COLUMNS, AT_ONCE).await?;
        let candidate = |row: &PgRow| {
            Ok(Candidate {
                seq: row.number("seq")?,
                created_at_ms: row.number("created_at_ms")?,
                bytes: row.number("bytes")?,
            })
        };
        rows.iter().map(candidate).collect()
    }

    async fn found_page(
        &self,
        seqs: &[i64],
        search: TextSearch,
        is_last: bool,
    ) -> Result<RecordPage, StoreError> {
        let rows = self.rows_at(SUMMARIES, seqs.iter().copied()).await?;
        let records = rows.iter().map(summary).collect::<Result<_, _>>()?;
        Ok(search.page(records, is_last))
    }

    /// The rows at these positions, by a statement that takes the positions and the range they lie in.
    async fn rows_at(
        &self,
        sql: &'static str,
        seqs: impl Iterator<Item = i64>,
    ) -> Result<Vec<PgRow>, StoreError> {
        let seqs: Vec<i64> = seqs.collect();
        let (Some(first), Some(last)) = (seqs.iter().min().copied(), seqs.iter().max().copied())
        else {
            return Ok(Vec::new());
        };
        let query = sqlx::query(sql).bind(seqs).bind(first).bind(last);
        self.all(query.persistent(false)).await
    }
}

/// How many of the first candidates make a portion: at least one, if there is any.
fn fitting(candidates: &[Candidate]) -> usize {
    let mut bytes = 0;
    let fit = candidates.iter().take_while(|candidate| {
        bytes += candidate.bytes;
        bytes <= PORTION_BYTES
    });
    fit.count().max(1).min(candidates.len())
}

/// A record whose texts were removed in between does not match.
fn matches(
    search: &mut TextSearch,
    candidate: &Candidate,
    texts: &HashMap<i64, PgRow>,
) -> Result<bool, StoreError> {
    let texts = match texts.get(&candidate.seq) {
        Some(row) => [
            row.optional_text("cleaned_text")?,
            row.optional_text("message")?,
        ],
        None => [None, None],
    };
    let record = Examined {
        seq: candidate.seq,
        created_at_ms: candidate.created_at_ms,
    };
    let texts = texts.iter().flatten().map(String::as_str);
    Ok(search.examine(record, texts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portion_holds_one_record_at_least_and_no_more_than_its_bytes() {
        let candidates = |sizes: &[i64]| -> Vec<Candidate> {
            let candidate = |bytes: &i64| Candidate {
                seq: 0,
                created_at_ms: 0,
                bytes: *bytes,
            };
            sizes.iter().map(candidate).collect()
        };
        let most = PORTION_BYTES;
        assert_eq!(fitting(&candidates(&[])), 0);
        assert_eq!(fitting(&candidates(&[most * 9, 1])), 1);
        assert_eq!(fitting(&candidates(&[most / 2, most / 2, 1])), 2);
        assert_eq!(fitting(&candidates(&[1, 1, 1])), 3);
    }
}
