-- Policies say whether the arguments of tool calls are checked, which gateways of this version know.

ALTER TABLE applications
    DROP CONSTRAINT policy_fields_known,
    ADD CONSTRAINT policy_fields_known CHECK (policy IS NULL OR (
        jsonb_typeof(policy) = 'object'
        AND policy - ARRAY['app_mode', 'phrase', 'block_on', 'on_backend_failure', 'replace_response',
                           'scan_roles', 'stream_in_sync', 'redact_upstream', 'local_patterns',
                           'limits', 'block_details', 'embeddings', 'budgets', 'check_tool_arguments'] = '{}'
        ) IS TRUE),
    DROP CONSTRAINT policy_words_known,
    ADD CONSTRAINT policy_words_known CHECK (policy IS NULL OR (
        coalesce(policy -> 'on_backend_failure', 'null') IN ('"open"', '"closed"', 'null')
        AND coalesce(policy -> 'stream_in_sync', 'null') IN ('"off"', '"hold_back"', '"replay"', 'null')
        AND coalesce(policy -> 'block_details', 'null') IN ('"metadata"', '"header"', 'null')
        AND coalesce(policy -> 'embeddings', 'null') IN ('"off"', '"record"', '"check"', 'null')
        AND coalesce(policy -> 'check_tool_arguments', 'null') IN ('true', 'false', 'null')
        AND coalesce(policy -> 'replace_response', 'null') IN ('true', 'false', 'null')
        AND coalesce(policy -> 'redact_upstream', 'null') IN ('true', 'false', 'null')) IS TRUE);
