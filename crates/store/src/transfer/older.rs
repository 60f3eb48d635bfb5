//! Values that an older schema, or the program that has it, cannot read get a form from before them. Parts of tool
//! calls are not here: `NamelessCalls`.

use super::row::{Row, Value};
use super::table::Table;
use serde_json::{Map, Value as Json};

/// The schema of version 4.1.0, the last one before policies knew `user_turn` and warnings had codes.
pub(crate) const RELEASE_4_1_SCHEMA: i64 = 11;
/// The last schema whose policies do not know `replay` and `block_details`.
const BEFORE_REPLAY: i64 = 12;

/// Changes rows into those that this schema holds.
pub(crate) fn fit(table: Table, rows: &mut [Row], schema: i64) {
    match table {
        Table::Records if schema <= RELEASE_4_1_SCHEMA => {
            for row in rows {
                change_document(row, "answer", lose_codes);
            }
        }
        Table::Applications | Table::ApplicationVersions if schema <= BEFORE_REPLAY => {
            for row in rows {
                change_document(row, "policy", |policy| fit_policy(policy, schema));
            }
        }
        _ => {}
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

/// `replay` checks as `off` does, and only the form of the answer differs, as with `block_details`. `all_user` checks
/// every message that `user_turn` does, each by itself.
fn fit_policy(policy: &mut Map<String, Json>, schema: i64) {
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
            r#","block_details":"header","stream_in_sync":"replay""#,
        );
        for (schema, roles) in [(11, r#""all_user","tool""#), (12, r#""user_turn","tool""#)] {
            for table in [Table::Applications, Table::ApplicationVersions] {
                let older: Json =
                    serde_json::from_str(&fitted(table, "policy", &now, schema)).unwrap();
                let expected = policy(roles, r#","stream_in_sync":"off""#);
                assert_eq!(older, serde_json::from_str::<Json>(&expected).unwrap());
            }
        }
        assert_eq!(fitted(Table::Applications, "policy", &now, 13), now);
        let both = policy(r#""all_user","user_turn""#, "");
        let older = fitted(Table::Applications, "policy", &both, 11);
        assert_eq!(older, policy(r#""all_user""#, ""));
        for odd in ["[]", "no JSON", r#"{"scan_roles":"user_turn"}"#] {
            assert_eq!(fitted(Table::Applications, "policy", odd, 11), odd);
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
