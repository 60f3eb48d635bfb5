//! Databases of schema 18, which has costs and no budgets: the migration leaves policies, records and sums as they are
//! and gives nobody a budget. A budget that is set then counts what was spent before.

use crate::costs::{ONE, units};
use crate::lookups::{before, migrate_before};
use crate::spending::everybody;
use monitor_model::{Amount, ApplicationId, Policy, Priced};
use monitor_store::{
    CostFilter, CostGroups, CostSum, PostgresStore, SpendingFilter, SpendingSpan, SqliteStore,
    Store, StoreEngine,
};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use support::bed::{DAY_MS, MORNING_MS, everything};
use support::postgres::Postgres;
use support::stack::Folder;
use uuid::Uuid;

/// The first migration that schema 18 lacks.
const LACKED: &str = "0019";
const POLICY: &str = r#"{"app_mode": "sync", "phrase": "нет", "block_on": {"dataclean": true}}"#;
const BUDGETS: &str = r#"{"app_mode": "async",
    "budgets": [{"per": "user", "window": "month", "cost": "1", "action": "stop"}]}"#;
/// Where positions in PostgreSQL begin, 2020-01-01.
const EPOCH_MS: i64 = 1_577_836_800_000;

/// Answers: the user, in which minute, and the cost in units, NULL without a price.
const CALLS: [(&str, i64, &str); 4] = [
    ("anna", 0, "1000000000000"),
    ("anna", 0, "2"),
    ("boris", 0, "NULL"),
    ("boris", 1, "4"),
];
/// What they sum up to: by user or not, the user, calls, and the two parts of the cost, without a price empty.
const SUMS: [(u8, &str, u8, &str); 5] = [
    (0, "", 3, "1, 6"),
    (0, "", 1, ""),
    (1, "anna", 2, "1, 2"),
    (1, "boris", 1, "0, 4"),
    (1, "boris", 1, ""),
];

/// SQL that fills a database; `{…}` stands for a value.
struct Statements {
    application: &'static str,
    record: &'static str,
    sum: &'static str,
}

impl Statements {
    /// The application, these answers and their sums; `uuid` writes an identifier of one byte.
    fn filled(&self, uuid: impl Fn(u8) -> String) -> String {
        let application = self.application.replace("{policy}", POLICY);
        let records = (1..).zip(CALLS).map(|(number, (user, minute, cost))| {
            let at_ms = MORNING_MS + minute * 60_000;
            let (priced, currency) = match cost {
                "NULL" => ("unpriced", "NULL"),
                _ => ("priced", "'EUR'"),
            };
            let seq = ((at_ms - EPOCH_MS) << 12) + i64::from(number);
            let record = self.record.replace("{id}", &uuid(number));
            let record = record.replace("{seq}", &seq.to_string());
            let record = record.replace("{at}", &at_ms.to_string());
            let record = record.replace("{user}", user).replace("{cost}", cost);
            record
                .replace("{priced}", priced)
                .replace("{currency}", currency)
        });
        let sums = SUMS.map(|(is_by_user, user, calls, cost)| {
            let (priced, currency, cost) = match cost {
                "" => ("unpriced", "", "0, 0"),
                cost => ("priced", "EUR", cost),
            };
            let (prompt, completion) = (u32::from(calls) * 100, u32::from(calls) * 30);
            let sum = self.sum.replace("{by_user}", &is_by_user.to_string());
            let sum = sum.replace("{day}", &(MORNING_MS / DAY_MS).to_string());
            let sum = sum.replace("{user}", user).replace("{currency}", currency);
            let sum = sum.replace("{priced}", priced);
            sum.replace(
                "{sums}",
                &format!("{calls}, {prompt}, 0, 0, {completion}, 0, {cost}"),
            )
        });
        let filled = [application].into_iter().chain(records).chain(sums);
        let filled: String = filled.collect();
        filled.replace("{application}", &uuid(10))
    }
}

fn seen(sums: &[CostSum]) -> Vec<(Option<&str>, u64, u64, Option<i128>)> {
    let seen = sums.iter().map(|sum| {
        let tokens = sum.tokens.prompt + sum.tokens.completion;
        (sum.user_id.as_deref(), sum.calls, tokens, units(sum))
    });
    let mut seen: Vec<_> = seen.collect();
    seen.sort_unstable();
    seen
}

