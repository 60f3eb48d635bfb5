//! The filtered audit log as a CSV file.

use super::must_be_administrator;
use super::query::AuditQuery;
use crate::analysis::admin::AuditEntry;
use crate::analysis::api::records::export::csv;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, FieldProblem, Services};
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use std::sync::Arc;

/// Entries in one file; one that would be cut is refused.
pub(crate) const MOST: usize = 10_000;
/// Entries that are read at once.
const AT_ONCE: u32 = 500;

const HEADER: &str = "seq,at,actor,token_id,action,target,application_id,details\r\n";

pub(in crate::analysis::ui) async fn export(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Query(query): Query<AuditQuery>,
) -> Result<Response, Failure> {
    must_be_administrator(&visit)?;
    let mut filter = query.filter(&services, &visit, AT_ONCE).await?;
    let (mut text, mut count) = (HEADER.to_owned(), 0);
    loop {
        let page = services.admin.audit_log(&visit.caller, filter.clone());
        let (entries, next) = page.await?;
        count += entries.len();
        if count > MOST {
            return Err(ApiError::from(too_many()).into());
        }
        entries.iter().for_each(|entry| line(entry, &mut text));
        if next.is_none() {
            break;
        }
        filter.before = next;
    }
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"audit.csv\"",
        ),
    ];
    Ok((headers, text).into_response())
}

pub(crate) fn too_many() -> FieldProblem {
    let problem = format!(
        "the log has more than {MOST} such entries, and the file would be cut; narrow the time (from, to), the action or \
         the application"
    );
    FieldProblem::new("from", problem)
}

fn line(entry: &AuditEntry, out: &mut String) {
    let at = Timestamp::from_millisecond(entry.at_ms);
    let text = |id: Option<String>| id.unwrap_or_default();
    let cells = [
        entry.seq.to_string(),
        at.map_or_else(|_| String::new(), |at| at.to_string()),
        entry.actor.clone(),
        text(entry.token_id.map(|id| id.0.to_string())),
        entry.action.clone(),
        entry.target.clone(),
        text(entry.application_id.map(|id| id.to_string())),
        entry.details.to_string(),
    ];
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        csv::cell(cell, out);
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_is_safe_to_open_in_a_spreadsheet() {
        let entry = AuditEntry {
            seq: 7,
            at_ms: 0,
            actor: "=cmd".to_owned(),
            token_id: None,
            action: "token.create".to_owned(),
            target: "t".to_owned(),
            application_id: None,
            details: json!({"name": "a"}),
        };
        let mut out = String::new();
        line(&entry, &mut out);
        assert_eq!(
            out,
            "7,1970-01-01T00:00:00Z,\"'=cmd\",,token.create,t,,\"{\"\"name\"\":\"\"a\"\"}\"\r\n"
        );
    }
}
