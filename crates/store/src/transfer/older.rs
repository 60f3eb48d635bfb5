//! Values that an older schema, or the program that has it, cannot read get a form from before them. Parts of tool
//! calls are not here: `NamelessCalls`.

use super::row::{Row, Value};
use super::table::{
    CALL, CALLS_SCHEMA, COST, COSTS_SCHEMA, PARTS, PARTS_SCHEMA, Table, UNCHECKED, UNCHECKED_SCHEMA,
};
use serde_json::{Map, Value as Json};

/// The schema of version 4.1.0, the last one before policies knew `user_turn` and warnings had codes.
pub(crate) const RELEASE_4_1_SCHEMA: i64 = 11;
/// The last schema whose policies do not know `replay` and `block_details`.
const BEFORE_REPLAY: i64 = 12;
/// The last schema whose policies do not know `embeddings`.
const BEFORE_EMBEDDINGS: i64 = 15;
/// The last schema whose policies do not know `budgets`.
const BEFORE_BUDGETS: i64 = 18;
/// The last schema whose policies do not know `check_tool_arguments`.
const BEFORE_TOOL_ARGUMENTS: i64 = 19;
/// The last schema whose accounts do not know the role `reviewer`.
const BEFORE_REVIEWERS: i64 = 22;

/// Changes rows into those that this schema holds.
pub(crate) fn fit(table: Table, rows: &mut [Row], schema: i64) {
    match table {
        Table::Records => fit_records(rows, schema),
        Table::Traffic => count_unchecked(rows),
        Table::Applications | Table::ApplicationVersions if schema <= BEFORE_TOOL_ARGUMENTS => {
            for row in rows {
                change_document(row, "policy", |policy| fit_policy(policy, schema));
            }
        }
        Table::Accounts if schema <= BEFORE_REVIEWERS => rows.iter_mut().for_each(fit_account),
        _ => {}
    }
}

/// A reviewer becomes an analyst whose account is disabled: no role of an older schema sees so little.
fn fit_account(row: &mut Row) {
    if row.text("role") != Some("reviewer") {
        return;
    }
    row.set("role", Value::Text("analyst".to_owned()));
    if *row.value("disabled_at_ms") == Value::Null {
        let created = row.value("created_at_ms").clone();
        row.set("disabled_at_ms", created);
    }
}

fn fit_records(rows: &mut [Row], schema: i64) {
    for row in rows {
        if schema < CALLS_SCHEMA {
            clear(row, &CALL);
        }
        if schema < UNCHECKED_SCHEMA {
            clear(row, &[UNCHECKED]);
        }
        if schema < COSTS_SCHEMA {
            clear(row, &COST);
        }
        if schema < PARTS_SCHEMA {
            clear(row, &PARTS);
        }
        if schema <= RELEASE_4_1_SCHEMA {
            change_document(row, "answer", lose_codes);
        }
    }
}

/// An archive of before has no number of what passed without a verdict.
fn count_unchecked(rows: &mut [Row]) {
    for row in rows {
        if row.number(UNCHECKED).is_none() {
            row.set(UNCHECKED, Value::Number(0));
        }
    }
}

/// There are no such columns.
fn clear(row: &mut Row, columns: &[&str]) {
    for column in columns {
        row.set(column, Value::Null);
    }
}

/// Changes a JSON object of a row. Anything else stays as it is.
fn change_document(row: &mut Row, column: &str, change: impl FnOnce(&mut Map<String, Json>)) {
    let document = row
        .text(column)
        .map(serde_json::from_str::<Map<String, Json>>);
    let Some(Ok(mut document)) = document else {
        return;
    };
    let before = document.clone();
    change(&mut document);
    if document != before {
        row.set(column, Value::Text(Json::Object(document).to_string()));
    }
}

/// Warnings were texts.
fn lose_codes(answer: &mut Map<String, Json>) {
    let Some(Json::Array(warnings)) = answer.get_mut("warnings") else {
        return;
    };
    for warning in warnings {
        if let Some(message) = warning.get("message") {
            *warning = message.clone();
        }
    }
}

