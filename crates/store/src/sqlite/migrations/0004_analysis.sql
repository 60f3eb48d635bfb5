-- The whole analysis API. Lists, sessions and statistics answer from tables and indexes that are kept
-- as the records come in; what is in the file already is put into them here.

-- Foreign keys are not enforced during migrations. The table is made anew to let a version be absent;
-- an application may go before its records do, so that there is no reference to it any more.
CREATE TABLE records_anew (
    seq                   INTEGER PRIMARY KEY AUTOINCREMENT,
    id                    BLOB    NOT NULL UNIQUE,
    application_id        BLOB    NOT NULL,
    stage                 TEXT    NOT NULL CHECK (stage IN ('pre', 'post')),
    exchange_id           TEXT,
    user_id               TEXT,
    session_id            TEXT,
    created_at_ms         INTEGER NOT NULL,
    rules_version         INTEGER,          -- null: the rules came with the request
    status                TEXT    NOT NULL,
    flagged_guardrails    INTEGER NOT NULL,
    flagged_custom_policy INTEGER NOT NULL,
    flagged_dataclean     INTEGER NOT NULL,
    token_count           INTEGER NOT NULL,
    severity              TEXT,
    types                 TEXT    NOT NULL,
    failed                INTEGER NOT NULL,
    incomplete            INTEGER NOT NULL,
    blocked               INTEGER NOT NULL,
    total_us              INTEGER NOT NULL,
    bytes                 INTEGER NOT NULL, -- of its texts and lists, here and in record_bodies
    flagged               INTEGER GENERATED ALWAYS AS
        (flagged_guardrails OR flagged_custom_policy OR flagged_dataclean) VIRTUAL
) STRICT;

INSERT INTO records_anew (seq, id, application_id, stage, exchange_id, user_id, session_id,
    created_at_ms, rules_version, status, flagged_guardrails, flagged_custom_policy,
    flagged_dataclean, token_count, severity, types, failed, incomplete, blocked, total_us, bytes)
SELECT seq, id, application_id, stage, exchange_id, user_id, session_id,
    created_at_ms, rules_version, status, flagged_guardrails, flagged_custom_policy,
    flagged_dataclean, token_count, severity, types, failed, incomplete, 0,
    coalesce(answer ->> '$.timings.total_us', 0),
    octet_length(types) + coalesce(octet_length(message), 0) + coalesce(octet_length(cleaned_text), 0)
        + octet_length(entities) + octet_length(additional_parameters) + octet_length(answer)
FROM records JOIN record_bodies USING (seq) ORDER BY seq;

DROP TABLE records;
ALTER TABLE records_anew RENAME TO records;
ALTER TABLE record_bodies ADD COLUMN inline_rules TEXT;

CREATE UNIQUE INDEX records_by_exchange
    ON records (application_id, exchange_id, stage) WHERE exchange_id IS NOT NULL;
-- One index for each thing that a list can be narrowed to, in the order of the list. What stands
-- behind seq answers a second condition without a look at the row.
CREATE INDEX records_by_application ON records (application_id, seq, stage, flagged);
CREATE INDEX records_by_stage ON records (stage, seq);
CREATE INDEX records_by_session ON records (session_id, seq, application_id) WHERE session_id IS NOT NULL;
CREATE INDEX records_by_user ON records (user_id, seq, application_id, stage, flagged,
    flagged_guardrails, flagged_custom_policy, flagged_dataclean, blocked, failed)
    WHERE user_id IS NOT NULL;
CREATE INDEX records_flagged ON records (seq, application_id, stage) WHERE flagged = 1;
CREATE INDEX records_clean ON records (seq, application_id, stage) WHERE flagged = 0;
CREATE INDEX records_guardrails ON records (seq, application_id, stage) WHERE flagged_guardrails = 1;
CREATE INDEX records_custom_policy ON records (seq, application_id, stage) WHERE flagged_custom_policy = 1;
CREATE INDEX records_dataclean ON records (seq, application_id, stage) WHERE flagged_dataclean = 1;
CREATE INDEX records_blocked ON records (seq, application_id, stage) WHERE blocked = 1;
CREATE INDEX records_failed ON records (seq, application_id, stage) WHERE failed = 1;

