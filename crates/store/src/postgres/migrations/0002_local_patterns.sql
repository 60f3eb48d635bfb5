-- Policies name the patterns of hold_back and redact_upstream, which gateways of this version know.
-- Which names there are is checked by the program: the list grows with its detectors.

CREATE FUNCTION are_distinct_names(list jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT count(*) BETWEEN 1 AND 21 AND count(DISTINCT name) = count(*)
        AND bool_and(jsonb_typeof(name) = 'string' AND name <> '""')
    FROM jsonb_array_elements(list) AS name
$$;

ALTER TABLE applications
    DROP CONSTRAINT policy_fields_known,
    ADD CONSTRAINT policy_fields_known CHECK (policy IS NULL OR (
        jsonb_typeof(policy) = 'object'
        AND policy - ARRAY['app_mode', 'phrase', 'block_on', 'on_backend_failure', 'replace_response',
                           'scan_roles', 'stream_in_sync', 'redact_upstream', 'local_patterns'] = '{}'
        ) IS TRUE),
    ADD CONSTRAINT policy_local_patterns_known CHECK (policy IS NULL OR CASE
        WHEN coalesce(jsonb_typeof(policy -> 'local_patterns'), 'null') = 'null' THEN true
        WHEN jsonb_typeof(policy -> 'local_patterns') <> 'array' THEN false
        ELSE are_distinct_names(policy -> 'local_patterns')
        END);

-- Not validated: a policy that was accepted before and is a contradiction now stays as it is, and the
-- program reports it.
ALTER TABLE applications
    DROP CONSTRAINT policy_without_contradiction,
    ADD CONSTRAINT policy_without_contradiction CHECK (policy IS NULL OR (
        NOT (policy -> 'app_mode' = '"async"' AND (policy -> 'replace_response' = 'true'
            OR policy -> 'stream_in_sync' = '"hold_back"' OR policy -> 'on_backend_failure' = '"closed"'))
        AND NOT (policy -> 'stream_in_sync' = '"hold_back"' AND (policy -> 'replace_response' = 'true'
            OR policy -> 'redact_upstream' = 'true' OR policy #> '{block_on,dataclean}' = 'false'))
        AND NOT (jsonb_typeof(policy -> 'local_patterns') = 'array'
            AND coalesce(policy -> 'stream_in_sync', 'null') <> '"hold_back"'
            AND coalesce(policy -> 'redact_upstream', 'null') <> 'true')
    ) IS NOT FALSE) NOT VALID;
