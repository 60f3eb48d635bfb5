-- Identifiers are 16-byte UUIDs, times are milliseconds since 1970 (UTC).

CREATE TABLE applications (
    seq           INTEGER PRIMARY KEY,
    id            BLOB    NOT NULL UNIQUE,
    name          TEXT    NOT NULL,
    description   TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    rules_version INTEGER NOT NULL,
    rules         TEXT    NOT NULL
) STRICT;

CREATE TABLE tokens (
    id              BLOB    PRIMARY KEY,
    name            TEXT    NOT NULL,
    hash            BLOB    NOT NULL UNIQUE, -- SHA-256 of the token's value
    scopes          INTEGER NOT NULL,        -- 1 ingest, 2 read, 4 admin
    application_id  BLOB    REFERENCES applications (id),
    created_at_ms   INTEGER NOT NULL,
    expires_at_ms   INTEGER,
    revoked_at_ms   INTEGER,
    last_used_at_ms INTEGER
) STRICT, WITHOUT ROWID;

-- What lists read and filter by; the texts stand in record_bodies, so that a list never touches them.
CREATE TABLE records (
    seq                   INTEGER PRIMARY KEY AUTOINCREMENT,
    id                    BLOB    NOT NULL UNIQUE,
    application_id        BLOB    NOT NULL REFERENCES applications (id),
    stage                 TEXT    NOT NULL CHECK (stage IN ('pre', 'post')),
    exchange_id           TEXT,
    user_id               TEXT,
    session_id            TEXT,
    created_at_ms         INTEGER NOT NULL,
    rules_version         INTEGER NOT NULL,
    status                TEXT    NOT NULL,
    flagged_guardrails    INTEGER NOT NULL,
    flagged_custom_policy INTEGER NOT NULL,
    flagged_dataclean     INTEGER NOT NULL,
    token_count           INTEGER NOT NULL,
    severity              TEXT,
    types                 TEXT    NOT NULL,
    failed                INTEGER NOT NULL,
    incomplete            INTEGER NOT NULL
) STRICT;

-- A record delivered twice is kept once.
CREATE UNIQUE INDEX records_by_exchange
    ON records (application_id, exchange_id, stage) WHERE exchange_id IS NOT NULL;
CREATE INDEX records_by_application ON records (application_id, seq);
CREATE INDEX records_by_user ON records (user_id, seq) WHERE user_id IS NOT NULL;
CREATE INDEX records_by_session ON records (session_id, seq) WHERE session_id IS NOT NULL;

CREATE TABLE record_bodies (
    seq                   INTEGER PRIMARY KEY REFERENCES records (seq) ON DELETE CASCADE,
    message               TEXT,          -- the original, only where the application keeps it
    cleaned_text          TEXT,
    entities              TEXT NOT NULL,
    additional_parameters TEXT NOT NULL,
    answer                TEXT NOT NULL  -- without cleaned_text and entities, which stand beside it
) STRICT;
