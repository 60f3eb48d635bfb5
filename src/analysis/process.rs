//! Judging a message: its parameters, the rules that hold, the engine, the answer (§4.3, §4.4). What
//! is kept of it stands in `keep`.

use super::applications::Loaded;
use super::clock::steady_us;
use super::error::ApiError;
use super::inline::{Inline, Validation};
use super::models::Models;
use crate::config::Services;
use crate::judge::Remote;
use monitor_detect::{Compiled, Encoding, Engine, Proposed, Report};
use monitor_model::{
    AnalysisResponse, AppMode, Chain, Identity, Policy, RecordId, SCHEMA_VERSION, Stage,
};
use monitor_store::ChainEntry;
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Longer messages are analysed away from the threads that serve connections.
const INLINE_BYTES: usize = 64 * 1024;
/// The same where custom regexes look at them, whose cost for a byte is not known. What a model is shown
/// is, however short: it takes a thousand times longer.
const INLINE_BYTES_OF_REGEXES: usize = 4 * 1024;

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

/// One call: §2.7, or §2.8 where it brings its own rules.
pub(super) struct Asked {
    pub(super) stage: Stage,
    pub(super) input: ProcessInput,
    pub(super) validation: Option<Validation>,
}

/// The engine with its bound on long messages, and the servers that are asked beside it.
pub(super) struct Analyst {
    pub(super) engine: Arc<Engine>,
    pub(super) remote: Remote,
    has_models: bool,
    long_messages: Arc<Semaphore>,
}

impl Analyst {
    /// Builds the engine and warms it up, which takes tens of milliseconds.
    pub(super) fn new(services: Services, models: Models, remote: Remote) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let has_models = !models.are_none();
        let engine = Arc::new(models.beside(Engine::new(services)));
        engine.warm_up(Encoding::default());
        Self {
            engine,
            remote,
            has_models,
            long_messages: Arc::new(Semaphore::new(cores)),
        }
    }

    /// Runs the engine; gives the message back with the report.
    pub(super) async fn analyse(
        &self,
        message: String,
        rules: &Arc<Compiled>,
    ) -> Result<(String, Report), ApiError> {
        self.analyse_with(message, (rules, Proposed::default()))
            .await
    }

    /// The same with finds of sensitive data that others propose.
    pub(super) async fn analyse_with(
        &self,
        message: String,
        (rules, proposed): (&Arc<Compiled>, Proposed),
    ) -> Result<(String, Report), ApiError> {
        let longest = match rules.has_regexes() {
            _ if self.has_models => 0,
            true => INLINE_BYTES_OF_REGEXES,
            false => INLINE_BYTES,
        };
        if message.len() <= longest {
            let report = self
                .engine
                .analyse_with(&message, (rules, &proposed), &steady_us);
            return Ok((message, report));
        }
        let (engine, rules) = (self.engine.clone(), rules.clone());
        // Not given back when the caller goes: the work goes on.
        let permit = self
            .long_messages
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| ApiError::Internal)?;
        tokio::task::spawn_blocking(move || {
            let report = engine.analyse_with(&message, (&rules, &proposed), &steady_us);
            drop(permit);
            (message, report)
        })
        .await
        .map_err(|_| ApiError::Internal)
    }
}

/// The parameters this program understands (§2.7, CONTRACT 5).
pub(super) struct Parameters {
    pub(super) user_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) exchange_id: Option<String>,
    pub(super) chain: Option<ChainEntry>,
}

impl Parameters {
    pub(super) fn read(given: &Map<String, Value>) -> Result<Self, ApiError> {
        // Other callers may use the key for something of their own: only a text names an exchange.
        let exchange_id = given.get("request_id").and_then(Value::as_str);
        Ok(Self {
            user_id: text(given, "user_id", "additional_parameters.user_id")?,
            session_id: text(given, "session_id", "additional_parameters.session_id")?,
            exchange_id: exchange_id.filter(|id| !id.is_empty()).map(str::to_owned),
            chain: None,
        })
    }
}

/// The number that a gateway gave the message, with the link of what came (CONTRACT 5).
pub(super) fn chained(
    stage: Stage,
    input: &ProcessInput,
    parameters: &Parameters,
) -> Option<ChainEntry> {
    let chain = Chain::read(input.additional_parameters.get("chain")?)?;
    let digest = Identity {
        request_id: parameters.exchange_id.as_deref(),
        stage,
        application_id: input.application_id.as_deref(),
        user_id: parameters.user_id.as_deref(),
        session_id: parameters.session_id.as_deref(),
        message: &input.message,
    }
    .digest();
    Some(ChainEntry {
        gateway: chain.gateway,
        sequence: chain.sequence,
        previous: chain.previous,
        link: chain.link(digest),
        after: chain.after,
    })
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

/// What judges one message: the rules of its application, or those that came with it (§4.4).
pub(super) struct Judging {
    pub(super) application: Arc<Loaded>,
    pub(super) stage: Stage,
    pub(super) inline: Option<Inline>,
}

impl Judging {
    pub(super) fn rules(&self) -> &Arc<Compiled> {
        match &self.inline {
            Some(inline) => &inline.rules,
            None => self.application.rules.of(self.stage),
        }
    }

    /// What the caller is told.
    pub(super) fn answer(&self, report: Report) -> AnalysisResponse {
        let warnings = self.inline.as_ref().map(|inline| inline.warnings.clone());
        AnalysisResponse {
            warnings: warnings.unwrap_or_default(),
            ..answer(report)
        }
    }
}

/// §2.9 under a new identifier.
pub(super) fn answer(report: Report) -> AnalysisResponse {
    AnalysisResponse {
        request_id: RecordId::random(),
        schema_version: SCHEMA_VERSION.to_owned(),
        status: report.status,
        errors: report.errors,
        tokens: report.tokens,
        guardrails: report.guardrails,
        custom_policy: report.custom_policy,
        dataclean: report.dataclean,
        warnings: Vec::new(),
        timings: report.timings,
    }
}

/// Whether a policy blocks on a verdict, on this side of the exchange (CONTRACT 12 and 15).
pub(super) fn blocks(policy: &Policy, stage: Stage, answer: &AnalysisResponse) -> bool {
    let applies = match stage {
        Stage::PreCall => true,
        Stage::PostCall => policy.replace_response,
    };
    let on = policy.block_on;
    let is_found = on.guardrails && answer.guardrails.flagged
        || on.custom_policy && answer.custom_policy.flagged
        || on.dataclean && answer.dataclean.flagged;
    policy.app_mode == AppMode::Sync && applies && is_found
}
