-- Files of records, and users whose records were erased.

-- Bytes that are kept, or are about to be. How many links they have is counted by the triggers below.
CREATE TABLE blobs (
    sha256   BLOB    PRIMARY KEY CHECK (length(sha256) = 32),
    size     INTEGER NOT NULL,
    ticket   INTEGER NOT NULL,            -- of whoever claimed them first
    links    INTEGER NOT NULL DEFAULT 0,
    removing INTEGER NOT NULL DEFAULT 0   -- when their removal began, milliseconds since 1970; 0: never
) STRICT, WITHOUT ROWID;
CREATE INDEX blobs_unlinked ON blobs (sha256) WHERE links = 0;

CREATE TABLE attachments (
    seq            INTEGER NOT NULL REFERENCES records (seq) ON DELETE CASCADE,
    sha256         BLOB    NOT NULL CHECK (length(sha256) = 32),
    name           TEXT    NOT NULL,
    type           TEXT    NOT NULL,
    size           INTEGER NOT NULL,
    kept           INTEGER NOT NULL,      -- 0: its bytes were not kept
    findings       TEXT    NOT NULL,      -- JSON: how far its text was looked at, finds by type
    attached_at_ms INTEGER NOT NULL,
    PRIMARY KEY (seq, sha256)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER attachment_added AFTER INSERT ON attachments WHEN NEW.kept BEGIN
    UPDATE blobs SET links = links + 1 WHERE sha256 = NEW.sha256;
END;
CREATE TRIGGER attachment_removed AFTER DELETE ON attachments WHEN OLD.kept BEGIN
    UPDATE blobs SET links = links - 1 WHERE sha256 = OLD.sha256;
END;

-- Records of these users are refused. No application is every one.
CREATE TABLE erased_users (
    id             BLOB    PRIMARY KEY,
    user_hash      BLOB    NOT NULL,      -- SHA-256 of "erased user", a zero byte and the user's name
    application_id BLOB,
    at_ms          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX erased_users_by_user ON erased_users (user_hash, coalesce(application_id, x''));
