
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

-- The names of §2.8, and that of the rest (?3), are counted as they are. Of others there are at most ?4 for each day,
-- application and stage, and none that came with a request (without a version of the rules): these have no end.
INSERT INTO statistics_types (application_id, day, stage, kind, finds)
SELECT application_id, day, stage,
    CASE WHEN is_known OR place <= ?4 AND place + (SELECT count(*) FROM (
            SELECT 1 FROM statistics_types AS own
            WHERE own.application_id = found.application_id AND own.day = found.day AND own.stage = found.stage
                AND own.kind NOT IN (SELECT value FROM json_each(?3)) LIMIT ?4)) <= ?4
        THEN kind ELSE 'custom' END, sum(finds)
FROM (
    SELECT *, row_number() OVER (PARTITION BY application_id, day, stage, is_known ORDER BY kind) AS place
    FROM (
        SELECT *, kind IN (SELECT value FROM json_each(?3)) OR EXISTS (
            SELECT 1 FROM statistics_types AS known
            WHERE known.application_id = named.application_id AND known.day = named.day
                AND known.stage = named.stage AND known.kind = named.kind) AS is_known
        FROM (
            SELECT application_id, stage,
                (created_at_ms - ((created_at_ms % 86400000) + 86400000) % 86400000) / 86400000 AS day,
                CASE WHEN rules_version IS NULL
                    AND value ->> '$.type' NOT IN (SELECT value FROM json_each(?3))
                    THEN 'custom' ELSE value ->> '$.type' END AS kind,
                sum(value ->> '$.count') AS finds
            FROM records, json_each(records.types) WHERE seq >= ?1 AND seq < ?2 GROUP BY 1, 2, 3, 4) AS named)
) AS found
GROUP BY 1, 2, 3, 4
ON CONFLICT (application_id, day, stage, kind) DO UPDATE SET finds = finds + excluded.finds;

INSERT INTO traffic
SELECT CASE whole WHEN 1 THEN zeroblob(16) ELSE application_id END, (created_at_ms - ((created_at_ms % 3600000) + 3600000) % 3600000) / 3600000,
    sum(stage = 'pre'), sum(stage = 'post'), sum(flagged_guardrails), sum(flagged_custom_policy),
    sum(flagged_dataclean), sum(blocked), sum(failed), sum(token_count), sum(total_us), max(total_us), sum(unchecked)
FROM records CROSS JOIN (SELECT 0 AS whole UNION ALL SELECT 1)
WHERE seq >= ?1 AND seq < ?2 GROUP BY 1, 2
ON CONFLICT (application_id, hour) DO UPDATE SET prompts = prompts + excluded.prompts,
    answers = answers + excluded.answers,
    flagged_guardrails = flagged_guardrails + excluded.flagged_guardrails,
    flagged_custom_policy = flagged_custom_policy + excluded.flagged_custom_policy,
    flagged_dataclean = flagged_dataclean + excluded.flagged_dataclean,
    blocked = blocked + excluded.blocked, failed = failed + excluded.failed,
    tokens = tokens + excluded.tokens, total_us = total_us + excluded.total_us,
    max_us = max(max_us, excluded.max_us), unchecked = unchecked + excluded.unchecked;

-- The same for each hour and application; of all applications together (an identifier of zeros) the names of §2.8 are
-- counted, and everything else as one kind.
INSERT INTO traffic_types (application_id, hour, kind, finds)
SELECT application_id, hour,
    CASE WHEN is_known OR place <= ?4 AND place + (SELECT count(*) FROM (
            SELECT 1 FROM traffic_types AS own
            WHERE own.application_id = found.application_id AND own.hour = found.hour
                AND own.kind NOT IN (SELECT value FROM json_each(?3)) LIMIT ?4)) <= ?4
        THEN kind ELSE 'custom' END, sum(finds)
FROM (
    SELECT *, row_number() OVER (PARTITION BY application_id, hour, is_known ORDER BY kind) AS place
    FROM (
        SELECT *, kind IN (SELECT value FROM json_each(?3)) OR EXISTS (
            SELECT 1 FROM traffic_types AS known
            WHERE known.application_id = named.application_id AND known.hour = named.hour
                AND known.kind = named.kind) AS is_known
        FROM (
            SELECT CASE whole WHEN 1 THEN zeroblob(16) ELSE application_id END AS application_id,
                (created_at_ms - ((created_at_ms % 3600000) + 3600000) % 3600000) / 3600000 AS hour,
                CASE WHEN (whole OR rules_version IS NULL)
                    AND value ->> '$.type' NOT IN (SELECT value FROM json_each(?3))
                    THEN 'custom' ELSE value ->> '$.type' END AS kind,
                sum(value ->> '$.count') AS finds
            FROM records CROSS JOIN json_each(records.types)
                CROSS JOIN (SELECT 0 AS whole UNION ALL SELECT 1)
            WHERE seq >= ?1 AND seq < ?2 GROUP BY 1, 2, 3) AS named)
) AS found
GROUP BY 1, 2, 3
ON CONFLICT (application_id, hour, kind) DO UPDATE SET finds = finds + excluded.finds;

