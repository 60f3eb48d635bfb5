-- readable from: 23
-- Findings: what becomes of flagged records. A row goes with its record.
CREATE TABLE findings (
    seq            INTEGER PRIMARY KEY REFERENCES records (seq) ON DELETE CASCADE,
    record_id      BLOB    NOT NULL UNIQUE,
    application_id BLOB    NOT NULL,
    user_id        TEXT,
    created_at_ms  INTEGER NOT NULL,         -- of the record
    cluster        BLOB    NOT NULL,         -- a digest of what findings that are alike have in common
    labels         TEXT    NOT NULL,         -- a list of at most 32 words
    state          TEXT    NOT NULL CHECK (state IN ('open', 'confirmed', 'false_alarm', 'resolved')),
    reason         TEXT,
    assignee_id    BLOB    REFERENCES accounts (id) ON DELETE SET NULL,
    changed_at_ms  INTEGER NOT NULL
) STRICT;
CREATE INDEX findings_by_state ON findings (state, seq);
CREATE INDEX findings_by_application ON findings (application_id, state, seq);
CREATE INDEX findings_by_user ON findings (user_id, state, seq) WHERE user_id IS NOT NULL;
CREATE INDEX findings_by_assignee ON findings (assignee_id, state, seq) WHERE assignee_id IS NOT NULL;
CREATE INDEX findings_by_cluster ON findings (cluster, state, seq);
CREATE INDEX findings_judged ON findings (seq) WHERE state IN ('confirmed', 'false_alarm');
CREATE INDEX findings_judged_of_one ON findings (application_id, seq) WHERE state IN ('confirmed', 'false_alarm');

-- Who changed a finding, and how.
CREATE TABLE finding_changes (
    seq        INTEGER NOT NULL REFERENCES findings (seq) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    at_ms      INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    from_state TEXT    NOT NULL,
    to_state   TEXT    NOT NULL,
    reason     TEXT,
    assignee   TEXT,                         -- a name; empty for nobody, null if that did not change
    note       TEXT,
    PRIMARY KEY (seq, number)
) STRICT, WITHOUT ROWID;

-- The newest flagged records of the last 30 days. Each is a cluster of its own, and of guardrails and custom policies
-- only that they flagged it is known here. Names with control characters are left out.
INSERT INTO findings (seq, record_id, application_id, user_id, created_at_ms, cluster, labels, state, changed_at_ms)
SELECT seq, id, application_id, user_id, created_at_ms, id,
    (SELECT json_group_array(label) FROM (
        SELECT value ->> '$.type' AS label
        FROM json_each(CASE WHEN instr(records.types, '\') = 0 THEN records.types ELSE '[]' END)
        WHERE length(value ->> '$.type') BETWEEN 1 AND 32
        UNION SELECT 'guardrails' WHERE flagged_guardrails = 1
        UNION SELECT 'custom_policy' WHERE flagged_custom_policy = 1
        ORDER BY 1 LIMIT 32)),
    'open', created_at_ms
FROM records
WHERE flagged = 1 AND created_at_ms >= (CAST(unixepoch('subsec') * 1000 AS INTEGER) - 30 * 86400000)
ORDER BY seq DESC LIMIT 100000;
