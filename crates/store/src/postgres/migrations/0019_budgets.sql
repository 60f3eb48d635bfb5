-- Policies have budgets, which gateways of this version know. What a budget says is checked by the program.

ALTER TABLE applications
    DROP CONSTRAINT policy_fields_known,
    ADD CONSTRAINT policy_fields_known CHECK (policy IS NULL OR (
        jsonb_typeof(policy) = 'object'
        AND policy - ARRAY['app_mode', 'phrase', 'block_on', 'on_backend_failure', 'replace_response',
                           'scan_roles', 'stream_in_sync', 'redact_upstream', 'local_patterns',
                           'limits', 'block_details', 'embeddings', 'budgets'] = '{}'
        ) IS TRUE),
    ADD CONSTRAINT policy_budgets_known CHECK (policy IS NULL OR
        CASE jsonb_typeof(coalesce(policy -> 'budgets', 'null'))
            WHEN 'null' THEN true
            WHEN 'array' THEN jsonb_array_length(policy -> 'budgets') <= 8
            ELSE false END);

-- Budgets of a minute are counted from the records of it; those of a day and a month have the sums of the days. The
-- index records_by_cost is built after the migrations.

-- Whose calls are warned or refused, as the analysis servers count it. A gateway reads it with the policies.
CREATE TABLE spent_budgets (
    application_id uuid PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
    states         text NOT NULL -- JSON
);

CREATE TRIGGER announce_policies AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE
    ON spent_budgets FOR EACH STATEMENT EXECUTE FUNCTION announce_policies();

CREATE OR REPLACE VIEW gateway_policies AS
    SELECT id AS application_id, name, policy, policy_version AS version, policy_updated_at AS updated_at,
           (SELECT states FROM spent_budgets WHERE spent_budgets.application_id = applications.id) AS spent
    FROM applications WHERE policy IS NOT NULL;
