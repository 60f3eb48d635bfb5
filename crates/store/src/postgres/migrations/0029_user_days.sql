-- What each end user does by the day (UTC). The row with the empty kind counts messages, the others finds of a type.
-- Names of more than 512 bytes count as 'other'. Messages without a user are not counted. Each writer counts in a lane
-- of its own, as for the statistics.
CREATE TABLE user_days (
    day            bigint   NOT NULL, -- since 1970-01-01
    application_id uuid     NOT NULL,
    user_id        text     NOT NULL,
    kind           text     NOT NULL,
    lane           smallint NOT NULL,
    messages       bigint   NOT NULL,
    flagged        bigint   NOT NULL,
    blocked        bigint   NOT NULL,
    finds          bigint   NOT NULL,
    last_ms        bigint   NOT NULL, -- the latest message
    PRIMARY KEY (day, application_id, user_id, kind, lane)
) WITH (fillfactor = 50);
CREATE INDEX user_days_by_user ON user_days (user_id, day);
CREATE INDEX user_days_by_application ON user_days (application_id);

-- The messages of the last two months; of their finds nothing is counted afterwards.
INSERT INTO user_days
SELECT floor(created_at_ms / 86400000.0)::bigint, application_id,
    CASE WHEN octet_length(user_id) > 512 THEN 'other' ELSE user_id END, '', -1,
    count(*), count(*) FILTER (WHERE flagged), count(*) FILTER (WHERE blocked), 0, max(created_at_ms)
FROM records
WHERE created_at_ms >= extract(epoch FROM now() - interval '62 days') * 1000 AND user_id <> ''
    AND application_id IN (SELECT id FROM applications)
GROUP BY 1, 2, 3;
