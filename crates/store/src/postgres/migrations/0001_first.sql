-- Applications and their policies. A gateway reads the view gateway_policies and nothing else:
--
--   CREATE ROLE gateway LOGIN PASSWORD '…';
--   GRANT SELECT ON gateway_policies TO gateway;
--
-- Policies may be written by any client of this database. The constraints refuse what the program
-- refuses, and the triggers count versions and announce changes, so that an UPDATE is all it takes.

CREATE TABLE applications (
    seq               bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id                uuid        NOT NULL UNIQUE,
    name              text        NOT NULL,
    description       text        NOT NULL DEFAULT '',
    created_at        timestamptz NOT NULL DEFAULT now(),
    rules_version     bigint      NOT NULL DEFAULT 1,
    rules             jsonb       NOT NULL DEFAULT '{}',
    policy            jsonb,                             -- null: no policy, calls are async
    policy_version    bigint      NOT NULL DEFAULT 0,    -- kept by a trigger
    policy_updated_at timestamptz NOT NULL DEFAULT now() -- kept by a trigger
);

-- A check passes when it is null; hence IS TRUE. Absent fields and JSON nulls have their defaults.
ALTER TABLE applications
    ADD CONSTRAINT policy_is_an_object CHECK (policy IS NULL OR jsonb_typeof(policy) = 'object'),
    ADD CONSTRAINT policy_fields_known CHECK (policy IS NULL OR (
        jsonb_typeof(policy) = 'object'
        AND policy - ARRAY['app_mode', 'phrase', 'block_on', 'on_backend_failure', 'replace_response',
                           'scan_roles', 'stream_in_sync', 'redact_upstream'] = '{}') IS TRUE),
    ADD CONSTRAINT policy_app_mode_known CHECK (policy IS NULL OR
        (policy -> 'app_mode' IN ('"sync"', '"async"')) IS TRUE),
    ADD CONSTRAINT policy_phrase_in_sync CHECK (policy IS NULL OR (
        policy ->> 'app_mode' = 'async'
        -- The last group are Unicode's other spaces, which this class leaves out in some locales.
        OR policy ->> 'phrase' ~ '[^[:space:]\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]'
    ) IS TRUE),
    ADD CONSTRAINT policy_phrase_is_text CHECK (policy IS NULL OR (
        coalesce(jsonb_typeof(policy -> 'phrase'), 'null') IN ('string', 'null')
        AND coalesce(char_length(policy ->> 'phrase'), 0) <= 10000) IS TRUE),
    ADD CONSTRAINT policy_block_on_known CHECK (policy IS NULL OR CASE
        WHEN coalesce(jsonb_typeof(policy -> 'block_on'), 'null') = 'null' THEN true
        WHEN jsonb_typeof(policy -> 'block_on') <> 'object' THEN false
        ELSE (policy -> 'block_on') - ARRAY['guardrails', 'custom_policy', 'dataclean'] = '{}'
            AND coalesce(jsonb_typeof(policy #> '{block_on,guardrails}'), 'null') IN ('boolean', 'null')
            AND coalesce(jsonb_typeof(policy #> '{block_on,custom_policy}'), 'null') IN ('boolean', 'null')
            AND coalesce(jsonb_typeof(policy #> '{block_on,dataclean}'), 'null') IN ('boolean', 'null')
        END),
    ADD CONSTRAINT policy_words_known CHECK (policy IS NULL OR (
        coalesce(policy -> 'on_backend_failure', 'null') IN ('"open"', '"closed"', 'null')
        AND coalesce(policy -> 'stream_in_sync', 'null') IN ('"off"', '"hold_back"', 'null')
        AND coalesce(policy -> 'replace_response', 'null') IN ('true', 'false', 'null')
        AND coalesce(policy -> 'redact_upstream', 'null') IN ('true', 'false', 'null')) IS TRUE),
    ADD CONSTRAINT policy_scan_roles_known CHECK (policy IS NULL OR CASE
        WHEN coalesce(jsonb_typeof(policy -> 'scan_roles'), 'null') = 'null' THEN true
        WHEN jsonb_typeof(policy -> 'scan_roles') <> 'array' THEN false
        ELSE policy -> 'scan_roles' <@ '["last_user", "all_user", "system", "assistant", "tool"]'
            AND jsonb_array_length(policy -> 'scan_roles') =
                (policy -> 'scan_roles' ? 'last_user')::int + (policy -> 'scan_roles' ? 'all_user')::int
                + (policy -> 'scan_roles' ? 'system')::int + (policy -> 'scan_roles' ? 'assistant')::int
                + (policy -> 'scan_roles' ? 'tool')::int
            AND policy -> 'scan_roles' <> '[]'
        END),
    -- What is absent makes a comparison null, which contradicts nothing.
    ADD CONSTRAINT policy_without_contradiction CHECK (policy IS NULL OR (
        NOT (policy -> 'app_mode' = '"async"' AND (policy -> 'replace_response' = 'true'
            OR policy -> 'stream_in_sync' = '"hold_back"' OR policy -> 'on_backend_failure' = '"closed"'))
        AND NOT (policy -> 'replace_response' = 'true' AND policy -> 'stream_in_sync' = '"hold_back"')
    ) IS NOT FALSE);

CREATE FUNCTION count_policy_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.policy_version := CASE WHEN NEW.policy IS NULL THEN 0 ELSE 1 END;
    ELSIF NEW.policy IS DISTINCT FROM OLD.policy THEN
        NEW.policy_version := OLD.policy_version + 1;
        NEW.policy_updated_at := now();
    ELSE
        NEW.policy_version := OLD.policy_version;
        NEW.policy_updated_at := OLD.policy_updated_at;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER count_policy_version BEFORE INSERT OR UPDATE ON applications
    FOR EACH ROW EXECUTE FUNCTION count_policy_version();

-- Delivered at COMMIT, once for each transaction.
CREATE FUNCTION announce_policies() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY gateway_policies;
    RETURN NULL;
END $$;

CREATE TRIGGER announce_policies AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF id, name, policy
    ON applications FOR EACH STATEMENT EXECUTE FUNCTION announce_policies();

CREATE VIEW gateway_policies AS
    SELECT id AS application_id, name, policy, policy_version AS version, policy_updated_at AS updated_at
    FROM applications WHERE policy IS NOT NULL;

COMMENT ON VIEW gateway_policies IS 'All that a gateway reads; SELECT on it is the only right it needs.';
