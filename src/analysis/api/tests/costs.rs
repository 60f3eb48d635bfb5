//! A verdict before the cost of its call is known.

use super::World;
use crate::analysis::ingest::HeldSince;
use crate::analysis::ingest::pricing::without_prompts::{LookUp, WithoutPrompts};
use crate::analysis::{GatewayRegistry, Ingest, ProcessInput};
use crate::config::{ModelPrice, Prices, TokenPrice};
use crate::fair_queue::Urgency;
use arc_swap::ArcSwap;
use monitor_model::{Secret, Stage};
use serde_json::json;
use std::sync::Arc;

fn prices() -> Prices {
    Prices {
        currency: "EUR".to_owned(),
        models: vec![ModelPrice {
            name: "m".to_owned(),
            is_prefix: true,
            price: TokenPrice::default(),
        }],
    }
}

#[tokio::test]
async fn a_verdict_is_given_before_the_prompt_is_looked_up() {
    let world = World::new().await;
    let exchanges = Arc::new(WithoutPrompts::new(LookUp::Fails));
    let own = &world.services.ingest;
    let ingest = Ingest {
        records: own.records.clone(),
        exchanges: exchanges.clone(),
        removal: own.removal.clone(),
        access: own.access.clone(),
        applications: own.applications.clone(),
        analyzer: own.analyzer.clone(),
        inline_rules: own.inline_rules.clone(),
        prices: ArcSwap::default(),
        cost_names: own.cost_names.clone(),
        max_body: own.max_body,
        gateways: Arc::new(GatewayRegistry::default()),
        held_since: HeldSince::default(),
        budgets: own.budgets.clone(),
        value_keys: own.value_keys.clone(),
    };
    ingest.set_prices(&prices());
    let parameters = json!({"request_id": "x", "model": "m-1"});
    let input = ProcessInput {
        application_id: Some(world.application()),
        message: "said".into(),
        additional_parameters: parameters.as_object().unwrap().clone(),
    };
    let key = Secret::new(world.key());
    let judged = ingest.process_unsynced(Stage::PostCall, &key, input, Urgency::Deferred);
    let (_, written) = judged.await.unwrap();
    assert_eq!(exchanges.looks(), 0);
    written.await.unwrap();
    assert_eq!(exchanges.looks(), 1);
}
