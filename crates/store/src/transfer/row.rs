//! A row in its portable form, and as a line of an archive: a JSON object by the names of its columns, bytes in
//! hexadecimal, nulls left out.

use super::table::{Column, ColumnKind, Table};
use crate::error::StoreError;
use monitor_model::Span;
use serde_json::{Map, Number, Value as Json};
use std::fmt::Write as _;
use thiserror::Error;
use uuid::Uuid;

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// NULL, and a column that an older archive lacks.
    Null,
    /// A value of a [`ColumnKind::Number`].
    Number(i64),
    /// A value of a [`ColumnKind::Flag`].
    Flag(bool),
    /// A value of an [`ColumnKind::Id`].
    Id(Uuid),
    /// A value of [`ColumnKind::Bytes`].
    Bytes(Vec<u8>),
    /// A value of every other kind.
    Text(String),
}

/// The values of a row in the order of [`Table::columns`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    table: Table,
    values: Vec<Value>,
}

/// A line of an archive is no row. The text never contains a value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RowError {
    /// It is not a JSON object.
    #[error("a row of {0} is not a JSON object")]
    Unreadable(&'static str),
    /// A value is of another type than its column.
    #[error("{table}.{column} holds a value of another type")]
    Type {
        /// The table's name.
        table: &'static str,
        /// The column's name.
        column: &'static str,
    },
    /// A column that this version does not know.
    #[error(
        "{table} has a column that this version does not know ({column}): \
         the archive was written by a later version; restore it with that one"
    )]
    LaterVersion {
        /// The table's name.
        table: &'static str,
        /// The column's name, shortened.
        column: String,
    },
}

impl Row {
    pub(crate) fn new(table: Table, values: Vec<Value>) -> Self {
        Self { table, values }
    }

    /// The table of the row.
    pub fn table(&self) -> Table {
        self.table
    }

    /// Whether it is the tombstone of an exchange, which has a UUID of version 8, and not that of a user.
    pub fn is_erased_exchange(&self) -> bool {
        let id = self.id("id").filter(|_| self.table == Table::Tombstones);
        id.is_some_and(|id| id.get_version_num() == 8)
    }

    /// The value of a column; null for a column that there is not.
    pub fn value(&self, column: &str) -> &Value {
        let place = self.table.place(column);
        let value = place.and_then(|place| self.values.get(place));
        value.unwrap_or(&Value::Null)
    }

    /// Changes a record into one that a schema without tool calls holds: a part of a tool call becomes a message
    /// without an exchange.
    pub(crate) fn become_message(&mut self) {
        if self.text("tool_name").is_none() {
            return;
        }
        for column in ["exchange_id", "tool_name", "tool_call_id"] {
            self.set(column, Value::Null);
        }
    }

    /// Changes the value of a column, if there is that column.
    pub(crate) fn set(&mut self, column: &str, value: Value) {
        let place = self.table.place(column);
        if let Some(own) = place.and_then(|place| self.values.get_mut(place)) {
            *own = value;
        }
    }

