-- People who sign in to the web UI. Applications' users are not these.

CREATE TABLE accounts (
    id              BLOB    PRIMARY KEY,
    name            TEXT    NOT NULL UNIQUE,   -- in lower case
    role            TEXT    NOT NULL CHECK (role IN ('administrator', 'analyst', 'developer')),
    application_id  BLOB    REFERENCES applications (id) ON DELETE CASCADE,
    password        TEXT,                      -- Argon2id in PHC form
    created_at_ms   INTEGER NOT NULL,
    disabled_at_ms  INTEGER,
    signed_in_at_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX accounts_by_application ON accounts (application_id) WHERE application_id IS NOT NULL;

CREATE TABLE account_links (
    hash       BLOB    PRIMARY KEY,            -- SHA-256 of the link's value
    account_id BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    ends_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX account_links_by_account ON account_links (account_id);

CREATE TABLE sign_ins (
    hash          BLOB    PRIMARY KEY,         -- SHA-256 of the cookie's value
    account_id    BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    started_at_ms INTEGER NOT NULL,
    seen_at_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_ins_by_account ON sign_ins (account_id);
CREATE INDEX sign_ins_by_time ON sign_ins (seen_at_ms);
