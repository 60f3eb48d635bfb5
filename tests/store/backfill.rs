//! The migration that introduced traffic per hour counts the records that were stored before it, in every
//! engine alike. What is counted later is tested by the contract.

use monitor_model::{ApplicationId, TypeCount, is_pattern_name};
use monitor_store::{
    HourTraffic, OTHER_FINDS, PostgresStore, SqliteStore, Store, StoreEngine as _,
};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use support::postgres::{Database, Postgres};
use support::stack::Folder;
use tokio::runtime::Runtime;
use uuid::Uuid;

const HOUR_MS: i64 = 3_600_000;
/// Days of which the hours are counted anew, less the one that may end while a test runs.
const DAYS: i64 = 31;

/// What a list says of a record.
struct Kept {
    number: i64,
    application: Uuid,
    is_answer: bool,
    created_at_ms: i64,
    /// Guardrails, custom policy, dataclean; blocked; failed.
    marks: [bool; 5],
    tokens: u64,
    total_us: u64,
    types: Vec<(&'static str, u64)>,
}

impl Kept {
    /// Three hours before the last one, at another minute, with other verdicts.
    fn new(number: i64, now_ms: i64) -> Self {
        let hour = now_ms.div_euclid(HOUR_MS) - 3 * number;
        let every = |nth: i64| number % nth == 0;
        let types = [("INN", 2), ("EMAILS", 3), ("О'Нил", 5)];
        let found = types.into_iter().filter(|(_, nth)| every(*nth));
        Self {
            number,
            application: Uuid::from_u128(1 + u128::from(every(2))),
            is_answer: every(3),
            created_at_ms: hour * HOUR_MS + (number * 997_000) % HOUR_MS,
            marks: [every(4), every(5), every(2), every(7), every(11)],
            tokens: 10 + number.unsigned_abs(),
            total_us: 1_000 + number.unsigned_abs() % 13,
            types: found
                .map(|(kind, nth)| (kind, nth.unsigned_abs()))
                .collect(),
        }
    }

    fn hour(&self) -> i64 {
        self.created_at_ms.div_euclid(HOUR_MS)
    }

    fn is_of(&self, application: Option<Uuid>) -> bool {
        application.is_none_or(|application| application == self.application)
    }

    fn id(&self) -> Uuid {
        Uuid::from_u128(self.number.unsigned_abs().into())
    }

    fn types_json(&self) -> String {
        let types = self.types.iter();
        let types = types.map(|(kind, count)| serde_json::json!({"type": kind, "count": count}));
        quoted(&serde_json::Value::from_iter(types).to_string())
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A month of records, the first and the last millisecond of an hour, and some that are too old to count.
fn records() -> Vec<Kept> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now_ms = i64::try_from(now.as_millis()).unwrap();
    let numbers = (1..240).chain(272..280);
    let mut all: Vec<_> = numbers.map(|number| Kept::new(number, now_ms)).collect();
    for (number, at_ms) in [(300, 0), (301, HOUR_MS - 1), (302, -1)] {
        let border = (now_ms.div_euclid(HOUR_MS) - 50) * HOUR_MS;
        all.push(Kept {
            number,
            created_at_ms: border + at_ms,
            ..Kept::new(7, now_ms)
        });
    }
    all
}

/// Those that are counted.
fn recent(records: &[Kept]) -> Vec<&Kept> {
    let newest = records.iter().map(Kept::hour).max().unwrap();
    let recent = records.iter();
    recent
        .filter(|one| one.hour() > newest - DAYS * 24)
        .collect()
}

fn hours(records: &[&Kept], application: Option<Uuid>) -> Vec<HourTraffic> {
    let mut hours = BTreeMap::new();
    for one in records.iter().filter(|one| one.is_of(application)) {
        let sum: &mut HourTraffic = hours.entry(one.hour()).or_default();
        sum.hour = one.hour();
        sum.prompts += u64::from(!one.is_answer);
        sum.answers += u64::from(one.is_answer);
        sum.flagged_guardrails += u64::from(one.marks[0]);
        sum.flagged_custom_policy += u64::from(one.marks[1]);
        sum.flagged_dataclean += u64::from(one.marks[2]);
        sum.blocked += u64::from(one.marks[3]);
        sum.failed += u64::from(one.marks[4]);
        sum.tokens += one.tokens;
        sum.total_us += one.total_us;
        sum.max_us = sum.max_us.max(one.total_us);
    }
    hours.into_values().collect()
}

/// Finds of a span of hours, most first. What patterns of their own find is one kind where all applications are
/// counted together.
fn types(records: &[&Kept], application: Option<Uuid>, span: (i64, i64)) -> Vec<TypeCount> {
    let mut sums = BTreeMap::new();
    let within = |one: &Kept| (span.0..=span.1).contains(&one.hour());
    for one in records
        .iter()
        .filter(|one| one.is_of(application) && within(one))
    {
        for (kind, count) in &one.types {
            let is_own = !is_pattern_name(kind);
            let kind = if application.is_none() && is_own {
                OTHER_FINDS
            } else {
                kind
            };
            *sums.entry(kind).or_insert(0) += count;
        }
    }
    let sums = sums.into_iter().map(|(kind, count)| TypeCount {
        kind: kind.to_owned(),
        count,
    });
    let mut sums: Vec<_> = sums.collect();
    sums.sort_by_key(|found| std::cmp::Reverse(found.count));
    sums
}

/// The counters against a count over the records: of each application and of all, by the hour; of finds
/// by the day, which is as fine as every database knows them from before.
async fn assert_counted(store: &dyn Store, all: &[Kept]) {
    let records = recent(all);
    assert!(records.len() > 200 && records.len() < all.len());
    let last = records.iter().map(|one| one.hour()).max().unwrap();
    for application in [None, Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2))] {
        let id = application.map(ApplicationId);
        let seen = store.traffic(id, (0, last)).await.unwrap();
        assert_eq!(seen, hours(&records, application), "{application:?}");
        let days = last / 24 - DAYS..=last / 24;
        let spans = days.map(|day| (day * 24, day * 24 + 23));
        for span in spans.chain([(0, last + 24)]) {
            let seen = store.traffic_types(id, span, 9).await.unwrap();
            assert_eq!(seen, types(&records, application, span), "{span:?}");
        }
    }
}

