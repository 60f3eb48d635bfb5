-- readable from: 20
-- What is known of a record's call, and the name that the access key of its sender had. Over a million records the
-- indexes take a second or two.
ALTER TABLE records ADD COLUMN call_facts TEXT;  -- JSON
ALTER TABLE records ADD COLUMN token_name TEXT;
CREATE INDEX records_by_model ON records (model, seq, application_id) WHERE model IS NOT NULL;
CREATE INDEX records_by_token ON records (token_name, seq, application_id) WHERE token_name IS NOT NULL;
