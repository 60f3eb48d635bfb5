//! Fills a store with records of many users, sessions and days, straight through the store.

use monitor_gateway::model::{
    AnalysisResponse, ApplicationId, CustomPolicyReport, DatacleanReport, Entity, GuardrailsReport,
    RecordId, SCHEMA_VERSION, Stage, Status, Timings, TokensReport, TypeCount,
};
use monitor_gateway::store::{NewRecord, Store};
use serde_json::{Map, json};
use std::sync::Arc;

/// Writers at once.
const WRITERS: u64 = 512;
/// Times a record is sent at most.
const TRIES: u32 = 10;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Adds `rows` records, spread evenly over the last 30 days; every 1000th holds a SNILS, every third an e-mail
/// address.
pub(crate) async fn fill(
    store: Arc<dyn Store>,
    application: ApplicationId,
    rows: u64,
    now_ms: i64,
) {
    let tasks: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (writer..rows).step_by(WRITERS as usize) {
                    let left = i64::try_from(rows - number).unwrap();
                    let at = now_ms - left * 30 * DAY_MS / i64::try_from(rows).unwrap();
                    insert(&*store, application, number, at).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// A database that writes a checkpoint may be late; a record that is sent again is still one.
async fn insert(store: &dyn Store, application: ApplicationId, number: u64, at: i64) {
    for left in (0..TRIES).rev() {
        match store.insert(record(application, number, at)).await {
            Ok(_) => return,
            Err(error) => assert!(left > 0, "record {number}: {error}"),
        }
    }
}

fn record(application_id: ApplicationId, number: u64, created_at_ms: i64) -> NewRecord {
    let kind = match number {
        n if n % 1000 == 0 => Some("SNILS"),
        n if n % 3 == 0 => Some("EMAILS"),
        _ => None,
    };
    let (user, session) = (
        format!("user{}", number % 5_000),
        format!("session{}", number / 20),
    );
    let mut additional_parameters = Map::new();
    additional_parameters.insert("user_id".into(), json!(user));
    additional_parameters.insert("session_id".into(), json!(session));
    let stage = match number % 2 {
        0 => Stage::PreCall,
        _ => Stage::PostCall,
    };
    NewRecord {
        application_id,
        stage,
        exchange_id: Some(format!("exchange{}", number / 2)),
        user_id: Some(user),
        session_id: Some(session),
        created_at_ms,
        rules_version: Some(1),
        inline_rules: None,
        blocked: false,
        message: None,
        additional_parameters,
        answer: answer(number, kind),
    }
}

fn answer(number: u64, kind: Option<&str>) -> AnalysisResponse {
    let types = kind.map(|kind| TypeCount {
        kind: kind.into(),
        count: 1,
    });
    let entities = kind.map(|kind| Entity {
        kind: kind.into(),
        start: 9,
        end: 20,
    });
    AnalysisResponse {
        request_id: RecordId::random(),
        schema_version: SCHEMA_VERSION.into(),
        status: Status::Success,
        errors: Vec::new(),
        tokens: TokensReport {
            count: 200,
            usage_severity: None,
        },
        guardrails: GuardrailsReport::default(),
        custom_policy: CustomPolicyReport::default(),
        dataclean: DatacleanReport {
            flagged: kind.is_some(),
            cleaned_text: Some(super::message(usize::try_from(number).unwrap())),
            types: types.into_iter().collect(),
            entities: entities.into_iter().collect(),
        },
        warnings: Vec::new(),
        timings: Timings::default(),
    }
}
