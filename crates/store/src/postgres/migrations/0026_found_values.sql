-- Values that were found, as hashes with a key: which records have the same one can be said without any value.

-- The newest key makes hashes; with the older ones, hashes of before are still found. All servers have the same keys.
CREATE TABLE value_keys (
    id            bigint PRIMARY KEY,
    secret        bytea  NOT NULL CHECK (octet_length(secret) = 32),
    created_at_ms bigint NOT NULL
);

-- Not in partitions: a value is looked for in all days at once.
CREATE TABLE found_values (
    hash           bytea  NOT NULL CHECK (octet_length(hash) = 16),
    seq            bigint NOT NULL,
    application_id uuid   NOT NULL,
    kind           text   NOT NULL,
    key_id         bigint NOT NULL,
    PRIMARY KEY (hash, seq)
);
CREATE INDEX found_values_by_record ON found_values (seq);

-- Sessions in which something was flagged, in the order of their lists.
CREATE INDEX sessions_flagged ON sessions (last_ms) WHERE flagged > 0;
CREATE INDEX sessions_flagged_by_application ON sessions (application_id, last_ms) WHERE flagged > 0;
