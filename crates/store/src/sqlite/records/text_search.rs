//! The text condition of a list: reads records in the order of the list and searches their texts here, within
//! the limits of `crate::text_search`.

use super::filters;
use crate::error::StoreError;
use crate::record_filter::RecordFilter;
use crate::records::RecordPage;
use crate::sql::columns::Columns as _;
use crate::sql::records::summary;
use crate::sqlite::store::SqliteStore;
use crate::text_search::{Examined, MAX_EXAMINED, TextSearch};
use futures_util::TryStreamExt;

const COLUMNS: &str = "r.*, b.message, b.cleaned_text";
const BODIES: &str = " CROSS JOIN record_bodies AS b ON b.seq = r.seq";

/// One page of the records that contain this text.
pub(super) async fn page(
    store: &SqliteStore,
    filter: &RecordFilter,
    text: &str,
) -> Result<RecordPage, StoreError> {
    let mut search = TextSearch::new(text);
    let mut query = filters::query(filter, COLUMNS, BODIES, i64::from(MAX_EXAMINED) + 1);
    let mut found = query.build().fetch(&store.readers);
    let mut records = Vec::new();
    while let Some(row) = found.try_next().await? {
        if search.is_exhausted() || records.len() == filter.limit as usize {
            return Ok(search.page(records, false));
        }
        let texts = [
            row.optional_raw("cleaned_text")?,
            row.optional_raw("message")?,
        ];
        let record = Examined {
            seq: row.number("seq")?,
            created_at_ms: row.number("created_at_ms")?,
        };
        if search.examine(record, texts.into_iter().flatten()) {
            records.push(summary(&row)?);
        }
    }
    Ok(search.page(records, true))
}
