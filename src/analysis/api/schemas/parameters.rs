//! Parameters of queries and headers.

use super::words::words;
use crate::analysis::audit::Action;
use monitor_model::{ApplicationId, Stage};
use utoipa::openapi::schema::{AnyOfBuilder, KnownFormat, ObjectBuilder, Schema, Type};
use utoipa::openapi::{RefOr, SchemaFormat};
use utoipa::{IntoParams, PartialSchema, ToSchema};
use uuid::Uuid;

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ApplicationFilter {
    /// Only this application.
    application_id: Option<ApplicationId>,
}

/// The filters of `GET /records`, without the application and the text.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RecordFilters {
    /// Only this end user.
    #[param(max_length = 1000)]
    user_id: Option<String>,
    /// Only this session.
    #[param(max_length = 1000)]
    session_id: Option<String>,
    /// Only prompts or only answers.
    stage: Option<Stage>,
    /// Received at this time or later, as RFC 3339 or milliseconds since 1970.
    #[param(value_type = Option<Time>, inline)]
    from: Option<String>,
    /// Received before this time.
    #[param(value_type = Option<Time>, inline)]
    to: Option<String>,
    /// Only this verdict; `flagged` is by any check, `unchecked` what sync mode let pass without one, and not `clean`.
    #[param(value_type = Option<Verdict>, inline)]
    verdict: Option<String>,
    /// Only records in which this type was found, such as EMAILS.
    #[param(max_length = 1000)]
    r#type: Option<String>,
    /// Only answers of this model.
    #[param(max_length = 1000)]
    model: Option<String>,
    /// Only records that an access key of this name sent.
    #[param(max_length = 1000)]
    token: Option<String>,
    /// Only records with calls or results of this tool.
    #[param(max_length = 1000)]
    tool: Option<String>,
    /// Only records with calls or results of tools: `true`, or left out.
    #[param(value_type = Option<OnlyTrue>, inline)]
    has_tool_calls: Option<String>,
}

