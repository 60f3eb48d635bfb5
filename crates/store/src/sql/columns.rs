//! The columns of a row, whichever engine it comes from.

use crate::error::StoreError;
use monitor_model::{Span, Stage, TypeCount};
use serde_json::Value;
use uuid::Uuid;

/// Reads columns by name. Each engine implements it for its rows with `plain_columns!` and the few types
/// that it stores in its own way.
pub(crate) trait Columns {
    /// An integer of up to 64 bits.
    fn number(&self, column: &str) -> Result<i64, sqlx::Error>;
    /// An integer or NULL.
    fn optional_number(&self, column: &str) -> Result<Option<i64>, sqlx::Error>;
    /// A boolean; SQLite stores 0 or 1.
    fn flag(&self, column: &str) -> Result<bool, sqlx::Error>;
    /// A UUID; SQLite stores its 16 bytes.
    fn id(&self, column: &str) -> Result<Uuid, sqlx::Error>;
    /// A UUID or NULL.
    fn optional_id(&self, column: &str) -> Result<Option<Uuid>, sqlx::Error>;
    /// Binary data, such as a hash.
    fn bytes(&self, column: &str) -> Result<&[u8], sqlx::Error>;
    /// A text exactly as it is stored.
    fn raw(&self, column: &str) -> Result<&str, sqlx::Error>;
    /// A text exactly as it is stored, or NULL.
    fn optional_raw(&self, column: &str) -> Result<Option<&str>, sqlx::Error>;
    /// A text of any characters, as it was before it was stored.
    fn text(&self, column: &str) -> Result<String, sqlx::Error>;
    /// A text of any characters, or NULL.
    fn optional_text(&self, column: &str) -> Result<Option<String>, sqlx::Error>;
    /// The column `stage`.
    fn stage(&self) -> Result<Stage, StoreError>;
    /// The JSON document of an application's rules.
    fn rules(&self) -> Result<Value, StoreError>;

    /// An integer that is never negative.
    fn count(&self, column: &str) -> Result<u64, sqlx::Error> {
        Ok(u64::try_from(self.number(column)?).unwrap_or(0))
    }
}

/// The methods of [`Columns`] that every sqlx row implements in the same words.
macro_rules! plain_columns {
    () => {
        fn number(&self, column: &str) -> Result<i64, sqlx::Error> {
            self.try_get(column)
        }

        fn optional_number(&self, column: &str) -> Result<Option<i64>, sqlx::Error> {
            self.try_get(column)
        }

        fn flag(&self, column: &str) -> Result<bool, sqlx::Error> {
            self.try_get(column)
        }

        fn id(&self, column: &str) -> Result<uuid::Uuid, sqlx::Error> {
            self.try_get(column)
        }

        fn optional_id(&self, column: &str) -> Result<Option<uuid::Uuid>, sqlx::Error> {
            self.try_get(column)
        }

        fn bytes(&self, column: &str) -> Result<&[u8], sqlx::Error> {
            self.try_get(column)
        }

        fn raw(&self, column: &str) -> Result<&str, sqlx::Error> {
            self.try_get(column)
        }

        fn optional_raw(&self, column: &str) -> Result<Option<&str>, sqlx::Error> {
            self.try_get(column)
        }
    };
}
pub(crate) use plain_columns;

/// Columns `first` and `last`: numbers of a gateway, ends included.
pub(crate) fn span(row: &impl Columns) -> Result<Span, sqlx::Error> {
    let (first, last) = (row.number("first")?, row.number("last")?);
    Ok(Span::new(first.unsigned_abs(), last.unsigned_abs()))
}

/// Columns `kind` and `finds`: how often an entity type was found.
pub(crate) fn type_count(row: &impl Columns) -> Result<TypeCount, StoreError> {
    Ok(TypeCount {
        kind: row.text("kind")?,
        count: row.count("finds")?,
    })
}
