//! `POST /process_tool_call/` (CONTRACT 48): a tool's name, its arguments and, once it has answered, its result.

use super::process::{parsed, urgency};
use super::process_body::{application_id, fields, object, string};
use crate::analysis::ApiError;
use crate::analysis::api::extract::{Api, Ingester};
use crate::analysis::api::response::{Outcome, ok};
use crate::analysis::api::schemas;
use crate::analysis::ingest::tool_calls::{ToolCallInput, ToolCallVerdict};
use axum::extract::{Request, State};
use monitor_model::LONGEST_ID;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Characters of a tool's name.
const LONGEST_NAME: usize = 256;
const NAME: &str = "must be a string of 1 to 256 characters, not only blank";
const CALL_ID: &str = "must be a string of 1 to 512 bytes, not only blank";
const NO_ARGUMENTS: &str = "{}";

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    application_id: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_name: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_result: Option<&'a RawValue>,
    #[serde(borrow)]
    additional_parameters: Option<&'a RawValue>,
    #[serde(borrow)]
    func_name: Option<&'a RawValue>,
    #[serde(borrow)]
    func_args: Option<&'a RawValue>,
    #[serde(borrow)]
    func_result: Option<&'a RawValue>,
    // Names of the APIs of models, under which nothing would be checked.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

/// Analyze a call of a tool
///
/// The tool's name and arguments are checked by the rules of answers, its result by those of prompts. Each is a
/// record beside the messages of the same `additional_parameters.request_id`. Send the call before the tool runs,
/// and again with its result: a part that is already stored gets its first verdict. `func_name`, `func_args` and
/// `func_result` are accepted in place of `tool_name`, `tool_input` and `tool_result`; `arguments`, `input`, `result`
/// and `output` are refused. Scope: ingest.
#[utoipa::path(
    post,
    path = "/process_tool_call",
    operation_id = "processToolCall",
    tag = "analysis",
    request_body = schemas::ToolCallMessage,
    responses(
        (
            status = 200,
            description = "The verdicts. Their records are durable.",
            body = ToolCallVerdict,
        ),
    ),
)]
pub(crate) async fn process(
    State(services): Api,
    Ingester(caller): Ingester,
    request: Request,
) -> Outcome {
    let urgency = urgency(&request);
    let (input, _) = parsed(&services, request, parse).await?;
    let verdict = services.ingest.process_tool_call(&caller, input, urgency);
    ok(&verdict.await?)
}

fn parse(bytes: &[u8]) -> Result<ToolCallInput, ApiError> {
    let given: Fields<'_> = fields(bytes)?;
    let problem = |field, problem| ApiError::Field { field, problem };
    if given.arguments.or(given.input).is_some() {
        return Err(problem(
            "tool_input",
            "is not read as `arguments` or `input`; send tool_input",
        ));
    }
    if given.result.or(given.output).is_some() {
        return Err(problem(
            "tool_result",
            "is not read as `result` or `output`; send tool_result",
        ));
    }
    let name = one_of("tool_name", given.tool_name, given.func_name)?;
    let name = name.ok_or(problem("tool_name", "missing"))?;
    let name = string(name).filter(|name| is_name(name));
    let additional_parameters = given.additional_parameters.map_or(Ok(Map::new()), object)?;
    Ok(ToolCallInput {
        application_id: application_id(given.application_id)?,
        name: name.ok_or(problem("tool_name", NAME))?,
        call_id: call_id(given.tool_call_id, &additional_parameters)?,
        arguments: one_of("tool_input", given.tool_input, given.func_args)?
            .map_or_else(|| NO_ARGUMENTS.to_owned(), text),
        result: one_of("tool_result", given.tool_result, given.func_result)?.map(text),
        additional_parameters,
    })
}

/// A field that has another name too.
fn one_of<'a>(
    field: &'static str,
    value: Option<&'a RawValue>,
    alias: Option<&'a RawValue>,
) -> Result<Option<&'a RawValue>, ApiError> {
    match (value, alias) {
        (Some(_), Some(_)) => Err(ApiError::Field {
            field,
            problem: "is sent under two names; send one of them",
        }),
        (value, alias) => Ok(value.or(alias)),
    }
}

fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= LONGEST_NAME
}

/// A field of its own, or a key of `additional_parameters`.
fn call_id(
    given: Option<&RawValue>,
    parameters: &Map<String, Value>,
) -> Result<Option<String>, ApiError> {
    let wrong = ApiError::Field {
        field: "tool_call_id",
        problem: CALL_ID,
    };
    let is_id = |id: &String| !id.trim().is_empty() && id.len() <= LONGEST_ID;
    match (given, parameters.get("tool_call_id")) {
        (Some(raw), _) => string(raw).filter(is_id).ok_or(wrong).map(Some),
        (None, Some(Value::String(id))) if is_id(id) => Ok(Some(id.clone())),
        (None, None | Some(Value::Null)) => Ok(None),
        (None, Some(_)) => Err(wrong),
    }
}

/// A string as it is, any other value as its JSON.
fn text(raw: &RawValue) -> String {
    string(raw).unwrap_or_else(|| raw.get().to_owned())
}