-- Entity types of the records, with what a second condition needs.
CREATE TABLE record_types (
    kind           TEXT    NOT NULL,
    seq            INTEGER NOT NULL,
    application_id BLOB    NOT NULL,
    marks          INTEGER NOT NULL, -- 1 guardrails, 2 custom policy, 4 dataclean, 8 blocked, 16 failed, 32 an answer
    PRIMARY KEY (kind, seq)
) STRICT, WITHOUT ROWID;

INSERT OR IGNORE INTO record_types (kind, seq, application_id, marks)
SELECT value ->> '$.type', seq, application_id,
    flagged_guardrails + 2 * flagged_custom_policy + 4 * flagged_dataclean + 8 * blocked + 16 * failed
        + 32 * (stage = 'post')
FROM records, json_each(records.types);

-- The times of every 1024 places, so that a span of time is a span of places.
CREATE TABLE record_blocks (
    block    INTEGER PRIMARY KEY, -- seq / 1024
    first_ms INTEGER NOT NULL,
    last_ms  INTEGER NOT NULL
) STRICT;

INSERT INTO record_blocks (block, first_ms, last_ms)
SELECT seq / 1024, min(created_at_ms), max(created_at_ms) FROM records GROUP BY 1;

-- What an application's records take.
CREATE TABLE record_totals (
    application_id BLOB    PRIMARY KEY,
    messages       INTEGER NOT NULL,
    bytes          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO record_totals (application_id, messages, bytes)
SELECT application_id, count(*), sum(bytes) FROM records GROUP BY 1;

CREATE TABLE sessions (
    application_id BLOB    NOT NULL,
    session_id     TEXT    NOT NULL,
    user_id        TEXT,             -- of the latest record that names one
    first_ms       INTEGER NOT NULL,
    last_ms        INTEGER NOT NULL,
    messages       INTEGER NOT NULL,
    flagged        INTEGER NOT NULL,
    tokens         INTEGER NOT NULL,
    PRIMARY KEY (application_id, session_id)
) STRICT, WITHOUT ROWID;

INSERT INTO sessions
    (application_id, session_id, user_id, first_ms, last_ms, messages, flagged, tokens)
SELECT application_id, session_id,
    (SELECT user_id FROM records latest
     WHERE latest.session_id = records.session_id AND latest.application_id = records.application_id
         AND latest.user_id IS NOT NULL ORDER BY seq DESC LIMIT 1),
    min(created_at_ms), max(created_at_ms), count(*), sum(flagged), sum(token_count)
FROM records WHERE session_id IS NOT NULL GROUP BY application_id, session_id;

CREATE INDEX sessions_by_time ON sessions (last_ms, application_id, session_id);
CREATE INDEX sessions_by_application ON sessions (application_id, last_ms, session_id);
CREATE INDEX sessions_by_user ON sessions (user_id, last_ms, application_id, session_id)
    WHERE user_id IS NOT NULL;

-- What came in on a day (UTC). Retention does not lower it.
CREATE TABLE statistics (
    application_id        BLOB    NOT NULL,
    day                   INTEGER NOT NULL, -- since 1970-01-01
    stage                 TEXT    NOT NULL,
    messages              INTEGER NOT NULL,
    flagged_guardrails    INTEGER NOT NULL,
    flagged_custom_policy INTEGER NOT NULL,
    flagged_dataclean     INTEGER NOT NULL,
    blocked               INTEGER NOT NULL,
    failed                INTEGER NOT NULL,
    tokens                INTEGER NOT NULL,
    total_us              INTEGER NOT NULL,
    max_us                INTEGER NOT NULL,
    PRIMARY KEY (application_id, day, stage)
) STRICT, WITHOUT ROWID;
CREATE INDEX statistics_by_day ON statistics (day);

-- The division has to round down for times before 1970 too.
INSERT INTO statistics
SELECT application_id, (created_at_ms - ((created_at_ms % 86400000) + 86400000) % 86400000) / 86400000,
    stage, count(*), sum(flagged_guardrails), sum(flagged_custom_policy), sum(flagged_dataclean),
    sum(blocked), sum(failed), sum(token_count), sum(total_us), max(total_us)
FROM records GROUP BY 1, 2, 3;

CREATE TABLE statistics_types (
    application_id BLOB    NOT NULL,
    day            INTEGER NOT NULL,
    stage          TEXT    NOT NULL,
    kind           TEXT    NOT NULL,
    finds          INTEGER NOT NULL,
    PRIMARY KEY (application_id, day, stage, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX statistics_types_by_day ON statistics_types (day);

INSERT INTO statistics_types
SELECT application_id, (created_at_ms - ((created_at_ms % 86400000) + 86400000) % 86400000) / 86400000,
    stage, value ->> '$.type', sum(value ->> '$.count')
FROM records, json_each(records.types) GROUP BY 1, 2, 3, 4;

-- Adding a column looks at every check of the table, and stored policies may break one that came later.
PRAGMA ignore_check_constraints = ON;
ALTER TABLE applications ADD COLUMN updated_at_ms INTEGER NOT NULL DEFAULT 0; -- 0: as it was made
ALTER TABLE applications ADD COLUMN changed_by TEXT NOT NULL DEFAULT '';
PRAGMA ignore_check_constraints = OFF;

-- Versions before the present one.
CREATE TABLE application_versions (
    application_id BLOB    NOT NULL,
    version        INTEGER NOT NULL,
    name           TEXT    NOT NULL,
    description    TEXT    NOT NULL,
    rules          TEXT    NOT NULL,
    policy         TEXT,
    changed_at_ms  INTEGER NOT NULL,
    changed_by     TEXT    NOT NULL,
    PRIMARY KEY (application_id, version)
) STRICT, WITHOUT ROWID;

-- Applications that are gone and whose records are still to be removed.
CREATE TABLE removed_applications (id BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;

CREATE INDEX tokens_by_time ON tokens (created_at_ms, id);
CREATE INDEX tokens_by_application ON tokens (application_id, created_at_ms, id)
    WHERE application_id IS NOT NULL;

CREATE TABLE audit (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms          INTEGER NOT NULL,
    actor          TEXT    NOT NULL,
    token_id       BLOB,
    action         TEXT    NOT NULL,
    target         TEXT    NOT NULL,
    application_id BLOB,
    details        TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_by_application ON audit (application_id, seq);
CREATE INDEX audit_by_action ON audit (action, seq);

-- Counts every change of applications and tokens, whoever makes it. The use of a token is no change.
CREATE TABLE settings_changes (count INTEGER NOT NULL, tokens_made INTEGER NOT NULL) STRICT;
INSERT INTO settings_changes (count, tokens_made) SELECT 0, EXISTS (SELECT 1 FROM tokens);

CREATE TRIGGER settings_application_added AFTER INSERT ON applications BEGIN
    UPDATE settings_changes SET count = count + 1;
END;
CREATE TRIGGER settings_application_changed AFTER UPDATE ON applications BEGIN
    UPDATE settings_changes SET count = count + 1;
END;
CREATE TRIGGER settings_application_removed AFTER DELETE ON applications BEGIN
    UPDATE settings_changes SET count = count + 1;
END;
CREATE TRIGGER settings_token_added AFTER INSERT ON tokens BEGIN
    UPDATE settings_changes SET count = count + 1, tokens_made = 1;
END;
CREATE TRIGGER settings_token_changed
AFTER UPDATE OF name, scopes, application_id, expires_at_ms, revoked_at_ms ON tokens BEGIN
    UPDATE settings_changes SET count = count + 1;
END;
CREATE TRIGGER settings_token_removed AFTER DELETE ON tokens BEGIN
    UPDATE settings_changes SET count = count + 1;
END;
