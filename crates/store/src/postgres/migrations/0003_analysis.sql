-- Everything else the analysis server keeps. Times are milliseconds since 1970 (UTC); days are days
-- since 1970. U+0000, which text cannot hold, stands as U+10FFFF U+0030, and U+10FFFF itself as
-- U+10FFFF U+0031. JSON documents of records are text, so that they come back as they were written.
-- A *_key is a digest of the text beside it, because an index entry is bounded and a text is not.

-- Every change of an application's rules is a version, also one that another program makes. Policies
-- have a count of their own.
ALTER TABLE applications ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE applications ADD COLUMN updated_by text NOT NULL DEFAULT '';

CREATE TABLE application_versions (
    application_id uuid        NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    version        bigint      NOT NULL,
    name           text        NOT NULL,
    description    text        NOT NULL,
    rules          jsonb       NOT NULL,
    policy         jsonb,
    changed_at     timestamptz NOT NULL,
    changed_by     text        NOT NULL,
    PRIMARY KEY (application_id, version)
);

CREATE FUNCTION count_application_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.rules_version = OLD.rules_version AND (NEW.name, NEW.description, NEW.rules)
        IS DISTINCT FROM (OLD.name, OLD.description, OLD.rules) THEN
        NEW.rules_version := OLD.rules_version + 1;
        NEW.updated_at := now();
        NEW.updated_by := session_user;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER count_application_version BEFORE UPDATE ON applications
    FOR EACH ROW EXECUTE FUNCTION count_application_version();

-- With its owner's rights, so that the right to change applications is all that other programs need.
CREATE FUNCTION keep_application_version() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO application_versions VALUES (OLD.id, OLD.rules_version, OLD.name, OLD.description,
        OLD.rules, OLD.policy, OLD.updated_at, OLD.updated_by) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER keep_application_version AFTER UPDATE ON applications
    FOR EACH ROW WHEN (OLD.rules_version <> NEW.rules_version)
    EXECUTE FUNCTION keep_application_version();

-- Differs after every change of policies, whoever makes it.
CREATE TABLE policy_changes (count bigint NOT NULL);
INSERT INTO policy_changes VALUES (0);
CREATE FUNCTION count_policy_changes() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE policy_changes SET count = count + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER count_policy_changes AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF id, name, policy
    ON applications FOR EACH STATEMENT EXECUTE FUNCTION count_policy_changes();

-- Records of these that come before the place are hidden, and removed little by little.
CREATE TABLE removed_applications (
    application_id uuid   NOT NULL,
    below          bigint NOT NULL,
    removed_at_ms  bigint NOT NULL,
    PRIMARY KEY (application_id, below)
);

CREATE TABLE tokens (
    id              uuid   PRIMARY KEY,
    name            text   NOT NULL,
    hash            bytea  NOT NULL UNIQUE CHECK (octet_length(hash) = 32), -- SHA-256 of its value
    scopes          bigint NOT NULL,                                        -- 1 ingest, 2 read, 4 admin
    application_id  uuid   REFERENCES applications (id),
    created_at_ms   bigint NOT NULL,
    expires_at_ms   bigint,
    revoked_at_ms   bigint,
    last_used_at_ms bigint
);
CREATE INDEX tokens_by_age ON tokens (created_at_ms, id);
CREATE INDEX tokens_by_application ON tokens (application_id) WHERE application_id IS NOT NULL;

-- That tokens were removed with their application: the first token is made once.
CREATE TABLE tokens_removed (one boolean PRIMARY KEY CHECK (one));

-- Tells every server that what it remembers of applications or tokens may be old.
CREATE FUNCTION announce_settings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY monitor_settings;
    RETURN NULL;
END $$;
CREATE TRIGGER announce_settings AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE
    ON applications FOR EACH STATEMENT EXECUTE FUNCTION announce_settings();
CREATE TRIGGER announce_settings AFTER INSERT OR DELETE OR TRUNCATE
    OR UPDATE OF name, hash, scopes, application_id, expires_at_ms, revoked_at_ms
    ON tokens FOR EACH STATEMENT EXECUTE FUNCTION announce_settings();

CREATE TABLE audit_log (
    seq            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms          bigint NOT NULL,
    actor          text   NOT NULL,
    token_id       uuid,
    action         text   NOT NULL,
    target         text   NOT NULL,
    application_id uuid,
    details        text   NOT NULL
);
CREATE INDEX audit_log_by_application ON audit_log (application_id, seq) WHERE application_id IS NOT NULL;

-- seq is the time of receipt in the upper bits and a running number in the lower twelve: its order is
-- the order of receipt, and a range of it is a range of time. One partition a day (UTC), made ahead by
-- the server; what fits none falls into the default one.
CREATE SEQUENCE record_order CACHE 1;

