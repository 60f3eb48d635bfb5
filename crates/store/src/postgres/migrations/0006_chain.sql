-- Gap evidence: what is known of the numbers that gateways give to their records. Nothing here goes with
-- the records.

CREATE TABLE chain_gateways (
    gateway uuid   PRIMARY KEY,
    repeats bigint NOT NULL DEFAULT 0  -- numbers that came again under another record
);

-- Numbers without a hole, each link fitting the next. Two that touch are a link that does not. One row
-- grows with every batch: room in its page keeps its versions off the index.
CREATE TABLE chain_runs (
    gateway  uuid   NOT NULL,
    first    bigint NOT NULL,
    last     bigint NOT NULL,
    previous bytea  NOT NULL, -- the link before the first, as that says
    link     bytea  NOT NULL, -- of the last
    PRIMARY KEY (gateway, first)
) WITH (fillfactor = 50);

-- Numbers of which the gateway does not know whether it gave them out before it was cut off.
CREATE TABLE chain_cuts (
    gateway uuid   NOT NULL,
    first   bigint NOT NULL,
    last    bigint NOT NULL,
    PRIMARY KEY (gateway, first)
);

-- Numbers whose records went in order: retention, erasure, a removed application.
CREATE TABLE chain_stubs (
    gateway uuid   NOT NULL,
    first   bigint NOT NULL,
    last    bigint NOT NULL,
    PRIMARY KEY (gateway, first)
);

-- Null: the record has no number, or another record has it.
ALTER TABLE records ADD COLUMN chain_gateway uuid;
ALTER TABLE records ADD COLUMN chain_sequence bigint;
CREATE INDEX records_by_chain ON records (chain_gateway, chain_sequence)
    WHERE chain_sequence IS NOT NULL;
