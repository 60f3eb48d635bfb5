-- People who sign in to the web UI. Applications' users are not these.

CREATE TABLE accounts (
    id              uuid   PRIMARY KEY,
    name            text   COLLATE "C" NOT NULL UNIQUE,   -- in lower case
    role            text   NOT NULL CHECK (role IN ('administrator', 'analyst', 'developer')),
    application_id  uuid   REFERENCES applications (id) ON DELETE CASCADE,
    password        text,                                 -- Argon2id in PHC form
    created_at_ms   bigint NOT NULL,
    disabled_at_ms  bigint,
    signed_in_at_ms bigint
);
CREATE INDEX accounts_by_application ON accounts (application_id) WHERE application_id IS NOT NULL;

CREATE TABLE account_links (
    hash       bytea  PRIMARY KEY,                        -- SHA-256 of the link's value
    account_id uuid   NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    ends_at_ms bigint NOT NULL
);
CREATE INDEX account_links_by_account ON account_links (account_id);

CREATE TABLE sign_ins (
    hash          bytea  PRIMARY KEY,                     -- SHA-256 of the cookie's value
    account_id    uuid   NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    started_at_ms bigint NOT NULL,
    seen_at_ms    bigint NOT NULL
);
CREATE INDEX sign_ins_by_account ON sign_ins (account_id);
CREATE INDEX sign_ins_by_time ON sign_ins (seen_at_ms);
