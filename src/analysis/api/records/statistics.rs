//! `GET /statistics`: what was analyzed per day (UTC), application and stage (CONTRACT 38). These numbers
//! are counted as records arrive, so that retention does not lower them. `GET /statistics/users`: messages
//! and tokens per end user, of the stored records.

use super::filters;
use crate::analysis::api::extract::{Api, Query, RecordReader, count_for};
use crate::analysis::api::response::{Outcome, ok};
use crate::analysis::api::schemas;
use crate::analysis::clock::{day_of, now_ms};
use crate::analysis::records::user_sums::{SumOrder, UserList, UserSums};
use crate::analysis::{ApiError, BodyMemory, FieldProblem};
use axum::extract::State;
use axum::http::Extensions;
use monitor_model::{ApplicationId, Stage, TypeCount};
use monitor_store::DayStatistics;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = Statistics)]
struct List<'a> {
    from: Option<String>,
    to: Option<String>,
    days: Vec<Item<'a>>,
    /// The cursor of the next page; null on the last one.
    next_after: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = DayStatistics)]
struct Item<'a> {
    /// The day in UTC.
    day: Option<String>,
    application_id: ApplicationId,
    stage: Stage,
    messages: u64,
    flagged: Flagged,
    blocked: u64,
    failed: u64,
    tokens: u64,
    /// Microseconds of analysis, the sum of all messages.
    total_us: u64,
    /// Microseconds of the longest analysis.
    max_us: u64,
    types: &'a [TypeCount],
}

#[derive(Serialize, ToSchema)]
#[schema(as = FlaggedCounts)]
struct Flagged {
    guardrails: u64,
    custom_policy: u64,
    dataclean: u64,
}

/// Statistics per day, application and stage
#[utoipa::path(
    get,
    path = "/statistics",
    operation_id = "getStatistics",
    description = "Scope: read or read_cleaned.",
    tag = "records",
    params(schemas::ApplicationFilter, schemas::StatisticsFilter),
    responses(
        (
            status = 200,
            description = "Days with records. Retention does not lower the numbers.",
            body = List,
        ),
    ),
)]
pub(crate) async fn list(
    State(services): Api,
    RecordReader(caller): RecordReader,
    query: Query,
) -> Outcome {
    let today = day_of(now_ms());
    let mut filter = filters::statistics(query, today)?;
    let ((first, last), limit) = (filter.days, filter.limit as usize);
    filter.limit += 1;
    let mut days = services.records.statistics(&caller, filter).await?;
    let goes_on = days.len() > limit;
    days.truncate(limit);
    let end = days.last().filter(|_| goes_on);
    ok(&List {
        from: filters::day_text(first),
        to: filters::day_text(last),
        days: days.iter().map(Item::from).collect(),
        next_after: end.map(|end| filters::day_cursor(end.day, end.application_id, end.stage)),
    })
}

/// Sum messages and tokens per end user
///
/// Scope: read or read_cleaned. Sums the stored records, newest first, at most 100,000 of them; `next_before`
/// is where to continue. `records` and `tokens` count all of them, also those of users whom `user_part` leaves out.
#[utoipa::path(
    get,
    path = "/statistics/users",
    operation_id = "getUserStatistics",
    tag = "records",
    params(
        schemas::ApplicationFilter,
        schemas::RecordFilters,
        schemas::UserListOptions,
        schemas::Page,
        schemas::Limit,
    ),
    responses(
        (
            status = 200,
            description = "The users with the most tokens, or in the order of `sort`. Erased and removed records are not included.",
            body = UserSums,
        ),
    ),
)]
// The filters of `GET /records` except text; `limit` applies to the users.
pub(crate) async fn users(
    State(services): Api,
    RecordReader(caller): RecordReader,
    extensions: Extensions,
    mut query: Query,
) -> Outcome {
    let list = user_list(&mut query)?;
    let filter = filters::records(query)?;
    if filter.text.is_some() {
        let problem = "does not apply to sums; allowed: the other filters of GET /records";
        return Err(FieldProblem::new("text", problem).into());
    }
    count_for(&caller, &extensions);
    let memory = extensions.get::<BodyMemory>().cloned();
    let sums = services.records.user_sums(&caller, filter, list, memory);
    ok(&sums.await?)
}

fn user_list(query: &mut Query) -> Result<UserList, ApiError> {
    let order = "must be tokens, messages, flagged or share";
    Ok(UserList {
        name_part: filters::text(query, "user_part")?,
        order: query
            .typed("sort", order, SumOrder::named)?
            .unwrap_or_default(),
    })
}

impl<'a> From<&'a DayStatistics> for Item<'a> {
    fn from(day: &'a DayStatistics) -> Self {
        Self {
            day: filters::day_text(day.day),
            application_id: day.application_id,
            stage: day.stage,
            messages: day.messages,
            flagged: Flagged {
                guardrails: day.flagged_guardrails,
                custom_policy: day.flagged_custom_policy,
                dataclean: day.flagged_dataclean,
            },
            blocked: day.blocked,
            failed: day.failed,
            tokens: day.tokens,
            total_us: day.total_us,
            max_us: day.max_us,
            types: &day.types,
        }
    }
}
