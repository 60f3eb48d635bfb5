//! A store over a database of its own, and records for it.

use monitor_model::{
    AnalysisResponse, ApplicationId, CustomPolicyReport, DatacleanReport, Entity, GuardrailsReport,
    RecordId, Severity, Stage, Status, Timings, TokensReport, TypeCount,
};
use monitor_store::{
    Application, ApplicationStore, NewRecord, PostgresStore, RecordFilter, RecordStore,
    RecordSummary,
};
use serde_json::{Map, json};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use support::postgres::{Database, Postgres};

pub(crate) const DAY_MS: i64 = 86_400_000;

pub(crate) struct World {
    pub(crate) database: Database,
    pub(crate) store: Arc<PostgresStore>,
    pub(crate) application: ApplicationId,
}

impl World {
    /// A store over a new database with one application.
    pub(crate) async fn new(server: &Postgres) -> Self {
        let database = tokio::task::block_in_place(|| server.database());
        let store = open(&database).await;
        let application = ApplicationId::random();
        store
            .add_application(an_application(application), "test", None)
            .await
            .unwrap();
        Self {
            database,
            store,
            application,
        }
    }

    pub(crate) fn record(&self, exchange: Option<&str>, text: &str) -> NewRecord {
        a_record(self.application, exchange, text)
    }

    /// Every record, newest first.
    pub(crate) async fn all(&self) -> Vec<RecordSummary> {
        let mut filter = everything();
        let mut records = Vec::new();
        loop {
            let page = self.store.page(&filter).await.unwrap();
            records.extend(page.records);
            filter.before = page.next_before;
            if filter.before.is_none() {
                return records;
            }
        }
    }

    /// One number out of the database.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        tokio::task::block_in_place(|| self.database.query(sql))
            .parse()
            .unwrap()
    }
}

pub(crate) async fn open(database: &Database) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::open(&database.settings()).await.unwrap())
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

pub(crate) fn everything() -> RecordFilter {
    RecordFilter {
        limit: 200,
        ..RecordFilter::default()
    }
}

pub(crate) fn an_application(id: ApplicationId) -> Application {
    Application {
        id,
        name: "default".to_owned(),
        description: String::new(),
        created_at_ms: now_ms(),
        updated_at_ms: now_ms(),
        version: 1,
        policy: None,
        rules: json!({}),
    }
}

pub(crate) fn a_record(
    application_id: ApplicationId,
    exchange: Option<&str>,
    text: &str,
) -> NewRecord {
    NewRecord {
        application_id,
        stage: Stage::PreCall,
        exchange_id: exchange.map(str::to_owned),
        tool: None,
        user_id: Some("u1".to_owned()),
        session_id: Some("s1".to_owned()),
        created_at_ms: now_ms(),
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
        answer: an_answer(text),
    }
}

fn an_answer(text: &str) -> AnalysisResponse {
    AnalysisResponse {
        request_id: RecordId::random(),
        schema_version: "2.0.0".to_owned(),
        status: Status::Success,
        errors: Vec::new(),
        tokens: TokensReport {
            count: 7,
            usage_severity: Some(Severity::High),
        },
        guardrails: GuardrailsReport::default(),
        custom_policy: CustomPolicyReport::default(),
        dataclean: DatacleanReport {
            flagged: true,
            cleaned_text: Some(text.into()),
            types: vec![TypeCount {
                kind: "IP".to_owned(),
                count: 2,
            }],
            entities: vec![Entity {
                kind: "IP".into(),
                start: 0,
                end: 7,
            }],
        },
        warnings: Vec::new(),
        timings: Timings::default(),
    }
}
