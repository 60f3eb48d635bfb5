-- Gap evidence: what is known of the numbers that gateways give to their records. Nothing here goes with
-- the records.

CREATE TABLE chain_gateways (
    gateway BLOB    PRIMARY KEY,
    repeats INTEGER NOT NULL DEFAULT 0  -- numbers that came again under another record
) STRICT, WITHOUT ROWID;

-- Numbers without a hole, each link fitting the next. Two that touch are a link that does not.
CREATE TABLE chain_runs (
    gateway  BLOB    NOT NULL,
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    previous BLOB    NOT NULL, -- the link before the first, as that says
    link     BLOB    NOT NULL, -- of the last
    PRIMARY KEY (gateway, first)
) STRICT, WITHOUT ROWID;

-- Numbers of which the gateway does not know whether it gave them out before it was cut off.
CREATE TABLE chain_cuts (
    gateway BLOB    NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    PRIMARY KEY (gateway, first)
) STRICT, WITHOUT ROWID;

-- Numbers whose records went in order: retention, erasure, a removed application.
CREATE TABLE chain_stubs (
    gateway BLOB    NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    PRIMARY KEY (gateway, first)
) STRICT, WITHOUT ROWID;

-- Null: the record has no number, or another record has it.
ALTER TABLE records ADD COLUMN chain_gateway BLOB;
ALTER TABLE records ADD COLUMN chain_sequence INTEGER;
CREATE INDEX records_by_chain ON records (chain_gateway, chain_sequence)
    WHERE chain_sequence IS NOT NULL;
