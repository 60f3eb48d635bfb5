-- Policies name embeddings. The column is made anew, as for the call limits.

DROP VIEW gateway_policies;
DROP TRIGGER policy_added;
DROP TRIGGER policy_changed;
DROP TRIGGER policy_renamed;
DROP TRIGGER policy_removed;
DROP TRIGGER policy_local_patterns_added;
DROP TRIGGER policy_local_patterns_changed;
DROP TRIGGER policy_scan_roles_added;
DROP TRIGGER policy_scan_roles_changed;

-- A policy that was accepted before and is a contradiction now stays as it is, and the program
-- reports it. A new column has all rows checked, those of the old one too.
PRAGMA ignore_check_constraints = ON;
ALTER TABLE applications ADD COLUMN policy_next TEXT
    CONSTRAINT policy_is_an_object CHECK (policy_next IS NULL OR
        CASE WHEN json_valid(policy_next) THEN json_type(policy_next) = 'object' ELSE 0 END)
    CONSTRAINT policy_fields_known CHECK (policy_next IS NULL OR
        json_remove(policy_next, '$.app_mode', '$.phrase', '$.block_on', '$.on_backend_failure',
                    '$.replace_response', '$.scan_roles', '$.stream_in_sync', '$.redact_upstream',
                    '$.local_patterns', '$.limits', '$.block_details', '$.embeddings') = '{}')
    CONSTRAINT policy_app_mode_known CHECK (policy_next IS NULL OR
        (policy_next -> '$.app_mode' IN ('"sync"', '"async"')) IS TRUE)
    -- The characters are Unicode's spaces.
    CONSTRAINT policy_phrase_in_sync CHECK (policy_next IS NULL OR
        (policy_next ->> '$.app_mode' = 'async' OR trim(policy_next ->> '$.phrase', char(9, 10, 11, 12, 13, 32, 133,
            160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233,
            8239, 8287, 12288)) <> '') IS TRUE)
    CONSTRAINT policy_phrase_is_text CHECK (policy_next IS NULL OR
        coalesce(json_type(policy_next, '$.phrase'), 'null') IN ('text', 'null')
        AND coalesce(length(policy_next ->> '$.phrase'), 0) <= 10000)
    CONSTRAINT policy_block_on_known CHECK (policy_next IS NULL OR
        CASE coalesce(json_type(policy_next, '$.block_on'), 'null')
            WHEN 'null' THEN 1
            WHEN 'object' THEN
                json_remove(policy_next -> '$.block_on', '$.guardrails', '$.custom_policy', '$.dataclean') = '{}'
                AND coalesce(policy_next -> '$.block_on.guardrails', 'null') IN ('true', 'false', 'null')
                AND coalesce(policy_next -> '$.block_on.custom_policy', 'null') IN ('true', 'false', 'null')
                AND coalesce(policy_next -> '$.block_on.dataclean', 'null') IN ('true', 'false', 'null')
            ELSE 0 END)
    CONSTRAINT policy_words_known CHECK (policy_next IS NULL OR
        coalesce(policy_next -> '$.on_backend_failure', 'null') IN ('"open"', '"closed"', 'null')
        AND coalesce(policy_next -> '$.stream_in_sync', 'null') IN ('"off"', '"hold_back"', '"replay"', 'null')
        AND coalesce(policy_next -> '$.block_details', 'null') IN ('"metadata"', '"header"', 'null')
        AND coalesce(policy_next -> '$.embeddings', 'null') IN ('"off"', '"record"', '"check"', 'null')
        AND coalesce(policy_next -> '$.replace_response', 'null') IN ('true', 'false', 'null')
        AND coalesce(policy_next -> '$.redact_upstream', 'null') IN ('true', 'false', 'null'))
    CONSTRAINT policy_limits_known CHECK (policy_next IS NULL OR
        CASE coalesce(json_type(policy_next, '$.limits'), 'null')
            WHEN 'null' THEN 1
            WHEN 'object' THEN
                json_remove(policy_next -> '$.limits', '$.requests_per_second', '$.requests_per_minute',
                    '$.burst', '$.concurrent') = '{}'
                AND coalesce(json_type(policy_next, '$.limits.requests_per_second'), 'null') IN ('integer', 'null')
                AND coalesce(policy_next ->> '$.limits.requests_per_second', 1) BETWEEN 1 AND 1000000
                AND coalesce(json_type(policy_next, '$.limits.requests_per_minute'), 'null') IN ('integer', 'null')
                AND coalesce(policy_next ->> '$.limits.requests_per_minute', 1) BETWEEN 1 AND 1000000
                AND coalesce(json_type(policy_next, '$.limits.burst'), 'null') IN ('integer', 'null')
                AND coalesce(policy_next ->> '$.limits.burst', 1) BETWEEN 1 AND 1000000
                AND coalesce(json_type(policy_next, '$.limits.concurrent'), 'null') IN ('integer', 'null')
                AND coalesce(policy_next ->> '$.limits.concurrent', 1) BETWEEN 1 AND 1000000
                AND 'null' IN (coalesce(json_type(policy_next, '$.limits.requests_per_second'), 'null'),
                    coalesce(json_type(policy_next, '$.limits.requests_per_minute'), 'null'))
                AND (coalesce(json_type(policy_next, '$.limits.burst'), 'null') = 'null'
                    OR 'integer' IN (coalesce(json_type(policy_next, '$.limits.requests_per_second'), 'null'),
                        coalesce(json_type(policy_next, '$.limits.requests_per_minute'), 'null')))
            ELSE 0 END)
    -- What is absent makes a comparison null, which contradicts nothing.
    CONSTRAINT policy_without_contradiction CHECK (policy_next IS NULL OR (
        NOT (policy_next -> '$.app_mode' = '"async"' AND (policy_next -> '$.replace_response' = 'true'
            OR policy_next -> '$.stream_in_sync' IN ('"hold_back"', '"replay"')
            OR policy_next -> '$.block_details' = '"header"'
            OR policy_next -> '$.embeddings' = '"check"'
            OR policy_next -> '$.on_backend_failure' = '"closed"'))
        AND NOT (policy_next -> '$.stream_in_sync' = '"hold_back"'
            AND (policy_next -> '$.replace_response' = 'true' OR policy_next -> '$.redact_upstream' = 'true'
                OR policy_next -> '$.block_on.dataclean' = 'false'))
        AND NOT (json_type(policy_next, '$.local_patterns') = 'array'
            AND coalesce(policy_next -> '$.stream_in_sync', 'null') <> '"hold_back"'
            AND coalesce(policy_next -> '$.redact_upstream', 'null') <> 'true')
    ) IS NOT FALSE);

