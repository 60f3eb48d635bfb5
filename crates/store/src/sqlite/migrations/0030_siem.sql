-- readable from: 20
-- Where events are sent (the section siem of the configuration), and what waits to be sent there: a row for each event
-- and destination, written with what it is about. Nothing is written while there is no destination.
CREATE TABLE siem_destinations (
    name          TEXT    NOT NULL PRIMARY KEY,
    verdicts      INTEGER NOT NULL,
    audit         INTEGER NOT NULL,
    holder        BLOB,                        -- the server that sends
    held_until_ms INTEGER NOT NULL DEFAULT 0,
    error         TEXT,                        -- why the last attempt failed, in fixed words
    error_ms      INTEGER
) STRICT;

CREATE TABLE siem_outbox (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    destination TEXT    NOT NULL,
    at_ms       INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
    record_id   BLOB,
    audit_seq   INTEGER
) STRICT;
CREATE INDEX siem_outbox_by_destination ON siem_outbox (destination, id);

CREATE TRIGGER siem_record_added AFTER INSERT ON records
WHEN new.flagged_guardrails = 1 OR new.flagged_custom_policy = 1 OR new.flagged_dataclean = 1 OR new.blocked = 1
    OR new.unchecked = 1
BEGIN
    INSERT INTO siem_outbox (destination, record_id)
    SELECT name, new.id FROM siem_destinations WHERE verdicts = 1;
END;

CREATE TRIGGER siem_audit_added AFTER INSERT ON audit BEGIN
    INSERT INTO siem_outbox (destination, audit_seq)
    SELECT name, new.seq FROM siem_destinations WHERE audit = 1;
END;
