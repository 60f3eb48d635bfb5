//! The conditions of a list are served by an index that contains them: a rare verdict, a stage that an
//! application hardly has. Measured by what EXPLAIN reports the database to have read.

use super::world::{World, everything};
use monitor_model::Stage;
use monitor_store::{RecordFilter, RecordStore, VerdictFilter};
use support::postgres::Postgres;

/// Many records of today: every second one breaks a custom policy, one in a thousand holds sensitive data,
/// one in 1,500 passed unchecked, none is flagged by guardrails. One in ten is of `{own}`, and none of those is an
/// answer.
const FILL: &str = "
    INSERT INTO records (seq, id, application_id, stage, created_at_ms, status, flagged, flagged_guardrails,
        flagged_custom_policy, flagged_dataclean, blocked, failed, incomplete, token_count, types, total_us,
        bytes, unchecked)
    SELECT (ms - 1577836800000) * 4096 + n, gen_random_uuid(),
        CASE WHEN n % 10 = 0 THEN '{own}'::uuid ELSE '11111111-1111-1111-1111-111111111111' END,
        CASE WHEN n % 10 = 0 THEN 0 ELSE n % 2 END, ms, 'success',
        n % 2 = 0 OR n % 1000 = 7, false, n % 2 = 0, n % 1000 = 7, false, false, false, 1, '[]', 1, 1,
        n % 1500 = 1
    FROM generate_series(1, 30000) AS n,
        (SELECT floor(extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC')) * 1000)::bigint AS ms) AS today;
    ANALYZE records";

/// What a query of a list reads and throws away again.
fn plan(world: &World, condition: &str) -> String {
    let sql = format!(
        "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT r.* FROM records r
         WHERE true AND r.seq >= -9000000000000000 AND r.seq < 9000000000000000 {condition}
         AND NOT EXISTS (SELECT FROM removed_applications gone
             WHERE gone.application_id = r.application_id AND r.seq < gone.below)
         ORDER BY r.seq DESC LIMIT 51"
    );
    tokio::task::block_in_place(|| world.database.query(&sql))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn what_is_rare_is_found_without_a_look_at_what_is_not() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let own = world.application;
    let fill = FILL.replace("{own}", &own.to_string());
    tokio::task::block_in_place(|| world.database.execute(&fill));
    let one = format!("AND r.application_id = '{own}'");
    for condition in [
        "AND r.flagged_guardrails".to_owned(),
        "AND r.unchecked".to_owned(),
        "AND r.flagged AND r.flagged_dataclean".to_owned(),
        format!("{one} AND r.stage = 1"),
        format!("{one} AND r.flagged_guardrails"),
    ] {
        let plan = plan(&world, &condition);
        assert!(
            !plan.contains("Rows Removed by Filter"),
            "{condition}\n{plan}"
        );
    }
    let found = async |filter: RecordFilter| world.store.page(&filter).await.unwrap().records.len();
    let verdict = |verdict| RecordFilter {
        verdict: Some(verdict),
        ..everything()
    };
    assert_eq!(found(verdict(VerdictFilter::Guardrails)).await, 0);
    assert_eq!(found(verdict(VerdictFilter::Unchecked)).await, 20);
    assert_eq!(found(verdict(VerdictFilter::Dataclean)).await, 30);
    assert_eq!(found(verdict(VerdictFilter::CustomPolicy)).await, 200);
    let answers = RecordFilter {
        application_id: Some(own),
        stage: Some(Stage::PostCall),
        ..everything()
    };
    assert_eq!(found(answers).await, 0);
}
