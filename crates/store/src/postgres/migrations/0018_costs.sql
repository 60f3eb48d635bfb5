-- What calls cost. The record of an answer has the tokens of its call and their cost by the prices of that time; what
-- was stored before has neither.
ALTER TABLE records ADD COLUMN model text;
ALTER TABLE records ADD COLUMN usage text;    -- JSON: tokens by kind
ALTER TABLE records ADD COLUMN priced text;   -- priced, estimated, unpriced; NULL: not the answer of a model
ALTER TABLE records ADD COLUMN cost bigint;   -- in units of 0.000000000001 of the currency; NULL: no price
ALTER TABLE records ADD COLUMN currency text;

-- The sums of a day (UTC), which outlive the records: of all users together, without end, and of each user. An empty
-- user, model or currency stands for none. A cost is whole ones of the currency and units of 0.000000000001 below one.
-- Each writer counts in a lane of its own, as for the statistics.
CREATE TABLE costs (
    by_user            boolean  NOT NULL, -- false: of all users together
    day                bigint   NOT NULL, -- since 1970-01-01
    application_id     uuid     NOT NULL,
    user_id            text     NOT NULL,
    model              text     NOT NULL,
    currency           text     NOT NULL,
    priced             text     NOT NULL CHECK (priced IN ('priced', 'estimated', 'unpriced')),
    lane               smallint NOT NULL,
    calls              bigint   NOT NULL,
    prompt_tokens      bigint   NOT NULL,
    cached_tokens      bigint   NOT NULL,
    cache_write_tokens bigint   NOT NULL,
    completion_tokens  bigint   NOT NULL,
    reasoning_tokens   bigint   NOT NULL,
    cost_whole         bigint   NOT NULL,
    cost_part          bigint   NOT NULL,
    PRIMARY KEY (by_user, day, application_id, user_id, model, currency, priced, lane)
) WITH (fillfactor = 50);
CREATE INDEX costs_by_user ON costs (user_id);
CREATE INDEX costs_by_application ON costs (application_id);
