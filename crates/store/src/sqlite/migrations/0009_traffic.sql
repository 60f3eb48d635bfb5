-- Traffic by the hour, for charts: of each application, and under the name of sixteen zero bytes of all of
-- them together. A month of it is kept, whatever becomes of the records.

CREATE TABLE traffic (
    application_id        BLOB    NOT NULL,
    hour                  INTEGER NOT NULL, -- since 1970-01-01 00:00 UTC
    prompts               INTEGER NOT NULL,
    answers               INTEGER NOT NULL,
    flagged_guardrails    INTEGER NOT NULL,
    flagged_custom_policy INTEGER NOT NULL,
    flagged_dataclean     INTEGER NOT NULL,
    blocked               INTEGER NOT NULL,
    failed                INTEGER NOT NULL,
    tokens                INTEGER NOT NULL,
    total_us              INTEGER NOT NULL,
    max_us                INTEGER NOT NULL,
    PRIMARY KEY (application_id, hour)
) STRICT, WITHOUT ROWID;
CREATE INDEX traffic_by_hour ON traffic (hour);

INSERT INTO traffic
SELECT CASE whole WHEN 1 THEN zeroblob(16) ELSE application_id END, (created_at_ms - ((created_at_ms % 3600000) + 3600000) % 3600000) / 3600000,
    sum(stage = 'pre'), sum(stage = 'post'), sum(flagged_guardrails), sum(flagged_custom_policy),
    sum(flagged_dataclean), sum(blocked), sum(failed), sum(token_count), sum(total_us), max(total_us)
FROM records CROSS JOIN (SELECT 0 AS whole UNION ALL SELECT 1)
WHERE created_at_ms >= (unixepoch() - 32 * 86400) * 1000 GROUP BY 1, 2;

CREATE TABLE traffic_types (
    application_id BLOB    NOT NULL,
    hour           INTEGER NOT NULL,
    kind           TEXT    NOT NULL,
    finds          INTEGER NOT NULL,
    PRIMARY KEY (application_id, hour, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX traffic_types_by_hour ON traffic_types (hour);

INSERT INTO traffic_types (application_id, hour, kind, finds)
SELECT CASE whole WHEN 1 THEN zeroblob(16) ELSE application_id END, (created_at_ms - ((created_at_ms % 3600000) + 3600000) % 3600000) / 3600000,
    value ->> '$.type', sum(value ->> '$.count')
FROM records CROSS JOIN json_each(records.types) CROSS JOIN (SELECT 0 AS whole UNION ALL SELECT 1)
WHERE created_at_ms >= (unixepoch() - 32 * 86400) * 1000 GROUP BY 1, 2, 3;

CREATE INDEX audit_by_actor ON audit (actor, seq);
