//! A new database with one store and one application in it, and short words for what tests do.

use async_trait::async_trait;
use monitor_model::{
    AnalysisResponse, ApplicationId, CustomPolicyReport, DatacleanReport, GuardrailsReport,
    RecordId, Stage, Status, Timings, TokensReport, TypeCount,
};
use monitor_store::{
    Application, ApplicationChange, NewRecord, RecordFilter, RecordSummary, Scope, Scopes, Store,
    Token, TokenId, VersionLimits,
};
use serde_json::{Map, json};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A quiet morning in 2023.
pub const MORNING_MS: i64 = 1_700_000_000_000;
pub const DAY_MS: i64 = 86_400_000;

/// An empty database.
#[async_trait]
pub trait Database: Send + Sync {
    /// A store over it; another one at each call, all over the same database.
    async fn open(&self) -> Arc<dyn Store>;

    /// Executes SQL in the database, beside its stores.
    async fn execute(&self, sql: &str);

    /// The table of the audit log.
    fn audit_table(&self) -> &'static str;
}

/// What a test of the contract works on.
pub struct Bed {
    pub database: Box<dyn Database>,
    pub store: Arc<dyn Store>,
    pub application: ApplicationId,
}

/// Runs one test and closes its store.
pub fn run(database: impl Database + 'static, test: impl AsyncFnOnce(&Bed)) {
    Runtime::new().unwrap().block_on(async {
        let store = database.open().await;
        let application = add_application(&*store, "first").await;
        let bed = Bed {
            database: Box::new(database),
            store,
            application,
        };
        test(&bed).await;
        bed.store.close().await;
    });
}

impl Bed {
    pub async fn add_application(&self, name: &str) -> ApplicationId {
        add_application(&*self.store, name).await
    }

    /// A prompt in which nothing was found.
    pub fn record(&self) -> NewRecord {
        NewRecord {
            application_id: self.application,
            stage: Stage::PreCall,
            exchange_id: None,
            tool: None,
            user_id: None,
            session_id: None,
            created_at_ms: MORNING_MS,
            rules_version: Some(1),
            inline_rules: None,
            tool_parts: monitor_model::CheckedParts::default(),
            blocked: false,
            unchecked: false,
            found_values: Vec::new(),
            message: None,
            additional_parameters: Map::new(),
            chain: None,
            cost: None,
            call: None,
            token: None,
            answer: answer(),
        }
    }

    pub fn exchange(&self, exchange: &str) -> NewRecord {
        NewRecord {
            exchange_id: Some(exchange.to_owned()),
            ..self.record()
        }
    }

    pub fn text(&self, text: &str) -> NewRecord {
        let mut record = self.record();
        record.answer.dataclean.cleaned_text = Some(text.into());
        record
    }

    /// Keeps it, and gives its identifier.
    pub async fn keep(&self, record: NewRecord) -> RecordId {
        self.store.insert(record).await.unwrap().request_id
    }

    /// Every record that a filter finds, page by page. The filter's own limit is the pages'.
    pub async fn all(&self, filter: RecordFilter) -> Vec<RecordSummary> {
        let mut filter = filter;
        let mut records = Vec::new();
        loop {
            let page = self.store.page(&filter).await.unwrap();
            assert!(page.records.len() <= filter.limit as usize);
            records.extend(page.records);
            let Some(next) = page.next_before else {
                break;
            };
            assert!(filter.before.is_none_or(|before| next < before));
            filter.before = Some(next);
        }
        assert!(records.is_sorted_by(|one, next| one.seq > next.seq));
        records
    }

    pub async fn ids(&self, filter: RecordFilter) -> Vec<RecordId> {
        let records = self.all(filter).await;
        records.into_iter().map(|record| record.id).collect()
    }

    pub fn change(&self, expected_version: i64, name: &str) -> ApplicationChange {
        ApplicationChange {
            id: self.application,
            expected_version,
            name: name.to_owned(),
            description: format!("about {name}"),
            rules: json!({"name": name}),
            policy: None,
            changed_at_ms: MORNING_MS + expected_version,
            changed_by: format!("who wanted {name}"),
            keep: VersionLimits::default(),
        }
    }
}

pub async fn add_application(store: &dyn Store, name: &str) -> ApplicationId {
    let id = ApplicationId::random();
    let added = store
        .add_application(application(id, name), "who made it", None)
        .await;
    added.unwrap();
    id
}

pub fn application(id: ApplicationId, name: &str) -> Application {
    Application {
        id,
        name: name.to_owned(),
        description: String::new(),
        created_at_ms: MORNING_MS,
        updated_at_ms: MORNING_MS,
        version: 1,
        rules: json!({}),
        policy: None,
    }
}

/// Everything, a small page at a time.
pub fn everything() -> RecordFilter {
    RecordFilter {
        limit: 7,
        ..RecordFilter::default()
    }
}

/// Nothing was found.
pub fn answer() -> AnalysisResponse {
    AnalysisResponse {
        request_id: RecordId::random(),
        schema_version: "2.0.0".to_owned(),
        status: Status::Success,
        errors: Vec::new(),
        tokens: TokensReport::default(),
        guardrails: GuardrailsReport::default(),
        custom_policy: CustomPolicyReport::default(),
        dataclean: DatacleanReport {
            cleaned_text: Some("text".into()),
            ..DatacleanReport::default()
        },
        warnings: Vec::new(),
        timings: Timings::default(),
    }
}

pub fn found(kind: &str, count: u64) -> TypeCount {
    TypeCount {
        kind: kind.to_owned(),
        count,
    }
}

pub fn token(name: &str, application_id: Option<ApplicationId>) -> Token {
    Token {
        id: TokenId(uuid::Uuid::new_v4()),
        name: name.to_owned(),
        scopes: Scopes::of(&[Scope::Read]),
        application_id,
        created_at_ms: MORNING_MS,
        expires_at_ms: None,
        revoked_at_ms: None,
        last_used_at_ms: None,
    }
}
