-- Policies, under the constraints of the PostgreSQL schema. Null: no policy, calls are async.
-- A check passes when it is null; hence IS TRUE. Absent fields and JSON nulls have their defaults.

ALTER TABLE applications ADD COLUMN policy TEXT
    CONSTRAINT policy_is_an_object CHECK (policy IS NULL OR
        CASE WHEN json_valid(policy) THEN json_type(policy) = 'object' ELSE 0 END)
    CONSTRAINT policy_fields_known CHECK (policy IS NULL OR
        json_remove(policy, '$.app_mode', '$.phrase', '$.block_on', '$.on_backend_failure',
                    '$.replace_response', '$.scan_roles', '$.stream_in_sync', '$.redact_upstream') = '{}')
    CONSTRAINT policy_app_mode_known CHECK (policy IS NULL OR
        (policy -> '$.app_mode' IN ('"sync"', '"async"')) IS TRUE)
    -- The characters are Unicode's spaces.
    CONSTRAINT policy_phrase_in_sync CHECK (policy IS NULL OR
        (policy ->> '$.app_mode' = 'async' OR trim(policy ->> '$.phrase', char(9, 10, 11, 12, 13, 32, 133,
            160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233,
            8239, 8287, 12288)) <> '') IS TRUE)
    CONSTRAINT policy_phrase_is_text CHECK (policy IS NULL OR
        coalesce(json_type(policy, '$.phrase'), 'null') IN ('text', 'null')
        AND coalesce(length(policy ->> '$.phrase'), 0) <= 10000)
    CONSTRAINT policy_block_on_known CHECK (policy IS NULL OR
        CASE coalesce(json_type(policy, '$.block_on'), 'null')
            WHEN 'null' THEN 1
            WHEN 'object' THEN
                json_remove(policy -> '$.block_on', '$.guardrails', '$.custom_policy', '$.dataclean') = '{}'
                AND coalesce(policy -> '$.block_on.guardrails', 'null') IN ('true', 'false', 'null')
                AND coalesce(policy -> '$.block_on.custom_policy', 'null') IN ('true', 'false', 'null')
                AND coalesce(policy -> '$.block_on.dataclean', 'null') IN ('true', 'false', 'null')
            ELSE 0 END)
    CONSTRAINT policy_words_known CHECK (policy IS NULL OR
        coalesce(policy -> '$.on_backend_failure', 'null') IN ('"open"', '"closed"', 'null')
        AND coalesce(policy -> '$.stream_in_sync', 'null') IN ('"off"', '"hold_back"', 'null')
        AND coalesce(policy -> '$.replace_response', 'null') IN ('true', 'false', 'null')
        AND coalesce(policy -> '$.redact_upstream', 'null') IN ('true', 'false', 'null'))
    -- Without its words a list of roles is brackets and commas.
    CONSTRAINT policy_scan_roles_known CHECK (policy IS NULL OR
        CASE coalesce(json_type(policy, '$.scan_roles'), 'null')
            WHEN 'null' THEN 1
            WHEN 'array' THEN json_array_length(policy, '$.scan_roles') > 0
                AND replace(replace(replace(replace(replace(replace(policy -> '$.scan_roles',
                    '"last_user"', ''), '"all_user"', ''), '"system"', ''), '"assistant"', ''),
                    '"tool"', ''), ',', '') = '[]'
                AND json_array_length(policy, '$.scan_roles') =
                    (instr(policy -> '$.scan_roles', '"last_user"') > 0)
                    + (instr(policy -> '$.scan_roles', '"all_user"') > 0)
                    + (instr(policy -> '$.scan_roles', '"system"') > 0)
                    + (instr(policy -> '$.scan_roles', '"assistant"') > 0)
                    + (instr(policy -> '$.scan_roles', '"tool"') > 0)
            ELSE 0 END)
    -- What is absent makes a comparison null, which contradicts nothing.
    CONSTRAINT policy_without_contradiction CHECK (policy IS NULL OR (
        NOT (policy -> '$.app_mode' = '"async"' AND (policy -> '$.replace_response' = 'true'
            OR policy -> '$.stream_in_sync' = '"hold_back"' OR policy -> '$.on_backend_failure' = '"closed"'))
        AND NOT (policy -> '$.replace_response' = 'true' AND policy -> '$.stream_in_sync' = '"hold_back"')
    ) IS NOT FALSE);

ALTER TABLE applications ADD COLUMN policy_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE applications ADD COLUMN policy_updated_at_ms INTEGER NOT NULL DEFAULT 0;

-- Counts every change of policies, whoever makes it, so that one number tells whether to read them.
CREATE TABLE policy_changes (count INTEGER NOT NULL) STRICT;
INSERT INTO policy_changes (count) VALUES (0);

CREATE TRIGGER policy_added AFTER INSERT ON applications WHEN new.policy IS NOT NULL BEGIN
    UPDATE applications SET policy_version = 1,
        policy_updated_at_ms = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE seq = new.seq;
    UPDATE policy_changes SET count = count + 1;
END;

CREATE TRIGGER policy_changed AFTER UPDATE OF policy ON applications WHEN new.policy IS NOT old.policy BEGIN
    UPDATE applications SET policy_version = old.policy_version + 1,
        policy_updated_at_ms = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE seq = new.seq;
    UPDATE policy_changes SET count = count + 1;
END;

CREATE TRIGGER policy_renamed AFTER UPDATE OF id, name ON applications WHEN new.policy IS NOT NULL BEGIN
    UPDATE policy_changes SET count = count + 1;
END;

CREATE TRIGGER policy_removed AFTER DELETE ON applications WHEN old.policy IS NOT NULL BEGIN
    UPDATE policy_changes SET count = count + 1;
END;

CREATE VIEW gateway_policies AS
    SELECT id AS application_id, name, policy, policy_version AS version,
           policy_updated_at_ms AS updated_at_ms
    FROM applications WHERE policy IS NOT NULL;
