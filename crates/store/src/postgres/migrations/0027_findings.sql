-- readable from: 23
-- Findings: what becomes of flagged records. The table is not partitioned: a row is deleted with its record.
CREATE TABLE findings (
    seq            bigint PRIMARY KEY,
    record_id      uuid   NOT NULL,
    application_id uuid   NOT NULL,
    user_id        text,
    user_key       bigint,
    created_at_ms  bigint NOT NULL,          -- of the record
    cluster        uuid   NOT NULL,          -- a digest of what findings that are alike have in common
    labels         text   NOT NULL,          -- a list of at most 32 words
    state          text   NOT NULL CHECK (state IN ('open', 'confirmed', 'false_alarm', 'resolved')),
    reason         text,
    assignee_id    uuid   REFERENCES accounts (id) ON DELETE SET NULL,
    changed_at_ms  bigint NOT NULL
);
CREATE INDEX findings_by_record ON findings (record_id);
CREATE INDEX findings_by_state ON findings (state, seq);
CREATE INDEX findings_by_application ON findings (application_id, state, seq);
CREATE INDEX findings_by_user ON findings (user_key, state, seq) WHERE user_key IS NOT NULL;
CREATE INDEX findings_by_assignee ON findings (assignee_id, state, seq) WHERE assignee_id IS NOT NULL;
CREATE INDEX findings_by_cluster ON findings (cluster, state, seq);
CREATE INDEX findings_judged ON findings (seq) WHERE state IN ('confirmed', 'false_alarm');
CREATE INDEX findings_judged_of_one ON findings (application_id, seq) WHERE state IN ('confirmed', 'false_alarm');

-- Who changed a finding, and how.
CREATE TABLE finding_changes (
    seq        bigint  NOT NULL REFERENCES findings (seq) ON DELETE CASCADE,
    number     bigint  NOT NULL,
    at_ms      bigint  NOT NULL,
    actor      text    NOT NULL,
    from_state text    NOT NULL,
    to_state   text    NOT NULL,
    reason     text,
    assignee   text,                         -- a name; empty for nobody, null if that did not change
    note       text,
    PRIMARY KEY (seq, number)
);

-- The newest flagged records of the last 30 days. Each is a cluster of its own, and of guardrails and custom policies
-- only that they flagged it is known here. Names with control characters are left out.
INSERT INTO findings (seq, record_id, application_id, user_id, user_key, created_at_ms, cluster, labels, state,
    changed_at_ms)
SELECT seq, id, application_id, user_id, user_key, created_at_ms, id,
    (SELECT coalesce(jsonb_agg(label ORDER BY label), '[]')::text FROM (
        SELECT found ->> 'type' AS label
        FROM jsonb_array_elements(CASE WHEN strpos(types, '\') = 0 THEN types::jsonb ELSE '[]' END) AS found
        WHERE length(found ->> 'type') BETWEEN 1 AND 32
        UNION SELECT 'guardrails' WHERE flagged_guardrails
        UNION SELECT 'custom_policy' WHERE flagged_custom_policy
        ORDER BY 1 LIMIT 32) AS labels),
    'open', created_at_ms
FROM records
WHERE flagged AND seq >= ((extract(epoch FROM now()) * 1000)::bigint - 30 * 86400000::bigint - 1577836800000) << 12
ORDER BY seq DESC LIMIT 100000;
