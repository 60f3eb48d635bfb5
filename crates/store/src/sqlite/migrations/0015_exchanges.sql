-- Tool calls as records, and files that arrive before the record of their exchange.

-- The arguments of a tool are an answer, its result is a prompt; both have the name of the tool and an
-- identifier of the call, which is empty for messages. An exchange has one prompt, one answer, and any number
-- of calls.
ALTER TABLE records ADD COLUMN tool_name TEXT;
ALTER TABLE records ADD COLUMN tool_call_id TEXT NOT NULL DEFAULT '';
DROP INDEX records_by_exchange;
CREATE UNIQUE INDEX records_by_exchange
    ON records (application_id, exchange_id, stage, tool_call_id) WHERE exchange_id IS NOT NULL;

CREATE TABLE waiting_attachments (
    application_id BLOB    NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    exchange_id    TEXT    NOT NULL,
    stage          TEXT    NOT NULL CHECK (stage IN ('pre', 'post')),
    sha256         BLOB    NOT NULL CHECK (length(sha256) = 32),
    name           TEXT    NOT NULL,
    type           TEXT    NOT NULL,
    size           INTEGER NOT NULL,
    kept           INTEGER NOT NULL,      -- 0: its bytes were not kept
    findings       TEXT    NOT NULL,      -- JSON, as in attachments
    attached_at_ms INTEGER NOT NULL,
    PRIMARY KEY (application_id, exchange_id, stage, sha256, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX waiting_attachments_by_time ON waiting_attachments (attached_at_ms);

-- Their bytes are linked like those of records.
CREATE TRIGGER waiting_attachment_added AFTER INSERT ON waiting_attachments WHEN NEW.kept BEGIN
    UPDATE blobs SET links = links + 1 WHERE sha256 = NEW.sha256;
END;
CREATE TRIGGER waiting_attachment_removed AFTER DELETE ON waiting_attachments WHEN OLD.kept BEGIN
    UPDATE blobs SET links = links - 1 WHERE sha256 = OLD.sha256;
END;
