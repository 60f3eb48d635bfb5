//! Records with everything that is derived from them: keys by which indexes find texts, entity types, the ledger, and
//! how many records and bytes each day has.

use super::copy::CopyText;
use super::positions::{Position, Positions};
use crate::error::StoreError;
use crate::postgres::partitions;
use crate::postgres::records::row::ROWS_BYTES;
use crate::postgres::seq::{Day, first_seq_at, now_ms};
use crate::postgres::values::{escaped, exchange_key, session_key, text_key, tool_key};
use crate::sql::records::from_json;
use crate::transfer::{BODY, CALL, COST, PARTS, Row, TOOL, Table, UNCHECKED};
use monitor_model::{ApplicationId, Stage, TypeCount};
use sqlx::{Connection as _, PgConnection};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Days that get a partition; records of others are in the default one, as those of servers are.
const OLDEST_DAYS: i64 = 800;
const AHEAD_DAYS: i64 = 3;

const HIGHEST: &str = "SELECT max(seq) FROM records WHERE seq >= $1 AND seq < $2";
const COLUMNS: &str = "seq, id, application_id, stage, exchange_id, user_id, session_id, created_at_ms,
    rules_version, status, flagged_guardrails, flagged_custom_policy, flagged_dataclean, token_count, severity,
    types, failed, incomplete, blocked, total_us, chain_gateway, chain_sequence, flagged, user_key, session_key,
    bytes";
/// Columns of the portable row in front, in the order of `COLUMNS`.
const SAME: [&str; 21] = [
    "id",
    "application_id",
    "stage",
    "exchange_id",
    "user_id",
    "session_id",
    "created_at_ms",
    "rules_version",
    "status",
    "flagged_guardrails",
    "flagged_custom_policy",
    "flagged_dataclean",
    "token_count",
    "severity",
    "types",
    "failed",
    "incomplete",
    "blocked",
    "total_us",
    "chain_gateway",
    "chain_sequence",
];

/// A row of `statistics`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DayKey {
    pub(super) application: Uuid,
    pub(super) day: i64,
    pub(super) is_answer: bool,
}

impl DayKey {
    /// Of a row of statistics.
    pub(super) fn of(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            application: row.required_id("application_id")?,
            day: row.required("day")?,
            is_answer: is_answer(row),
        })
    }
}

/// What a day's records are together.
#[derive(Clone, Copy, Default)]
pub(super) struct Kept {
    pub(super) rows: i64,
    pub(super) bytes: i64,
}

/// Writes records with what is derived from them, and counts what each day has.
pub(super) struct RecordsWriter {
    positions: Positions,
    days: BTreeSet<Day>,
    kept: BTreeMap<DayKey, Kept>,
}

/// The rows of one batch that are not sent yet.
struct Pending {
    columns: Columns,
    records: CopyText,
    bodies: CopyText,
    types: CopyText,
    ledger: CopyText,
}

/// Which columns the rows of a batch need: an older schema has no others.
#[derive(Clone, Copy)]
struct Columns {
    has_tools: bool,
    has_parts: bool,
    has_costs: bool,
    has_unchecked: bool,
    has_calls: bool,
}

impl Columns {
    fn of(rows: &[Row]) -> Self {
        let has = |column| rows.iter().any(|row| row.text(column).is_some());
        Self {
            has_tools: has("tool_name"),
            has_parts: has(PARTS[0]),
            has_costs: has("priced"),
            has_unchecked: rows.iter().any(|row| row.flag(UNCHECKED)),
            has_calls: CALL.into_iter().any(has),
        }
    }
}

impl RecordsWriter {
    pub(super) fn new() -> Self {
        Self {
            positions: Positions::new(),
            days: BTreeSet::new(),
            kept: BTreeMap::new(),
        }
    }

    /// What the records of a day are together; they are not counted again.
    pub(super) fn take_kept(&mut self, key: DayKey) -> Kept {
        self.kept.remove(&key).unwrap_or_default()
    }

    /// The days whose records nobody has asked for.
    pub(super) fn take_all_kept(&mut self) -> BTreeMap<DayKey, Kept> {
        std::mem::take(&mut self.kept)
    }

    /// Writes records in one transaction, unless one comes late: then in several.
    pub(super) async fn write(
        &mut self,
        connection: &mut PgConnection,
        rows: &[Row],
    ) -> Result<(), StoreError> {
        self.create_days(connection, rows).await?;
        let columns = Columns::of(rows);
        let mut pending = Pending::new(columns);
        for row in rows {
            let at_ms = row.required("created_at_ms")?;
            let seq = loop {
                match self.positions.next(at_ms) {
                    Position::At(seq) => break seq,
                    Position::Unknown(ms) => {
                        std::mem::replace(&mut pending, Pending::new(columns))
                            .send(connection)
                            .await?;
                        let highest = sqlx::query_scalar(HIGHEST)
                            .bind(first_seq_at(ms))
                            .bind(first_seq_at(ms + 1));
                        let highest = highest.fetch_one(&mut *connection).await?;
                        self.positions.learn(ms, highest);
                    }
                }
            };
            let bytes = pending.add(row, seq)?;
            let kept = self.kept.entry(DayKey {
                application: row.required_id("application_id")?,
                day: Day::of(at_ms).0,
                is_answer: is_answer(row),
            });
            let kept = kept.or_default();
            kept.rows += 1;
            kept.bytes += bytes;
        }
        pending.send(connection).await
    }