/// Arguments of tool calls are checked. Nothing bounds what is spent. Texts of embeddings are forwarded unread. `replay`
/// checks as `off` does, and only the form of the answer differs, as with `block_details`. `all_user` checks every
/// message that `user_turn` does, but each of them alone.
fn fit_policy(policy: &mut Map<String, Json>, schema: i64) {
    policy.remove("check_tool_arguments");
    if schema > BEFORE_BUDGETS {
        return;
    }
    policy.remove("budgets");
    if schema > BEFORE_EMBEDDINGS {
        return;
    }
    policy.remove("embeddings");
    if schema > BEFORE_REPLAY {
        return;
    }
    policy.remove("block_details");
    if policy.get("stream_in_sync") == Some(&Json::from("replay")) {
        policy.insert("stream_in_sync".to_owned(), "off".into());
    }
    let Some(Json::Array(roles)) = policy.get_mut("scan_roles") else {
        return;
    };
    if schema <= RELEASE_4_1_SCHEMA {
        let has_all = roles.contains(&"all_user".into());
        roles.retain(|role| !has_all || role != "user_turn");
        let turn = roles.iter_mut().find(|role| **role == "user_turn");
        if let Some(role) = turn {
            *role = "all_user".into();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fitted(table: Table, column: &str, document: &str, schema: i64) -> String {
        let line = json!({ column: document }).to_string();
        let mut rows = [Row::from_line(table, &line).unwrap()];
        fit(table, &mut rows, schema);
        rows[0].text(column).unwrap().to_owned()
    }

    #[test]
    fn policies_lose_what_an_older_schema_refuses() {
        let policy = |roles: &str, rest: &str| {
            format!(r#"{{"app_mode":"sync","scan_roles":[{roles}]{rest}}}"#)
        };
        let now = policy(
            r#""user_turn","tool""#,
            r#","block_details":"header","stream_in_sync":"replay","embeddings":"check""#,
        );
        for (schema, roles) in [(11, r#""all_user","tool""#), (12, r#""user_turn","tool""#)] {
            for table in [Table::Applications, Table::ApplicationVersions] {
                let older: Json =
                    serde_json::from_str(&fitted(table, "policy", &now, schema)).unwrap();
                let expected = policy(roles, r#","stream_in_sync":"off""#);
                assert_eq!(older, serde_json::from_str::<Json>(&expected).unwrap());
            }
        }
        let unread = now.replace(r#","embeddings":"check""#, "");
        let older = fitted(Table::Applications, "policy", &now, 15);
        assert_eq!(
            serde_json::from_str::<Json>(&older).unwrap(),
            serde_json::from_str::<Json>(&unread).unwrap()
        );
        assert_eq!(fitted(Table::Applications, "policy", &now, 16), now);
        let bounded = now.replace(r#""embeddings""#, r#""budgets":[],"embeddings""#);
        let older = fitted(Table::Applications, "policy", &bounded, 18);
        assert_eq!(
            serde_json::from_str::<Json>(&older).unwrap(),
            serde_json::from_str::<Json>(&now).unwrap()
        );
        assert_eq!(fitted(Table::Applications, "policy", &bounded, 19), bounded);
        let names = bounded.replace(r#""budgets""#, r#""check_tool_arguments":false,"budgets""#);
        for (schema, expected) in [(18, &now), (19, &bounded), (20, &names)] {
            let older = fitted(Table::ApplicationVersions, "policy", &names, schema);
            assert_eq!(
                serde_json::from_str::<Json>(&older).unwrap(),
                serde_json::from_str::<Json>(expected).unwrap()
            );
        }
        let both = policy(r#""all_user","user_turn""#, "");
        let older = fitted(Table::Applications, "policy", &both, 11);
        assert_eq!(older, policy(r#""all_user""#, ""));
        for odd in ["[]", "no JSON", r#"{"scan_roles":"user_turn"}"#] {
            assert_eq!(fitted(Table::Applications, "policy", odd, 11), odd);
        }
    }

    #[test]
    fn records_lose_what_an_older_schema_has_no_columns_for() {
        let line = json!({
            "part_keys": "[]", "tool_parts": "{}", "model": "m", "usage": "{}", "priced": "priced",
            "cost": 7, "currency": "EUR", "unchecked": true, "call_facts": "{}", "token_name": "t",
        });
        for (schema, has_parts, has_costs) in
            [(16, false, false), (17, true, false), (18, true, true)]
        {
            let mut rows = [Row::from_line(Table::Records, &line.to_string()).unwrap()];
            fit(Table::Records, &mut rows, schema);
            let is_there = |column: &str| !matches!(rows[0].value(column), Value::Null);
            assert!(PARTS.iter().all(|column| is_there(column) == has_parts));
            assert!(COST.iter().all(|column| is_there(column) == has_costs));
            assert!(!rows[0].flag(UNCHECKED));
            assert!(CALL.iter().all(|column| !is_there(column)));
        }
        for (schema, has_calls) in [(24, false), (25, true)] {
            let mut rows = [Row::from_line(Table::Records, &line.to_string()).unwrap()];
            fit(Table::Records, &mut rows, schema);
            let is_there = |column: &str| !matches!(rows[0].value(column), Value::Null);
            assert!(CALL.iter().all(|column| is_there(column) == has_calls));
        }
    }

    #[test]
    fn a_reviewer_becomes_an_analyst_who_cannot_sign_in() {
        let line = json!({"role": "reviewer", "created_at_ms": 7}).to_string();
        for (schema, role, ends) in [
            (22, "analyst", Value::Number(7)),
            (23, "reviewer", Value::Null),
        ] {
            let mut rows = [Row::from_line(Table::Accounts, &line).unwrap()];
            fit(Table::Accounts, &mut rows, schema);
            assert_eq!(rows[0].text("role"), Some(role));
            assert_eq!(*rows[0].value("disabled_at_ms"), ends);
        }
    }

    #[test]
    fn warnings_become_texts() {
        let answer = r#"{"warnings":[{"code":"other","message":"m"},"of 4.1"]}"#;
        let older = fitted(Table::Records, "answer", answer, 11);
        assert_eq!(older, r#"{"warnings":["m","of 4.1"]}"#);
        assert_eq!(fitted(Table::Records, "answer", answer, 12), answer);
    }
}
