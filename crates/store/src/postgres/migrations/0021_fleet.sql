-- readable from: 20
-- What each server knew for itself, and servers over one database share now. All of it is forgotten after a while.

-- The latest report of each gateway about itself, as the header that it came in.
CREATE TABLE gateway_reports (
    gateway uuid   PRIMARY KEY,
    report  text   NOT NULL,
    at_ms   bigint NOT NULL
);

-- Wrong passwords, counted by account, by network, and by both.
CREATE TABLE sign_in_failures (
    counter  bytea  PRIMARY KEY,     -- SHA-256 of what is counted: no name that somebody typed
    failures bigint NOT NULL,
    at_ms    bigint NOT NULL
);
CREATE INDEX sign_in_failures_by_time ON sign_in_failures (at_ms);

-- The states of sign-ins by the identity provider that were finished: each is taken once.
CREATE TABLE taken_states (
    hash  bytea  PRIMARY KEY,        -- SHA-256
    at_ms bigint NOT NULL
);
CREATE INDEX taken_states_by_time ON taken_states (at_ms);

-- Which server counts in which pair of lanes, until when.
CREATE TABLE counter_lanes (
    pair    integer     PRIMARY KEY,
    server  uuid        NOT NULL,
    ends_at timestamptz NOT NULL
);

-- Gateways ask every few seconds whether something changed: this says so without a look at every policy. It is the same
-- in every row.
CREATE OR REPLACE VIEW gateway_policies AS
    SELECT id AS application_id, name, policy, policy_version AS version, policy_updated_at AS updated_at,
           (SELECT states FROM spent_budgets WHERE spent_budgets.application_id = applications.id) AS spent,
           (SELECT count::text FROM policy_changes) || ':' ||
           (SELECT coalesce(sum(hashtextextended(concat_ws(chr(31), application_id, states), 0)), 0)::text
            FROM spent_budgets) AS changes
    FROM applications WHERE policy IS NOT NULL;