    async fn create_days(
        &mut self,
        connection: &mut PgConnection,
        rows: &[Row],
    ) -> Result<(), StoreError> {
        let today = Day::of(now_ms()).0;
        let wanted = today - OLDEST_DAYS..=today + AHEAD_DAYS;
        for row in rows {
            let day = Day::of(row.required("created_at_ms")?);
            if wanted.contains(&day.0) && self.days.insert(day) {
                partitions::create_day(connection, day).await?;
            }
        }
        Ok(())
    }
}

impl Pending {
    fn new(columns: Columns) -> Self {
        let needed = |is_needed: bool, names: &'static [&'static str]| match is_needed {
            true => names,
            false => &[],
        };
        let tools = needed(columns.has_tools, &TOOL);
        let keys = needed(columns.has_parts, &PARTS[..1]);
        let costs = needed(columns.has_costs, &COST);
        let unchecked = needed(columns.has_unchecked, &[UNCHECKED]);
        let calls = needed(columns.has_calls, &CALL);
        let parts = needed(columns.has_parts, &PARTS[1..]);
        let records = [&[COLUMNS], tools, keys, costs, unchecked, calls].concat();
        let bodies = [&["seq"], BODY.as_slice(), parts].concat();
        Self {
            columns,
            records: CopyText::new("records", &records.join(", ")),
            bodies: CopyText::new("record_bodies", &bodies.join(", ")),
            types: CopyText::new("record_types", "kind_key, seq, application_id"),
            ledger: CopyText::new("record_ledger", "key, seq"),
        }
    }

    /// Adds a record; gives the size that is counted for it.
    fn add(&mut self, row: &Row, seq: i64) -> Result<i64, StoreError> {
        let application = row.required_id("application_id")?;
        let stored = |column| row.text(column).map(escaped);
        let (user, session) = (stored("user_id"), stored("session_id"));
        let is_tool = row.text("tool_name").is_some();
        let of_tool = TOOL.map(|column| stored(column).filter(|_| is_tool));
        let [name, call_id] = of_tool;
        let exchange = stored("exchange_id");
        let ids = [exchange, user.clone(), session.clone(), name, call_id];
        let ids: usize = ids.iter().flatten().map(|id| id.len()).sum();
        let bytes = row
            .required("bytes")?
            .saturating_add((ids + ROWS_BYTES) as i64);
        let flags = [
            "flagged_guardrails",
            "flagged_custom_policy",
            "flagged_dataclean",
        ];
        self.records.number(seq);
        cells(&mut self.records, row, &SAME);
        self.records.flag(flags.iter().any(|flag| row.flag(flag)));
        self.records.optional_number(user.as_deref().map(text_key));
        self.records
            .optional_id(session.as_deref().map(session_key));
        self.records.number(bytes);
        match (self.columns.has_tools, is_tool) {
            (false, _) => {}
            (true, true) => cells(&mut self.records, row, &TOOL),
            (true, false) => TOOL.iter().for_each(|_| self.records.optional_number(None)),
        }
        if self.columns.has_parts {
            cells(&mut self.records, row, &PARTS[..1]);
        }
        if self.columns.has_costs {
            cells(&mut self.records, row, &COST);
        }
        if self.columns.has_unchecked {
            self.records.flag(row.flag(UNCHECKED));
        }
        if self.columns.has_calls {
            cells(&mut self.records, row, &CALL);
        }
        self.records.end_row();
        self.bodies.number(seq);
        cells(&mut self.bodies, row, &BODY);
        if self.columns.has_parts {
            cells(&mut self.bodies, row, &PARTS[1..]);
        }
        self.bodies.end_row();
        for key in type_keys(row)? {
            self.types.number(key);
            self.types.number(seq);
            self.types.id(application);
            self.types.end_row();
        }
        self.ledger.id(ledger_key(row, application)?);
        self.ledger.number(seq);
        self.ledger.end_row();
        Ok(bytes)
    }

    async fn send(self, connection: &mut PgConnection) -> Result<(), StoreError> {
        let mut transaction = connection.begin().await?;
        for rows in [self.records, self.bodies, self.types, self.ledger] {
            rows.send(&mut transaction).await?;
        }
        Ok(transaction.commit().await?)
    }
}

fn cells(copy: &mut CopyText, row: &Row, names: &[&str]) {
    let columns = Table::Records.columns();
    for name in names {
        let column = columns.iter().find(|column| column.name == *name);
        if let Some(column) = column {
            copy.value(column.kind, row.value(name));
        }
    }
}

fn is_answer(row: &Row) -> bool {
    row.text("stage") == Some("post")
}

fn type_keys(row: &Row) -> Result<BTreeSet<i64>, StoreError> {
    let types: Vec<TypeCount> = from_json(row.text("types").unwrap_or("[]"))?;
    let keys: Vec<String> = from_json(row.text(PARTS[0]).unwrap_or("[]"))?;
    let types = types.iter().map(|found| text_key(&found.kind));
    Ok(types.chain(keys.iter().map(|key| text_key(key))).collect())
}

fn ledger_key(row: &Row, application: Uuid) -> Result<Uuid, StoreError> {
    let Some(exchange) = row.text("exchange_id") else {
        return row.required_id("id");
    };
    let key = exchange_key(ApplicationId(application), stage(row), exchange);
    match row.text("tool_name") {
        Some(_) => Ok(tool_key(key, row.text("tool_call_id").unwrap_or_default())),
        None => Ok(key),
    }
}

/// The key of the record that a file waits for.
pub(super) fn waits_for(row: &Row) -> Result<Uuid, StoreError> {
    let application = ApplicationId(row.required_id("application_id")?);
    let exchange = row.text("exchange_id").unwrap_or_default();
    Ok(exchange_key(application, stage(row), exchange))
}

fn stage(row: &Row) -> Stage {
    match is_answer(row) {
        true => Stage::PostCall,
        false => Stage::PreCall,
    }
}
