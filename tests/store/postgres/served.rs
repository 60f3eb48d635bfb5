//! The real binary over PostgreSQL: two servers that share everything, a database outage, the command that
//! migrates, and retention at the start.

use serde_json::{Value, json};
use std::process::Command;
use support::postgres::{Database, Postgres};
use support::request::Request;
use support::stack::{Builder, Stack};
use support::upstream::Upstream;
use support::{KEY, eventually};

const CARD: &str = "my card is 4111 1111 1111 1111";

fn over(database: &Database, builder: Builder) -> Builder {
    let variables = database.owner_env().into_iter();
    variables.fold(builder, |builder, (name, value)| builder.env(name, value))
}

fn post(stack: &Stack, application: &str, message: &str) -> support::http::Response {
    let body = json!({"application_id": application, "message": message}).to_string();
    Request::post("/process_request/", body)
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .call(stack.analysis_addr)
}

fn records(stack: &Stack, query: &str) -> Vec<Value> {
    let response = stack.analysis(&format!("/records?{query}"), KEY);
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json()["records"].as_array().unwrap().clone()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn two_servers_over_one_database_share_applications_policies_and_records() {
    // CONTRACT 16, 34: with STORE_* the analysis server's database is that one.
    let server = Postgres::shared();
    let database = server.database();
    let upstream = Upstream::ok();
    let one = over(&database, Stack::all().upstream(&upstream)).start();
    let other = over(&database, Stack::all()).start();
    assert_eq!(one.application_id(), other.application_id());
    let known_to_postgresql = uuid::Uuid::new_v4().to_string();
    database.add(
        &known_to_postgresql,
        r#"{"app_mode":"sync","phrase":"no cards"}"#,
    );
    let answer = post(&one, &known_to_postgresql, CARD);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let listed = records(&other, &format!("application_id={known_to_postgresql}"));
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["request_id"], answer.json()["request_id"]);
    let body = json!({"model": "m", "messages": [{"role": "user", "content": CARD}]}).to_string();
    let call = Request::chat(&body).header("X-Application-Id", &known_to_postgresql);
    eventually("the policy is in force", || {
        one.call(&call).text().contains("no cards").then_some(())
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_database_that_goes_away_is_503_and_comes_back_by_itself() {
    // CONTRACT 27.
    let mut server = Postgres::start();
    let database = server.database();
    let stack = over(&database, Stack::all()).start();
    let application = stack.application_id();
    assert_eq!(post(&stack, &application, "hello").status(), 200);
    server.crash();
    let down = post(&stack, &application, "hello");
    assert_eq!(down.status(), 503, "{}", down.text());
    assert!(down.head.header("Retry-After").is_some());
    server.start_again();
    eventually("it is back", || {
        (post(&stack, &application, "hello").status() == 200).then_some(())
    });
    assert_eq!(records(&stack, "").len(), 2);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn migrate_brings_an_empty_database_up_to_date_and_refuses_a_later_one() {
    let server = Postgres::shared();
    let database = server.empty_database();
    let migrate = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_monitor"));
        command.args(["migrate", "--role", "analysis"]).env_clear();
        let output = command.envs(database.owner_env()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, said, _) = migrate();
    assert!(said.starts_with("schema version 0 -> "), "{said}");
    assert_eq!(code, Some(0));
    assert!(migrate().1.ends_with("nothing to do\n"));
    database.execute("INSERT INTO schema_version (version) VALUES (999)");
    let (code, _, said) = migrate();
    assert!(said.contains("schema version 999"), "{said}");
    assert_eq!(code, Some(1));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn retention_runs_at_the_start_for_the_store_and_for_applications_with_limits_of_their_own() {
    // CONTRACT 38.
    let server = Postgres::shared();
    let database = server.database();
    let builder = over(&database, Stack::all());
    let stack = builder.clone().start();
    let (first, own) = (stack.application_id(), uuid::Uuid::new_v4().to_string());
    database.execute(&format!(
        "INSERT INTO applications (id, name, rules) VALUES ('{own}', 'own', '{{\"retention\": {{\"rows\": 2}}}}')"
    ));
    for application in [&first, &own] {
        for _ in 0..5 {
            assert_eq!(post(&stack, application, "hello").status(), 200);
        }
    }
    drop(stack);
    let stack = builder.start();
    eventually("three records of one application went", || {
        (stack.metric("monitor_records_removed_total") == 3.0).then_some(())
    });
    assert_eq!(records(&stack, &format!("application_id={own}")).len(), 2);
    assert_eq!(records(&stack, "").len(), 7);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_person_who_is_locked_out_gets_a_link_that_the_server_over_the_same_database_takes() {
    // CONTRACT 32: with the store settings of the configuration.
    let server = Postgres::shared();
    let database = server.empty_database();
    let stack = over(&database, Stack::analysis_server()).start();
    let mut command = Command::new(env!("CARGO_BIN_EXE_monitor"));
    let command = command.args(["user", "link", "admin", "--role", "analysis"]);
    let output = command
        .env_clear()
        .envs(database.owner_env())
        .output()
        .unwrap();
    let link = String::from_utf8(output.stdout).unwrap();
    let path = &link.trim()[link.find("/ui/link/").unwrap()..];
    let shown = Request::get(path).without_key().call(stack.analysis_addr);
    assert_eq!(shown.status(), 200, "{}", shown.text());
}
