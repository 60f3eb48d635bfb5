-- readable from: 20
-- What is said of budgets grows with the names of users. Gateways read it apart from the policies, and whether it has
-- changed without a look at a name.

ALTER TABLE spent_budgets
    ADD COLUMN digest bigint NOT NULL GENERATED ALWAYS AS (hashtextextended(states, 0)) STORED;

-- The last three are the same in every row: what changes with a policy or a count, with a policy, and with a count. The
-- last one is null where nothing is counted.
CREATE OR REPLACE VIEW gateway_policies AS
    SELECT id AS application_id, name, policy, policy_version AS version, policy_updated_at AS updated_at,
           (SELECT states FROM spent_budgets WHERE spent_budgets.application_id = applications.id) AS spent,
           (SELECT count::text FROM policy_changes) || ':' ||
           (SELECT coalesce(sum(hashtextextended(application_id::text, digest)), 0)::text
            FROM spent_budgets) AS changes,
           (SELECT count::text FROM policy_changes) AS policy_changes,
           (SELECT sum(hashtextextended(application_id::text, digest))::text FROM spent_budgets) AS spent_changes
    FROM applications WHERE policy IS NOT NULL;