    /// Every value, in the order of the columns.
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    /// The value of a column of numbers; None for null.
    pub fn number(&self, column: &str) -> Option<i64> {
        match self.value(column) {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The value of a column of texts; None for null.
    pub fn text(&self, column: &str) -> Option<&str> {
        match self.value(column) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a column of ids; None for null.
    pub fn id(&self, column: &str) -> Option<Uuid> {
        match self.value(column) {
            Value::Id(id) => Some(*id),
            _ => None,
        }
    }

    /// The value of a column of bytes; empty for null.
    pub fn bytes(&self, column: &str) -> &[u8] {
        match self.value(column) {
            Value::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// The value of a column of flags; false for null.
    pub fn flag(&self, column: &str) -> bool {
        matches!(self.value(column), Value::Flag(true))
    }

    /// A number that the schema requires.
    pub(crate) fn required(&self, column: &str) -> Result<i64, StoreError> {
        self.number(column)
            .ok_or(StoreError::Unreadable("row without a number"))
    }

    /// An id that the schema requires.
    pub(crate) fn required_id(&self, column: &str) -> Result<Uuid, StoreError> {
        self.id(column)
            .ok_or(StoreError::Unreadable("row without an id"))
    }

    /// The numbers of a gateway, in a table of them.
    pub(crate) fn numbers(&self) -> Option<(Uuid, Span)> {
        let number = |column| self.number(column).map(i64::unsigned_abs);
        let span = Span::new(number("first")?, number("last")?);
        Some((self.id("gateway")?, span))
    }

    /// Bytes of the texts.
    pub(crate) fn text_bytes(&self) -> usize {
        let texts = self.values.iter().map(|value| match value {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 8,
        });
        texts.sum()
    }

    /// The row as a line of an archive, with its end.
    pub fn to_line(&self) -> String {
        let columns = self.table.columns().iter();
        let fields = columns.zip(&self.values).filter_map(|(column, value)| {
            let value = match value {
                Value::Null => return None,
                Value::Number(number) => Json::Number(Number::from(*number)),
                Value::Flag(flag) => Json::Bool(*flag),
                Value::Id(id) => Json::String(id.to_string()),
                Value::Bytes(bytes) => Json::String(hexadecimal(bytes)),
                Value::Text(text) => Json::String(text.clone()),
            };
            Some((column.name.to_owned(), value))
        });
        let mut line = Json::Object(fields.collect::<Map<_, _>>()).to_string();
        line.push('\n');
        line
    }

    /// The row of a line.
    ///
    /// # Errors
    /// [`RowError`] when the line is no row of this table.
    pub fn from_line(table: Table, line: &str) -> Result<Self, RowError> {
        let unreadable = |_| RowError::Unreadable(table.name());
        let mut fields: Map<String, Json> = serde_json::from_str(line).map_err(unreadable)?;
        let values = table.columns().iter().map(|column| {
            let field = fields.remove(column.name).unwrap_or(Json::Null);
            value(column, field).ok_or(RowError::Type {
                table: table.name(),
                column: column.name,
            })
        });
        let values = values.collect::<Result<_, _>>()?;
        match fields.keys().next() {
            None => Ok(Self { table, values }),
            Some(unknown) => Err(RowError::LaterVersion {
                table: table.name(),
                column: unknown
                    .chars()
                    .filter(|c| c.is_ascii_graphic())
                    .take(40)
                    .collect(),
            }),
        }
    }
}

fn value(column: &Column, field: Json) -> Option<Value> {
    let value = match (column.kind, field) {
        (_, Json::Null) => Value::Null,
        (ColumnKind::Number, Json::Number(number)) => Value::Number(number.as_i64()?),
        (ColumnKind::Flag, Json::Bool(flag)) => Value::Flag(flag),
        (ColumnKind::Id, Json::String(id)) => Value::Id(id.parse().ok()?),
        (ColumnKind::Bytes, Json::String(digits)) => Value::Bytes(bytes(&digits)?),
        (ColumnKind::Stage, Json::String(word)) => match word.as_str() {
            "pre" | "post" => Value::Text(word),
            _ => return None,
        },
        (ColumnKind::Text | ColumnKind::Word | ColumnKind::Document, Json::String(text)) => {
            Value::Text(text)
        }
        _ => return None,
    };
    Some(value)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    };
    pairs.map(byte).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn a_token() -> Row {
        let values = vec![
            Value::Id(Uuid::from_u128(7)),
            Value::Text("имя\0\n\"".to_owned()),
            Value::Bytes(vec![0, 255, 16]),
            Value::Number(i64::MIN),
            Value::Null,
            Value::Number(0),
            Value::Null,
            Value::Null,
            Value::Number(i64::MAX),
        ];
        Row::new(Table::Tokens, values)
    }

    #[test]
    fn a_row_comes_back_from_its_one_line() {
        let line = a_token().to_line();
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(Row::from_line(Table::Tokens, &line).unwrap(), a_token());
    }

    #[test]
    fn a_column_that_an_older_archive_lacks_is_null_and_a_later_one_is_refused() {
        let row = Row::from_line(Table::Blobs, r#"{"size":5}"#).unwrap();
        assert_eq!(
            (row.number("size"), row.bytes("sha256")),
            (Some(5), &[][..])
        );
        let later = Row::from_line(Table::Blobs, r#"{"size":5,"colour":"secret"}"#).unwrap_err();
        let said = later.to_string();
        assert!(
            said.contains("colour") && said.contains("later version"),
            "{said}"
        );
        assert!(!said.contains("secret"));
    }

    #[test]
    fn a_value_of_another_type_names_its_column_and_not_itself() {
        for line in [
            r#"{"size":"secret"}"#,
            r#"{"size":1.5}"#,
            r#"{"sha256":"0g"}"#,
            r#"{"sha256":"012"}"#,
        ] {
            let error = Row::from_line(Table::Blobs, line).unwrap_err();
            assert!(
                matches!(error, RowError::Type { table: "blobs", .. }),
                "{error}"
            );
        }
        let line = r#"{"stage":"later"}"#;
        assert!(Row::from_line(Table::Statistics, line).is_err());
        for line in ["", "[]", "7", "{", "{}{}"] {
            let error = Row::from_line(Table::Blobs, line).unwrap_err();
            assert_eq!(error, RowError::Unreadable("blobs"), "{line}");
        }
    }
}
