//! Portable rows out of an engine's rows. Its statements name their columns as `transfer::Table` does; here are those of
//! tables that both engines have alike.

use super::columns::Columns;
use crate::error::StoreError;
use crate::transfer::{Column, ColumnKind, Row, Table, Value};
use monitor_model::Stage;

/// The statements that read these tables in order.
pub(crate) const TOMBSTONES: &str = "SELECT * FROM erased_users ORDER BY at_ms, id";
pub(crate) const VALUE_KEYS: &str = "SELECT * FROM value_keys ORDER BY id";
pub(crate) const TOKENS: &str = "SELECT * FROM tokens ORDER BY created_at_ms, id";
pub(crate) const ACCOUNTS: &str = "SELECT * FROM accounts ORDER BY created_at_ms, id";
pub(crate) const IDENTITIES: &str = "SELECT * FROM identities ORDER BY issuer, subject";
pub(crate) const SAVED_FILTERS: &str = "SELECT * FROM saved_filters ORDER BY created_at_ms, id";
pub(crate) const ALERT_RULES: &str = "SELECT * FROM alert_rules ORDER BY created_at_ms, id";
pub(crate) const ALERT_CHANNELS: &str = "SELECT * FROM alert_channels ORDER BY created_at_ms, id";
pub(crate) const ALERTS: &str = "SELECT * FROM alerts ORDER BY first_ms, id";
pub(crate) const ALERT_DELIVERIES: &str =
    "SELECT * FROM alert_deliveries ORDER BY created_at_ms, id";
pub(crate) const CHAIN_GATEWAYS: &str = "SELECT * FROM chain_gateways ORDER BY gateway";
pub(crate) const CHAIN_RUNS: &str = "SELECT * FROM chain_runs ORDER BY gateway, first";
pub(crate) const CHAIN_CUTS: &str = "SELECT * FROM chain_cuts ORDER BY gateway, first";
pub(crate) const CHAIN_STUBS: &str = "SELECT * FROM chain_stubs ORDER BY gateway, first";

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

/// Names the application whose policy the schema does not know.
pub(crate) fn refused_application(row: &Row, error: StoreError) -> StoreError {
    match (error, row.id("id")) {
        (StoreError::Refused(reason), Some(id)) => {
            StoreError::Refused(format!("the policy of application {id}: {reason}"))
        }
        (error, _) => error,
    }
}
