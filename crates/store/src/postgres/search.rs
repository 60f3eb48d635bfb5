//! The text condition of a list: records are read in the list's order and looked through here, as far as
//! `store::search` says, and not in the database, whose idea of letter case follows its locale. First
//! places only, then texts by portions, then what a list shows of those that hold it.

use super::PostgresStore;
use super::pages::by_place;
use super::row::{optional, summary};
use crate::search::Look;
use crate::{RecordFilter, RecordPage, StoreError};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use std::collections::HashMap;

/// Places that are read at once.
const AT_ONCE: u32 = 200;
/// Bytes of the records whose texts are read at once; one record is, however long.
const PORTION_BYTES: i64 = 4 << 20;

const PLACE: &str = "r.seq, r.created_at_ms, r.bytes";
const TEXTS: &str = "
    SELECT seq, message, cleaned_text FROM record_bodies
    WHERE seq = ANY ($1) AND seq >= $2 AND seq <= $3";
const FOUND: &str = "
    SELECT * FROM records WHERE seq = ANY ($1) AND seq >= $2 AND seq <= $3 ORDER BY seq DESC";

/// A record that is to be looked at.
struct Place {
    seq: i64,
    created_at_ms: i64,
    bytes: i64,
}

impl PostgresStore {
    /// One page of the records that hold this text.
    pub(super) async fn search(
        &self,
        filter: &RecordFilter,
        text: &str,
    ) -> Result<RecordPage, StoreError> {
        let mut look = Look::for_text(text);
        let (mut filter, mut hits) = (filter.clone(), Vec::new());
        loop {
            let places = self.places(&filter).await?;
            let mut rest = places.as_slice();
            while let Some((portion, behind)) = rest.split_at_checked(fitting(rest)) {
                if portion.is_empty() {
                    break;
                }
                let texts = self
                    .at_places(TEXTS, portion.iter().map(|one| one.seq))
                    .await?;
                let texts = by_place(texts)?;
                for place in portion {
                    filter.before = Some(place.seq);
                    if holds(&mut look, place, &texts)? {
                        hits.push(place.seq);
                    }
                    if hits.len() >= filter.limit as usize {
                        return self.found(&hits, look, false).await;
                    }
                }
                if look.is_over() {
                    return self.found(&hits, look, false).await;
                }
                rest = behind;
            }
            if places.len() < AT_ONCE as usize {
                return self.found(&hits, look, true).await;
            }
        }
    }

    async fn places(&self, filter: &RecordFilter) -> Result<Vec<Place>, StoreError> {
        let rows = self.newest(filter, PLACE, AT_ONCE).await?;
        let place = |row: &PgRow| {
            Ok(Place {
                seq: row.try_get("seq")?,
                created_at_ms: row.try_get("created_at_ms")?,
                bytes: row.try_get("bytes")?,
            })
        };
        rows.iter().map(place).collect()
    }

    async fn found(
        &self,
        hits: &[i64],
        look: Look,
        is_last: bool,
    ) -> Result<RecordPage, StoreError> {
        let rows = self.at_places(FOUND, hits.iter().copied()).await?;
        let records = rows.iter().map(summary).collect::<Result<_, _>>()?;
        Ok(look.page(records, is_last))
    }

    /// The rows of these places, by a statement that names them and the span they lie in.
    async fn at_places(
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

/// How many of the first places make a portion: one at least, where there is any.
fn fitting(places: &[Place]) -> usize {
    let mut bytes = 0;
    let fit = places.iter().take_while(|place| {
        bytes += place.bytes;
        bytes <= PORTION_BYTES
    });
    fit.count().max(1).min(places.len())
}

/// A record whose texts were removed in between holds nothing.
fn holds(look: &mut Look, place: &Place, texts: &HashMap<i64, PgRow>) -> Result<bool, StoreError> {
    let texts = match texts.get(&place.seq) {
        Some(row) => [optional(row, "cleaned_text")?, optional(row, "message")?],
        None => [None, None],
    };
    let texts = texts.iter().flatten().map(String::as_str);
    Ok(look.at((place.seq, place.created_at_ms), texts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portion_holds_one_record_at_least_and_no_more_than_its_bytes() {
        let places = |sizes: &[i64]| -> Vec<Place> {
            let place = |bytes: &i64| Place {
                seq: 0,
                created_at_ms: 0,
                bytes: *bytes,
            };
            sizes.iter().map(place).collect()
        };
        let most = PORTION_BYTES;
        assert_eq!(fitting(&places(&[])), 0);
        assert_eq!(fitting(&places(&[most * 9, 1])), 1);
        assert_eq!(fitting(&places(&[most / 2, most / 2, 1])), 2);
        assert_eq!(fitting(&places(&[1, 1, 1])), 3);
    }
}
