//! Notes when tokens were last used.

use sqlx::PgConnection;
use uuid::Uuid;

const NOTE: &str = "
    UPDATE tokens t SET last_used_at_ms = greatest(coalesce(t.last_used_at_ms, 0), u.used_at_ms)
    FROM unnest($1::uuid[], $2::bigint[]) AS u (id, used_at_ms) WHERE t.id = u.id";

/// Each use is a token and a time, milliseconds since 1970.
pub(in crate::postgres) async fn note_uses(
    connection: &mut PgConnection,
    uses: &[(Uuid, i64)],
) -> Result<(), sqlx::Error> {
    sqlx::query(NOTE)
        .bind(uses.iter().map(|(id, _)| *id).collect::<Vec<_>>())
        .bind(uses.iter().map(|(_, at)| *at).collect::<Vec<_>>())
        .execute(connection)
        .await
        .map(drop)
}
