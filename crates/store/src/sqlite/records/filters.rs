//! Translates the conditions of a list to SQL. The most selective condition leads, by an index in the order
//! of the list; the other conditions are tested on its rows. The index is chosen here and not by the planner,
//! which has no statistics of a new file.

use crate::record_filter::{RecordFilter, VerdictFilter};
use crate::sql::records::tool_key;
use crate::sqlite::values::stage_word;
use monitor_model::Stage;
use sqlx::{QueryBuilder, Sqlite};

/// Bits of `record_types.marks`.
const GUARDRAILS: i64 = 1;
const CUSTOM_POLICY: i64 = 2;
const DATACLEAN: i64 = 4;
const BLOCKED: i64 = 8;
const FAILED: i64 = 16;
const ANSWER: i64 = 32;
const UNCHECKED: i64 = 64;

/// The condition that leads.
#[derive(Clone, Copy)]
enum Leader {
    Session,
    User,
    Kind,
    Verdict(VerdictFilter),
    Model,
    Token,
    Application,
    Stage,
    Order,
}

impl Leader {
    fn of(filter: &RecordFilter) -> Self {
        match filter {
            RecordFilter {
                session_id: Some(_),
                ..
            } => Self::Session,
            RecordFilter {
                user_id: Some(_), ..
            } => Self::User,
            RecordFilter { tools: Some(_), .. } | RecordFilter { kind: Some(_), .. } => Self::Kind,
            // Most records are clean: everything else is more selective.
            RecordFilter {
                verdict: Some(verdict),
                ..
            } if *verdict != VerdictFilter::Clean => Self::Verdict(*verdict),
            RecordFilter { model: Some(_), .. } => Self::Model,
            RecordFilter { token: Some(_), .. } => Self::Token,
            RecordFilter {
                verdict: Some(verdict),
                application_id: None,
                ..
            } => Self::Verdict(*verdict),
            RecordFilter {
                application_id: Some(_),
                ..
            } => Self::Application,
            RecordFilter { stage: Some(_), .. } => Self::Stage,
            _ => Self::Order,
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Session => "records AS r INDEXED BY records_by_session",
            Self::User => "records AS r INDEXED BY records_by_user",
            Self::Kind => "record_types AS t CROSS JOIN records AS r ON r.seq = t.seq",
            Self::Verdict(VerdictFilter::Flagged) => "records AS r INDEXED BY records_flagged",
            Self::Verdict(VerdictFilter::Clean) => "records AS r INDEXED BY records_clean",
            Self::Verdict(VerdictFilter::Unchecked) => "records AS r INDEXED BY records_unchecked",
            Self::Verdict(VerdictFilter::Guardrails) => {
                "records AS r INDEXED BY records_guardrails"
            }
            Self::Verdict(VerdictFilter::CustomPolicy) => {
                "records AS r INDEXED BY records_custom_policy"
            }
            Self::Verdict(VerdictFilter::Dataclean) => "records AS r INDEXED BY records_dataclean",
            Self::Verdict(VerdictFilter::Blocked) => "records AS r INDEXED BY records_blocked",
            Self::Verdict(VerdictFilter::Failed) => "records AS r INDEXED BY records_failed",
            Self::Model => "records AS r INDEXED BY records_by_model",
            Self::Token => "records AS r INDEXED BY records_by_token",
            Self::Application => "records AS r INDEXED BY records_by_application",
            Self::Stage => "records AS r INDEXED BY records_by_stage",
            Self::Order => "records AS r NOT INDEXED",
        }
    }

    /// The columns of position and application that the index itself contains.
    fn columns(self) -> (&'static str, &'static str) {
        match self {
            Self::Kind => ("t.seq", "t.application_id"),
            _ => ("r.seq", "r.application_id"),
        }
    }
}

/// The records that match a filter, except for its text, newest first: `columns` of `r` and of the tables
/// that `join` adds.
pub(in crate::sqlite) fn query(
    filter: &RecordFilter,
    columns: &str,
    join: &str,
    limit: i64,
) -> QueryBuilder<Sqlite> {
    let leader = Leader::of(filter);
    let (seq, application) = leader.columns();
    let mut query = QueryBuilder::new("SELECT ");
    query
        .push(columns)
        .push(" FROM ")
        .push(leader.source())
        .push(join);
    query
        .push(" WHERE ")
        .push(application)
        .push(" NOT IN (SELECT id FROM removed_applications)");
    if let Some(id) = filter.application_id {
        query.push(" AND ").push(application).push(" = ");
        query.push_bind(id.0);
    }
    if let Some(before) = filter.before {
        query.push(" AND ").push(seq).push(" < ").push_bind(before);
    }
    if let Some(after) = filter.after {
        query.push(" AND ").push(seq).push(" > ").push_bind(after);
    }
    push_time(&mut query, filter, seq);
    push_names(&mut query, filter, leader);
    push_verdict(&mut query, filter, leader);
    let order = if filter.after.is_some() {
        " ASC"
    } else {
        " DESC"
    };
    query
        .push(" ORDER BY ")
        .push(seq)
        .push(order)
        .push(" LIMIT ");
    query.push_bind(limit);
    query
}

