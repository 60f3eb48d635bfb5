-- What passed without a verdict: sync mode got none, and the policy lets such calls pass. Records that are stored already
-- are not marked. Over a million records the indexes take a second or two.
ALTER TABLE records ADD COLUMN unchecked INTEGER NOT NULL DEFAULT 0;
CREATE INDEX records_unchecked ON records (seq, application_id, stage) WHERE unchecked = 1;
DROP INDEX records_clean;
CREATE INDEX records_clean ON records (seq, application_id, stage) WHERE flagged = 0 AND unchecked = 0;

ALTER TABLE traffic ADD COLUMN unchecked INTEGER NOT NULL DEFAULT 0;

-- record_types.marks has 64 for such a record.
DROP TRIGGER part_keys_added;
CREATE TRIGGER part_keys_added AFTER INSERT ON records WHEN new.part_keys IS NOT NULL BEGIN
    INSERT OR IGNORE INTO record_types (kind, seq, application_id, marks)
    SELECT value, new.seq, new.application_id,
        new.flagged_guardrails + 2 * new.flagged_custom_policy + 4 * new.flagged_dataclean + 8 * new.blocked
            + 16 * new.failed + 32 * (new.stage = 'post') + 64 * new.unchecked
    FROM json_each(new.part_keys);
END;
