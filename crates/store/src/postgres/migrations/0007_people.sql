-- What people keep for themselves, and by what other servers know them.

CREATE TABLE saved_filters (
    id            uuid    PRIMARY KEY,
    account_id    uuid    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name          text    COLLATE "C" NOT NULL,
    query         text    NOT NULL,            -- as in the list's address
    is_shared     boolean NOT NULL,
    created_at_ms bigint  NOT NULL,
    UNIQUE (account_id, name)
);
CREATE INDEX saved_filters_shared ON saved_filters (account_id) WHERE is_shared;

CREATE TABLE identities (
    issuer     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    account_id uuid NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_account ON identities (account_id);
