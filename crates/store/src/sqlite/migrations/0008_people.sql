-- What people keep for themselves, and by what other servers know them.

CREATE TABLE saved_filters (
    id            BLOB    PRIMARY KEY,
    account_id    BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    query         TEXT    NOT NULL,            -- as in the list's address
    is_shared     INTEGER NOT NULL CHECK (is_shared IN (0, 1)),
    created_at_ms INTEGER NOT NULL,
    UNIQUE (account_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX saved_filters_shared ON saved_filters (account_id) WHERE is_shared = 1;

CREATE TABLE identities (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_account ON identities (account_id);