/// A span of time is a range of positions, with a few records at its ends that do not belong to it.
fn push_time(query: &mut QueryBuilder<Sqlite>, filter: &RecordFilter, seq: &str) {
    if filter.from_ms.is_none() && filter.to_ms.is_none() {
        return;
    }
    let (from, to) = (filter.from_ms.unwrap_or(i64::MIN), filter.to_ms);
    for (compare, bound) in [
        (" >= ", "min(block) * 1024"),
        (" < ", "max(block) * 1024 + 1024"),
    ] {
        query
            .push(" AND ")
            .push(seq)
            .push(compare)
            .push("(SELECT ")
            .push(bound);
        query
            .push(" FROM record_blocks WHERE last_ms >= ")
            .push_bind(from);
        if let Some(to) = to {
            query.push(" AND first_ms < ").push_bind(to);
        }
        query.push(")");
    }
    query.push(" AND r.created_at_ms >= ").push_bind(from);
    if let Some(to) = to {
        query.push(" AND r.created_at_ms < ").push_bind(to);
    }
}

fn push_names(query: &mut QueryBuilder<Sqlite>, filter: &RecordFilter, leader: Leader) {
    if let Some(session) = &filter.session_id {
        query
            .push(" AND r.session_id = ")
            .push_bind(session.clone());
    }
    if let Some(user) = &filter.user_id {
        query.push(" AND r.user_id = ").push_bind(user.clone());
    }
    if let Some(model) = &filter.model {
        query.push(" AND r.model = ").push_bind(model.clone());
    }
    if let Some(token) = &filter.token {
        query.push(" AND r.token_name = ").push_bind(token.clone());
    }
    let tool = filter.tools.as_ref().map(tool_key);
    let mut kinds = tool.into_iter().chain(filter.kind.clone());
    if matches!(leader, Leader::Kind)
        && let Some(kind) = kinds.next()
    {
        query.push(" AND t.kind = ").push_bind(kind);
    }
    for kind in kinds {
        query.push(" AND EXISTS (SELECT 1 FROM record_types WHERE kind = ");
        query.push_bind(kind);
        query.push(" AND record_types.seq = r.seq)");
    }
    match (filter.stage, leader) {
        (Some(stage), Leader::Kind) => {
            query.push(" AND (t.marks & ").push(ANSWER);
            query.push(if stage == Stage::PostCall {
                ") <> 0"
            } else {
                ") = 0"
            });
        }
        (Some(stage), _) => {
            query.push(" AND r.stage = ").push_bind(stage_word(stage));
        }
        (None, _) => {}
    }
}

fn push_verdict(query: &mut QueryBuilder<Sqlite>, filter: &RecordFilter, leader: Leader) {
    let Some(verdict) = filter.verdict else {
        return;
    };
    if matches!(leader, Leader::Kind) {
        let any = GUARDRAILS | CUSTOM_POLICY | DATACLEAN;
        let (bits, holds) = match verdict {
            VerdictFilter::Flagged => (any, ") <> 0"),
            VerdictFilter::Clean => (any | UNCHECKED, ") = 0"),
            VerdictFilter::Unchecked => (UNCHECKED, ") <> 0"),
            VerdictFilter::Guardrails => (GUARDRAILS, ") <> 0"),
            VerdictFilter::CustomPolicy => (CUSTOM_POLICY, ") <> 0"),
            VerdictFilter::Dataclean => (DATACLEAN, ") <> 0"),
            VerdictFilter::Blocked => (BLOCKED, ") <> 0"),
            VerdictFilter::Failed => (FAILED, ") <> 0"),
        };
        query.push(" AND (t.marks & ").push(bits).push(holds);
        return;
    }
    // Exactly as the partial indexes state it.
    query.push(match verdict {
        VerdictFilter::Flagged => " AND r.flagged = 1",
        VerdictFilter::Clean => " AND r.flagged = 0 AND r.unchecked = 0",
        VerdictFilter::Unchecked => " AND r.unchecked = 1",
        VerdictFilter::Guardrails => " AND r.flagged_guardrails = 1",
        VerdictFilter::CustomPolicy => " AND r.flagged_custom_policy = 1",
        VerdictFilter::Dataclean => " AND r.flagged_dataclean = 1",
        VerdictFilter::Blocked => " AND r.blocked = 1",
        VerdictFilter::Failed => " AND r.failed = 1",
    });
}
