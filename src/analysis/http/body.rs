//! The body of an analysis request: read under the size limit, then taken apart field by field so
//! that an error names the field (§2.7, §2.8, CONTRACT 27).

use super::surrogates::replace_lone;
use crate::analysis::inline::Validation;
use crate::analysis::process::Asked;
use crate::analysis::{ApiError, ProcessInput};
use axum::body::{Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use http_body_util::LengthLimitError;
use monitor_model::Stage;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::error::Error as _;

/// Whose rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RulesOf {
    /// The application's own (§4.3).
    Application,
    /// Those in `validation_config` (§4.4).
    Request,
}

/// The whole body of a call that sends JSON.
pub(super) async fn read(request: Request, max_bytes: u64) -> Result<Bytes, ApiError> {
    if !is_json(request.headers()) {
        return Err(ApiError::NotJsonType);
    }
    read_any(request, max_bytes).await
}

/// The whole body, of any type.
pub(super) async fn read_any(request: Request, max_bytes: u64) -> Result<Bytes, ApiError> {
    let body = request.into_body();
    if body.size_hint().lower() > max_bytes {
        return Err(ApiError::TooLarge(max_bytes));
    }
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    axum::body::to_bytes(body, limit).await.map_err(|error| {
        match error
            .source()
            .is_some_and(|cause| cause.is::<LengthLimitError>())
        {
            true => ApiError::TooLarge(max_bytes),
            false => ApiError::NotJson(": it broke off".to_owned()),
        }
    })
}

/// `application/json` or a type built on it, with any parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = value
        .and_then(|value| value.split(';').next())
        .unwrap_or_default()
        .trim();
    let Some((main, sub)) = essence.split_once('/') else {
        return false;
    };
    let suffix = sub.rsplit_once('+').map_or(sub, |(_, suffix)| suffix);
    main.eq_ignore_ascii_case("application") && suffix.eq_ignore_ascii_case("json")
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

/// The fields of §2.7, and of §2.8 where the rules come with the request. Keys it does not know at
/// the top level are passed over.
pub(super) fn parse(bytes: &[u8], stage: Stage, rules: RulesOf) -> Result<Asked, ApiError> {
    let bytes = replace_lone(bytes);
    // The derived reader would also take an array for the three fields in order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        serde_json::from_slice::<IgnoredAny>(&bytes).map_err(|error| not_json(&error))?;
        return Err(ApiError::Field {
            field: "body",
            problem: "must be an object",
        });
    }
    let fields: Fields<'_> =
        serde_json::from_slice(&bytes).map_err(|error| match error.classify() {
            Category::Data => ApiError::Field {
                field: "body",
                problem: "must have each field once",
            },
            _ => not_json(&error),
        })?;
    Ok(Asked {
        stage,
        input: input(&fields)?,
        validation: match rules {
            RulesOf::Application => None,
            RulesOf::Request => Some(validation(&fields, stage)?),
        },
    })
}

fn input(fields: &Fields<'_>) -> Result<ProcessInput, ApiError> {
    let problem = |field, problem| ApiError::Field { field, problem };
    let message = fields.message.ok_or(problem("message", "missing"))?;
    Ok(ProcessInput {
        application_id: fields
            .application_id
            .map(|raw| string(raw).ok_or(problem("application_id", "must be a UUID as a string")))
            .transpose()?,
        message: string(message).ok_or(problem("message", "must be a string"))?,
        additional_parameters: fields
            .additional_parameters
            .map_or(Ok(Map::new()), object)?,
    })
}

fn validation(fields: &Fields<'_>, stage: Stage) -> Result<Validation, ApiError> {
    let value = fields.validation_config.map(|raw| {
        serde_json::from_str(raw.get()).map_err(|_| ApiError::Field {
            field: "validation_config",
            problem: UNREADABLE,
        })
    });
    Validation::read(value.transpose()?.as_ref(), stage).map_err(ApiError::Fields)
}

const UNREADABLE: &str = "nested too deep, or a number out of range";

pub(super) fn not_json(error: &serde_json::Error) -> ApiError {
    // The place only: the parser's own words could quote the body.
    ApiError::NotJson(format!(
        ", see line {} column {}",
        error.line(),
        error.column()
    ))
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

fn object(raw: &RawValue) -> Result<Map<String, Value>, ApiError> {
    const FIELD: &str = "additional_parameters";
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
