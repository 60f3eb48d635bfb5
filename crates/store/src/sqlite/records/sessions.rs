//! Sessions, from the table that the writer keeps up to date as records come in.

use crate::error::StoreError;
use crate::sessions::{SessionFilter, SessionSummary};
use crate::sql::records::session;
use sqlx::sqlite::SqlitePool;
use sqlx::{QueryBuilder, Sqlite};

pub(super) async fn page(
    readers: &SqlitePool,
    filter: &SessionFilter,
) -> Result<Vec<SessionSummary>, StoreError> {
    let rows = query(filter).build().fetch_all(readers).await?;
    rows.iter().map(session).collect()
}

pub(in crate::sqlite) fn query(filter: &SessionFilter) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("SELECT * FROM sessions INDEXED BY ");
    query.push(match (&filter.user_id, filter.application_id) {
        (Some(_), _) => "sessions_by_user",
        (None, Some(_)) if filter.only_flagged => "sessions_flagged_by_application",
        (None, None) if filter.only_flagged => "sessions_flagged",
        (None, Some(_)) => "sessions_by_application",
        (None, None) => "sessions_by_time",
    });
    query.push(" WHERE application_id NOT IN (SELECT id FROM removed_applications)");
    if let Some(user) = &filter.user_id {
        query.push(" AND user_id = ").push_bind(user.clone());
    }
    if let Some(id) = filter.application_id {
        query.push(" AND application_id = ").push_bind(id.0);
    }
    if let Some(from) = filter.from_ms {
        query.push(" AND last_ms >= ").push_bind(from);
    }
    if let Some(to) = filter.to_ms {
        query.push(" AND last_ms < ").push_bind(to);
    }
    if filter.only_flagged {
        // As the partial indexes state it.
        query.push(" AND flagged > 0");
    }
    if let Some((last_ms, application, session)) = &filter.before {
        query.push(" AND (last_ms, application_id, session_id) < (");
        query.push_bind(*last_ms).push(", ");
        query.push_bind(application.0).push(", ");
        query.push_bind(session.clone()).push(")");
    }
    query.push(" ORDER BY last_ms DESC, application_id DESC, session_id DESC LIMIT ");
    query.push_bind(i64::from(filter.limit));
    query
}