async fn assert_kept_and_counted(store: &dyn Store) {
    let id = ApplicationId(Uuid::from_bytes([10; 16]));
    let policies = store.policies().await.unwrap();
    let [stored] = &policies[..] else {
        panic!("{policies:?}");
    };
    let policy = stored.policy.as_ref().unwrap();
    assert_eq!((stored.id, policy.budgets.len()), (id, 0));
    assert_eq!(*policy, Policy::from_json(POLICY).unwrap());

    let records = store.page(&everything()).await.unwrap().records;
    let kept = records.iter().rev().map(|record| {
        let cost = record.cost.as_ref().unwrap();
        let user = record.user_id.as_deref().unwrap();
        let tokens = cost.usage.tokens;
        assert_eq!(cost.model.as_deref(), Some("m"));
        assert_eq!(
            (tokens.prompt_tokens, tokens.completion_tokens),
            (Some(100), Some(30))
        );
        (user, cost.priced, cost.amount.map(Amount::units))
    });
    let (priced, unpriced) = (Some(Priced::Priced), Some(Priced::Unpriced));
    assert_eq!(
        kept.collect::<Vec<_>>(),
        [
            ("anna", priced, Some(ONE)),
            ("anna", priced, Some(2)),
            ("boris", unpriced, None),
            ("boris", priced, Some(4)),
        ]
    );

    let budgets = Policy::from_json(BUDGETS).unwrap();
    assert!(store.set_policy(id, Some(budgets.clone())).await.unwrap());
    let stored = store.policies().await.unwrap().remove(0);
    assert_eq!(stored.policy, Ok(budgets));
    let day = MORNING_MS / DAY_MS;
    let of_days = |user| CostFilter {
        application_id: Some(id),
        user_id: None,
        model: None,
        days: (day, day),
        groups: CostGroups {
            user,
            ..CostGroups::default()
        },
        limit: u32::MAX,
    };
    let by_user = store.costs(&of_days(true)).await.unwrap();
    let (anna, boris) = (Some("anna"), Some("boris"));
    assert_eq!(
        seen(&by_user),
        [
            (anna, 2, 260, Some(ONE + 2)),
            (boris, 1, 130, None),
            (boris, 1, 130, Some(4)),
        ]
    );
    let together = store.costs(&of_days(false)).await.unwrap();
    assert_eq!(
        seen(&together),
        [(None, 1, 130, None), (None, 3, 390, Some(ONE + 6))]
    );
    let minute = SpendingFilter {
        application_id: id,
        span: SpendingSpan::Records((MORNING_MS, MORNING_MS + 60_000)),
        users: Some(everybody()),
    };
    let recent = store.spending(&minute).await.unwrap();
    assert_eq!(
        seen(&recent),
        [(anna, 2, 260, Some(ONE + 2)), (boris, 1, 130, None)]
    );
}

#[tokio::test]
async fn a_file_of_the_schema_before_budgets_keeps_what_it_has_and_a_new_budget_counts_it() {
    let folder = Folder::new();
    let file = folder.path().join("monitor.db");
    let options = SqliteConnectOptions::new().filename(&file);
    let options = options.create_if_missing(true).foreign_keys(false);
    let mut database = options.connect().await.unwrap();
    let statements = Statements {
        application: "INSERT INTO applications (id, name, description, created_at_ms, rules_version, rules, policy)
            VALUES ({application}, 'a', 'd', 7, 3, '{}', '{policy}');",
        record: "INSERT INTO records (id, application_id, stage, user_id, created_at_ms, status, flagged_guardrails,
                flagged_custom_policy, flagged_dataclean, token_count, types, failed, incomplete, blocked, total_us,
                bytes, model, usage, priced, cost, currency)
            VALUES ({id}, {application}, 'post', '{user}', {at}, 'success', 0, 0, 0, 0, '[]', 0, 0, 0, 0, 0, 'm',
                '{\"prompt_tokens\":100,\"completion_tokens\":30}', '{priced}', {cost}, {currency});",
        sum: "INSERT INTO costs VALUES ({by_user}, {day}, {application}, '{user}', 'm', '{currency}', '{priced}',
                {sums});",
    };
    let mut sql = "CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT;".to_owned();
    for (version, migration) in (1..).zip(before("sqlite", LACKED)) {
        sql += &format!("{migration};\nINSERT INTO schema_version VALUES ({version});\n");
    }
    sql += &statements.filled(|byte| format!("x'{}'", format!("{byte:02x}").repeat(16)));
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
        .execute(&mut database)
        .await
        .unwrap();
    let refused = sqlx::query("UPDATE applications SET policy = ?1").bind(BUDGETS);
    let refused = refused.execute(&mut database).await.unwrap_err();
    assert!(refused.to_string().contains("policy_fields_known"));
    drop(database);
    let store = SqliteStore::open(&file).await.unwrap();
    assert_eq!(store.ping().await.unwrap(), SqliteStore::SCHEMA);
    assert_kept_and_counted(&store).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_postgresql_database_of_the_schema_before_budgets_keeps_what_it_has_and_a_new_budget_counts_it()
 {
    let server = Postgres::shared();
    let database = tokio::task::block_in_place(|| server.empty_database());
    let statements = Statements {
        application: "INSERT INTO applications (id, name, description, rules_version, policy)
            VALUES ({application}, 'a', 'd', 3, '{policy}');",
        record: "INSERT INTO records (seq, id, application_id, stage, user_id, created_at_ms, status, flagged,
                flagged_guardrails, flagged_custom_policy, flagged_dataclean, blocked, failed, incomplete,
                token_count, types, total_us, bytes, model, usage, priced, cost, currency)
            VALUES ({seq}, {id}, {application}, 1, '{user}', {at}, 'success', false, false, false, false, false,
                false, false, 0, '[]', 0, 0, 'm', '{\"prompt_tokens\":100,\"completion_tokens\":30}', '{priced}',
                {cost}, {currency});",
        sum: "INSERT INTO costs VALUES ({by_user}::boolean, {day}, {application}, '{user}', 'm', '{currency}',
                '{priced}', 3, {sums});",
    };
    let sql = statements.filled(|byte| format!("'{}'::uuid", format!("{byte:02x}").repeat(16)));
    tokio::task::block_in_place(|| {
        migrate_before(&database, LACKED);
        database.execute(&sql);
        let refused = database.try_query(&format!("UPDATE applications SET policy = '{BUDGETS}'"));
        assert!(refused.unwrap_err().contains("policy_fields_known"));
    });
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    assert_eq!(store.ping().await.unwrap(), PostgresStore::SCHEMA);
    assert_kept_and_counted(&store).await;
    let told = tokio::task::block_in_place(|| database.query("SELECT count(*) FROM spent_budgets"));
    assert_eq!(told, "0");
    store.close().await;
}
