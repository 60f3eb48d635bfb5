//! Sessions, from the table that the writers keep up to date as records come in.

use crate::postgres::values::{escaped, text_key};
use crate::sessions::SessionFilter;
use sqlx::{Postgres, QueryBuilder};

pub(super) fn query(filter: &SessionFilter) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(
        "SELECT s.* FROM sessions s WHERE NOT EXISTS (SELECT FROM removed_applications gone
             WHERE gone.application_id = s.application_id AND s.last_ms <= gone.removed_at_ms)",
    );
    if let Some(id) = filter.application_id {
        query.push(" AND s.application_id = ").push_bind(id.0);
    }
    if let Some(user) = &filter.user_id {
        let user = escaped(user).into_owned();
        query.push(" AND s.user_key = ").push_bind(text_key(&user));
        query.push(" AND s.user_id = ").push_bind(user);
    }
    if let Some(from) = filter.from_ms {
        query.push(" AND s.last_ms >= ").push_bind(from);
    }
    if let Some(to) = filter.to_ms {
        query.push(" AND s.last_ms < ").push_bind(to);
    }
    if filter.only_flagged {
        // As the partial indexes state it.
        query.push(" AND s.flagged > 0");
    }
    if let Some((last_ms, application, session)) = &filter.before {
        query.push(" AND s.last_ms <= ").push_bind(*last_ms);
        query.push(" AND (s.last_ms, s.application_id, s.session_id) < (");
        query.push_bind(*last_ms).push(", ");
        query.push_bind(application.0).push(", ");
        query.push_bind(escaped(session).into_owned()).push(")");
    }
    query.push(" ORDER BY s.last_ms DESC, s.application_id DESC, s.session_id DESC LIMIT ");
    query.push_bind(i64::from(filter.limit));
    query
}
