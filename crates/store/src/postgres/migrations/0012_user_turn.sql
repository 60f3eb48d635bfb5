-- Policies name the role user_turn, which gateways of this version know.

ALTER TABLE applications
    DROP CONSTRAINT policy_scan_roles_known,
    ADD CONSTRAINT policy_scan_roles_known CHECK (policy IS NULL OR CASE
        WHEN coalesce(jsonb_typeof(policy -> 'scan_roles'), 'null') = 'null' THEN true
        WHEN jsonb_typeof(policy -> 'scan_roles') <> 'array' THEN false
        ELSE policy -> 'scan_roles' <@ '["last_user", "all_user", "user_turn", "system", "assistant", "tool"]'
            AND jsonb_array_length(policy -> 'scan_roles') =
                (policy -> 'scan_roles' ? 'last_user')::int + (policy -> 'scan_roles' ? 'all_user')::int
                + (policy -> 'scan_roles' ? 'user_turn')::int + (policy -> 'scan_roles' ? 'system')::int
                + (policy -> 'scan_roles' ? 'assistant')::int + (policy -> 'scan_roles' ? 'tool')::int
            AND policy -> 'scan_roles' <> '[]'
        END);
