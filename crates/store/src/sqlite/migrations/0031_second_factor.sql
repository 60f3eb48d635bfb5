-- A second factor of accounts with a password, what a sign-in notes of its browser, and sign-ins whose password was
-- right and whose code is still awaited.
ALTER TABLE accounts ADD COLUMN second_factor TEXT;  -- kind, secret, latest step, hashes of recovery codes

ALTER TABLE sign_ins ADD COLUMN by_password INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sign_ins ADD COLUMN address TEXT;
ALTER TABLE sign_ins ADD COLUMN browser TEXT;

CREATE TABLE begun_sign_ins (
    hash       BLOB    PRIMARY KEY,            -- SHA-256 of the value in the form
    account_id BLOB    NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    ends_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX begun_sign_ins_by_account ON begun_sign_ins (account_id);
CREATE INDEX begun_sign_ins_by_end ON begun_sign_ins (ends_at_ms);
