//! Rows as the text of COPY, by which PostgreSQL takes many at once.

use crate::error::StoreError;
use crate::postgres::values::escaped;
use crate::transfer::{ColumnKind, Row, Value};
use sqlx::PgConnection;
use std::fmt::Write as _;
use uuid::Uuid;

/// The rows of one statement.
pub(super) struct CopyText {
    statement: String,
    text: String,
    /// Whether the next cell is the first of its row.
    is_first: bool,
}

impl CopyText {
    /// Rows for these columns of a table.
    pub(super) fn new(table: &str, columns: &str) -> Self {
        Self {
            statement: format!("COPY {table} ({columns}) FROM STDIN"),
            text: String::new(),
            is_first: true,
        }
    }

    /// Appends the cells of a portable row that a schema has.
    pub(super) fn row(&mut self, row: &Row, schema: i64) {
        let columns = row.table().columns().iter();
        for (column, value) in columns.zip(row.values()) {
            if row.table().has(column.name, schema) {
                self.value(column.kind, value);
            }
        }
    }

    /// Appends a cell.
    pub(super) fn value(&mut self, kind: ColumnKind, value: &Value) {
        match (kind, value) {
            (_, Value::Null) => self.null(),
            (_, Value::Number(number)) => self.number(*number),
            (_, Value::Flag(flag)) => self.flag(*flag),
            (_, Value::Id(id)) => self.id(*id),
            (_, Value::Bytes(bytes)) => self.bytes(bytes),
            (ColumnKind::Stage, Value::Text(word)) => self.number(i64::from(word == "post")),
            (ColumnKind::Text, Value::Text(text)) => self.text(&escaped(text)),
            (_, Value::Text(text)) => self.text(text),
        }
    }

    pub(super) fn number(&mut self, number: i64) {
        self.begin_cell();
        let _ = write!(self.text, "{number}");
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.begin_cell();
        self.text.push(if flag { 't' } else { 'f' });
    }

    pub(super) fn id(&mut self, id: Uuid) {
        self.begin_cell();
        let _ = write!(self.text, "{id}");
    }

    pub(super) fn optional_number(&mut self, number: Option<i64>) {
        match number {
            Some(number) => self.number(number),
            None => self.null(),
        }
    }

    pub(super) fn optional_id(&mut self, id: Option<Uuid>) {
        match id {
            Some(id) => self.id(id),
            None => self.null(),
        }
    }

    pub(super) fn end_row(&mut self) {
        self.text.push('\n');
        self.is_first = true;
    }

    /// Sends the rows, within the connection's transaction.
    pub(super) async fn send(self, connection: &mut PgConnection) -> Result<(), StoreError> {
        if self.text.is_empty() {
            return Ok(());
        }
        let mut copy = connection.copy_in_raw(&self.statement).await?;
        if let Err(error) = copy.send(self.text.as_bytes()).await {
            // The first error is the one to report.
            let _ = copy.abort("interrupted").await;
            return Err(error.into());
        }
        copy.finish().await?;
        Ok(())
    }

    fn null(&mut self) {
        self.begin_cell();
        self.text.push_str("\\N");
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.begin_cell();
        self.text.push_str("\\\\x");
        for byte in bytes {
            let _ = write!(self.text, "{byte:02x}");
        }
    }

    fn text(&mut self, text: &str) {
        self.begin_cell();
        self.text.reserve(text.len());
        for character in text.chars() {
            match character {
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                plain => self.text.push(plain),
            }
        }
    }

    fn begin_cell(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.text.push('\t');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_written_as_copy_reads_them() {
        let mut copy = CopyText::new("t", "a, b");
        copy.value(ColumnKind::Word, &Value::Text("a\\N\tb\r\n".to_owned()));
        copy.value(ColumnKind::Text, &Value::Text("\0".to_owned()));
        copy.value(ColumnKind::Number, &Value::Null);
        copy.end_row();
        copy.value(ColumnKind::Bytes, &Value::Bytes(vec![0, 255]));
        copy.value(ColumnKind::Stage, &Value::Text("post".to_owned()));
        copy.flag(true);
        copy.end_row();
        assert_eq!(copy.statement, "COPY t (a, b) FROM STDIN");
        assert_eq!(
            copy.text,
            "a\\\\N\\tb\\r\\n\t\u{10FFFF}0\t\\N\n\\\\x00ff\t1\tt\n"
        );
    }
}
