-- Deletes the records at these positions (a JSON list) and what is derived from them, except statistics.
-- Bodies are deleted with their records.

DELETE FROM record_types WHERE (kind, seq) IN (
    SELECT value ->> '$.type', seq FROM records, json_each(records.types)
    WHERE seq IN (SELECT value FROM json_each(?1)));

UPDATE sessions SET messages = sessions.messages - gone.messages, flagged = sessions.flagged - gone.flagged,
    tokens = sessions.tokens - gone.tokens
FROM (SELECT application_id, session_id, count(*) AS messages, sum(flagged) AS flagged,
        sum(token_count) AS tokens
    FROM records WHERE seq IN (SELECT value FROM json_each(?1)) AND session_id IS NOT NULL
    GROUP BY application_id, session_id) AS gone
WHERE sessions.application_id = gone.application_id AND sessions.session_id = gone.session_id;

DELETE FROM sessions WHERE messages <= 0 AND (application_id, session_id) IN (
    SELECT application_id, session_id FROM records
    WHERE seq IN (SELECT value FROM json_each(?1)) AND session_id IS NOT NULL);

UPDATE record_totals SET messages = record_totals.messages - gone.messages,
    bytes = record_totals.bytes - gone.bytes
FROM (SELECT application_id, count(*) AS messages, sum(bytes) AS bytes
    FROM records WHERE seq IN (SELECT value FROM json_each(?1)) GROUP BY application_id) AS gone
WHERE record_totals.application_id = gone.application_id;

DELETE FROM records WHERE seq IN (SELECT value FROM json_each(?1));

DELETE FROM record_blocks WHERE block IN (SELECT value / 1024 FROM json_each(?1))
    AND NOT EXISTS (SELECT 1 FROM records WHERE seq >= block * 1024 AND seq < block * 1024 + 1024);

UPDATE record_blocks SET
    first_ms = (SELECT min(created_at_ms) FROM records
        WHERE seq >= block * 1024 AND seq < block * 1024 + 1024)
WHERE block IN (SELECT value / 1024 FROM json_each(?1));
