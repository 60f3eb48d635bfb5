//! The text condition of a list: records are read in the list's order and looked through here, a
//! bounded number per page, since no index answers for a part of a text in any letter case.

use super::SqliteStore;
use super::{filters, rows};
use crate::store::settings::folded;
use crate::store::{RecordFilter, RecordPage, RecordSummary, StoreError};
use futures_util::TryStreamExt;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

/// Records that one page looks at, at most.
const LOOKED_AT: usize = 2000;
/// Bytes of text that one page looks at before it takes no further record.
const LOOKED_AT_BYTES: usize = 8 * 1024 * 1024;

const COLUMNS: &str = "r.*, b.message, b.cleaned_text";
const BODIES: &str = " CROSS JOIN record_bodies AS b ON b.seq = r.seq";

/// One page of the records that hold this text.
pub(super) async fn page(
    store: &SqliteStore,
    filter: &RecordFilter,
    text: &str,
) -> Result<RecordPage, StoreError> {
    let wanted = folded(text);
    let mut query = filters::query(filter, COLUMNS, BODIES, LOOKED_AT as i64 + 1);
    let mut found = query.build().fetch(&store.readers);
    let (mut records, mut last) = (Vec::new(), None);
    let (mut looked_at, mut bytes) = (0, 0);
    while let Some(row) = found.try_next().await? {
        if looked_at == LOOKED_AT
            || bytes > LOOKED_AT_BYTES
            || records.len() == filter.limit as usize
        {
            return Ok(RecordPage {
                records,
                next_before: last,
            });
        }
        let (hit, length) = look(&row, &wanted)?;
        if hit {
            records.push(rows::summary(&row)?);
        }
        last = Some(row.try_get("seq")?);
        looked_at += 1;
        bytes += length;
    }
    Ok(RecordPage {
        records,
        next_before: None,
    })
}

/// Whether one of the record's texts holds the wanted one, and how long they are.
fn look(row: &SqliteRow, wanted: &str) -> Result<(bool, usize), StoreError> {
    let texts: [Option<&str>; 2] = [row.try_get("cleaned_text")?, row.try_get("message")?];
    let mut texts = texts.into_iter().flatten();
    let length = texts.clone().map(str::len).sum();
    Ok((texts.any(|text| folded(text).contains(wanted)), length))
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
    }
}
