//! `GET /statistics/costs`: what calls cost, summed by application, user, model and day (UTC). The sums are made as
//! records arrive, so that retention does not lower them; those of single users are kept for 400 days at most.

use super::export::csv;
use super::filters;
use crate::analysis::api::extract::{Api, Query, RecordReader};
use crate::analysis::api::response::{Outcome, content, ok};
use crate::analysis::api::schemas;
use crate::analysis::clock::{day_of, now_ms};
use crate::analysis::error::FieldProblem;
use crate::analysis::records::{CostFilter, CostSum};
use crate::analysis::{ApiError, Caller, Services};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use monitor_model::{Amount, ApplicationId, Priced};
use serde::Serialize;
use utoipa::ToSchema;

const HEADER: &str = "day,application_id,user_id,model,priced,calls,prompt_tokens,cached_tokens,\
     cache_write_tokens,completion_tokens,reasoning_tokens,cost,currency\r\n";

/// The format of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Csv,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Costs)]
struct List<'a> {
    from: Option<String>,
    to: Option<String>,
    /// The newest days first, where days are groups; then the highest costs.
    costs: Vec<Item<'a>>,
    /// There are more sums than the limit; narrow the filter or the groups.
    truncated: bool,
}

/// The calls of a group with one currency and one way in which their cost is known.
#[derive(Serialize, ToSchema)]
#[schema(as = CostSum)]
struct Item<'a> {
    /// Null unless `group_by` names it; so are the next three.
    day: Option<String>,
    application_id: Option<ApplicationId>,
    /// Null also for calls without a user, and for users whose records were erased; `other` for those beyond the first
    /// 1,000 of a day and application.
    user_id: Option<&'a str>,
    /// The key of the price table that covers the model, else its name, or `other` beyond 50 such names of a day and
    /// application. Null also for calls whose model is not known.
    model: Option<&'a str>,
    /// Unpriced tokens are sums of their own: they are in no cost.
    priced: Priced,
    calls: u64,
    prompt_tokens: u64,
    /// Of the prompts, read from a model server's cache.
    cached_tokens: u64,
    /// Of the prompts, written to its cache.
    cache_write_tokens: u64,
    completion_tokens: u64,
    /// Of the completions, used for reasoning.
    reasoning_tokens: u64,
    /// A decimal number; null for `unpriced`.
    #[schema(value_type = Option<String>)]
    cost: Option<Amount>,
    /// Null for `unpriced`.
    currency: Option<&'a str>,
}

/// Sum the costs of calls
///
/// Sums by application, user, model and day (UTC), as `group_by` names them; without it, one sum of all calls. Calls
/// without a price are sums of their own, and so are those whose tokens were estimated. Scope: read or read_cleaned.
#[utoipa::path(
    get,
    path = "/statistics/costs",
    operation_id = "getCosts",
    tag = "records",
    params(schemas::ApplicationFilter, schemas::CostFilter),
    responses(
        (
            status = 200,
            description = "The sums. Retention does not lower them; those of single users are kept for 400 days, or fewer (`retention.cost_days`). With `format=csv`, more sums than the limit are refused with 422.",
            content((List = "application/json"), (schemas::Lines = "text/csv")),
        ),
    ),
)]
pub(crate) async fn list(
    State(services): Api,
    RecordReader(caller): RecordReader,
    mut query: Query,
) -> Outcome {
    let format = query.typed("format", "must be json or csv", |word| match word {
        "json" => Some(Format::Json),
        "csv" => Some(Format::Csv),
        _ => None,
    })?;
    let filter = filters::costs(query, day_of(now_ms()))?;
    if format == Some(Format::Csv) {
        return file(&services, &caller, filter).await;
    }
    let days = filter.days;
    let (sums, truncated) = services.records.costs(&caller, filter).await?;
    ok(&List {
        from: filters::day_text(days.0),
        to: filters::day_text(days.1),
        costs: sums.iter().map(Item::from).collect(),
        truncated,
    })
}

/// Sums as a file. One that would be cut is refused: nothing in it could say that sums are missing.
pub(crate) async fn file(services: &Services, caller: &Caller, filter: CostFilter) -> Outcome {
    let limit = filter.limit;
    let (sums, is_cut) = services.records.costs(caller, filter).await?;
    match is_cut {
        false => Ok(csv_file(&sums)),
        true => Err(too_many(limit).into()),
    }
}

pub(crate) fn too_many(limit: u32) -> FieldProblem {
    let more = match limit < filters::MOST_COSTS {
        true => format!(", or a limit of up to {}", filters::MOST_COSTS),
        false => String::new(),
    };
    let problem = format!(
        "there are more than {limit} sums, and the file would be cut; ask for fewer days (from, to), coarser groups \
         (group_by), one application_id or one model{more}"
    );
    FieldProblem::new("limit", problem)
}

fn csv_file(sums: &[CostSum]) -> Response {
    let mut text = HEADER.to_owned();
    for sum in sums {
        line(sum, &mut text);
    }
    let mut file = content(StatusCode::OK, "text/csv; charset=utf-8", text.into_bytes());
    let headers = [
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"costs.csv\"",
        ),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        file.headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    file
}

/// The filter of `GET /statistics/costs` for a page, with these parameters.
pub(crate) fn filter(pairs: Vec<(String, String)>) -> Result<CostFilter, ApiError> {
    filters::costs(Query::of(pairs), day_of(now_ms()))
}

fn line(sum: &CostSum, out: &mut String) {
    let tokens = sum.tokens;
    let cells = [
        sum.day.and_then(filters::day_text).unwrap_or_default(),
        sum.application_id
            .map_or_else(String::new, |id| id.to_string()),
        sum.user_id.clone().unwrap_or_default(),
        sum.model.clone().unwrap_or_default(),
        sum.priced.as_str().to_owned(),
        sum.calls.to_string(),
        tokens.prompt.to_string(),
        tokens.cached.to_string(),
        tokens.cache_write.to_string(),
        tokens.completion.to_string(),
        tokens.reasoning.to_string(),
        sum.amount
            .map_or_else(String::new, |amount| amount.to_string()),
        sum.currency.clone().unwrap_or_default(),
    ];
    for (place, text) in cells.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        csv::cell(text, out);
    }
    out.push_str("\r\n");
}

impl<'a> From<&'a CostSum> for Item<'a> {
    fn from(sum: &'a CostSum) -> Self {
        Self {
            day: sum.day.and_then(filters::day_text),
            application_id: sum.application_id,
            user_id: sum.user_id.as_deref(),
            model: sum.model.as_deref(),
            priced: sum.priced,
            calls: sum.calls,
            prompt_tokens: sum.tokens.prompt,
            cached_tokens: sum.tokens.cached,
            cache_write_tokens: sum.tokens.cache_write,
            completion_tokens: sum.tokens.completion,
            reasoning_tokens: sum.tokens.reasoning,
            cost: sum.amount,
            currency: sum.currency.as_deref(),
        }
    }
}
