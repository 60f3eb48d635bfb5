//! The embedded store against a real file: durability, idempotency, paging, schema, privacy.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::SqliteStore;
use crate::model::{
    AnalysisResponse, ApplicationId, CustomPolicyReport, DatacleanReport, Entity, GuardrailsReport,
    RecordId, Severity, Stage, Status, Timings, TokensReport, TypeCount,
};
use crate::store::temporary::TemporaryFolder;
use crate::store::{
    Application, NewRecord, RecordFilter, RecordStore, Scope, Scopes, SettingsStore, StoreError,
    Token, TokenHash, TokenId,
};
use serde_json::{Map, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use uuid::Uuid;

struct World {
    folder: TemporaryFolder,
    store: Arc<SqliteStore>,
    application: ApplicationId,
}

impl World {
    async fn new() -> Self {
        let folder = TemporaryFolder::unmade();
        std::fs::create_dir(folder.path()).unwrap();
        let store = Arc::new(
            SqliteStore::open(&folder.path().join("a.db"))
                .await
                .unwrap(),
        );
        let application = ApplicationId::random();
        store
            .add_application(an_application(application))
            .await
            .unwrap();
        Self {
            folder,
            store,
            application,
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("a.db")
    }

    fn record(&self, exchange: Option<&str>, text: &str) -> NewRecord {
        NewRecord {
            application_id: self.application,
            stage: Stage::PreCall,
            exchange_id: exchange.map(str::to_owned),
            user_id: Some("u1".to_owned()),
            session_id: None,
            created_at_ms: 1_700_000_000_000,
            rules_version: Some(1),
            inline_rules: None,
            blocked: false,
            message: None,
            additional_parameters: Map::new(),
            answer: an_answer(text),
        }
    }
}

fn an_application(id: ApplicationId) -> Application {
    Application {
        id,
        name: "default".to_owned(),
        description: String::new(),
        created_at_ms: 1,
        updated_at_ms: 1,
        version: 1,
        policy: None,
        rules: json!({"keep_original": true}),
    }
}

fn an_answer(text: &str) -> AnalysisResponse {
    AnalysisResponse {
        request_id: RecordId::random(),
        schema_version: "2.0.0".to_owned(),
        status: Status::PartialSuccess,
        errors: vec!["tokens: the stage failed".to_owned()],
        tokens: TokensReport {
            count: 7,
            usage_severity: Some(Severity::High),
        },
        guardrails: GuardrailsReport::default(),
        custom_policy: CustomPolicyReport::default(),
        dataclean: DatacleanReport {
            flagged: true,
            cleaned_text: Some(text.to_owned()),
            types: vec![TypeCount {
                kind: "IP".to_owned(),
                count: 1,
            }],
            entities: vec![Entity {
                kind: "IP".to_owned(),
                start: 0,
                end: 7,
            }],
        },
        warnings: Vec::new(),
        timings: Timings::default(),
    }
}

fn everything() -> RecordFilter {
    RecordFilter {
        limit: 200,
        ..RecordFilter::default()
    }
}

#[tokio::test]
async fn a_record_comes_back_as_it_went_in() {
    let world = World::new().await;
    let mut record = world.record(Some("x"), "[IP] и\0 \u{1F600}");
    record.message = Some("1.1.1.1".to_owned());
    record
        .additional_parameters
        .insert("error".to_owned(), json!({"code": 502}));
    record
        .additional_parameters
        .insert("incomplete".to_owned(), json!(true));
    let id = record.answer.request_id;
    let answer = world.store.insert(record.clone()).await.unwrap();
    let stored = world.store.record(id).await.unwrap().unwrap();
    for back in [&answer, &stored.answer] {
        assert_eq!(json!(back), json!(record.answer));
    }
    assert_eq!(stored.message, record.message);
    assert_eq!(stored.additional_parameters, record.additional_parameters);
    let summary = stored.summary;
    assert_eq!(
        (summary.id, summary.application_id),
        (id, world.application)
    );
    assert_eq!(
        (summary.status, summary.severity),
        (Status::PartialSuccess, Some(Severity::High))
    );
    assert!(summary.flagged_dataclean && summary.failed && summary.incomplete);
    assert!(!summary.flagged_guardrails && !summary.flagged_custom_policy);
    assert_eq!(summary.types, record.answer.dataclean.types);
}

#[tokio::test]
async fn the_same_exchange_and_stage_is_kept_once_with_the_first_answer() {
    let world = World::new().await;
    let first = world
        .store
        .insert(world.record(Some("x"), "first"))
        .await
        .unwrap();
    let again = world
        .store
        .insert(world.record(Some("x"), "second"))
        .await
        .unwrap();
    assert_eq!(json!(again), json!(first));
    let mut post = world.record(Some("x"), "post");
    post.stage = Stage::PostCall;
    let post = world.store.insert(post).await.unwrap();
    assert_ne!(post.request_id, first.request_id);
    assert_eq!(
        world.store.page(&everything()).await.unwrap().records.len(),
        2
    );
}

#[tokio::test]
async fn records_without_an_exchange_and_of_other_applications_stand_alone() {
    let world = World::new().await;
    let other = ApplicationId::random();
    world
        .store
        .add_application(an_application(other))
        .await
        .unwrap();
    let mut foreign = world.record(Some("x"), "foreign");
    foreign.application_id = other;
    for record in [world.record(None, "a"), world.record(None, "b"), foreign] {
        let id = record.answer.request_id;
        assert_eq!(world.store.insert(record).await.unwrap().request_id, id);
    }
    let own = world
        .store
        .insert(world.record(Some("x"), "own"))
        .await
        .unwrap();
    assert_eq!(own.dataclean.cleaned_text.as_deref(), Some("own"));
}

#[tokio::test]
async fn many_writers_at_once_are_all_kept_and_duplicates_among_them_once() {
    let world = World::new().await;
    let mut tasks = Vec::new();
    for number in 0..600 {
        let record = world.record(Some(&format!("x{}", number / 2)), "text");
        let store = world.store.clone();
        tasks.push(tokio::spawn(async move { store.insert(record).await }));
    }
    let mut ids = std::collections::HashSet::new();
    for task in tasks {
        ids.insert(task.await.unwrap().unwrap().request_id);
    }
    assert_eq!(ids.len(), 300);
    let mut filter = everything();
    let mut seen = 0;
    loop {
        let page = world.store.page(&filter).await.unwrap();
        seen += page.records.len();
        filter.before = page.next_before;
        if filter.before.is_none() {
            break;
        }
    }
    assert_eq!(seen, 300);
}

#[tokio::test]
async fn a_record_that_breaks_a_rule_does_not_cost_its_neighbours_their_place() {
    let world = World::new().await;
    let mut orphan = world.record(None, "orphan");
    orphan.application_id = ApplicationId::random();
    let good = world.record(None, "good");
    let (orphan, good) = tokio::join!(world.store.insert(orphan), world.store.insert(good));
    assert!(matches!(orphan, Err(StoreError::Unavailable(_))));
    assert!(good.is_ok());
    assert_eq!(
        world.store.page(&everything()).await.unwrap().records.len(),
        1
    );
}

#[tokio::test]
async fn pages_go_from_new_to_old_without_gap_or_overlap() {
    let world = World::new().await;
    for number in 0..5 {
        world
            .store
            .insert(world.record(None, &number.to_string()))
            .await
            .unwrap();
    }
    let mut filter = RecordFilter {
        limit: 2,
        user_id: Some("u1".to_owned()),
        ..everything()
    };
    let mut seen = Vec::new();
    for expected in [2, 2, 1] {
        let page = world.store.page(&filter).await.unwrap();
        assert_eq!(page.records.len(), expected);
        seen.extend(page.records.iter().map(|record| record.seq));
        filter.before = page.next_before;
    }
    assert_eq!(filter.before, None);
    assert!(seen.is_sorted_by(|one, next| one > next) && seen.len() == 5);
    filter.session_id = Some("none".to_owned());
    assert!(world.store.page(&filter).await.unwrap().records.is_empty());
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_closing_and_opening() {
    let world = World::new().await;
    let id = world
        .store
        .insert(world.record(None, "kept"))
        .await
        .unwrap()
        .request_id;
    world.store.close().await;
    assert!(matches!(
        world.store.record(id).await,
        Err(StoreError::Closed)
    ));
    let late = world.store.insert(world.record(None, "late")).await;
    assert!(matches!(late, Err(StoreError::Closed)));
    let again = SqliteStore::open(&world.file()).await.unwrap();
    assert!(again.record(id).await.unwrap().is_some());
    let first = again.first_application().await.unwrap().unwrap();
    assert_eq!(
        (first.id, first.rules),
        (world.application, json!({"keep_original": true}))
    );
    again.close().await;
}

fn a_token(application: ApplicationId) -> Token {
    Token {
        id: TokenId(Uuid::new_v4()),
        name: "ci".to_owned(),
        scopes: Scopes::of(&[Scope::Read]),
        application_id: Some(application),
        created_at_ms: 5,
        expires_at_ms: Some(9),
        revoked_at_ms: None,
        last_used_at_ms: None,
    }
}

#[tokio::test]
async fn a_token_comes_back_by_its_hash_only_and_is_not_replaced() {
    let World {
        store,
        application,
        folder: _folder,
    } = World::new().await;
    let (token, later) = (a_token(application), a_token(application));
    let hash = TokenHash([7; 32]);
    assert!(!store.has_tokens().await.unwrap());
    store.add_token(hash, token.clone()).await.unwrap();
    store.add_token(hash, later).await.unwrap();
    // The order of the queue makes the touch visible once the next write is done.
    store.touch_token(token.id, 6);
    store
        .add_application(an_application(ApplicationId::random()))
        .await
        .unwrap();
    let back = store.token(&hash).await.unwrap().unwrap();
    assert_eq!((back.id, back.scopes), (token.id, token.scopes));
    assert_eq!(
        (back.application_id, back.last_used_at_ms),
        (Some(application), Some(6))
    );
    assert!(back.is_valid_at(8) && !back.is_valid_at(9));
    assert!(store.token(&TokenHash([8; 32])).await.unwrap().is_none());
}

#[tokio::test]
async fn a_newer_schema_is_refused_in_plain_words() {
    let world = World::new().await;
    world.store.close().await;
    let mut connection = super::SqliteConnectOptions::new()
        .filename(world.file())
        .connect()
        .await;
    use sqlx::ConnectOptions as _;
    sqlx::query("INSERT INTO schema_version (version) VALUES (99)")
        .execute(connection.as_mut().unwrap())
        .await
        .unwrap();
    drop(connection);
    let error = SqliteStore::open(&world.file()).await.err().unwrap();
    assert!(
        matches!(error, StoreError::NewerSchema { found: 99, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn every_file_of_the_store_is_for_its_owner_only() {
    let world = World::new().await;
    let mut modes = Vec::new();
    for entry in std::fs::read_dir(world.folder.path()).unwrap() {
        modes.push(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777);
    }
    // The database, its log and the log's index.
    assert_eq!(modes, [0o600; 3]);
}
