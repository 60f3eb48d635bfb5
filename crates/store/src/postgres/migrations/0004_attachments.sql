-- Files of records, and users whose records were erased.

-- Bytes that are kept, or are about to be. How many links they have is counted by the triggers below.
CREATE TABLE blobs (
    sha256   bytea   PRIMARY KEY CHECK (octet_length(sha256) = 32),
    size     bigint  NOT NULL,
    ticket   bigint  NOT NULL,              -- of whoever claimed them first
    links    bigint  NOT NULL DEFAULT 0,
    removing bigint  NOT NULL DEFAULT 0     -- when their removal began, milliseconds since 1970; 0: never
);
CREATE INDEX blobs_unlinked ON blobs (sha256) WHERE links = 0;

-- Not in partitions: there are few, and the server removes them after their day's partition.
CREATE TABLE attachments (
    seq            bigint  NOT NULL,        -- of its record
    sha256         bytea   NOT NULL CHECK (octet_length(sha256) = 32),
    name           text    NOT NULL,
    type           text    NOT NULL,
    size           bigint  NOT NULL,
    kept           boolean NOT NULL,        -- false: its bytes were not kept
    findings       text    NOT NULL,        -- JSON: how far its text was looked at, finds by type
    attached_at_ms bigint  NOT NULL,
    PRIMARY KEY (seq, sha256)
);

CREATE FUNCTION count_blob_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE blobs SET links = links + 1 WHERE sha256 = NEW.sha256;
    ELSE
        UPDATE blobs SET links = links - 1 WHERE sha256 = OLD.sha256;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER attachment_added AFTER INSERT ON attachments
    FOR EACH ROW WHEN (NEW.kept) EXECUTE FUNCTION count_blob_links();
CREATE TRIGGER attachment_removed AFTER DELETE ON attachments
    FOR EACH ROW WHEN (OLD.kept) EXECUTE FUNCTION count_blob_links();

-- Records of these users are refused. No application is every one.
CREATE TABLE erased_users (
    id             uuid   PRIMARY KEY,
    user_hash      bytea  NOT NULL,         -- SHA-256 of "erased user", a zero byte and the user's name
    application_id uuid,
    at_ms          bigint NOT NULL
);
CREATE UNIQUE INDEX erased_users_by_user ON erased_users
    (user_hash, coalesce(application_id, '00000000-0000-0000-0000-000000000000'));
