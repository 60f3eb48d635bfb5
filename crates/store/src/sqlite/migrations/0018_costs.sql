-- What calls cost. The record of an answer has the tokens of its call and their cost by the prices of that time; what
-- was stored before has neither.
ALTER TABLE records ADD COLUMN model TEXT;
ALTER TABLE records ADD COLUMN usage TEXT;    -- JSON: tokens by kind
ALTER TABLE records ADD COLUMN priced TEXT;   -- priced, estimated, unpriced; NULL: not the answer of a model
ALTER TABLE records ADD COLUMN cost INTEGER;  -- in units of 0.000000000001 of the currency; NULL: no price
ALTER TABLE records ADD COLUMN currency TEXT;

-- The sums of a day (UTC), which outlive the records: of all users together, without end, and of each user. An empty
-- user, model or currency stands for none. A cost is whole ones of the currency and units of 0.000000000001 below one.
CREATE TABLE costs (
    by_user            INTEGER NOT NULL, -- 0: of all users together
    day                INTEGER NOT NULL, -- since 1970-01-01
    application_id     BLOB    NOT NULL,
    user_id            TEXT    NOT NULL,
    model              TEXT    NOT NULL,
    currency           TEXT    NOT NULL,
    priced             TEXT    NOT NULL CHECK (priced IN ('priced', 'estimated', 'unpriced')),
    calls              INTEGER NOT NULL,
    prompt_tokens      INTEGER NOT NULL,
    cached_tokens      INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    completion_tokens  INTEGER NOT NULL,
    reasoning_tokens   INTEGER NOT NULL,
    cost_whole         INTEGER NOT NULL,
    cost_part          INTEGER NOT NULL,
    PRIMARY KEY (by_user, day, application_id, user_id, model, currency, priced)
) STRICT, WITHOUT ROWID;
CREATE INDEX costs_by_user ON costs (user_id);
CREATE INDEX costs_by_application ON costs (application_id);
