-- Alerts: rules and channels that people set, what fires, and who was told.

-- The documents are the program's own; those of channels have secrets.
CREATE TABLE alert_rules (
    id             BLOB    PRIMARY KEY,
    application_id BLOB    REFERENCES applications (id) ON DELETE CASCADE,
    user_hash      BLOB    NOT NULL,   -- of the user that the rule names, as tombstones have it; empty for none
    document       TEXT    NOT NULL,
    created_at_ms  INTEGER NOT NULL
) STRICT;
CREATE INDEX alert_rules_by_user ON alert_rules (user_hash);
CREATE INDEX alert_rules_by_application ON alert_rules (application_id);

CREATE TABLE alert_channels (
    id            BLOB    PRIMARY KEY,
    document      TEXT    NOT NULL,
    created_at_ms INTEGER NOT NULL
) STRICT;

-- An alert outlives its rule. Of one group of a rule one alert is open at a time.
CREATE TABLE alerts (
    id             BLOB    PRIMARY KEY,
    rule_id        BLOB    NOT NULL,
    group_hash     BLOB    NOT NULL,
    user_hash      BLOB    NOT NULL,
    application_id BLOB    REFERENCES applications (id) ON DELETE CASCADE,
    facts          TEXT    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('firing', 'closed', 'ended')),
    updates        INTEGER NOT NULL,
    first_ms       INTEGER NOT NULL,
    last_ms        INTEGER NOT NULL,
    notified_ms    INTEGER NOT NULL,
    muted_until_ms INTEGER,
    resolved_ms    INTEGER,
    resolved_by    TEXT
) STRICT;
CREATE UNIQUE INDEX alerts_open ON alerts (rule_id, group_hash) WHERE state <> 'ended';
CREATE INDEX alerts_by_time ON alerts (first_ms, id);
CREATE INDEX alerts_by_user ON alerts (user_hash);
CREATE INDEX alerts_by_application ON alerts (application_id);

-- A message to a channel: a queue while it waits, then the memory of who was told.
CREATE TABLE alert_deliveries (
    id            BLOB    PRIMARY KEY,
    alert_id      BLOB    NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
    channel_id    BLOB    NOT NULL,
    channel_name  TEXT    NOT NULL,
    channel_kind  TEXT    NOT NULL,
    message       TEXT    NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('waiting', 'sent', 'dead')),
    attempts      INTEGER NOT NULL,
    next_ms       INTEGER NOT NULL,    -- also the end of the lease of the server that sends it
    created_at_ms INTEGER NOT NULL,
    done_ms       INTEGER,
    failure       TEXT
) STRICT;
CREATE INDEX alert_deliveries_due ON alert_deliveries (next_ms) WHERE state = 'waiting';
CREATE INDEX alert_deliveries_by_alert ON alert_deliveries (alert_id, created_at_ms);

-- Which server looks at the rules, until when.
CREATE TABLE alert_lease (
    id       INTEGER PRIMARY KEY,
    server   BLOB    NOT NULL,
    until_ms INTEGER NOT NULL
) STRICT;
