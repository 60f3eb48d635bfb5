-- Files that waited for one of the records from position ?1 to before position ?2, which were just inserted,
-- become files of their records. Run before the totals are updated: the bytes count as the record's.

INSERT INTO attachments (seq, sha256, name, type, size, kept, findings, attached_at_ms)
SELECT r.seq, w.sha256, w.name, w.type, w.size, w.kept, w.findings, w.attached_at_ms
FROM records AS r CROSS JOIN waiting_attachments AS w ON w.application_id = r.application_id
    AND w.exchange_id = r.exchange_id AND w.stage = r.stage
WHERE r.seq >= ?1 AND r.seq < ?2 AND r.tool_call_id = '';

DELETE FROM waiting_attachments WHERE (application_id, exchange_id, stage) IN (
    SELECT application_id, exchange_id, stage FROM records
    WHERE seq >= ?1 AND seq < ?2 AND exchange_id IS NOT NULL AND tool_call_id = '');

UPDATE records SET bytes = records.bytes + (
    SELECT coalesce(sum(size), 0) FROM (
        SELECT DISTINCT sha256, size FROM attachments WHERE attachments.seq = records.seq AND kept))
WHERE seq >= ?1 AND seq < ?2 AND EXISTS (SELECT 1 FROM attachments WHERE attachments.seq = records.seq);
