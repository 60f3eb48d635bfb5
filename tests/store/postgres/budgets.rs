//! What gateways of other processes are told of budgets: as they read it, and whom it names.

use super::world::World;
use monitor_model::{ApplicationId, BudgetState, CountedBudgets, Policy};
use monitor_store::{ApplicationPolicyStore, Erasure, RecordRemoval, TombstoneStore};
use support::postgres::Postgres;

const ODD: &str = "'модель\0 \u{10FFFF}\\N\t\",\"anna";

fn counted(spent: &[&str], warned: &[&str]) -> CountedBudgets {
    let names =
        |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
    let kinds = r#"{"app_mode": "async", "budgets": [
        {"per": "user", "window": "month", "cost": "0.000000000001", "action": "stop"},
        {"per": "application", "window": "minute", "tokens": 7, "action": "warn", "warn_at": 100}]}"#;
    let budgets = Policy::from_json(kinds).unwrap().budgets.into_iter();
    let states = budgets.map(|budget| BudgetState {
        budget,
        until_ms: i64::MAX,
        spent: names(spent),
        warned: names(warned),
    });
    CountedBudgets {
        counted_ms: 1_700_000_000_000,
        states: states.collect(),
    }
}

async fn erase(world: &World, user: &str, application_id: Option<ApplicationId>) {
    let erasure = Erasure {
        id: uuid::Uuid::new_v4(),
        user_id: user.to_owned(),
        application_id,
        at_ms: 1_700_000_000_000,
    };
    world.store.add_tombstone(&erasure, None).await.unwrap();
    world.store.erase_step(&erasure).await.unwrap();
}

impl World {
    /// As a gateway reads it; None where it is told nothing.
    fn told(&self) -> Option<CountedBudgets> {
        let id = self.application.0;
        // In hexadecimal digits: psql prints no noncharacters.
        let sql = format!(
            "SELECT encode(convert_to(spent, 'UTF8'), 'hex') FROM gateway_policies WHERE application_id = '{id}'"
        );
        let digits = tokio::task::block_in_place(|| self.database.query(&sql));
        let bytes: Vec<u8> = (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect();
        (!bytes.is_empty()).then(|| serde_json::from_slice(&bytes).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn gateways_read_what_was_published_until_it_is_withdrawn_and_no_name_of_an_erased_user() {
    let server = Postgres::shared();
    let world = World::new(&server).await;
    let (store, id) = (&world.store, world.application);
    let policy = Policy::from_json(r#"{"app_mode": "async"}"#).unwrap();
    assert!(store.set_policy(id, Some(policy)).await.unwrap());
    assert_eq!(world.told(), None);
    let all = counted(&["", ODD, "boris"], &["anna", "vera"]);
    let mut first = all.clone();
    first.states.truncate(1);
    let nobody = CountedBudgets {
        counted_ms: all.counted_ms + 1,
        states: vec![],
    };
    for told in [&all, &first, &nobody, &all] {
        let gone = ApplicationId::random();
        let both = [(gone, all.clone()), (id, told.clone())];
        store.publish_budgets(&both).await.unwrap();
        assert_eq!(world.told().as_ref(), Some(told));
    }
    // The names of other applications stay.
    erase(&world, "anna", Some(ApplicationId::random())).await;
    assert_eq!(world.told(), Some(all));
    erase(&world, "anna", Some(id)).await;
    assert_eq!(world.told(), Some(counted(&["", ODD, "boris"], &["vera"])));
    erase(&world, ODD, None).await;
    assert_eq!(world.told(), Some(counted(&["", "boris"], &["vera"])));
    store.withdraw_budgets(&[id]).await.unwrap();
    assert!(world.told().is_some());
    store.withdraw_budgets(&[]).await.unwrap();
    assert_eq!(world.told(), None);
}