/// The filters of `GET /findings`, without the application.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FindingFilters {
    /// Only this state, `open` if missing; `all` for every state.
    #[param(value_type = Option<StateName>, inline)]
    state: Option<String>,
    /// Only this end user.
    #[param(max_length = 1000)]
    user_id: Option<String>,
    /// Only those that the account of this name looks after.
    #[param(max_length = 1000)]
    assignee: Option<String>,
    /// Only those that nobody looks after: `true`, or left out.
    #[param(value_type = Option<OnlyTrue>, inline)]
    unassigned: Option<String>,
    /// Only those with this type, such as EMAILS or guardrail:hate.
    #[param(max_length = 1000)]
    r#type: Option<String>,
    /// Only those of this cluster.
    cluster: Option<Uuid>,
    /// Of each cluster only the newest: `true`, or left out; not together with `to`.
    #[param(value_type = Option<OnlyTrue>, inline)]
    newest: Option<String>,
    /// Of records received at this time or later, as RFC 3339 or milliseconds since 1970.
    #[param(value_type = Option<Time>, inline)]
    from: Option<String>,
    /// Of records received before this time.
    #[param(value_type = Option<Time>, inline)]
    to: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TextFilter {
    /// Only records whose cleaned text or stored original contains this, in any letter case. There are no wildcards. A
    /// page may be short and still have a next one.
    #[param(max_length = 1000)]
    text: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct UserListOptions {
    /// Only users whose name contains this, in any case of the letters A to Z.
    #[param(max_length = 1000)]
    user_part: Option<String>,
    /// Who comes first; `share` is that of flagged messages.
    #[param(value_type = Option<UserSort>, inline)]
    sort: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Page {
    /// `next_before` of the previous page.
    before: Option<i64>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Limit {
    /// The page size.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportOptions {
    /// The format of the file.
    #[param(value_type = Option<ExportFormat>, inline)]
    format: Option<String>,
    /// The maximum number of records; all if missing.
    #[param(minimum = 1, maximum = 9223372036854775807i64)]
    limit: Option<u64>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct UserToErase {
    /// The exact identifier of the end user.
    #[param(min_length = 1)]
    user_id: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionPage {
    /// Only this end user.
    #[param(max_length = 1000)]
    user_id: Option<String>,
    /// Whose latest record was received at this time or later, as RFC 3339 or milliseconds since 1970.
    #[param(value_type = Option<Time>, inline)]
    from: Option<String>,
    /// Whose latest record was received before this time.
    #[param(value_type = Option<Time>, inline)]
    to: Option<String>,
    /// Only sessions in which a check flagged something: `true`, or left out.
    #[param(value_type = Option<OnlyTrue>, inline)]
    flagged: Option<String>,
    /// `next_before` of the previous page.
    before: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChainFilter {
    /// Only this gateway.
    gateway: Option<Uuid>,
    /// The first number to check.
    #[param(minimum = 1, maximum = 9223372036854775807i64, default = 1)]
    from: Option<u64>,
    /// The last number to check; the highest received if missing. Below `from`, nothing is checked and
    /// nothing is complete.
    #[param(minimum = 1, maximum = 9223372036854775807i64)]
    to: Option<u64>,
    /// `next_after` of the previous page.
    after: Option<Uuid>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatisticsFilter {
    /// The first day (UTC), at most 3,659 days before the last; 29 days before it if missing.
    #[param(format = Date)]
    from: Option<String>,
    /// The last day; today if missing.
    #[param(format = Date)]
    to: Option<String>,
    /// The page size.
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    limit: Option<u32>,
    /// `next_after` of the previous page.
    after: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CostFilter {
    /// The first day (UTC), at most 3,659 days before the last; 29 days before it if missing.
    #[param(format = Date)]
    from: Option<String>,
    /// The last day; today if missing.
    #[param(format = Date)]
    to: Option<String>,
    /// Only this end user.
    #[param(max_length = 1000)]
    user_id: Option<String>,
    /// Only this model, exactly as sums name it.
    #[param(max_length = 1000)]
    model: Option<String>,
    /// What has sums of its own: `application`, `user`, `model`, `day`, several joined by commas.
    #[param(
        pattern = "^(application|user|model|day)(,(application|user|model|day)){0,3}$",
        example = "day,model"
    )]
    group_by: Option<String>,
    /// The format of the answer.
    #[param(value_type = Option<CostFormat>, inline)]
    format: Option<String>,
    /// The most sums.
    #[param(minimum = 1, maximum = 10000, default = 1000)]
    limit: Option<u32>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct NameFilter {
    /// Only names that contain this text, in any letter case.
    name: Option<String>,
    /// `next_after` of the previous page.
    after: Option<i64>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TokenPage {
    /// `next_before` of the previous page.
    #[param(pattern = "^[0-9]{1,15}\\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    before: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditFilter {
    /// Only this action.
    #[param(value_type = Option<ActionName>, inline)]
    action: Option<String>,
    /// Only actions by the person or token of this name.
    #[param(min_length = 1)]
    actor: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RemovedVersion {
    /// The current version, unless If-Match names it.
    version: Option<i64>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct IfMatch {
    /// The ETag of the version the change was made from, in place of `version`.
    #[param(
        rename = "If-Match",
        nullable = false,
        pattern = "^\"[0-9]{1,18}\"$",
        example = "\"1\""
    )]
    if_match: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ApplicationOfExchange {
    /// The application of the exchange. If missing: the one that the token is bound to.
    application_id: Option<ApplicationId>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AttachmentName {
    /// Which of the names of this content; the first one if missing.
    name: Option<String>,
}

/// RFC 3339 or milliseconds.
struct Time;

impl ToSchema for Time {}

impl PartialSchema for Time {
    fn schema() -> RefOr<Schema> {
        let formatted = |kind, format| {
            let schema = ObjectBuilder::new().schema_type(kind);
            schema.format(Some(SchemaFormat::KnownFormat(format)))
        };
        AnyOfBuilder::new()
            .item(formatted(Type::String, KnownFormat::DateTime))
            .item(formatted(Type::Integer, KnownFormat::Int64))
            .into()
    }
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
enum StateName {
    Open,
    Confirmed,
    FalseAlarm,
    Resolved,
    All,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
enum Verdict {
    Flagged,
    Clean,
    Unchecked,
    Guardrails,
    CustomPolicy,
    Dataclean,
    Blocked,
    Failed,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
enum OnlyTrue {
    True,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case", default = "jsonl")]
enum ExportFormat {
    Jsonl,
    Csv,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case", default = "tokens")]
enum UserSort {
    Tokens,
    Messages,
    Flagged,
    Share,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case", default = "json")]
enum CostFormat {
    Json,
    Csv,
}

/// The name of an action in the audit log.
struct ActionName;

impl ToSchema for ActionName {}

impl PartialSchema for ActionName {
    fn schema() -> RefOr<Schema> {
        Schema::Object(words(Action::ALL.map(Action::as_str))).into()
    }
}
