//! `GET /sessions`: records grouped by `session_id` (CONTRACT 38). The messages of one session are at `GET
//! /records?application_id=…&session_id=…`.

use super::filters::{self, session_cursor};
use crate::analysis::api::extract::{Api, Query, RecordReader};
use crate::analysis::api::response::{Outcome, ok};
use crate::analysis::api::schemas;
use axum::extract::State;
use monitor_model::ApplicationId;
use monitor_store::SessionSummary;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = SessionList)]
struct List<'a> {
    sessions: Vec<Item<'a>>,
    /// `before` of the next page; null on the last one.
    next_before: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
struct Item<'a> {
    application_id: ApplicationId,
    session_id: &'a str,
    user_id: Option<&'a str>,
    /// Milliseconds since 1970.
    first_ms: i64,
    /// Milliseconds since 1970.
    last_ms: i64,
    messages: u64,
    flagged: u64,
    tokens: u64,
}

/// List sessions, the one with the latest record first
#[utoipa::path(
    get,
    path = "/sessions",
    operation_id = "listSessions",
    description = "Scope: read or read_cleaned.",
    tag = "records",
    params(schemas::ApplicationFilter, schemas::SessionPage, schemas::Limit),
    responses((status = 200, description = "One page.", body = List)),
)]
pub(crate) async fn list(
    State(services): Api,
    RecordReader(caller): RecordReader,
    query: Query,
) -> Outcome {
    let filter = filters::sessions(query)?;
    let page = services.records.sessions(&caller, filter).await?;
    let last = page.sessions.last().filter(|_| page.has_more);
    let next_before = last.map(|session| {
        session_cursor(session.last_ms, session.application_id, &session.session_id)
    });
    ok(&List {
        sessions: page.sessions.iter().map(Item::from).collect(),
        next_before,
    })
}

impl<'a> From<&'a SessionSummary> for Item<'a> {
    fn from(session: &'a SessionSummary) -> Self {
        Self {
            application_id: session.application_id,
            session_id: &session.session_id,
            user_id: session.user_id.as_deref(),
            first_ms: session.first_ms,
            last_ms: session.last_ms,
            messages: session.messages,
            flagged: session.flagged,
            tokens: session.tokens,
        }
    }
}
