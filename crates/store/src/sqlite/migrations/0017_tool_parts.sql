-- Calls of tools and their results as parts of a record, with what was found in them.

ALTER TABLE record_bodies ADD COLUMN tool_parts TEXT;  -- JSON; null of a record without any
-- A JSON list of the words in record_types that stand for these parts: U+001F alone, the same before the name of each
-- tool, and types that were found in the parts.
ALTER TABLE records ADD COLUMN part_keys TEXT;

CREATE TRIGGER part_keys_added AFTER INSERT ON records WHEN new.part_keys IS NOT NULL BEGIN
    INSERT OR IGNORE INTO record_types (kind, seq, application_id, marks)
    SELECT value, new.seq, new.application_id,
        new.flagged_guardrails + 2 * new.flagged_custom_policy + 4 * new.flagged_dataclean + 8 * new.blocked
            + 16 * new.failed + 32 * (new.stage = 'post')
    FROM json_each(new.part_keys);
END;

CREATE TRIGGER part_keys_removed AFTER DELETE ON records WHEN old.part_keys IS NOT NULL BEGIN
    DELETE FROM record_types
    WHERE seq = old.seq AND kind IN (SELECT value FROM json_each(old.part_keys));
END;
