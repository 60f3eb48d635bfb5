//! Which policies are valid: `Policy::from_json`, PostgreSQL's constraints and SQLite's accept and refuse the
//! same rows.

use super::world::new_id;
use monitor_model::Policy;
use monitor_store::SqliteStore;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use support::postgres::Postgres;
use support::stack::Folder;
use tokio::runtime::Runtime;

/// Rows that every store refuses, and the constraint that does; of several that do, each store names
/// one of its choice.
const REFUSED: &[(&str, &str)] = &[
    ("1", "policy_"),
    ("null", "policy_"),
    ("[]", "policy_"),
    (r#"{}"#, "policy_app_mode_known"),
    (r#"{"app_mode":null}"#, "policy_app_mode_known"),
    (
        r#"{"app_mode":"synk","phrase":"x"}"#,
        "policy_app_mode_known",
    ),
    (r#"{"app_mode":["async"]}"#, "policy_app_mode_known"),
    (
        r#"{"app_mode":"SYNC","phrase":"x"}"#,
        "policy_app_mode_known",
    ),
    (r#"{"app_mode":"sync"}"#, "policy_phrase_in_sync"),
    (
        r#"{"app_mode":"sync","phrase":null}"#,
        "policy_phrase_in_sync",
    ),
    (
        r#"{"app_mode":"sync","phrase":""}"#,
        "policy_phrase_in_sync",
    ),
    (
        r#"{"app_mode":"sync","phrase":" \t\n "}"#,
        "policy_phrase_in_sync",
    ),
    (
        r#"{"app_mode":"sync","phrase":"\u00a0\u2003\u3000"}"#,
        "policy_phrase_in_sync",
    ),
    (
        r#"{"app_mode":"async","phrase":7}"#,
        "policy_phrase_is_text",
    ),
    (
        r#"{"app_mode":"sync","phrase":["x"]}"#,
        "policy_phrase_is_text",
    ),
    (
        r#"{"app_mode":"async","colour":"red"}"#,
        "policy_fields_known",
    ),
    (
        r#"{"app_mode":"async","block_on":true}"#,
        "policy_block_on_known",
    ),
    (
        r#"{"app_mode":"async","block_on":{"regex":true}}"#,
        "policy_block_on_known",
    ),
    (
        r#"{"app_mode":"async","block_on":{"dataclean":"yes"}}"#,
        "policy_block_on_known",
    ),
    (
        r#"{"app_mode":"async","on_backend_failure":"ajar"}"#,
        "policy_words_known",
    ),
    (
        r#"{"app_mode":"async","stream_in_sync":false}"#,
        "policy_words_known",
    ),
    (
        r#"{"app_mode":"async","replace_response":"true"}"#,
        "policy_words_known",
    ),
    (
        r#"{"app_mode":"async","redact_upstream":1}"#,
        "policy_words_known",
    ),
    (
        r#"{"app_mode":"async","scan_roles":"tool"}"#,
        "policy_scan_roles_known",
    ),
    (
        r#"{"app_mode":"async","scan_roles":[]}"#,
        "policy_scan_roles_known",
    ),
    (
        r#"{"app_mode":"async","scan_roles":["tool","user"]}"#,
        "policy_scan_roles_known",
    ),
    (
        r#"{"app_mode":"async","scan_roles":["user_turn","user_turn"]}"#,
        "policy_scan_roles_known",
    ),
    (
        r#"{"app_mode":"async","scan_roles":["user_turns"]}"#,
        "policy_scan_roles_known",
    ),
    (
        r#"{"app_mode":"async","scan_roles":["tool","tool"]}"#,
        "policy_scan_roles_known",
    ),
    (
        r#"{"app_mode":"async","scan_roles":[["tool"]]}"#,
        "policy_scan_roles_known",
    ),
    (
        r#"{"app_mode":"async","scan_roles":[null]}"#,
        "policy_scan_roles_known",
    ),
    (
        r#"{"app_mode":"async","replace_response":true}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"async","stream_in_sync":"hold_back"}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"async","stream_in_sync":"replay"}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"async","block_details":"header"}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"async","block_details":true}"#,
        "policy_words_known",
    ),
    (
        r#"{"app_mode":"async","embeddings":"check"}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"async","embeddings":"on"}"#,
        "policy_words_known",
    ),
    (
        r#"{"app_mode":"async","check_tool_arguments":"false"}"#,
        "policy_words_known",
    ),
    (
        r#"{"app_mode":"async","check_tool_arguments":0}"#,
        "policy_words_known",
    ),
    (
        r#"{"app_mode":"async","on_backend_failure":"closed"}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"sync","phrase":"x","stream_in_sync":"hold_back","replace_response":true}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"sync","phrase":"x","stream_in_sync":"hold_back","redact_upstream":true}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"sync","phrase":"x","stream_in_sync":"hold_back","block_on":{"dataclean":false}}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"async","local_patterns":["IP"]}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"sync","phrase":"x","stream_in_sync":"off","redact_upstream":false,"local_patterns":["IP"]}"#,
        "policy_without_contradiction",
    ),
    (
        r#"{"app_mode":"async","redact_upstream":true,"local_patterns":"IP"}"#,
        "policy_local_patterns_known",
    ),
    (
        r#"{"app_mode":"async","redact_upstream":true,"local_patterns":{}}"#,
        "policy_local_patterns_known",
    ),
    (
        r#"{"app_mode":"async","redact_upstream":true,"local_patterns":[]}"#,
        "policy_local_patterns_known",
    ),
    (
        r#"{"app_mode":"async","redact_upstream":true,"local_patterns":["IP","INN","IP"]}"#,
        "policy_local_patterns_known",
    ),
    (
        r#"{"app_mode":"async","redact_upstream":true,"local_patterns":["IP",""]}"#,
        "policy_local_patterns_known",
    ),
    (
        r#"{"app_mode":"async","redact_upstream":true,"local_patterns":["IP",1]}"#,
        "policy_local_patterns_known",
    ),
    (
        r#"{"app_mode":"async","redact_upstream":true,"local_patterns":[null]}"#,
        "policy_local_patterns_known",
    ),
    (
        r#"{"app_mode":"async","redact_upstream":true,"local_patterns":[["IP"]]}"#,
        "policy_local_patterns_known",
    ),
    (
        r#"{"app_mode":"async","redact_upstream":true,"local_patterns":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17","18","19","20","21","22"]}"#,
        "policy_local_patterns_known",
    ),
    (r#"{"app_mode":"async","limits":5}"#, "policy_limits_known"),
    (r#"{"app_mode":"async","limits":[]}"#, "policy_limits_known"),
    (
        r#"{"app_mode":"async","limits":{"per_hour":5}}"#,
        "policy_limits_known",
    ),
    (
        r#"{"app_mode":"async","limits":{"concurrent":0}}"#,
        "policy_limits_known",
    ),
    (
        r#"{"app_mode":"async","limits":{"concurrent":1000001}}"#,
        "policy_limits_known",
    ),
    (
        r#"{"app_mode":"async","limits":{"concurrent":1.5}}"#,
        "policy_limits_known",
    ),
    (
        r#"{"app_mode":"async","limits":{"requests_per_minute":"5"}}"#,
        "policy_limits_known",
    ),
    (
        r#"{"app_mode":"async","limits":{"requests_per_minute":5,"requests_per_second":5}}"#,
        "policy_limits_known",
    ),
    (
        r#"{"app_mode":"async","limits":{"burst":5,"concurrent":5}}"#,
        "policy_limits_known",
    ),
    (
        r#"{"app_mode":"async","budgets":5}"#,
        "policy_budgets_known",
    ),
    (
        r#"{"app_mode":"async","budgets":{"per":"user"}}"#,
        "policy_budgets_known",
    ),
    (
        r#"{"app_mode":"async","budgets":[1,2,3,4,5,6,7,8,9]}"#,
        "policy_budgets_known",
    ),
];

/// Rows that every store takes.
const ACCEPTED: &[&str] = &[
    r#"{"app_mode":"async","budgets":null}"#,
    r#"{"app_mode":"async","budgets":[]}"#,
    r#"{"app_mode":"async","budgets":[{"per":"user","window":"day","tokens":1000,"action":"stop"}]}"#,
    r#"{"app_mode":"async","limits":null}"#,
    r#"{"app_mode":"async","limits":{}}"#,
    r#"{"app_mode":"async","limits":{"requests_per_second":1000000,"requests_per_minute":null,"burst":1,"concurrent":7}}"#,
    r#"{"app_mode":"async","limits":{"requests_per_minute":60}}"#,
    r#"{"app_mode":"async"}"#,
    r#"{"app_mode":"async","phrase":null,"block_on":null,"scan_roles":null,"redact_upstream":null,"on_backend_failure":null,"stream_in_sync":null,"replace_response":null}"#,
    r#"{"app_mode":"sync","phrase":"x"}"#,
    r#"{"app_mode":"sync","phrase":" \u00a0 нет \"so\" \\ it is \ud83d\ude00"}"#,
    r#"{"app_mode":"sync","phrase":"x","block_on":{}}"#,
    r#"{"app_mode":"sync","phrase":"x","block_on":{"guardrails":false,"custom_policy":null,"dataclean":true},"on_backend_failure":"closed","replace_response":true,"redact_upstream":false}"#,
    r#"{"app_mode":"sync","phrase":"x","stream_in_sync":"off"}"#,
    r#"{"app_mode":"async","scan_roles":["tool","assistant","system","all_user","last_user"],"redact_upstream":false}"#,
    r#"{"app_mode":"async","scan_roles":["user_turn"]}"#,
    r#"{"app_mode":"async","scan_roles":["user_turn","last_user","tool"]}"#,
    r#"{"app_mode":"sync","phrase":"x","stream_in_sync":"hold_back","block_on":{"dataclean":true},"redact_upstream":false}"#,
    r#"{"app_mode":"sync","phrase":"x","stream_in_sync":"hold_back","local_patterns":["BANK_CARD_NUMBER","CVC","DOMAIN","EMAILS","INN","IP","KPP","OGRN","OGRNIP","PASSPORT_NUMBER","PHONE_NUMBER","SNILS"]}"#,
    r#"{"app_mode":"sync","phrase":"x","replace_response":true,"redact_upstream":true,"local_patterns":["IP"]}"#,
    r#"{"app_mode":"sync","phrase":"x","stream_in_sync":"replay","replace_response":true,"redact_upstream":true,"block_details":"header"}"#,
    r#"{"app_mode":"async","block_details":"metadata"}"#,
    r#"{"app_mode":"async","block_details":null}"#,
    r#"{"app_mode":"async","embeddings":"record"}"#,
    r#"{"app_mode":"async","check_tool_arguments":false}"#,
    r#"{"app_mode":"async","check_tool_arguments":null}"#,
    r#"{"app_mode":"sync","phrase":"x","check_tool_arguments":true,"scan_roles":["assistant"],"replace_response":true}"#,
    r#"{"app_mode":"sync","phrase":"x","embeddings":"check"}"#,
    r#"{"app_mode":"async","redact_upstream":true,"local_patterns":null}"#,
    r#"{"app_mode":"async","local_patterns":null}"#,
];

/// Rows that every store takes, because its list of names is not theirs to know, and that the program
/// does not: a pattern without a detector in the gateway, and none at all.
const NAMES_UNKNOWN: &[&str] = &[
    r#"{"app_mode":"async","redact_upstream":true,"local_patterns":["DIAGNOSIS"]}"#,
    r#"{"app_mode":"async","redact_upstream":true,"local_patterns":["EMAILS","email"]}"#,
    r#"{"app_mode":"async","redact_upstream":true,"local_patterns":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17","18","19","20","21"]}"#,
];

/// Tries every row; `set` gives what the store says where it refuses.
fn hold_the_contract(mut set: impl FnMut(&str) -> Result<(), String>) {
    for (policy, constraint) in REFUSED {
        let said = set(policy).expect_err(policy);
        assert!(
            said.contains(constraint),
            "{policy} is refused by {constraint}, not {said}"
        );
    }
    for policy in ACCEPTED.iter().chain(NAMES_UNKNOWN) {
        set(policy).unwrap_or_else(|said| panic!("{policy}: {said}"));
    }
    let phrase = |length| format!(r#"{{"app_mode":"sync","phrase":"{}"}}"#, "й".repeat(length));
    assert!(
        set(&phrase(10_001))
            .unwrap_err()
            .contains("policy_phrase_is_text")
    );
    set(&phrase(10_000)).unwrap();
}

#[test]
fn the_program_itself_refuses_and_accepts_the_same() {
    for (policy, _) in REFUSED {
        assert!(Policy::from_json(policy).is_err(), "{policy}");
    }
    for policy in ACCEPTED {
        Policy::from_json(policy).unwrap_or_else(|said| panic!("{policy}: {said}"));
    }
    for policy in NAMES_UNKNOWN {
        let said = Policy::from_json(policy).unwrap_err().to_string();
        assert!(said.contains("local_patterns["), "{said}");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn postgresql_refuses_what_check_refuses() {
    // CONTRACT 16; "Bad input": the store's own constraints.
    let server = Postgres::shared();
    let database = server.database();
    let id = new_id();
    database.add(&id, ACCEPTED[0]);
    hold_the_contract(|policy| {
        let policy = policy.replace('\'', "''");
        let sql = format!("UPDATE applications SET policy = '{policy}' WHERE id = '{id}'");
        database.try_query(&sql).map(drop)
    });
}

#[test]
fn sqlite_refuses_what_check_refuses() {
    // CONTRACT 16; "Bad input": the store's own constraints.
    let folder = Folder::new();
    let file = folder.path().join("monitor.db");
    let runtime = Runtime::new().unwrap();
    let mut connection: SqliteConnection = runtime.block_on(async {
        use monitor_store::StoreEngine;
        SqliteStore::open(&file).await.unwrap().close().await;
        SqliteConnectOptions::new()
            .filename(&file)
            .connect()
            .await
            .unwrap()
    });
    let mut run = |sql: &'static str, policy: &str| {
        let query = sqlx::query(sql).bind(policy.to_owned());
        let done = runtime.block_on(query.execute(&mut connection));
        done.map(drop).map_err(|error| error.to_string())
    };
    let insert = "INSERT INTO applications (id, name, description, created_at_ms, rules_version, \
                  rules, policy) VALUES (randomblob(16), 'a', '', 0, 1, '{}', ?1)";
    run(insert, ACCEPTED[0]).unwrap();
    let update = "UPDATE applications SET policy = ?1";
    let said = run(update, "{").unwrap_err();
    assert!(
        said.contains("policy_is_an_object") || said.contains("malformed JSON"),
        "{said}"
    );
    hold_the_contract(|policy| run(update, policy));
}
