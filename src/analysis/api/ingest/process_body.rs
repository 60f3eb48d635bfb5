//! The body of an analysis request, taken apart field by field so that an error names the field (§2.7, §2.8,
//! CONTRACT 27).

use crate::analysis::api::extract::body::not_json;
use crate::analysis::ingest::inline_rules::Validation;
use crate::analysis::ingest::request::ProcessRequest;
use crate::analysis::{ApiError, ProcessInput};
use crate::fair_queue::Urgency;
use monitor_model::Stage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The rules that apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RulesOf {
    /// The application's own (§4.3).
    Application,
    /// Those in `validation_config` (§4.4).
    Request,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    application_id: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    additional_parameters: Option<&'a RawValue>,
    #[serde(borrow)]
    validation_config: Option<&'a RawValue>,
}

/// The fields of §2.7, and of §2.8 if the rules come with the request. Unknown top-level fields are ignored.
/// `bytes` have no lone surrogates any more.
pub(crate) fn parse(
    bytes: &[u8],
    stage: Stage,
    rules: RulesOf,
    urgency: Urgency,
) -> Result<ProcessRequest, ApiError> {
    let fields: Fields<'_> = fields(bytes)?;
    Ok(ProcessRequest {
        stage,
        input: input(&fields)?,
        validation: match rules {
            RulesOf::Application => None,
            RulesOf::Request => Some(validation(&fields, stage)?),
        },
        tool: None,
        urgency,
    })
}

/// The fields of an object.
pub(super) fn fields<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, ApiError> {
    // A derived deserializer would also accept an array with the fields in order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        serde_json::from_slice::<IgnoredAny>(bytes).map_err(|error| not_json(&error))?;
        return Err(ApiError::Field {
            field: "body",
            problem: "must be an object",
        });
    }
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        Category::Data => ApiError::Field {
            field: "body",
            problem: "must contain each field once",
        },
        _ => not_json(&error),
    })
}

fn input(fields: &Fields<'_>) -> Result<ProcessInput, ApiError> {
    let problem = |field, problem| ApiError::Field { field, problem };
    let message = fields.message.ok_or(problem("message", "missing"))?;
    Ok(ProcessInput {
        application_id: application_id(fields.application_id)?,
        message: text(message).ok_or(problem("message", "must be a string"))?,
        additional_parameters: fields
            .additional_parameters
            .map_or(Ok(Map::new()), object)?,
    })
}

/// The application that a request names, if any.
pub(super) fn application_id(given: Option<&RawValue>) -> Result<Option<String>, ApiError> {
    let problem = ApiError::Field {
        field: "application_id",
        problem: "must be a UUID as a string",
    };
    given.map(|raw| string(raw).ok_or(problem)).transpose()
}

fn validation(fields: &Fields<'_>, stage: Stage) -> Result<Validation, ApiError> {
    let value = fields.validation_config.map(|raw| {
        if raw.get().len() > LONGEST_RULES {
            return Err(ApiError::Field {
                field: "validation_config",
                problem: "has more than 1048576 bytes of JSON; allowed: at most that many",
            });
        }
        serde_json::from_str(raw.get()).map_err(|_| ApiError::Field {
            field: "validation_config",
            problem: UNREADABLE,
        })
    });
    Validation::read(value.transpose()?.as_ref(), stage).map_err(ApiError::Fields)
}

/// Longer `additional_parameters` are not even parsed: those allowed, with every character escaped.
const LONGEST_PARAMETERS: usize = 512 << 10;
/// As long as an administrative request.
const LONGEST_RULES: usize = 1 << 20;
const UNREADABLE: &str = "nested too deeply, or a number out of range";

fn text(raw: &RawValue) -> Option<Arc<str>> {
    serde_json::from_str(raw.get()).ok()
}

pub(super) fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

pub(super) fn object(raw: &RawValue) -> Result<Map<String, Value>, ApiError> {
    const FIELD: &str = "additional_parameters";
    if raw.get().len() > LONGEST_PARAMETERS {
        return Err(ApiError::Field {
            field: FIELD,
            problem: "has more than 524288 bytes of JSON; allowed: at most 65536 bytes of names and values",
        });
    }
    if !raw.get().starts_with('{') {
        return Err(ApiError::Field {
            field: FIELD,
            problem: "must be an object",
        });
    }
    serde_json::from_str(raw.get()).map_err(|_| ApiError::Field {
        field: FIELD,
        problem: UNREADABLE,
    })
}
