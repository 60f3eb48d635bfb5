//! Portable rows out of an engine's rows. Its statements name their columns as `transfer::Table` does.

use super::columns::Columns;
use crate::error::StoreError;
use crate::transfer::{Column, ColumnKind, Row, Table, Value};
use monitor_model::Stage;

/// A row of this table.
pub(crate) fn portable(table: Table, row: &impl Columns) -> Result<Row, StoreError> {
    let columns = table.columns().iter();
    let values = columns.map(|column| value(column, row));
    Ok(Row::new(table, values.collect::<Result<_, _>>()?))
}

fn value(column: &Column, row: &impl Columns) -> Result<Value, StoreError> {
    let name = column.name;
    Ok(match column.kind {
        ColumnKind::Number => row
            .optional_number(name)?
            .map_or(Value::Null, Value::Number),
        ColumnKind::Flag => Value::Flag(row.flag(name)?),
        ColumnKind::Id => row.optional_id(name)?.map_or(Value::Null, Value::Id),
        ColumnKind::Bytes => Value::Bytes(row.bytes(name)?.to_vec()),
        ColumnKind::Text => row.optional_text(name)?.map_or(Value::Null, Value::Text),
        ColumnKind::Word => row.optional_raw(name)?.map_or(Value::Null, text),
        ColumnKind::Stage => text(stage_word(row.stage()?)),
        ColumnKind::Document => Value::Text(row.rules()?.to_string()),
    })
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// A stage as portable rows name it.
pub(crate) fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::PreCall => "pre",
        Stage::PostCall => "post",
    }
}
