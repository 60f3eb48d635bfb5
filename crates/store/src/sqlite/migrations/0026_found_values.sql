-- Values that were found, as hashes with a key: which records have the same one can be said without any value.

-- The newest key makes hashes; with the older ones, hashes of before are still found.
CREATE TABLE value_keys (
    id            INTEGER PRIMARY KEY,
    secret        BLOB    NOT NULL CHECK (length(secret) = 32),
    created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE found_values (
    hash           BLOB    NOT NULL CHECK (length(hash) = 16),
    seq            INTEGER NOT NULL REFERENCES records (seq) ON DELETE CASCADE,
    application_id BLOB    NOT NULL,
    kind           TEXT    NOT NULL,
    key_id         INTEGER NOT NULL,
    PRIMARY KEY (hash, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX found_values_by_record ON found_values (seq);

-- Sessions in which something was flagged, in the order of their lists.
CREATE INDEX sessions_flagged ON sessions (last_ms, application_id, session_id) WHERE flagged > 0;
CREATE INDEX sessions_flagged_by_application ON sessions (application_id, last_ms, session_id) WHERE flagged > 0;
