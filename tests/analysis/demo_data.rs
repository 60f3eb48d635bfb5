//! `monitor demo-data`: what a server shows of a store that it filled, and the stores that it leaves alone.

use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};
use support::KEY;
use support::api::records;
use support::stack::{Folder, Stack};

const DAY_MS: i64 = 86_400_000;

/// Runs the command over the data folder of a stack with this folder.
fn demo_data(folder: &Path, further: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_monitor"))
        .env_clear()
        .args(["demo-data", "--data-dir"])
        .arg(folder.join("data"))
        .args(further)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn filled(folder: &Path, further: &[&str]) {
    let run = demo_data(folder, further);
    assert!(run.status.success(), "{}", text(&run.stderr));
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

#[test]
fn a_filled_store_has_a_month_of_exchanges_and_one_leak() {
    let folder = Folder::new();
    let run = demo_data(folder.path(), &[]);
    let told = text(&run.stderr);
    assert!(run.status.success(), "{told}");
    assert!(told.contains("demo data, exchanges: 1"), "{told}");
    let said = text(&run.stdout);
    assert!(said.contains("of 30 days in 3 applications"), "{said}");
    let stack = Stack::all().folder(&folder).start();
    let applications = stack.analysis("/applications", KEY).json();
    let names = applications["applications"].as_array().unwrap().iter();
    let own = names.filter(|it| it["name"].as_str().unwrap().starts_with("Demo data: "));
    assert_eq!(own.count(), 3);

    let cards = records(&stack, "type=BANK_CARD_NUMBER&limit=100");
    assert_eq!(cards.len(), 30);
    let users: HashSet<_> = cards.iter().map(|it| it["user_id"].to_string()).collect();
    assert_eq!(users.len(), 1, "{users:?}");
    let at = |record: &Value| record["created_at_ms"].as_i64().unwrap();
    assert!(cards.iter().all(|it| at(it) > now_ms() - 7 * DAY_MS));
    assert!(cards.iter().all(|it| it["blocked"] == false));
    for verdict in ["blocked", "unchecked", "failed", "guardrails"] {
        let found = records(&stack, &format!("verdict={verdict}"));
        assert!(!found.is_empty(), "{verdict}");
    }
    let answers = records(&stack, "stage=post&limit=200");
    assert_eq!(answers.len(), 200);
    let measured = answers.iter().filter(|it| it["latency_ms"].is_u64());
    assert_eq!(measured.count(), 200);
    let oldest = format!("to={}", now_ms() - 27 * DAY_MS);
    assert!(!records(&stack, &oldest).is_empty());
    let future = format!("from={}", now_ms() + 1);
    assert!(records(&stack, &future).is_empty());
}

#[test]
fn a_store_with_records_is_left_alone_unless_it_is_forced() {
    let folder = Folder::new();
    let few = ["--days", "7", "--seed", "5"];
    filled(folder.path(), &few);
    let refused = demo_data(folder.path(), &few);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(
        said.contains("has records already") && said.contains("--force"),
        "{said}"
    );
    let forced = [&few[..], &["--force"]].concat();
    filled(folder.path(), &forced);
    let stack = Stack::all().folder(&folder).start();
    let cards = records(&stack, "type=BANK_CARD_NUMBER&limit=100");
    assert_eq!(cards.len(), 60);
}
