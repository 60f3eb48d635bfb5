//! `POST /records/{id}/explain` (scope read) and `POST /applications/{id}/replay` (scopes read and admin):
//! stored records analyzed again (CONTRACT 38). Neither changes stored data.

use crate::analysis::Replay;
use crate::analysis::admin::replay::{Explanation, ReplayPage};
use crate::analysis::api::extract::{
    Administrator, Api, Body, Fields, NoFields, OptionalBody, PathId, Query, ReadFields, Reader,
};
use crate::analysis::api::records::filters;
use crate::analysis::api::refusals::BodyRefused;
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::StatusCode;
use monitor_model::{ApplicationId, RecordId};
use serde_json::Value;

/// The draft of rules in the body.
struct Draft(Value);

impl ReadFields for Draft {
    fn read(fields: &mut Fields) -> Self {
        let document = fields.take("rules");
        if document.is_none() {
            fields.refuse("rules", "missing");
        }
        Self(document.unwrap_or_default())
    }
}

/// Analyze a record again by the rules that were in force
///
/// Takes no body, or an empty object. Changes nothing. Where the original is stored, it is read, which is an entry of
/// the audit log. Scope: read.
#[utoipa::path(
    post,
    path = "/records/{id}/explain",
    operation_id = "explainRecord",
    tag = "records",
    params(schemas::RecordPath),
    responses(
        (
            status = 200,
            description = "The rules, the second verdict and the differences.",
            body = Explanation,
        ),
        BodyRefused,
    ),
)]
pub(crate) async fn explain(
    State(services): Api,
    Reader(caller): Reader,
    PathId(id): PathId<RecordId>,
    _: OptionalBody<NoFields>,
) -> Outcome {
    let explanation = services.admin.explain(&caller, id).await?;
    response::unstored(StatusCode::OK, &explanation)
}

/// Try draft rules on stored records
///
/// The filters are those of the list of records. Changes nothing. Scope: read and admin.
#[utoipa::path(
    post,
    path = "/applications/{id}/replay",
    operation_id = "replayRules",
    tag = "applications",
    params(
        schemas::ApplicationPath,
        schemas::RecordFilters,
        schemas::TextFilter,
        schemas::Page,
        schemas::Limit,
    ),
    request_body = schemas::Draft,
    responses(
        (
            status = 200,
            description = "The verdicts of one page that would change. Blocking is decided by the current policy of the application on both sides.",
            body = ReplayPage,
        ),
    ),
)]
// The filters are in the query as for `GET /records`, the draft is in the body. The regexes of a draft can
// reveal texts, so that the right to change rules is not sufficient.
pub(crate) async fn replay(
    State(services): Api,
    Administrator(caller): Administrator,
    PathId(id): PathId<ApplicationId>,
    query: Query,
    request: Request,
) -> Outcome {
    caller.must_reach(id)?;
    let filter = filters::replay(query)?;
    let Body(Draft(document)) = Body::from_request(request, &()).await?;
    let admin = &services.admin;
    let draft = admin.check_draft(&caller, id, document).await?;
    let replay = Replay { draft, filter };
    let page = admin.replay(&caller, id, replay).await?;
    response::unstored(StatusCode::OK, &page)
}
