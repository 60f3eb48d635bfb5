-- Tool calls as records, and files that arrive before the record of their exchange.

-- The arguments of a tool are an answer, its result is a prompt; both have the name of the tool and an
-- identifier of the call. An exchange has one prompt, one answer, and any number of calls. The index records_of_tools
-- is built after the migrations.
ALTER TABLE records ADD COLUMN tool_name text;
ALTER TABLE records ADD COLUMN tool_call_id text;

CREATE TABLE waiting_attachments (
    key            uuid     NOT NULL,      -- of the record that they wait for, in record_ledger
    application_id uuid     NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    exchange_id    text     NOT NULL,
    stage          smallint NOT NULL CHECK (stage IN (0, 1)),
    sha256         bytea    NOT NULL CHECK (octet_length(sha256) = 32),
    name           text     NOT NULL,
    type           text     NOT NULL,
    size           bigint   NOT NULL,
    kept           boolean  NOT NULL,      -- false: its bytes were not kept
    findings       text     NOT NULL,      -- JSON, as in attachments
    attached_at_ms bigint   NOT NULL,
    PRIMARY KEY (key, sha256, name)
);
CREATE INDEX waiting_attachments_by_exchange ON waiting_attachments (application_id, exchange_id);
CREATE INDEX waiting_attachments_by_time ON waiting_attachments (attached_at_ms);

-- Their bytes are linked like those of records.
CREATE TRIGGER waiting_attachment_added AFTER INSERT ON waiting_attachments
    FOR EACH ROW WHEN (NEW.kept) EXECUTE FUNCTION count_blob_links();
CREATE TRIGGER waiting_attachment_removed AFTER DELETE ON waiting_attachments
    FOR EACH ROW WHEN (OLD.kept) EXECUTE FUNCTION count_blob_links();
