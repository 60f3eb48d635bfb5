//! How SQLite columns hold the program's values.

use crate::error::StoreError;
use crate::sql::columns::{Columns, plain_columns};
use crate::sql::records::from_word;
use crate::statistics;
use monitor_model::Stage;
use serde_json::Value;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

impl Columns for SqliteRow {
    plain_columns!();

    fn text(&self, column: &str) -> Result<String, sqlx::Error> {
        self.try_get(column)
    }

    fn optional_text(&self, column: &str) -> Result<Option<String>, sqlx::Error> {
        self.try_get(column)
    }

    fn stage(&self) -> Result<Stage, StoreError> {
        from_word(self.raw("stage")?)
    }

    fn rules(&self) -> Result<Value, StoreError> {
        serde_json::from_str(self.raw("rules")?).map_err(|_| StoreError::Unreadable("set of rules"))
    }
}

/// The word that the column `stage` holds.
pub(super) fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::PreCall => "pre",
        Stage::PostCall => "post",
    }
}

/// Larger counts are cut to this, so that sums of millions of them stay within the range of a column.
const LARGEST: u64 = 1 << 40;

/// A count as its column holds it.
pub(super) fn capped(count: u64) -> i64 {
    count.min(LARGEST) as i64
}

/// The names that are counted for all applications, as a list for a statement.
pub(super) fn shared_kinds() -> String {
    json_list(statistics::shared_kinds())
}

/// A list as a parameter that statements expand with `json_each`.
pub(super) fn json_list<T: Into<Value>>(values: impl IntoIterator<Item = T>) -> String {
    Value::Array(values.into_iter().map(Into::into).collect()).to_string()
}
