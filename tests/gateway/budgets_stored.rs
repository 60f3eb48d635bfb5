//! Budgets where policies are in PostgreSQL: what one process counts is in force in others.

use crate::budgets::{COUNT_AGE, ID, by, hello, until_refused, upstream, with_budgets};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};
use support::postgres::{GATEWAY, Postgres};
use support::stack::{Builder, Stack};
use support::{KEY, eventually, within_a_day};

/// A stored policy.
const EACH_USER: &str = r#"{"app_mode": "async",
    "budgets": [{"per": "user", "window": "month", "tokens": 100, "action": "stop"}]}"#;

/// With the variables that name a database.
fn with(stack: Builder, variables: [(&'static str, String); 6]) -> Builder {
    let variables = variables.into_iter();
    variables.fold(stack, |stack, (name, value)| stack.env(name, value))
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_gateway_of_its_own_learns_over_postgresql_what_an_analysis_server_counts() {
    within_a_day(|| {
        // CONTRACT 16: with the right to read the view and no other.
        let server = Postgres::shared();
        let database = server.database();
        let analysis = with(Stack::analysis_server(), database.owner_env()).start();
        database.add(ID, EACH_USER);
        let upstream = upstream();
        let gateway = Stack::gateway()
            .upstream(&upstream)
            .env("MONITOR_URL", format!("http://{}", analysis.analysis_addr));
        let gateway = with(gateway, database.env()).start();
        assert_eq!(until_refused(&gateway, &by("anna")).status(), 429);
        let heads = upstream.heads();
        assert_eq!(gateway.call(&by("anna")).status(), 429);
        assert_eq!(upstream.heads(), heads);
        assert_eq!(gateway.call(&by("boris")).status(), 200);
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn what_is_spent_through_either_of_two_analysis_servers_counts_for_the_gateways_of_both() {
    within_a_day(|| {
        let server = Postgres::shared();
        let database = server.database();
        // A call spends 130, so that none of them spends it alone.
        let policy = r#"{"app_mode": "async",
            "budgets": [{"per": "user", "window": "month", "tokens": 200, "action": "stop"}]}"#;
        database.add(ID, policy);
        let start = || with(Stack::analysis_server(), database.owner_env()).start();
        let (first, second) = (start(), start());
        let upstream = upstream();
        let gateway_of = |analysis: &Stack| {
            let url = format!("http://{}", analysis.analysis_addr);
            let gateway = Stack::gateway().upstream(&upstream);
            with(gateway.env("MONITOR_URL", url), database.env()).start()
        };
        let gateways = [gateway_of(&first), gateway_of(&second)];
        for (gateway, spent) in gateways.iter().zip([130, 260]) {
            assert_eq!(gateway.call(&by("anna")).status(), 200);
            for server in [&first, &second] {
                eventually("both servers count the call", || {
                    let answer = server.analysis(&format!("/applications/{ID}/budgets"), KEY);
                    let spending = &answer.json()["budgets"][0]["spending"][0];
                    (spending["tokens"] == spent).then_some(())
                });
            }
        }
        for gateway in &gateways {
            assert_eq!(until_refused(gateway, &by("anna")).status(), 429);
        }
        let asked = upstream.heads();
        for gateway in &gateways {
            assert_eq!(gateway.call(&by("anna")).status(), 429);
        }
        assert_eq!(upstream.heads(), asked);
        // One of them counts for all gateways while the other is away.
        drop(first);
        assert_eq!(gateways[0].call(&by("boris")).status(), 200);
        assert_eq!(until_refused(&gateways[1], &by("boris")).status(), 429);
        assert_eq!(until_refused(&gateways[0], &by("boris")).status(), 429);
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn the_next_window_lets_calls_pass_though_no_analysis_server_says_so() {
    let server = Postgres::shared();
    let database = server.database();
    let budget = json!({"per": "application", "window": "minute", "tokens": 100, "action": "stop", "warn_at": 80});
    let policy = json!({"app_mode": "async", "budgets": [budget]});
    database.add(ID, &policy.to_string());
    let publish = |after_ms: u128| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let until = u64::try_from(now.as_millis() + after_ms).unwrap();
        let state = json!({"budget": budget, "until_ms": until, "spent": [""], "warned": []});
        let states = json!({"counted_ms": 0, "states": [state]});
        database.execute(&format!(
            "INSERT INTO spent_budgets (application_id, states) VALUES ('{ID}', '{states}')
             ON CONFLICT (application_id) DO UPDATE SET states = excluded.states"
        ));
    };
    let upstream = upstream();
    let gateway = Stack::gateway().upstream(&upstream);
    let gateway = with(gateway, database.env()).start();
    publish(600_000);
    assert_eq!(until_refused(&gateway, &hello()).status(), 429);
    publish(1_000);
    eventually("the next window", || {
        (gateway.call(&hello()).status() == 200).then_some(())
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn budgets_of_the_file_are_in_force_where_policies_are_in_postgresql_too() {
    within_a_day(|| {
        // CONTRACT 47. The application has no stored policy.
        let server = Postgres::shared();
        let database = server.empty_database();
        let upstream = upstream();
        let budget = "{per: user, window: month, tokens: 100, action: stop}";
        let all = Stack::all().upstream(&upstream).yaml(&with_budgets(budget));
        let all = with(all, database.owner_env()).start();
        assert_eq!(until_refused(&all, &by("anna")).status(), 429);
        assert_eq!(all.call(&by("boris")).status(), 200);
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_file_that_overrides_a_stored_policy_takes_its_budgets_from_no_other_gateway() {
    within_a_day(|| {
        let server = Postgres::shared();
        let database = server.database();
        database.add(ID, EACH_USER);
        let upstream = upstream();
        let all = Stack::all().upstream(&upstream).yaml(&with_budgets(""));
        let all = with(all, database.owner_env()).start();
        let gateway = Stack::gateway()
            .upstream(&upstream)
            .env("MONITOR_URL", format!("http://{}", all.analysis_addr));
        let gateway = with(gateway, database.env()).start();
        assert_eq!(until_refused(&gateway, &by("anna")).status(), 429);
        // CONTRACT 47: where the file is in force, there are none.
        assert_eq!(all.call(&by("anna")).status(), 200);
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn what_is_known_of_budgets_gets_older_while_no_analysis_server_counts_them() {
    let server = Postgres::shared();
    let database = server.database();
    database.add(ID, r#"{"app_mode": "async"}"#);
    let upstream = upstream();
    let gateway = with(Stack::gateway().upstream(&upstream), database.env()).start();
    let age = || gateway.metric(COUNT_AGE);
    let await_age = |what: &str, is_it: &dyn Fn(f64) -> bool| {
        eventually(what, || Some(age()).filter(|age| is_it(*age)))
    };
    assert_eq!(age(), 0.0, "without budgets");
    database.set(ID, EACH_USER);
    await_age("nobody has counted them", &f64::is_infinite);
    let start = || with(Stack::analysis_server(), database.owner_env()).start();
    let analysis = start();
    await_age("they are counted", &f64::is_finite);
    drop(analysis);
    // As an hour later.
    database.execute(
        "UPDATE spent_budgets SET states = json_build_object('states', json_build_array(), 'counted_ms',
             (extract(epoch FROM now()) * 1000)::bigint - 3600000)",
    );
    let old = await_age("the count is an hour old", &|age| age >= 3_600.0);
    await_age("and gets older", &|age| age > old);
    let _analysis = start();
    await_age("they are counted again", &|age| age < 3_600.0);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_view_of_before_budgets_still_serves_its_policies() {
    // As an analysis server of the version before has it, which is upgraded last.
    let server = Postgres::shared();
    let database = server.database();
    database.execute(&format!(
        "DROP VIEW gateway_policies;
         CREATE VIEW gateway_policies AS
             SELECT id AS application_id, name, policy, policy_version AS version, policy_updated_at AS updated_at
             FROM applications WHERE policy IS NOT NULL;
         GRANT SELECT ON gateway_policies TO {GATEWAY}"
    ));
    let limits = r#"{"app_mode": "async", "limits": {"requests_per_minute": 1, "burst": 1}}"#;
    database.add(ID, limits);
    let upstream = upstream();
    let gateway = with(Stack::gateway().upstream(&upstream), database.env()).start();
    assert_eq!(gateway.call(&hello()).status(), 200);
    let refused = gateway.call(&hello());
    assert_eq!(refused.status(), 429, "{}", refused.text());
    assert!(
        refused.text().contains("its rate of calls"),
        "{}",
        refused.text()
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn what_nobody_has_budgets_for_any_more_is_withdrawn_at_the_next_start() {
    let server = Postgres::shared();
    let database = server.database();
    database.add(ID, r#"{"app_mode": "async"}"#);
    database.execute(&format!("INSERT INTO spent_budgets VALUES ('{ID}', '[]')"));
    let _analysis = with(Stack::analysis_server(), database.owner_env()).start();
    eventually("the row is withdrawn", || {
        (database.query("SELECT count(*) FROM spent_budgets") == "0").then_some(())
    });
}
