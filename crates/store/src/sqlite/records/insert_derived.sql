
-- Sessions and statistics outlive records: they are counted as records are inserted, and have rows of their own in a
-- backup.

INSERT INTO sessions
    (application_id, session_id, user_id, first_ms, last_ms, messages, flagged, tokens)
SELECT application_id, session_id,
    (SELECT user_id FROM records latest
     WHERE latest.session_id = records.session_id AND latest.application_id = records.application_id
         AND latest.seq >= ?1 AND latest.user_id IS NOT NULL ORDER BY seq DESC LIMIT 1),
    min(created_at_ms), max(created_at_ms), count(*), sum(flagged), sum(token_count)
FROM records WHERE seq >= ?1 AND seq < ?2 AND session_id IS NOT NULL
GROUP BY application_id, session_id
ON CONFLICT (application_id, session_id) DO UPDATE SET
    user_id = coalesce(excluded.user_id, user_id),
    first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms),
    messages = messages + excluded.messages, flagged = flagged + excluded.flagged,
    tokens = tokens + excluded.tokens;

INSERT INTO statistics
SELECT application_id, (created_at_ms - ((created_at_ms % 86400000) + 86400000) % 86400000) / 86400000,
    stage, count(*), sum(flagged_guardrails), sum(flagged_custom_policy), sum(flagged_dataclean),
    sum(blocked), sum(failed), sum(token_count), sum(total_us), max(total_us)
FROM records WHERE seq >= ?1 AND seq < ?2 GROUP BY 1, 2, 3
ON CONFLICT (application_id, day, stage) DO UPDATE SET messages = messages + excluded.messages,
    flagged_guardrails = flagged_guardrails + excluded.flagged_guardrails,
    flagged_custom_policy = flagged_custom_policy + excluded.flagged_custom_policy,
    flagged_dataclean = flagged_dataclean + excluded.flagged_dataclean,
    blocked = blocked + excluded.blocked, failed = failed + excluded.failed,
    tokens = tokens + excluded.tokens, total_us = total_us + excluded.total_us,
    max_us = max(max_us, excluded.max_us);

INSERT INTO statistics_types (application_id, day, stage, kind, finds)
SELECT application_id, (created_at_ms - ((created_at_ms % 86400000) + 86400000) % 86400000) / 86400000,
    stage, value ->> '$.type', sum(value ->> '$.count')
FROM records, json_each(records.types) WHERE seq >= ?1 AND seq < ?2 GROUP BY 1, 2, 3, 4
ON CONFLICT (application_id, day, stage, kind) DO UPDATE SET finds = finds + excluded.finds;

INSERT INTO traffic
SELECT CASE whole WHEN 1 THEN zeroblob(16) ELSE application_id END, (created_at_ms - ((created_at_ms % 3600000) + 3600000) % 3600000) / 3600000,
    sum(stage = 'pre'), sum(stage = 'post'), sum(flagged_guardrails), sum(flagged_custom_policy),
    sum(flagged_dataclean), sum(blocked), sum(failed), sum(token_count), sum(total_us), max(total_us)
FROM records CROSS JOIN (SELECT 0 AS whole UNION ALL SELECT 1)
WHERE seq >= ?1 AND seq < ?2 GROUP BY 1, 2
ON CONFLICT (application_id, hour) DO UPDATE SET prompts = prompts + excluded.prompts,
    answers = answers + excluded.answers,
    flagged_guardrails = flagged_guardrails + excluded.flagged_guardrails,
    flagged_custom_policy = flagged_custom_policy + excluded.flagged_custom_policy,
    flagged_dataclean = flagged_dataclean + excluded.flagged_dataclean,
    blocked = blocked + excluded.blocked, failed = failed + excluded.failed,
    tokens = tokens + excluded.tokens, total_us = total_us + excluded.total_us,
    max_us = max(max_us, excluded.max_us);

-- Of all applications together only the names of §2.8 are counted, and everything else as one kind: the
-- names of applications' own patterns have no end.
INSERT INTO traffic_types (application_id, hour, kind, finds)
SELECT CASE whole WHEN 1 THEN zeroblob(16) ELSE application_id END, (created_at_ms - ((created_at_ms % 3600000) + 3600000) % 3600000) / 3600000,
    CASE WHEN whole = 0 OR value ->> '$.type' IN ('ADDRESS', 'BANK_CARD_NUMBER', 'COMPANY', 'CVC', 'DATE',
        'DEADLINE_DATE', 'DIAGNOSIS', 'DOMAIN', 'DURATION', 'EMAILS', 'INN', 'IP', 'JOB_ROLE', 'KPP', 'MONEY',
        'NAME', 'OGRN', 'OGRNIP', 'PASSPORT_NUMBER', 'PHONE_NUMBER', 'SNILS')
        THEN value ->> '$.type' ELSE 'custom' END, sum(value ->> '$.count')
FROM records CROSS JOIN json_each(records.types) CROSS JOIN (SELECT 0 AS whole UNION ALL SELECT 1)
WHERE seq >= ?1 AND seq < ?2 GROUP BY 1, 2, 3
ON CONFLICT (application_id, hour, kind) DO UPDATE SET finds = finds + excluded.finds;
