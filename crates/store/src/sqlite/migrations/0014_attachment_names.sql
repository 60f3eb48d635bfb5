-- A record may have the same bytes under several names. Rows are copied: there are as many as files.

CREATE TABLE attachments_next (
    seq            INTEGER NOT NULL REFERENCES records (seq) ON DELETE CASCADE,
    sha256         BLOB    NOT NULL CHECK (length(sha256) = 32),
    name           TEXT    NOT NULL,
    type           TEXT    NOT NULL,
    size           INTEGER NOT NULL,
    kept           INTEGER NOT NULL,      -- 0: its bytes were not kept
    findings       TEXT    NOT NULL,      -- JSON: how much of its text was analyzed, findings by type
    attached_at_ms INTEGER NOT NULL,
    PRIMARY KEY (seq, sha256, name)
) STRICT, WITHOUT ROWID;

INSERT INTO attachments_next (seq, sha256, name, type, size, kept, findings, attached_at_ms)
SELECT seq, sha256, name, type, size, kept, findings, attached_at_ms FROM attachments;

-- Its triggers go with it; dropping a table fires none of them.
DROP TABLE attachments;
ALTER TABLE attachments_next RENAME TO attachments;

CREATE TRIGGER attachment_added AFTER INSERT ON attachments WHEN NEW.kept BEGIN
    UPDATE blobs SET links = links + 1 WHERE sha256 = NEW.sha256;
END;
CREATE TRIGGER attachment_removed AFTER DELETE ON attachments WHEN OLD.kept BEGIN
    UPDATE blobs SET links = links - 1 WHERE sha256 = OLD.sha256;
END;
