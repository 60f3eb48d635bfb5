//! The text condition of a list: records are read in the list's order and looked through here, as far as
//! `store::search` says.

use super::SqliteStore;
use super::{filters, rows};
use crate::search::{Look, MOST};
use crate::{RecordFilter, RecordPage, RecordSummary, StoreError};
use futures_util::TryStreamExt;
use sqlx::Row as _;

const COLUMNS: &str = "r.*, b.message, b.cleaned_text";
const BODIES: &str = " CROSS JOIN record_bodies AS b ON b.seq = r.seq";

/// One page of the records that hold this text.
pub(super) async fn page(
    store: &SqliteStore,
    filter: &RecordFilter,
    text: &str,
) -> Result<RecordPage, StoreError> {
    let mut look = Look::for_text(text);
    let mut query = filters::query(filter, COLUMNS, BODIES, i64::from(MOST) + 1);
    let mut found = query.build().fetch(&store.readers);
    let mut records = Vec::new();
    while let Some(row) = found.try_next().await? {
        if look.is_over() || records.len() == filter.limit as usize {
            return Ok(look.page(records, false));
        }
        let texts: [Option<&str>; 2] = [row.try_get("cleaned_text")?, row.try_get("message")?];
        let record = (row.try_get("seq")?, row.try_get("created_at_ms")?);
        if look.at(record, texts.into_iter().flatten()) {
            records.push(rows::summary(&row)?);
        }
    }
    Ok(look.page(records, true))
}

/// The place after which the next page begins: one record more than asked for tells that there is one.
pub(super) fn cut(mut records: Vec<RecordSummary>, limit: u32) -> RecordPage {
    let limit = limit as usize;
    let next_before = match records.len() > limit {
        true => {
            records.truncate(limit);
            records.last().map(|record| record.seq)
        }
        false => None,
    };
    RecordPage {
        records,
        next_before,
        searched: None,
    }
}
