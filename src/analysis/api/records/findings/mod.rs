//! `/findings`: what was flagged, and what people decide about it. Reading takes the scope read, read_cleaned or
//! triage, deciding the scope triage. There are no texts here.

pub(crate) mod evaluation;
pub(crate) mod filters;

use crate::analysis::api::extract::{
    Api, Body, Fields, FindingReader, PathId, Query, ReadFields, Triager,
};
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use crate::analysis::records::findings::{
    Finding, FindingEvent, FindingReason, FindingState, ManyFindings, Triage,
};
use axum::extract::State;
use axum::http::StatusCode;
use monitor_model::{ApplicationId, RecordId};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

const NOT_STATE: &str = "must be open, confirmed, false_alarm or resolved";
const NOT_REASON: &str = "must be real_data, real_violation, wrong_detection, not_sensitive, test_data, allowed_use, \
    handled, duplicate or other";
const NOT_NAME: &str = "must be the name of an account, or null";

#[derive(Serialize, ToSchema)]
#[schema(as = FindingList)]
struct List<'a> {
    findings: Vec<Item<'a>>,
    /// `before` of the next page; null on the last one. A page may be short and still have a next one.
    next_before: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Finding)]
struct Item<'a> {
    /// That of its record.
    id: RecordId,
    application_id: ApplicationId,
    user_id: Option<&'a str>,
    /// When the record was received, milliseconds since 1970.
    created_at_ms: i64,
    /// What was found: types; `guardrail:` and `policy:` with the name of a category or of a custom policy.
    #[schema(value_type = Vec<String>)]
    types: &'a [String],
    #[schema(value_type = FindingState)]
    state: &'static str,
    #[schema(value_type = Option<FindingReason>)]
    reason: Option<&'static str>,
    /// The name of the account that looks after it.
    assignee: Option<&'a str>,
    /// When it was last changed, milliseconds since 1970.
    changed_at_ms: i64,
    /// The same for findings that are alike: of the same application and user, with the same types.
    cluster: Uuid,
    alike: AlikeItem,
}

/// Findings that are alike and have the same state, this one included.
#[derive(Serialize, ToSchema)]
#[schema(as = AlikeFindings)]
struct AlikeItem {
    /// Counted up to 1,000.
    count: u64,
    /// When the first of their records was received, milliseconds since 1970.
    first_at_ms: i64,
    /// When the last one was received.
    last_at_ms: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FindingWithHistory)]
struct Whole<'a> {
    #[serde(flatten)]
    finding: Item<'a>,
    /// The latest change first, at most 200.
    history: Vec<Change<'a>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FindingChange)]
struct Change<'a> {
    /// Milliseconds since 1970.
    at_ms: i64,
    /// The account or the token.
    actor: &'a str,
    #[schema(value_type = FindingState)]
    from: &'static str,
    #[schema(value_type = FindingState)]
    to: &'static str,
    #[schema(value_type = Option<FindingReason>)]
    reason: Option<&'static str>,
    /// Who looks after it from then on; empty for nobody, null if that did not change.
    assignee: Option<&'a str>,
    note: Option<&'a str>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ChangedFindings)]
struct Changed {
    /// Findings that there are, and that the caller and the assignee may see.
    changed: u64,
}

impl<'a> From<&'a Finding> for Item<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self {
            id: finding.id,
            application_id: finding.application_id,
            user_id: finding.user_id.as_deref(),
            created_at_ms: finding.created_at_ms,
            types: &finding.labels,
            state: finding.state.as_str(),
            reason: finding.reason.map(FindingReason::as_str),
            assignee: finding.assignee.as_deref(),
            changed_at_ms: finding.changed_at_ms,
            cluster: finding.cluster.0,
            alike: AlikeItem {
                count: finding.alike.count,
                first_at_ms: finding.alike.first_ms,
                last_at_ms: finding.alike.last_ms,
            },
        }
    }
}

impl<'a> From<&'a FindingEvent> for Change<'a> {
    fn from(event: &'a FindingEvent) -> Self {
        Self {
            at_ms: event.at_ms,
            actor: &event.actor,
            from: event.from.as_str(),
            to: event.to.as_str(),
            reason: event.reason.map(FindingReason::as_str),
            assignee: event.assignee.as_deref(),
            note: event.note.as_deref(),
        }
    }
}

