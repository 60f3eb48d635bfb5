//! Lists of a large store: how long a page takes, and how long a start.

use super::{Kind, Scale, fill, process, store, transfer, web};
use bench_support::results::{Table, percentile};
use monitor_model::ApplicationId;
use monitor_store::{PostgresStore, SqliteStore, Store};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use support::KEY;
use support::request::Request;
use support::stack::{Folder, Stack};

/// Times each page is read.
pub(crate) const TIMES: usize = 15;

/// What is read, and within which time.
const PAGES: [(&str, &str, &str); 14] = [
    ("list page", "/records", "≤ 100 ms"),
    ("of a user", "/records?user_id=user4711", "≤ 200 ms"),
    ("of a common type", "/records?type=EMAILS", "≤ 200 ms"),
    ("of a rare type", "/records?type=SNILS", "≤ 200 ms"),
    (
        "of a user and a type",
        "/records?user_id=user9&type=SNILS",
        "≤ 200 ms",
    ),
    ("of an access key", "/records?token=key%201", "≤ 200 ms"),
    ("of a model that is nowhere", "/records?model=m", "≤ 200 ms"),
    ("flagged", "/records?verdict=flagged", "≤ 200 ms"),
    ("clean", "/records?verdict=clean", "≤ 200 ms"),
    ("passed unchecked", "/records?verdict=unchecked", "≤ 200 ms"),
    (
        "passed unchecked, of a rare type",
        "/records?verdict=unchecked&type=SNILS",
        "≤ 200 ms",
    ),
    ("with a text that is nowhere", "/records?text=xyzzy", ""),
    ("sessions", "/sessions", "≤ 100 ms"),
    ("statistics of 30 days", "/statistics", "≤ 100 ms"),
];

pub(crate) fn run(case: &'static str, kind: Kind, scale: &Scale, table: &mut Table) {
    let (server, builder) = store(kind);
    let folder = Folder::new();
    let builder = builder.folder(&folder);
    // The first start makes schema, applications and token.
    let stack = builder.clone().start();
    let applications = applications(&stack, scale.applications);
    drop(stack);
    let open = || async {
        let store: Arc<dyn Store> = match &server {
            None => {
                let path = folder.path().join("data/monitor.db");
                Arc::new(SqliteStore::open(&path).await.unwrap())
            }
            Some((_, database)) => {
                Arc::new(PostgresStore::open(&database.settings()).await.unwrap())
            }
        };
        store
    };
    let filled = Instant::now();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = open().await;
        fill::fill(store.clone(), applications.into(), scale.rows, now_ms()).await;
        store.close().await;
    });
    let rate = scale.rows as f64 / filled.elapsed().as_secs_f64();
    table.note(case, "records filled in per second", rate.round(), "");
    let begin = Instant::now();
    let stack = builder.start();
    table.add(case, "start to ready", begin.elapsed(), "≤ 2 s");
    lists(case, &stack, table);
    web::run(case, &stack, table);
    table.note(case, "resident MiB", process::resident_mib(&stack), "≤ 200");
    drop(stack);
    let stored = transfer::Stored {
        data: &folder.path().join("data"),
        server: server.as_ref().map(|(server, database)| (server, database)),
        rows: scale.rows,
    };
    transfer::run(case, &stored, table);
}

/// The first application, and so many more.
fn applications(stack: &Stack, count: usize) -> Vec<ApplicationId> {
    let bearer = format!("Bearer {KEY}");
    let more = (0..count).map(|number| {
        let body = serde_json::json!({"name": format!("Application {number:05}")});
        let request = Request::post("/applications", body.to_string()).without_key();
        let made = request.header("Authorization", &bearer);
        let made = made.call(stack.analysis_addr);
        assert_eq!(made.status(), 201, "{}", made.text());
        made.json()["id"].as_str().unwrap().parse().unwrap()
    });
    let first = stack.application_id().parse().unwrap();
    std::iter::once(first).chain(more).collect()
}

fn lists(case: &str, stack: &Stack, table: &mut Table) {
    for (name, path, goal) in PAGES {
        let mut taken: Vec<Duration> = (0..TIMES).map(|_| read(stack, path)).collect();
        table.add(case, name, percentile(&mut taken, 0.5), goal);
    }
}

fn read(stack: &Stack, path: &str) -> Duration {
    let begin = Instant::now();
    let response = stack.analysis(path, KEY);
    assert_eq!(response.status(), 200, "{path}");
    begin.elapsed()
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
