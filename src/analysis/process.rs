//! From a message to its record: checks the parameters, runs the engine, keeps the result (§4.3).

use super::applications::Loaded;
use super::clock::{now_ms, steady_us};
use super::error::ApiError;
use crate::detect::{Encoding, Engine, Report};
use crate::model::{
    AnalysisResponse, CustomPolicyReport, GuardrailsReport, RecordId, SCHEMA_VERSION, Stage,
};
use crate::store::NewRecord;
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Longer messages are analysed away from the threads that serve connections.
const INLINE_BYTES: usize = 64 * 1024;

/// §2.7 as it came in; the field checks are the analysis's own.
#[derive(Clone, Debug, Default)]
pub struct ProcessInput {
    /// The application's UUID; None takes the one the token is bound to.
    pub application_id: Option<String>,
    /// The user's message or the model's answer.
    pub message: String,
    /// user_id, session_id, request_id and whatever else the caller tracks.
    pub additional_parameters: Map<String, Value>,
}

/// The engine with its bound on long messages.
pub(super) struct Analyst {
    engine: Arc<Engine>,
    long_messages: Semaphore,
}

impl Analyst {
    /// Builds the engine and warms it up, which takes tens of milliseconds.
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let engine = Arc::new(Engine::new());
        engine.warm_up(Encoding::default());
        Self {
            engine,
            long_messages: Semaphore::new(cores),
        }
    }

    /// Runs the engine; gives the message back with the report.
    pub(super) async fn analyse(
        &self,
        message: String,
        application: &Arc<Loaded>,
        stage: Stage,
    ) -> Result<(String, Report), ApiError> {
        if message.len() <= INLINE_BYTES {
            let rules = application.rules.of(stage);
            let report = self.engine.analyse(&message, rules, &steady_us);
            return Ok((message, report));
        }
        let (engine, application) = (self.engine.clone(), application.clone());
        let _permit = self
            .long_messages
            .acquire()
            .await
            .map_err(|_| ApiError::Internal)?;
        tokio::task::spawn_blocking(move || {
            let report = engine.analyse(&message, application.rules.of(stage), &steady_us);
            (message, report)
        })
        .await
        .map_err(|_| ApiError::Internal)
    }
}

/// The parameters this program understands (§2.7, CONTRACT 5).
pub(super) struct Parameters {
    user_id: Option<String>,
    session_id: Option<String>,
    exchange_id: Option<String>,
}

impl Parameters {
    pub(super) fn read(given: &Map<String, Value>) -> Result<Self, ApiError> {
        // Other callers may use the key for something of their own: only a text names an exchange.
        let exchange_id = given.get("request_id").and_then(Value::as_str);
        Ok(Self {
            user_id: text(given, "user_id", "additional_parameters.user_id")?,
            session_id: text(given, "session_id", "additional_parameters.session_id")?,
            exchange_id: exchange_id.filter(|id| !id.is_empty()).map(str::to_owned),
        })
    }
}

fn text(
    given: &Map<String, Value>,
    key: &str,
    field: &'static str,
) -> Result<Option<String>, ApiError> {
    match given.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ApiError::Field {
            field,
            problem: "must be a string",
        }),
    }
}

/// What the caller is told. Guardrails and custom policies are asked for by no rule yet, so that they
/// are not flagged and not missing (CONTRACT 26).
pub(super) fn answer(report: Report) -> AnalysisResponse {
    AnalysisResponse {
        request_id: RecordId::random(),
        schema_version: SCHEMA_VERSION.to_owned(),
        status: report.status,
        errors: report.errors,
        tokens: report.tokens,
        guardrails: GuardrailsReport::default(),
        custom_policy: CustomPolicyReport::default(),
        dataclean: report.dataclean,
        warnings: Vec::new(),
        timings: report.timings,
    }
}

/// What is kept. The original stays only where the application asks for it.
pub(super) fn record(
    application: &Loaded,
    stage: Stage,
    parameters: Parameters,
    message: String,
    additional_parameters: Map<String, Value>,
    answer: AnalysisResponse,
) -> NewRecord {
    NewRecord {
        application_id: application.id,
        stage,
        exchange_id: parameters.exchange_id,
        user_id: parameters.user_id,
        session_id: parameters.session_id,
        created_at_ms: now_ms(),
        rules_version: Some(application.version),
        inline_rules: None,
        blocked: false,
        message: application.rules.keep_original.then_some(message),
        additional_parameters,
        answer,
    }
}
