-- What pages ask for is kept where they look. Over a million records this takes well under a second: one
-- look by an index for each gateway, and the hours of a month.

-- When a gateway's latest record with a number came, to the second.
ALTER TABLE chain_gateways ADD COLUMN latest_ms INTEGER;
UPDATE chain_gateways SET latest_ms = (
    SELECT created_at_ms FROM records INDEXED BY records_by_chain
    WHERE chain_gateway = gateway AND chain_sequence IS NOT NULL
    ORDER BY chain_sequence DESC LIMIT 1);
CREATE INDEX chain_gateways_by_time ON chain_gateways (latest_ms DESC, gateway);

-- Of all applications together only the names that all of them share are counted; what patterns of their
-- own find is one kind.
INSERT INTO traffic_types (application_id, hour, kind, finds)
SELECT application_id, hour, 'custom', sum(finds) FROM traffic_types
WHERE application_id = zeroblob(16) AND kind NOT IN ('custom', 'ADDRESS', 'BANK_CARD_NUMBER', 'COMPANY',
    'CVC', 'DATE', 'DEADLINE_DATE', 'DIAGNOSIS', 'DOMAIN', 'DURATION', 'EMAILS', 'INN', 'IP', 'JOB_ROLE',
    'KPP', 'MONEY', 'NAME', 'OGRN', 'OGRNIP', 'PASSPORT_NUMBER', 'PHONE_NUMBER', 'SNILS')
GROUP BY application_id, hour
ON CONFLICT (application_id, hour, kind) DO UPDATE SET finds = finds + excluded.finds;
DELETE FROM traffic_types
WHERE application_id = zeroblob(16) AND kind NOT IN ('custom', 'ADDRESS', 'BANK_CARD_NUMBER', 'COMPANY',
    'CVC', 'DATE', 'DEADLINE_DATE', 'DIAGNOSIS', 'DOMAIN', 'DURATION', 'EMAILS', 'INN', 'IP', 'JOB_ROLE',
    'KPP', 'MONEY', 'NAME', 'OGRN', 'OGRNIP', 'PASSPORT_NUMBER', 'PHONE_NUMBER', 'SNILS');
