-- A second factor of accounts with a password, what a sign-in notes of its browser, and sign-ins whose password was
-- right and whose code is still awaited.
ALTER TABLE accounts ADD COLUMN second_factor text;  -- kind, secret, latest step, hashes of recovery codes

ALTER TABLE sign_ins ADD COLUMN by_password boolean NOT NULL DEFAULT false;
ALTER TABLE sign_ins ADD COLUMN address text;
ALTER TABLE sign_ins ADD COLUMN browser text;

CREATE TABLE begun_sign_ins (
    hash       bytea  PRIMARY KEY,             -- SHA-256 of the value in the form
    account_id uuid   NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    ends_at_ms bigint NOT NULL
);
CREATE INDEX begun_sign_ins_by_account ON begun_sign_ins (account_id);
CREATE INDEX begun_sign_ins_by_end ON begun_sign_ins (ends_at_ms);
