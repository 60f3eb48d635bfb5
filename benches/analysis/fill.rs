//! Fills a store with records of many users, sessions and days, straight through the store.

use monitor_model::{
    AnalysisResponse, ApplicationId, ChainHash, CustomPolicyReport, DatacleanReport, Entity,
    GuardrailsReport, RecordId, SCHEMA_VERSION, Stage, Status, Timings, TokensReport, TypeCount,
};
use monitor_store::{ChainEntry, NewRecord, Store};
use serde_json::{Map, json};
use std::sync::Arc;
use uuid::Uuid;

/// Writers at once.
const WRITERS: u64 = 512;
/// Times a record is sent at most.
const TRIES: u32 = 10;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Gateways that the records come from, by turns.
const GATEWAYS: u64 = 4;
/// Of this many records one never came, so that there are gaps.
const MISSING: u64 = 10_007;
/// Of this many records one is of another application than the first.
const OTHERS: u64 = 5;

/// Adds about `rows` records, spread evenly over the last 30 days; every 1000th holds a SNILS, every third an
/// e-mail address. One in five is of an application other than the first, by turns; one in 10,007 is missing.
pub(crate) async fn fill(
    store: Arc<dyn Store>,
    applications: Arc<[ApplicationId]>,
    rows: u64,
    now_ms: i64,
) {
    let tasks: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, applications) = (store.clone(), applications.clone());
            tokio::spawn(async move {
                let numbers = (writer..rows).step_by(WRITERS as usize);
                for number in numbers.filter(|number| number % MISSING != MISSING - 1) {
                    let application = match number % OTHERS {
                        0 => applications[(number / OTHERS) as usize % applications.len()],
                        _ => applications[0],
                    };
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
        tool: None,
        user_id: Some(user),
        session_id: Some(session),
        created_at_ms,
        rules_version: Some(1),
        inline_rules: None,
        tool_parts: monitor_model::CheckedParts::default(),
        blocked: false,
        unchecked: number % 5_000 == 7,
        found_values: Vec::new(),
        message: None,
        additional_parameters,
        chain: Some(entry(number)),
        cost: None,
        call: None,
        token: Some(format!("key {}", number % GATEWAYS)),
        answer: answer(number, kind),
    }
}

/// Its place in the chain of its gateway.
fn entry(number: u64) -> ChainEntry {
    let sequence = number / GATEWAYS + 1;
    ChainEntry {
        gateway: Uuid::from_u128(u128::from(number % GATEWAYS + 1)),
        sequence,
        previous: link(sequence - 1),
        link: link(sequence),
        after: None,
    }
}

fn link(sequence: u64) -> ChainHash {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&sequence.to_le_bytes());
    ChainHash(hash)
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
            cleaned_text: Some(super::message(usize::try_from(number).unwrap()).into()),
            types: types.into_iter().collect(),
            entities: entities.into_iter().collect(),
        },
        warnings: Vec::new(),
        timings: Timings::default(),
    }
}
