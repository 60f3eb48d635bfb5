-- Accounts may have the role of a reviewer, who reads cleaned texts only.

ALTER TABLE accounts
    DROP CONSTRAINT accounts_role_check,
    ADD CONSTRAINT accounts_role_check CHECK (role IN ('administrator', 'analyst', 'reviewer', 'developer'));