/// List findings, newest first
///
/// Open ones, unless a state is named. Scope: read, read_cleaned or triage.
#[utoipa::path(
    get,
    path = "/findings",
    operation_id = "listFindings",
    tag = "findings",
    params(
        schemas::ApplicationFilter,
        schemas::FindingFilters,
        schemas::Page,
        schemas::Limit,
    ),
    responses((status = 200, description = "One page, without texts.", body = List)),
)]
pub(crate) async fn list(
    State(services): Api,
    FindingReader(caller): FindingReader,
    query: Query,
) -> Outcome {
    let query = filters::findings(query)?;
    let page = services.records.findings(&caller, query).await?;
    let list = List {
        findings: page.findings.iter().map(Item::from).collect(),
        next_before: page.next_before,
    };
    response::unstored(StatusCode::OK, &list)
}

/// Show a finding with its history
#[utoipa::path(
    get,
    path = "/findings/{id}",
    operation_id = "getFinding",
    description = "Scope: read, read_cleaned or triage.",
    tag = "findings",
    params(schemas::RecordPath),
    responses((status = 200, description = "The finding.", body = Whole)),
)]
pub(crate) async fn one(
    State(services): Api,
    FindingReader(caller): FindingReader,
    PathId(id): PathId<RecordId>,
) -> Outcome {
    let finding = services.records.finding(&caller, id).await?;
    let history = services.records.finding_history(&caller, &finding).await?;
    let whole = Whole {
        finding: Item::from(&finding),
        history: history.iter().map(Change::from).collect(),
    };
    response::unstored(StatusCode::OK, &whole)
}

/// Decide about a finding
///
/// A finding is closed with a reason; the reason `other` takes a note. Scope: triage.
#[utoipa::path(
    patch,
    path = "/findings/{id}",
    operation_id = "changeFinding",
    tag = "findings",
    params(schemas::RecordPath),
    request_body = schemas::ChangeFinding,
    responses((status = 200, description = "The result.", body = Item)),
)]
pub(crate) async fn change(
    State(services): Api,
    Triager(caller): Triager,
    PathId(id): PathId<RecordId>,
    Body(triage): Body<Triage>,
) -> Outcome {
    let finding = services.records.triage(&caller, id, triage).await?;
    response::unstored(StatusCode::OK, &Item::from(&finding))
}

/// Decide about many findings at once
///
/// Those of at most 200 records, or with `alike_to` that of one record and those that are alike and have the same
/// state, the newest 1,000. Identifiers of nothing are ignored. Scope: triage.
#[utoipa::path(
    post,
    path = "/findings/bulk",
    operation_id = "changeFindings",
    tag = "findings",
    request_body = schemas::ChangeFindings,
    responses((status = 200, description = "How many were changed.", body = Changed)),
)]
pub(crate) async fn change_many(
    State(services): Api,
    Triager(caller): Triager,
    Body(BulkTriage { many, triage }): Body<BulkTriage>,
) -> Outcome {
    let changed = services.records.triage_many(&caller, many, triage).await?;
    response::unstored(StatusCode::OK, &Changed { changed })
}

/// A decision about many findings.
pub(crate) struct BulkTriage {
    many: ManyFindings,
    triage: Triage,
}

impl ReadFields for Triage {
    fn read(fields: &mut Fields) -> Self {
        Self {
            state: fields.typed("state", NOT_STATE, |value| {
                FindingState::from_name(value.as_str()?)
            }),
            reason: fields.typed("reason", NOT_REASON, |value| {
                FindingReason::from_name(value.as_str()?)
            }),
            assignee: fields.typed("assignee", NOT_NAME, |value| match value {
                Value::Null => Some(None),
                Value::String(name) if !name.is_empty() => Some(Some(name)),
                _ => None,
            }),
            note: fields.text("note"),
        }
    }
}

impl ReadFields for BulkTriage {
    fn read(fields: &mut Fields) -> Self {
        let ids = fields.typed("ids", "must be a list of identifiers of records", |value| {
            let items = value.as_array()?.iter();
            items
                .map(|item| item.as_str()?.parse().ok())
                .collect::<Option<Vec<RecordId>>>()
        });
        let alike_to = fields.typed("alike_to", "must be the identifier of a record", |value| {
            value.as_str()?.parse().ok()
        });
        if ids.is_some() && alike_to.is_some() {
            fields.refuse("alike_to", "cannot be combined with ids");
        }
        let many = match alike_to {
            Some(id) => ManyFindings::AlikeTo(id),
            None => ManyFindings::Records(ids.unwrap_or_default()),
        };
        Self {
            many,
            triage: Triage::read(fields),
        }
    }
}
