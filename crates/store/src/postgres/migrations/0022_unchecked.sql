-- readable from: 20
-- What passed without a verdict: sync mode got none, and the policy lets such calls pass. Records that are stored already
-- are not marked. Their index is built after the migrations.
ALTER TABLE records ADD COLUMN unchecked boolean NOT NULL DEFAULT false;

ALTER TABLE traffic ADD COLUMN unchecked bigint NOT NULL DEFAULT 0;
