-- What each end user does by the day (UTC). The row with the empty kind counts messages, the others finds of a type.
-- Names of more than 512 bytes count as 'other'. Messages without a user are not counted.
CREATE TABLE user_days (
    day            INTEGER NOT NULL, -- since 1970-01-01
    application_id BLOB    NOT NULL,
    user_id        TEXT    NOT NULL,
    kind           TEXT    NOT NULL,
    messages       INTEGER NOT NULL,
    flagged        INTEGER NOT NULL,
    blocked        INTEGER NOT NULL,
    finds          INTEGER NOT NULL,
    last_ms        INTEGER NOT NULL, -- the latest message
    PRIMARY KEY (day, application_id, user_id, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_days_by_user ON user_days (user_id, day);
CREATE INDEX user_days_by_application ON user_days (application_id);

-- The messages of the last two months; of their finds nothing is counted afterwards.
INSERT INTO user_days
SELECT (created_at_ms - ((created_at_ms % 86400000) + 86400000) % 86400000) / 86400000, application_id,
    CASE WHEN octet_length(user_id) > 512 THEN 'other' ELSE user_id END, '',
    count(*), sum(flagged), sum(blocked), 0, max(created_at_ms)
FROM records
WHERE created_at_ms >= (unixepoch() - 62 * 86400) * 1000 AND user_id <> ''
    AND application_id IN (SELECT id FROM applications)
GROUP BY 1, 2, 3;
