//! The users whom the sums of costs name.

/// The next ?3 of them behind ?1, and whether application ?2 is theirs: each is one step in the index, however many
/// sums name it.
pub(super) const NEXT: &str = "
    WITH RECURSIVE named (user_id) AS (
        SELECT min(user_id) FROM costs WHERE user_id > ?1
        UNION ALL
        SELECT (SELECT min(c.user_id) FROM costs AS c WHERE c.user_id > named.user_id) FROM named
        WHERE named.user_id IS NOT NULL)
    SELECT user_id, EXISTS (SELECT 1 FROM costs AS c WHERE c.user_id = named.user_id
        AND (?2 IS NULL OR c.application_id = ?2) AND c.application_id IN (SELECT id FROM applications)) AS is_own
    FROM named WHERE user_id IS NOT NULL LIMIT ?3";
