//! Findings from their columns.

use super::columns::Columns;
use super::records::from_json;
use crate::error::StoreError;
use crate::findings::{
    Alike, ClusterId, EXAMINED, Finding, FindingEvent, FindingFilter, FindingReason, FindingState,
    JudgedFinding, StatePage,
};
use monitor_model::{ApplicationId, RecordId};

/// The columns of a finding `f` beside its own: its account `a`, and those that are alike.
pub(crate) const SHOWN: &str = "
    SELECT f.*, a.name AS assignee,
        (SELECT count(*) FROM (SELECT 1 FROM findings AS n
            WHERE n.cluster = f.cluster AND n.state = f.state LIMIT 1000) AS counted) AS alike,
        (SELECT n.created_at_ms FROM findings AS n
            WHERE n.cluster = f.cluster AND n.state = f.state ORDER BY n.seq LIMIT 1) AS first_ms,
        (SELECT n.created_at_ms FROM findings AS n
            WHERE n.cluster = f.cluster AND n.state = f.state ORDER BY n.seq DESC LIMIT 1) AS last_ms
    FROM (";
/// What follows the findings that are shown.
pub(crate) const SHOWN_END: &str =
    ") AS f LEFT JOIN accounts AS a ON a.id = f.assignee_id ORDER BY f.seq DESC";
/// Of findings that are alike, `g` is the newest.
pub(crate) const IS_NEWEST: &str = " AND NOT EXISTS (SELECT 1 FROM findings AS n
    WHERE n.cluster = g.cluster AND n.state = g.state AND n.seq > g.seq)";

/// A finding, from the columns of [`SHOWN`].
pub(crate) fn finding(row: &impl Columns) -> Result<Finding, StoreError> {
    Ok(Finding {
        seq: row.number("seq")?,
        id: RecordId(row.id("record_id")?),
        application_id: ApplicationId(row.id("application_id")?),
        user_id: row.optional_text("user_id")?,
        created_at_ms: row.number("created_at_ms")?,
        cluster: ClusterId(row.id("cluster")?),
        labels: from_json(row.raw("labels")?)?,
        state: state(row, "state")?,
        reason: reason(row)?,
        assignee: row.optional_raw("assignee")?.map(str::to_owned),
        changed_at_ms: row.number("changed_at_ms")?,
        alike: Alike {
            count: row.count("alike")?,
            first_ms: row.number("first_ms")?,
            last_ms: row.number("last_ms")?,
        },
    })
}

/// A change, from the columns of `finding_changes`.
pub(crate) fn event(row: &impl Columns) -> Result<FindingEvent, StoreError> {
    Ok(FindingEvent {
        at_ms: row.number("at_ms")?,
        actor: row.text("actor")?,
        from: state(row, "from_state")?,
        to: state(row, "to_state")?,
        reason: reason(row)?,
        assignee: row.optional_text("assignee")?,
        note: row.optional_text("note")?,
    })
}

/// A finding that was decided on.
pub(crate) fn judged(row: &impl Columns) -> Result<JudgedFinding, StoreError> {
    Ok(JudgedFinding {
        seq: row.number("seq")?,
        id: RecordId(row.id("record_id")?),
        is_confirmed: state(row, "state")? == FindingState::Confirmed,
        labels: from_json(row.raw("labels")?)?,
    })
}

fn state(row: &impl Columns, column: &str) -> Result<FindingState, StoreError> {
    let word = row.raw(column)?;
    FindingState::from_name(word).ok_or(StoreError::Unreadable("finding"))
}

/// A word of a later version is left out.
fn reason(row: &impl Columns) -> Result<Option<FindingReason>, StoreError> {
    let word = row.optional_raw("reason")?;
    Ok(word.and_then(FindingReason::from_name))
}

/// The page that these rows make, of which there may be one more than it shows.
pub(crate) fn whole_page(
    rows: &[impl Columns],
    filter: &FindingFilter,
) -> Result<StatePage, StoreError> {
    let mut findings: Vec<Finding> = rows.iter().map(finding).collect::<Result<_, _>>()?;
    let limit = filter.limit as usize;
    let is_full = findings.len() > limit;
    findings.truncate(limit);
    Ok(StatePage {
        next_before: findings
            .last()
            .filter(|_| is_full)
            .map(|finding| finding.seq),
        findings,
    })
}

/// Where the examined findings end, if there may be more; from the columns `examined` and `edge`.
pub(crate) fn edge(row: &impl Columns) -> Result<Option<i64>, StoreError> {
    let edge = row.optional_number("edge")?;
    Ok(edge.filter(|_| {
        row.number("examined")
            .is_ok_and(|examined| examined >= EXAMINED)
    }))
}
