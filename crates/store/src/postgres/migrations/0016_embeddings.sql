-- Policies name embeddings, which gateways of this version know.

ALTER TABLE applications
    DROP CONSTRAINT policy_fields_known,
    ADD CONSTRAINT policy_fields_known CHECK (policy IS NULL OR (
        jsonb_typeof(policy) = 'object'
        AND policy - ARRAY['app_mode', 'phrase', 'block_on', 'on_backend_failure', 'replace_response',
                           'scan_roles', 'stream_in_sync', 'redact_upstream', 'local_patterns',
                           'limits', 'block_details', 'embeddings'] = '{}'
        ) IS TRUE),
    DROP CONSTRAINT policy_words_known,
    ADD CONSTRAINT policy_words_known CHECK (policy IS NULL OR (
        coalesce(policy -> 'on_backend_failure', 'null') IN ('"open"', '"closed"', 'null')
        AND coalesce(policy -> 'stream_in_sync', 'null') IN ('"off"', '"hold_back"', '"replay"', 'null')
        AND coalesce(policy -> 'block_details', 'null') IN ('"metadata"', '"header"', 'null')
        AND coalesce(policy -> 'embeddings', 'null') IN ('"off"', '"record"', '"check"', 'null')
        AND coalesce(policy -> 'replace_response', 'null') IN ('true', 'false', 'null')
        AND coalesce(policy -> 'redact_upstream', 'null') IN ('true', 'false', 'null')) IS TRUE);

-- Not validated: a policy that was accepted before and is a contradiction now stays as it is, and the
-- program reports it.
ALTER TABLE applications
    DROP CONSTRAINT policy_without_contradiction,
    ADD CONSTRAINT policy_without_contradiction CHECK (policy IS NULL OR (
        NOT (policy -> 'app_mode' = '"async"' AND (policy -> 'replace_response' = 'true'
            OR policy -> 'stream_in_sync' IN ('"hold_back"', '"replay"')
            OR policy -> 'block_details' = '"header"' OR policy -> 'embeddings' = '"check"'
            OR policy -> 'on_backend_failure' = '"closed"'))
        AND NOT (policy -> 'stream_in_sync' = '"hold_back"' AND (policy -> 'replace_response' = 'true'
            OR policy -> 'redact_upstream' = 'true' OR policy #> '{block_on,dataclean}' = 'false'))
        AND NOT (jsonb_typeof(policy -> 'local_patterns') = 'array'
            AND coalesce(policy -> 'stream_in_sync', 'null') <> '"hold_back"'
            AND coalesce(policy -> 'redact_upstream', 'null') <> 'true')
    ) IS NOT FALSE) NOT VALID;
