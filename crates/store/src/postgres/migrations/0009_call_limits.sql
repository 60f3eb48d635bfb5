-- Policies limit how many calls are let through, which gateways of this version know.

CREATE FUNCTION is_call_count(count jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(count, 'null') = 'null'
        OR jsonb_typeof(count) = 'number' AND count #>> '{}' ~ '^([1-9][0-9]{0,5}|1000000)$'
$$;

ALTER TABLE applications
    DROP CONSTRAINT policy_fields_known,
    ADD CONSTRAINT policy_fields_known CHECK (policy IS NULL OR (
        jsonb_typeof(policy) = 'object'
        AND policy - ARRAY['app_mode', 'phrase', 'block_on', 'on_backend_failure', 'replace_response',
                           'scan_roles', 'stream_in_sync', 'redact_upstream', 'local_patterns',
                           'limits'] = '{}'
        ) IS TRUE),
    ADD CONSTRAINT policy_limits_known CHECK (policy IS NULL OR CASE
        WHEN coalesce(jsonb_typeof(policy -> 'limits'), 'null') = 'null' THEN true
        WHEN jsonb_typeof(policy -> 'limits') <> 'object' THEN false
        ELSE (policy -> 'limits')
                - ARRAY['requests_per_second', 'requests_per_minute', 'burst', 'concurrent'] = '{}'
            AND is_call_count(policy #> '{limits,requests_per_second}')
            AND is_call_count(policy #> '{limits,requests_per_minute}')
            AND is_call_count(policy #> '{limits,burst}')
            AND is_call_count(policy #> '{limits,concurrent}')
            AND 'null' IN (coalesce(policy #> '{limits,requests_per_second}', 'null'),
                           coalesce(policy #> '{limits,requests_per_minute}', 'null'))
            AND (coalesce(policy #> '{limits,burst}', 'null') = 'null'
                OR coalesce(policy #> '{limits,requests_per_second}', 'null') <> 'null'
                OR coalesce(policy #> '{limits,requests_per_minute}', 'null') <> 'null')
        END);