UPDATE applications SET policy_next = policy;
PRAGMA ignore_check_constraints = OFF;
ALTER TABLE applications DROP COLUMN policy;
ALTER TABLE applications RENAME COLUMN policy_next TO policy;

-- No check can look into a list of any names, a trigger can. Which names there are is checked by the
-- program: the list grows with its detectors.
CREATE TRIGGER policy_local_patterns_added BEFORE INSERT ON applications
WHEN json_valid(new.policy) AND coalesce(json_type(new.policy, '$.local_patterns'), 'null') <> 'null' BEGIN
    SELECT raise(ABORT, 'policy_local_patterns_known')
    WHERE json_type(new.policy, '$.local_patterns') <> 'array' OR (
        SELECT count(*) BETWEEN 1 AND 21 AND count(DISTINCT value) = count(*)
            AND min(type = 'text') AND min(value <> '')
        FROM json_each(new.policy, '$.local_patterns')) IS NOT TRUE;
END;

CREATE TRIGGER policy_local_patterns_changed BEFORE UPDATE OF policy ON applications
WHEN json_valid(new.policy) AND coalesce(json_type(new.policy, '$.local_patterns'), 'null') <> 'null' BEGIN
    SELECT raise(ABORT, 'policy_local_patterns_known')
    WHERE json_type(new.policy, '$.local_patterns') <> 'array' OR (
        SELECT count(*) BETWEEN 1 AND 21 AND count(DISTINCT value) = count(*)
            AND min(type = 'text') AND min(value <> '')
        FROM json_each(new.policy, '$.local_patterns')) IS NOT TRUE;
END;

CREATE TRIGGER policy_scan_roles_added BEFORE INSERT ON applications
WHEN json_valid(new.policy) AND coalesce(json_type(new.policy, '$.scan_roles'), 'null') <> 'null' BEGIN
    SELECT raise(ABORT, 'policy_scan_roles_known')
    WHERE json_type(new.policy, '$.scan_roles') <> 'array' OR (
        SELECT count(*) > 0 AND count(DISTINCT value) = count(*)
            AND min(type = 'text' AND value IN ('last_user', 'all_user', 'user_turn', 'system', 'assistant', 'tool'))
        FROM json_each(new.policy, '$.scan_roles')) IS NOT TRUE;
END;

CREATE TRIGGER policy_scan_roles_changed BEFORE UPDATE OF policy ON applications
WHEN json_valid(new.policy) AND coalesce(json_type(new.policy, '$.scan_roles'), 'null') <> 'null' BEGIN
    SELECT raise(ABORT, 'policy_scan_roles_known')
    WHERE json_type(new.policy, '$.scan_roles') <> 'array' OR (
        SELECT count(*) > 0 AND count(DISTINCT value) = count(*)
            AND min(type = 'text' AND value IN ('last_user', 'all_user', 'user_turn', 'system', 'assistant', 'tool'))
        FROM json_each(new.policy, '$.scan_roles')) IS NOT TRUE;
END;

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
