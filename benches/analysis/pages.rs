//! Lists of a large store: how long a page takes, and how long a start.

use super::support::KEY;
use super::support::stack::Stack;
use super::table::{Table, percentile};
use super::visitor::Visitor;
use super::{Kind, Scale, fill, process, store};
use monitor_gateway::store::{PostgresStore, SqliteStore, Store};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Times each page is read.
const TIMES: usize = 15;

/// What is read, and within which time.
const PAGES: [(&str, &str, &str); 9] = [
    ("list page", "/records", "≤ 100 ms"),
    ("of a user", "/records?user_id=user4711", "≤ 200 ms"),
    ("of a common type", "/records?type=EMAILS", "≤ 200 ms"),
    ("of a rare type", "/records?type=SNILS", "≤ 200 ms"),
    (
        "of a user and a type",
        "/records?user_id=user9&type=SNILS",
        "≤ 200 ms",
    ),
    ("flagged", "/records?verdict=flagged", "≤ 200 ms"),
    ("with a text that is nowhere", "/records?text=xyzzy", ""),
    ("sessions", "/sessions", "≤ 100 ms"),
    ("statistics of 30 days", "/statistics", "≤ 100 ms"),
];

/// Pages of the web UI, and within which time each is made.
const UI_PAGES: [(&str, &str); 11] = [
    ("overview of a day", "/ui/overview"),
    ("overview of a week", "/ui/overview?period=7d"),
    ("overview of a month", "/ui/overview?period=30d"),
    (
        "overview of an application",
        "/ui/overview?period=30d&application_id=default",
    ),
    ("list of records", "/ui/records"),
    ("list of blocked records", "/ui/records?verdict=blocked"),
    ("list of sessions", "/ui/sessions"),
    ("list of applications", "/ui/applications"),
    ("status", "/ui/status"),
    ("audit log", "/ui/audit"),
    ("first steps", "/ui/first-steps"),
];

pub(crate) fn run(case: &'static str, kind: Kind, scale: &Scale, table: &mut Table) {
    let Some((server, builder)) = store(kind) else {
        return table.skip(case, "PostgreSQL is not installed");
    };
    let folder = super::support::stack::Folder::new();
    let builder = builder.folder(&folder);
    // The first start makes schema, application and token.
    let stack = builder.clone().start();
    let application = stack.application_id().parse().unwrap();
    drop(stack);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let filled = Instant::now();
    runtime.block_on(async {
        let store: Arc<dyn Store> = match &server {
            None => {
                let path = folder.path().join("data/monitor.db");
                Arc::new(SqliteStore::open(&path).await.unwrap())
            }
            Some((_, database)) => {
                Arc::new(PostgresStore::open(&database.settings()).await.unwrap())
            }
        };
        fill::fill(store.clone(), application, scale.rows, now_ms()).await;
        store.close().await;
    });
    let rate = scale.rows as f64 / filled.elapsed().as_secs_f64();
    table.note(case, "records filled in per second", rate.round(), "");
    let begin = Instant::now();
    let stack = builder.start();
    table.add(case, "start to ready", begin.elapsed(), "≤ 2 s");
    for (name, path, goal) in PAGES {
        let mut taken: Vec<Duration> = (0..TIMES).map(|_| read(&stack, path)).collect();
        table.add(case, name, percentile(&mut taken, 0.5), goal);
    }
    let mut admin = administrator(&stack);
    for (name, path) in UI_PAGES {
        let mut taken: Vec<Duration> = (0..TIMES).map(|_| look(&mut admin, path)).collect();
        let name = format!("web UI: {name}");
        table.add(case, &name, percentile(&mut taken, 0.5), "≤ 100 ms");
    }
    table.note(case, "resident MiB", process::resident_mib(&stack), "≤ 200");
}

/// Signed in by the console's link.
fn administrator(stack: &Stack) -> Visitor {
    const PASSWORD: &str = "a long enough password";
    let pattern = regex::Regex::new("/ui/link/[A-Za-z0-9_-]+").unwrap();
    let find = |text: &str| Some(pattern.find(text)?.as_str().to_owned());
    let link = stack.process.await_stdout("the link to sign in by", find);
    let mut visitor = Visitor::new(stack.analysis_addr);
    visitor.get(&link);
    let entered = visitor.post(&link, &[("password", PASSWORD), ("again", PASSWORD)]);
    assert_eq!(entered.status(), 303);
    visitor
}

fn look(visitor: &mut Visitor, path: &str) -> Duration {
    let begin = Instant::now();
    let response = visitor.get(path);
    assert_eq!(response.status(), 200, "{path}");
    begin.elapsed()
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
