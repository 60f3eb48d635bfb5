-- Alerts: rules and channels that people set, what fires, and who was told.

-- The documents are the program's own; those of channels have secrets.
CREATE TABLE alert_rules (
    id             uuid    PRIMARY KEY,
    application_id uuid    REFERENCES applications (id) ON DELETE CASCADE,
    user_hash      bytea   NOT NULL,   -- of the user that the rule names, as tombstones have it; empty for none
    document       text    NOT NULL,
    created_at_ms  bigint  NOT NULL
);
CREATE INDEX alert_rules_by_user ON alert_rules (user_hash);
CREATE INDEX alert_rules_by_application ON alert_rules (application_id);

CREATE TABLE alert_channels (
    id            uuid    PRIMARY KEY,
    document      text    NOT NULL,
    created_at_ms bigint  NOT NULL
);

-- An alert outlives its rule. Of one group of a rule one alert is open at a time.
CREATE TABLE alerts (
    id             uuid    PRIMARY KEY,
    rule_id        uuid    NOT NULL,
    group_hash     bytea   NOT NULL,
    user_hash      bytea   NOT NULL,
    application_id uuid    REFERENCES applications (id) ON DELETE CASCADE,
    facts          text    NOT NULL,
    state          text    NOT NULL CHECK (state IN ('firing', 'closed', 'ended')),
    updates        bigint  NOT NULL,
    first_ms       bigint  NOT NULL,
    last_ms        bigint  NOT NULL,
    notified_ms    bigint  NOT NULL,
    muted_until_ms bigint,
    resolved_ms    bigint,
    resolved_by    text
);
CREATE UNIQUE INDEX alerts_open ON alerts (rule_id, group_hash) WHERE state <> 'ended';
CREATE INDEX alerts_by_time ON alerts (first_ms, id);
CREATE INDEX alerts_by_user ON alerts (user_hash);
CREATE INDEX alerts_by_application ON alerts (application_id);

-- A message to a channel: a queue while it waits, then the memory of who was told.
CREATE TABLE alert_deliveries (
    id            uuid    PRIMARY KEY,
    alert_id      uuid    NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
    channel_id    uuid    NOT NULL,
    channel_name  text    NOT NULL,
    channel_kind  text    NOT NULL,
    message       text    NOT NULL,
    state         text    NOT NULL CHECK (state IN ('waiting', 'sent', 'dead')),
    attempts      bigint  NOT NULL,
    next_ms       bigint  NOT NULL,    -- also the end of the lease of the server that sends it
    created_at_ms bigint  NOT NULL,
    done_ms       bigint,
    failure       text
);
CREATE INDEX alert_deliveries_due ON alert_deliveries (next_ms) WHERE state = 'waiting';
CREATE INDEX alert_deliveries_by_alert ON alert_deliveries (alert_id, created_at_ms);

-- Which server looks at the rules, until when.
CREATE TABLE alert_lease (
    id       bigint  PRIMARY KEY,
    server   uuid    NOT NULL,
    until_ms bigint  NOT NULL
);
