-- Traffic by the hour, for charts: of each application, and under the name of sixteen zero bytes of all of
-- them together. Each writer counts in a lane of its own, as for the statistics. A month of it is kept,
-- whatever becomes of the records.

CREATE TABLE traffic (
    application_id        uuid     NOT NULL,
    hour                  bigint   NOT NULL, -- since 1970-01-01 00:00 UTC
    lane                  smallint NOT NULL,
    prompts               bigint   NOT NULL,
    answers               bigint   NOT NULL,
    flagged_guardrails    bigint   NOT NULL,
    flagged_custom_policy bigint   NOT NULL,
    flagged_dataclean     bigint   NOT NULL,
    blocked               bigint   NOT NULL,
    failed                bigint   NOT NULL,
    tokens                bigint   NOT NULL,
    total_us              bigint   NOT NULL,
    max_us                bigint   NOT NULL,
    PRIMARY KEY (application_id, hour, lane)
) WITH (fillfactor = 50);
CREATE INDEX traffic_by_hour ON traffic (hour);

CREATE TABLE traffic_types (
    application_id uuid     NOT NULL,
    hour           bigint   NOT NULL,
    lane           smallint NOT NULL,
    kind_key       bigint   NOT NULL,
    kind           text     NOT NULL,
    finds          bigint   NOT NULL,
    PRIMARY KEY (application_id, hour, lane, kind_key)
) WITH (fillfactor = 50);
CREATE INDEX traffic_types_by_hour ON traffic_types (hour);

INSERT INTO traffic
SELECT CASE WHEN whole THEN '00000000-0000-0000-0000-000000000000'::uuid ELSE application_id END,
    floor(created_at_ms / 3600000.0)::bigint, -1,
    count(*) FILTER (WHERE stage = 0), count(*) FILTER (WHERE stage = 1),
    count(*) FILTER (WHERE flagged_guardrails), count(*) FILTER (WHERE flagged_custom_policy),
    count(*) FILTER (WHERE flagged_dataclean), count(*) FILTER (WHERE blocked),
    count(*) FILTER (WHERE failed), sum(token_count)::bigint, sum(total_us)::bigint, max(total_us)
FROM records CROSS JOIN (VALUES (true), (false)) AS counted (whole)
WHERE created_at_ms >= extract(epoch FROM now() - interval '32 days') * 1000
GROUP BY 1, 2;

-- Finds are in the statistics by the day only as numbers of a day, and a record's own list is text.
INSERT INTO traffic_types
SELECT CASE WHEN whole THEN '00000000-0000-0000-0000-000000000000'::uuid ELSE s.application_id END,
    s.day * 24, -1, s.kind_key, min(s.kind), sum(s.finds)::bigint
FROM statistics_types s CROSS JOIN (VALUES (true), (false)) AS counted (whole)
WHERE s.day >= floor(extract(epoch FROM now()) / 86400) - 31
GROUP BY 1, 2, 4;

CREATE INDEX audit_log_by_actor ON audit_log (actor, seq);
CREATE INDEX audit_log_by_action ON audit_log (action, seq);
