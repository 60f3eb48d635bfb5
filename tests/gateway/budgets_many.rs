//! Budgets of users whose names clients invent, in any number and length: what gateways are told of them, and what the
//! API shows, has a bound, and no policy waits for it.

use crate::budgets::{ID, hello, upstream};
use serde_json::json;
use support::api::post;
use support::postgres::{GATEWAY, Postgres};
use support::stack::{Builder, Stack};
use support::{KEY, eventually, within_a_day};

/// The longest name, which JSON makes six times as long, and a number.
fn long_name(number: usize) -> String {
    format!("{number:03}{}", "\u{1}".repeat(509))
}

/// As they stand in a list: 509 characters of six bytes, the number, the quotes and a comma.
const LONG_NAME_BYTES: usize = 509 * 6 + 3 + 3;
/// What all of them may have.
const MOST_BYTES: usize = 512 << 10;

fn with(stack: Builder, variables: [(&'static str, String); 6]) -> Builder {
    let variables = variables.into_iter();
    variables.fold(stack, |stack, (name, value)| stack.env(name, value))
}

/// Stores the answer of a call that has used so many tokens.
#[track_caller]
fn spend(stack: &Stack, user: &str, tokens: usize) {
    let usage = json!({"prompt_tokens": tokens, "completion_tokens": 0});
    let parameters = json!({"user_id": user, "model": "m-1", "usage": usage});
    let answer =
        json!({"application_id": ID, "message": "hi", "additional_parameters": parameters});
    let stored = post(stack, "/process_response/", &answer);
    assert_eq!(stored.status(), 200, "{}", stored.text());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn the_names_of_those_who_have_spent_a_budget_have_a_bound_in_bytes() {
    within_a_day(|| {
        let server = Postgres::shared();
        let database = server.database();
        let policy = r#"{"app_mode": "async",
            "budgets": [{"per": "user", "window": "month", "tokens": 1, "action": "stop"}]}"#;
        database.add(ID, policy);
        let stack = with(Stack::analysis_server(), database.owner_env()).start();
        let fit = MOST_BYTES / LONG_NAME_BYTES;
        for number in 0..fit + 30 {
            spend(&stack, &long_name(number), 2 + number);
        }
        // Whoever has spent most is named, once all of them are counted.
        spend(&stack, "the last", 1_000_000);
        let told = |of: &str| {
            let sql = format!("SELECT {of} FROM spent_budgets WHERE application_id = '{ID}'");
            database.query(&sql)
        };
        eventually("the last one is named", || {
            (told("states LIKE '%the last%'") == "t").then_some(())
        });
        let names = told("json_array_length(states::json -> 'states' -> 0 -> 'spent')");
        assert_eq!(names, (fit + 1).to_string());
        let bytes: usize = told("octet_length(states)").parse().unwrap();
        assert!(bytes < MOST_BYTES + 1_024, "{bytes} bytes");
        let answer = stack.analysis(&format!("/applications/{ID}/budgets"), KEY);
        let shown = &answer.json()["budgets"][0];
        let spending = shown["spending"].as_array().unwrap();
        assert_eq!((spending.len(), &shown["truncated"]), (100, &json!(true)));
        assert_eq!(spending[0]["user_id"], "the last");
        assert_eq!(spending[99]["user_id"], long_name(fit + 30 - 99));
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_policy_is_in_force_while_what_is_spent_of_budgets_cannot_be_read() {
    let server = Postgres::shared();
    let database = server.database();
    database.add(ID, r#"{"app_mode": "async"}"#);
    // What is said of budgets has no end, and it is said again and again that it has changed.
    database.execute(&format!(
        "CREATE FUNCTION endless(text) RETURNS text LANGUAGE plpgsql STABLE AS
             $$ BEGIN PERFORM pg_sleep(3600); RETURN $1; END $$;
         DROP VIEW gateway_policies;
         CREATE VIEW gateway_policies AS
             SELECT id AS application_id, name, policy, policy_version AS version, policy_updated_at AS updated_at,
                    endless(name) AS spent, now()::text AS changes,
                    (SELECT count::text FROM policy_changes) AS policy_changes, now()::text AS spent_changes
             FROM applications WHERE policy IS NOT NULL;
         GRANT SELECT ON gateway_policies TO {GATEWAY}"
    ));
    let upstream = upstream();
    let gateway = with(Stack::gateway().upstream(&upstream), database.env()).start();
    assert_eq!(gateway.call(&hello()).status(), 200);
    let limits = r#"{"app_mode": "async", "limits": {"requests_per_minute": 1, "burst": 1}}"#;
    database.set(ID, limits);
    let refused = eventually("the policy is in force", || {
        let answer = gateway.call(&hello());
        (answer.status() == 429).then_some(answer)
    });
    assert!(
        refused.text().contains("its rate of calls"),
        "{}",
        refused.text()
    );
}
