-- readable from: 20
-- Where events are sent (the section siem of the configuration), and what waits to be sent there: a row for each event
-- and destination, written with what it is about. Nothing is written while there is no destination. No foreign key: the
-- rows of records that are written at the same moment would share the lock of a destination.
CREATE TABLE siem_destinations (
    name          text    PRIMARY KEY,
    verdicts      boolean NOT NULL,
    audit         boolean NOT NULL,
    holder        uuid,                       -- the server that sends
    held_until_ms bigint  NOT NULL DEFAULT 0,
    error         text,                       -- why the last attempt failed, in fixed words
    error_ms      bigint
);

CREATE TABLE siem_outbox (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    destination text   NOT NULL,
    at_ms       bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    record_id   uuid,
    audit_seq   bigint
);
CREATE INDEX siem_outbox_by_destination ON siem_outbox (destination, id);

CREATE FUNCTION queue_siem_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO siem_outbox (destination, record_id)
        SELECT name, NEW.id FROM siem_destinations WHERE verdicts;
    RETURN NULL;
END $$;
CREATE TRIGGER siem_record_added AFTER INSERT ON records FOR EACH ROW
    WHEN (NEW.flagged_guardrails OR NEW.flagged_custom_policy OR NEW.flagged_dataclean OR NEW.blocked OR NEW.unchecked)
    EXECUTE FUNCTION queue_siem_record();

CREATE FUNCTION queue_siem_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO siem_outbox (destination, audit_seq)
        SELECT name, NEW.seq FROM siem_destinations WHERE audit;
    RETURN NULL;
END $$;
CREATE TRIGGER siem_audit_added AFTER INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION queue_siem_audit();
