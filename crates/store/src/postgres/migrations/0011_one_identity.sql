-- An account has one identity of an issuer, whoever else comes in the same instant. Where two did, none
-- stays: nobody can say whose the account is, and its owner is found by the verified address again.
LOCK TABLE identities IN ACCESS EXCLUSIVE MODE;
DELETE FROM identities WHERE (account_id, issuer) IN
    (SELECT account_id, issuer FROM identities GROUP BY account_id, issuer HAVING count(*) > 1);
DROP INDEX identities_by_account;
CREATE UNIQUE INDEX identities_by_account ON identities (account_id, issuer);
