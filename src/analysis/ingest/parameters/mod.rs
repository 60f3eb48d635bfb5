//! The fields of `additional_parameters` that this program understands (§2.7, CONTRACT 5).

mod bounds;

use super::request::ProcessInput;
use crate::analysis::error::ApiError;
use bounds::{check, shorten_ids};
use monitor_model::{
    CALL_PARAMETER, CHAIN_PARAMETER, CallFacts, CallTokens, Chain, Identity, MODEL_PARAMETER,
    MOST_PART_BREAKS, PART_BREAKS, STORED_RESPONSE_PARAMETER, Stage, TOOL_CALLS, TOOL_RESULTS,
    ToolParts, Warning, WarningCode, model_name,
};
use monitor_store::ChainEntry;
use serde_json::{Map, Value};

/// Who and what a message belongs to.
pub(super) struct Parameters {
    pub(super) user_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) exchange_id: Option<String>,
    pub(super) chain: Option<ChainEntry>,
    /// Code points at which a line feed stands between two parts of the message (CONTRACT 42).
    pub(super) part_breaks: Vec<usize>,
    /// The calls of tools in an answer, or their results in a prompt. They are no parameters any more.
    pub(super) tools: ToolParts,
    /// The model that answered, or that was asked.
    pub(super) model: Option<String>,
    /// The tokens of the call as the model server counts them.
    pub(super) usage: CallTokens,
    /// The answer is a stored one that was read again.
    pub(super) is_stored_response: bool,
    /// What is known of the call.
    pub(super) call: Option<CallFacts>,
    /// About facts of the call that are not understood.
    pub(super) warnings: Vec<Warning>,
}

impl Parameters {
    /// Checked; the ids of a gateway's record are cut to their bound.
    pub(super) fn of(stage: Stage, input: &mut ProcessInput) -> Result<Self, ApiError> {
        let mut parameters = Self::read(&input.additional_parameters)?;
        // Over what was received.
        let chain = chain_entry(stage, input, &parameters);
        if chain.is_some() && shorten_ids(&mut input.additional_parameters) {
            parameters = Self::read(&input.additional_parameters)?;
        }
        let tools = match stage {
            Stage::PreCall => TOOL_RESULTS,
            Stage::PostCall => TOOL_CALLS,
        };
        parameters.tools = ToolParts::take(&mut input.additional_parameters, tools);
        check(&input.additional_parameters)?;
        parameters.chain = chain;
        Ok(parameters)
    }

    fn read(given: &Map<String, Value>) -> Result<Self, ApiError> {
        // Other callers may use the key for something else: only a string names an exchange.
        let exchange_id = given.get("request_id").and_then(Value::as_str);
        let (call, odd) = CallFacts::read(given);
        Ok(Self {
            user_id: text(given, "user_id", "additional_parameters.user_id")?,
            session_id: text(given, "session_id", "additional_parameters.session_id")?,
            exchange_id: exchange_id.filter(|id| !id.is_empty()).map(str::to_owned),
            chain: None,
            part_breaks: part_breaks(given),
            tools: ToolParts::default(),
            model: model(given),
            usage: CallTokens::read(given),
            is_stored_response: given.get(STORED_RESPONSE_PARAMETER) == Some(&Value::Bool(true)),
            call,
            warnings: odd.into_iter().map(ignored_fact).collect(),
        })
    }
}

fn ignored_fact(name: &str) -> Warning {
    let message =
        format!("additional_parameters.{CALL_PARAMETER}.{name} is not valid and was ignored");
    Warning::new(WarningCode::Other, message)
}

/// Other callers may use the key for something else: only a string names a model.
fn model(given: &Map<String, Value>) -> Option<String> {
    let named = given.get(MODEL_PARAMETER)?.as_str()?;
    model_name(named).map(str::to_owned)
}

/// Other callers may use the key for something else: only numbers are places.
pub(crate) fn part_breaks(given: &Map<String, Value>) -> Vec<usize> {
    let places = given.get(PART_BREAKS).and_then(Value::as_array);
    let places = places.into_iter().flatten().take(MOST_PART_BREAKS);
    let place = |place: &Value| usize::try_from(place.as_u64()?).ok();
    places.filter_map(place).collect()
}

/// The gateway's sequence number of the message, with the hash link over what was received (CONTRACT 5).
fn chain_entry(stage: Stage, input: &ProcessInput, parameters: &Parameters) -> Option<ChainEntry> {
    let chain = Chain::read(input.additional_parameters.get(CHAIN_PARAMETER)?)?;
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
