-- readable from: 20
-- What each server knew for itself, and servers over one database share now. All of it is forgotten after a while.

-- The latest report of each gateway about itself, as the header that it came in.
CREATE TABLE gateway_reports (
    gateway BLOB    PRIMARY KEY,
    report  TEXT    NOT NULL,
    at_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Wrong passwords, counted by account, by network, and by both.
CREATE TABLE sign_in_failures (
    counter  BLOB    PRIMARY KEY,    -- SHA-256 of what is counted: no name that somebody typed
    failures INTEGER NOT NULL,
    at_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_failures_by_time ON sign_in_failures (at_ms);

-- The states of sign-ins by the identity provider that were finished: each is taken once.
CREATE TABLE taken_states (
    hash  BLOB    PRIMARY KEY,       -- SHA-256
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX taken_states_by_time ON taken_states (at_ms);