-- What calls cost by the day, of all users together and of each. Both parts of a sum stay within the range of a column:
-- what is above one of the currency is carried to the whole ones.
INSERT INTO costs
SELECT by_user, (created_at_ms - ((created_at_ms % 86400000) + 86400000) % 86400000) / 86400000, application_id,
    CASE by_user WHEN 1 THEN coalesce(usage ->> '$.counted_user', user_id, '') ELSE '' END,
    coalesce(usage ->> '$.counted_model', model, ''), coalesce(currency, ''), priced, count(*),
    sum(coalesce(usage ->> '$.prompt_tokens', 0)), sum(coalesce(usage ->> '$.cached_tokens', 0)),
    sum(coalesce(usage ->> '$.cache_write_tokens', 0)), sum(coalesce(usage ->> '$.completion_tokens', 0)),
    sum(coalesce(usage ->> '$.reasoning_tokens', 0)),
    sum(coalesce(cost, 0) / 1000000000000) + sum(coalesce(cost, 0) % 1000000000000) / 1000000000000,
    sum(coalesce(cost, 0) % 1000000000000) % 1000000000000
FROM records CROSS JOIN (SELECT 0 AS by_user UNION ALL SELECT 1)
WHERE seq >= ?1 AND seq < ?2 AND priced IS NOT NULL GROUP BY 1, 2, 3, 4, 5, 6, 7
ON CONFLICT (by_user, day, application_id, user_id, model, currency, priced) DO UPDATE SET
    calls = calls + excluded.calls,
    prompt_tokens = prompt_tokens + excluded.prompt_tokens,
    cached_tokens = cached_tokens + excluded.cached_tokens,
    cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
    completion_tokens = completion_tokens + excluded.completion_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    cost_whole = cost_whole + excluded.cost_whole + (cost_part + excluded.cost_part) / 1000000000000,
    cost_part = (cost_part + excluded.cost_part) % 1000000000000;

-- What each end user does by the day: messages under an empty kind, and finds by type; own patterns count as one type.
-- Names without end count as one user: those of more than 512 bytes, and those beyond 5,000 of a day and application.
WITH named AS MATERIALIZED (
    SELECT *, EXISTS (
        SELECT 1 FROM user_days AS known
        WHERE known.day = sent.day AND known.application_id = sent.application_id
            AND known.user_id = sent.user_id AND known.kind = '') AS is_known
    FROM (
        SELECT (created_at_ms - ((created_at_ms % 86400000) + 86400000) % 86400000) / 86400000 AS day, application_id,
            CASE WHEN octet_length(user_id) > 512 THEN 'other' ELSE user_id END AS user_id, count(*) AS messages,
            sum(flagged) AS flagged, sum(blocked) AS blocked, max(created_at_ms) AS last_ms
        FROM records WHERE seq >= ?1 AND seq < ?2 AND user_id <> '' GROUP BY 1, 2, 3) AS sent),
room AS MATERIALIZED (
    SELECT day, application_id, (SELECT count(*) FROM (
            SELECT 1 FROM user_days AS own
            WHERE own.day = fresh.day AND own.application_id = fresh.application_id AND own.kind = '' LIMIT 5000)) AS taken
    FROM (SELECT DISTINCT day, application_id FROM named WHERE NOT is_known) AS fresh)
INSERT INTO user_days
SELECT day, application_id,
    CASE WHEN is_known OR place + taken <= 5000
        THEN user_id ELSE 'other' END, '', sum(messages), sum(flagged), sum(blocked), 0, max(last_ms)
FROM (SELECT *, row_number() OVER (PARTITION BY day, application_id, is_known ORDER BY user_id) AS place FROM named)
LEFT JOIN room USING (day, application_id)
GROUP BY 1, 2, 3
ON CONFLICT (day, application_id, user_id, kind) DO UPDATE SET messages = messages + excluded.messages,
    flagged = flagged + excluded.flagged, blocked = blocked + excluded.blocked,
    last_ms = max(last_ms, excluded.last_ms);

-- A user has a row of messages by now, unless it counts as one of the others.
INSERT INTO user_days
SELECT day, application_id,
    CASE WHEN EXISTS (
            SELECT 1 FROM user_days AS known
            WHERE known.day = found.day AND known.application_id = found.application_id
                AND known.user_id = found.user_id AND known.kind = '')
        THEN user_id ELSE 'other' END, kind, 0, 0, 0, sum(finds), max(last_ms)
FROM (
    SELECT (created_at_ms - ((created_at_ms % 86400000) + 86400000) % 86400000) / 86400000 AS day, application_id, user_id,
        CASE WHEN value ->> '$.type' IN (SELECT value FROM json_each(?3)) THEN value ->> '$.type' ELSE 'custom' END AS kind,
        sum(value ->> '$.count') AS finds, max(created_at_ms) AS last_ms
    FROM records, json_each(records.types) WHERE seq >= ?1 AND seq < ?2 AND user_id <> '' GROUP BY 1, 2, 3, 4
) AS found
GROUP BY 1, 2, 3, 4
ON CONFLICT (day, application_id, user_id, kind) DO UPDATE SET finds = finds + excluded.finds,
    last_ms = max(last_ms, excluded.last_ms);
