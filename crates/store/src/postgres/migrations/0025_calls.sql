-- readable from: 20
-- What is known of a record's call, and the name that the access key of its sender had. The indexes of models and names
-- are built after the migrations.
ALTER TABLE records
    ADD COLUMN call_facts text,  -- JSON
    ADD COLUMN token_name text;
