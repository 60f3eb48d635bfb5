//! The real binary: several analysis servers over one PostgreSQL as people and gateways see them through a balancer,
//! and while they are upgraded one after the other.

use monitor_store::PostgresStore;
use serde_json::json;
use support::postgres::{Database, Postgres};
use support::request::Request;
use support::stack::{Builder, Stack};
use support::visitor::Visitor;
use support::{KEY, eventually};

const PASSWORD: &str = "a long enough password";
const GATEWAY: &str = "4f1d3c0a-7a52-4a3e-9d0b-1c2d3e4f5a6b";

fn over(database: &Database, builder: Builder) -> Builder {
    let variables = database.owner_env().into_iter();
    variables.fold(builder, |builder, (name, value)| builder.env(name, value))
}

/// A message, as a gateway sends it with a report about itself.
fn message(application: &str) -> Request {
    let body = json!({"application_id": application, "message": "hello"}).to_string();
    let report =
        format!("id={GATEWAY}; version=9.8.7; records=3; bytes=10; oldest=1; dead=2; degraded=0");
    Request::post("/process_request/", body)
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .header("X-Monitor-Gateway", &report)
}

/// The first administrator, signed in at a server by the link on its console.
fn administrator(server: &Stack) -> Visitor {
    let pattern = regex::Regex::new(r"https?://[^ ]+(/ui/link/[A-Za-z0-9_-]+)").unwrap();
    let link = server
        .process
        .await_stdout("the link to sign in by", |text| {
            Some(pattern.captures(text)?[1].to_owned())
        });
    let mut visitor = Visitor::new(server.analysis_addr);
    assert_eq!(visitor.get(&link).status(), 200);
    let entered = visitor.post(&link, &[("password", PASSWORD), ("again", PASSWORD)]);
    assert_eq!(entered.status(), 303, "{}", entered.text());
    visitor
}

/// The line of the gateway in the table of the status page, without its times.
fn shown(visitor: &mut Visitor) -> Option<String> {
    let page = visitor.get("/ui/status");
    assert_eq!(page.status(), 200, "{}", page.text());
    let text = page.text();
    let row = text.split("<tr").find(|row| row.contains(GATEWAY))?;
    let age = regex::Regex::new(r"\d+\s(s|min) ago").unwrap();
    Some(age.replace_all(row, "ago").into_owned())
}

#[test]
#[ignore = "needs PostgreSQL"]
fn behind_a_balancer_it_is_the_same_which_server_a_person_or_a_gateway_reaches() {
    let server = Postgres::shared();
    let database = server.database();
    let start = || over(&database, Stack::analysis_server()).start();
    let servers = [start(), start()];
    let mut here = administrator(&servers[0]);
    let mut there = Visitor::new(servers[1].analysis_addr);
    there.cookies = here.cookies.clone();

    // CONTRACT 5: whichever server a gateway reports to, both show what it said.
    let answer = message(&servers[0].application_id()).call(servers[0].analysis_addr);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let row = eventually("the other server shows the gateway", || shown(&mut there));
    assert!(row.contains("9.8.7"), "{row}");
    assert_eq!(shown(&mut here), Some(row));

    // Five wrong passwords are five, wherever they are tried.
    let mut guessers = [0, 1].map(|at| Visitor::new(servers[at].analysis_addr));
    for guesser in &mut guessers {
        guesser.get("/ui/sign-in");
    }
    for attempt in 1..=5 {
        let fields = [("name", "admin"), ("password", "not the password")];
        let refused = guessers[attempt % 2].post("/ui/sign-in", &fields);
        let expected = if attempt < 5 { 422 } else { 429 };
        assert_eq!(refused.status(), expected, "attempt {attempt}");
    }
    for guesser in &mut guessers {
        let right = guesser.post("/ui/sign-in", &[("name", "admin"), ("password", PASSWORD)]);
        assert_eq!(right.status(), 429);
    }
    let typed = "SELECT count(*) FROM sign_in_failures WHERE position('admin' in encode(counter, 'escape')) > 0";
    assert_eq!(database.query(typed), "0", "no name is stored");

    // Whoever signs out is signed out everywhere.
    assert_eq!(there.get("/ui/users").status(), 200);
    assert_eq!(there.post("/ui/sign-out", &[]).status(), 303);
    assert_eq!(here.get("/ui/users").status(), 303);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn servers_that_start_at_once_over_an_empty_database_make_one_first_start() {
    // CONTRACT 30, 32.
    let server = Postgres::shared();
    let database = server.empty_database();
    let start = || over(&database, Stack::analysis_bare()).start();
    let servers = std::thread::scope(|scope| {
        let starting = [0; 3].map(|_| scope.spawn(start));
        starting.map(|started| started.join().unwrap())
    });
    let [first, others @ ..] = servers.each_ref().map(Stack::application_id);
    assert!(others.iter().all(|other| *other == first));
    for table in ["applications", "tokens", "accounts"] {
        let count = database.query(&format!("SELECT count(*) FROM {table}"));
        assert_eq!(count, "1", "{table}");
    }
    let versions = database.query("SELECT count(*) FROM schema_version");
    assert_eq!(versions, PostgresStore::SCHEMA.to_string());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn servers_start_and_go_on_over_a_newer_schema_as_long_as_they_can_use_it() {
    let server = Postgres::shared();
    let database = server.database();
    let builder = || over(&database, Stack::analysis_server());
    let migrated_to = |version: i64, readable_from: i64| {
        database.execute(&format!(
            "INSERT INTO schema_version (version, readable_from) VALUES ({version}, {readable_from})"
        ));
    };
    let known = PostgresStore::SCHEMA;
    let running = builder().start();
    let application = running.application_id();
    // What the next version adds, and says that this one need not know.
    database.execute("ALTER TABLE records ADD COLUMN later text; CREATE TABLE later (a int)");
    migrated_to(known + 1, known);
    let started = builder().start();
    for stack in [&running, &started] {
        let answer = message(&application).call(stack.analysis_addr);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let path = format!("/records/{}", answer.json()["request_id"].as_str().unwrap());
        assert_eq!(stack.analysis(&path, KEY).status(), 200);
        assert_eq!(stack.operations("/readyz").status(), 200);
    }
    // A version that this one cannot use: none starts, and a balancer sends nothing to those that run.
    migrated_to(known + 2, known + 1);
    let (status, said) = builder().refused();
    assert!(!status.success());
    let expected = format!("schema version {}", known + 2);
    assert!(
        said.contains(&expected) && said.contains("monitor restore"),
        "{said}"
    );
    for stack in [&running, &started] {
        eventually("it is not ready", || {
            (stack.operations("/readyz").status() == 503).then_some(())
        });
    }
}
