-- Updates what is derived from the records from position ?1 to before position ?2, which were just inserted or restored.
-- A record that existed before has no row in that range.

INSERT OR IGNORE INTO record_types (kind, seq, application_id, marks)
SELECT value ->> '$.type', seq, application_id,
    flagged_guardrails + 2 * flagged_custom_policy + 4 * flagged_dataclean + 8 * blocked + 16 * failed
        + 32 * (stage = 'post') + 64 * unchecked
FROM records, json_each(records.types) WHERE seq >= ?1 AND seq < ?2;

INSERT INTO record_blocks (block, first_ms, last_ms)
SELECT seq / 1024, min(created_at_ms), max(created_at_ms) FROM records
WHERE seq >= ?1 AND seq < ?2 GROUP BY 1
ON CONFLICT (block) DO UPDATE SET first_ms = min(first_ms, excluded.first_ms),
    last_ms = max(last_ms, excluded.last_ms);

INSERT INTO record_totals (application_id, messages, bytes)
SELECT application_id, count(*), sum(bytes) FROM records
WHERE seq >= ?1 AND seq < ?2 GROUP BY application_id
ON CONFLICT (application_id) DO UPDATE SET messages = messages + excluded.messages,
    bytes = bytes + excluded.bytes;