CREATE TABLE records (
    seq                   bigint   NOT NULL PRIMARY KEY,
    id                    uuid     NOT NULL,
    application_id        uuid     NOT NULL,
    stage                 smallint NOT NULL CHECK (stage IN (0, 1)), -- 0 user_prompt, 1 llm_answer
    exchange_id           text,
    user_id               text,
    user_key              bigint,
    session_id            text,
    session_key           uuid,
    created_at_ms         bigint   NOT NULL,
    rules_version         bigint,
    status                text     NOT NULL,
    flagged               boolean  NOT NULL,
    flagged_guardrails    boolean  NOT NULL,
    flagged_custom_policy boolean  NOT NULL,
    flagged_dataclean     boolean  NOT NULL,
    blocked               boolean  NOT NULL,
    failed                boolean  NOT NULL,
    incomplete            boolean  NOT NULL,
    token_count           bigint   NOT NULL,
    severity              text,
    types                 text     NOT NULL,
    total_us              bigint   NOT NULL,
    bytes                 bigint   NOT NULL  -- of its texts, and what its rows and their indexes take
) PARTITION BY RANGE (seq);
CREATE INDEX records_by_id ON records (id);
CREATE INDEX records_by_application ON records (application_id, seq);
CREATE INDEX records_by_user ON records (user_key, seq) WHERE user_key IS NOT NULL;
CREATE INDEX records_by_session ON records (session_key, seq) WHERE session_key IS NOT NULL;
CREATE INDEX records_flagged ON records (seq) WHERE flagged;
CREATE INDEX records_blocked ON records (seq) WHERE blocked;
CREATE INDEX records_failed ON records (seq) WHERE failed;
CREATE TABLE records_default PARTITION OF records DEFAULT;

-- Apart from the list, so that a list never touches a text.
CREATE TABLE record_bodies (
    seq                   bigint NOT NULL PRIMARY KEY,
    message               text,          -- the original, only where the application keeps it
    cleaned_text          text,
    entities              text   NOT NULL,
    additional_parameters text   NOT NULL,
    inline_rules          text,
    answer                text   NOT NULL -- without cleaned_text and entities, which stand beside it
) PARTITION BY RANGE (seq);
CREATE TABLE record_bodies_default PARTITION OF record_bodies DEFAULT;

-- Which entity types were found in which record.
CREATE TABLE record_types (
    kind_key       bigint NOT NULL,
    seq            bigint NOT NULL,
    application_id uuid   NOT NULL,
    PRIMARY KEY (kind_key, seq) INCLUDE (application_id)
) PARTITION BY RANGE (seq);
CREATE TABLE record_types_default PARTITION OF record_types DEFAULT;

-- Which application, exchange and stage is which record: a second one is not kept. Not in partitions,
-- because there a key would have to hold the time, and a second delivery comes at another time.
CREATE TABLE record_ledger (
    key uuid   PRIMARY KEY, -- digest of the three; of a record without an exchange its identifier
    seq bigint NOT NULL
);
CREATE INDEX record_ledger_by_seq ON record_ledger (seq);

CREATE TABLE sessions (
    application_id uuid   NOT NULL,
    session_key    uuid   NOT NULL,
    session_id     text   COLLATE "C" NOT NULL,
    user_id        text,
    user_key       bigint,
    first_ms       bigint NOT NULL,
    last_ms        bigint NOT NULL,
    messages       bigint NOT NULL,
    flagged        bigint NOT NULL,
    tokens         bigint NOT NULL,
    PRIMARY KEY (application_id, session_key)
) WITH (fillfactor = 80);
CREATE INDEX sessions_by_time ON sessions (last_ms);
CREATE INDEX sessions_by_application ON sessions (application_id, last_ms);
CREATE INDEX sessions_by_user ON sessions (user_key, last_ms) WHERE user_key IS NOT NULL;

-- Counted as records come in. Each writer counts in a lane of its own, so that writers do not wait for
-- each other; the sum over the lanes is the number.
CREATE TABLE statistics (
    day                   bigint   NOT NULL,
    application_id        uuid     NOT NULL,
    stage                 smallint NOT NULL,
    lane                  smallint NOT NULL,
    messages              bigint   NOT NULL,
    flagged_guardrails    bigint   NOT NULL,
    flagged_custom_policy bigint   NOT NULL,
    flagged_dataclean     bigint   NOT NULL,
    blocked               bigint   NOT NULL,
    failed                bigint   NOT NULL,
    tokens                bigint   NOT NULL,
    total_us              bigint   NOT NULL,
    max_us                bigint   NOT NULL,
    kept_rows             bigint   NOT NULL, -- of these records, how many are still there,
    kept_bytes            bigint   NOT NULL, -- and what they take
    PRIMARY KEY (day, application_id, stage, lane)
) WITH (fillfactor = 50);
CREATE TABLE statistics_types (
    day            bigint   NOT NULL,
    application_id uuid     NOT NULL,
    stage          smallint NOT NULL,
    lane           smallint NOT NULL,
    kind_key       bigint   NOT NULL,
    kind           text     NOT NULL,
    finds          bigint   NOT NULL,
    PRIMARY KEY (day, application_id, stage, lane, kind_key)
) WITH (fillfactor = 50);