/// The migrations before the one that began to count.
fn migrations_before(database: &str) -> Vec<String> {
    let folder = format!(
        "{}/crates/store/src/{database}/migrations",
        env!("CARGO_MANIFEST_DIR")
    );
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let is_it = |path: &std::path::PathBuf| path.to_string_lossy().ends_with("_traffic.sql");
    let first = files.iter().position(is_it).unwrap();
    let before = files[..first].iter();
    before
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

fn sqlite_row(one: &Kept) -> String {
    let hex = |id: Uuid| format!("x'{}'", id.simple());
    let stage = if one.is_answer { "post" } else { "pre" };
    let marks = one.marks.map(|mark| u8::from(mark).to_string()).join(", ");
    format!(
        "({}, {}, '{stage}', {}, 1, 'success', {marks}, 0, {}, {}, {}, 100)",
        hex(one.id()),
        hex(one.application),
        one.created_at_ms,
        one.tokens,
        one.types_json(),
        one.total_us
    )
}

#[test]
fn a_sqlite_file_counts_the_hours_of_the_records_that_it_held_before() {
    let (folder, all) = (Folder::new(), records());
    let file = folder.path().join("monitor.db");
    let mut sql = "CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT;".to_owned();
    for (version, migration) in (1..).zip(migrations_before("sqlite")) {
        sql += &format!("{migration};\nINSERT INTO schema_version VALUES ({version});\n");
    }
    let rows: Vec<_> = all.iter().map(sqlite_row).collect();
    sql += "INSERT INTO records (id, application_id, stage, created_at_ms, rules_version, status, \
            flagged_guardrails, flagged_custom_policy, flagged_dataclean, blocked, failed, incomplete, \
            token_count, types, total_us, bytes) VALUES ";
    sql += &rows.join(",\n");
    Runtime::new().unwrap().block_on(async {
        let options = SqliteConnectOptions::new().filename(&file);
        let options = options.create_if_missing(true).foreign_keys(false);
        let mut database = options.connect().await.unwrap();
        let made = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut database);
        made.await.unwrap();
        drop(database);
        let store = SqliteStore::open(&file).await.unwrap();
        assert_counted(&store, &all).await;
        store.close().await;
    });
}

fn postgres_row(one: &Kept) -> String {
    let flagged = one.marks[..3].contains(&true);
    let marks = one.marks.map(|mark| mark.to_string()).join(", ");
    format!(
        "({}, '{}', '{}', {}, {}, 'success', {flagged}, {marks}, false, {}, {}, {}, 100)",
        one.number,
        one.id(),
        one.application,
        u8::from(one.is_answer),
        one.created_at_ms,
        one.tokens,
        one.types_json(),
        one.total_us
    )
}

/// Finds by the day, as they were counted before: by application, stage and lane.
fn postgres_types(all: &[Kept]) -> Vec<String> {
    let mut sums = BTreeMap::new();
    for one in all {
        for (kind, count) in &one.types {
            let lane = one.number % 3;
            let key = (
                one.hour().div_euclid(24),
                one.application,
                one.is_answer,
                lane,
                *kind,
            );
            *sums.entry(key).or_insert(0) += count;
        }
    }
    let row =
        |((day, application, is_answer, lane, kind), count): ((_, Uuid, bool, _, &str), u64)| {
            let (stage, key) = (u8::from(is_answer), kind.len());
            let (day, lane): (i64, i64) = (day, lane);
            format!(
                "({day}, '{application}', {stage}, {lane}, {key}, {}, {count})",
                quoted(kind)
            )
        };
    sums.into_iter().map(row).collect()
}

fn fill(database: &Database, all: &[Kept]) {
    let rows: Vec<_> = all.iter().map(postgres_row).collect();
    database.execute(&format!(
        "INSERT INTO records (seq, id, application_id, stage, created_at_ms, status, flagged, \
         flagged_guardrails, flagged_custom_policy, flagged_dataclean, blocked, failed, incomplete, \
         token_count, types, total_us, bytes) VALUES {}",
        rows.join(",\n")
    ));
    let types = postgres_types(all).join(",\n");
    database.execute(&format!("INSERT INTO statistics_types VALUES {types}"));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_postgresql_database_counts_the_hours_of_the_records_that_it_held_before() {
    let server = Postgres::shared();
    let (database, all) = (server.empty_database(), records());
    database.execute(
        "CREATE TABLE schema_version (version bigint PRIMARY KEY,
             applied_at timestamptz NOT NULL DEFAULT now())",
    );
    for (version, migration) in (1..).zip(migrations_before("postgres")) {
        database.execute(&migration);
        database.execute(&format!(
            "INSERT INTO schema_version (version) VALUES ({version})"
        ));
    }
    fill(&database, &all);
    Runtime::new().unwrap().block_on(async {
        let store = PostgresStore::open(&database.settings()).await.unwrap();
        assert_counted(&store, &all).await;
        store.close().await;
    });
}
