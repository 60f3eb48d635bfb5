-- Accounts may have the role of a reviewer, who reads cleaned texts only. The column is made anew with its check.

ALTER TABLE accounts ADD COLUMN role_next TEXT NOT NULL DEFAULT 'reviewer'
    CHECK (role_next IN ('administrator', 'analyst', 'reviewer', 'developer'));
UPDATE accounts SET role_next = role;
ALTER TABLE accounts DROP COLUMN role;
ALTER TABLE accounts RENAME COLUMN role_next TO role;
