-- Calls of tools and their results as parts of a record, with what was found in them.

ALTER TABLE record_bodies ADD COLUMN tool_parts text;  -- JSON; null of a record without any
-- A JSON list of the words whose keys record_types has for these parts: U+001F alone, the same before the name of each
-- tool, and types that were found in the parts.
ALTER TABLE records ADD COLUMN part_keys text;
