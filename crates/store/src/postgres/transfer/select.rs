//! What is read of each table. Times are milliseconds; what is counted in lanes is summed up. Records of removed
//! applications are about to be deleted: only their numbers are read. Records are read by pages (`read`).

use crate::sql::transfer::{
    ACCOUNTS, ALERT_CHANNELS, ALERT_DELIVERIES, ALERT_RULES, ALERTS, CHAIN_CUTS, CHAIN_GATEWAYS,
    CHAIN_RUNS, CHAIN_STUBS, IDENTITIES, SAVED_FILTERS, TOKENS, TOMBSTONES, VALUE_KEYS,
};
use crate::transfer::Table;

/// The statement that reads a table in order.
pub(super) fn select(table: Table) -> &'static str {
    match table {
        Table::State => STATE,
        Table::Tombstones => TOMBSTONES,
        Table::ValueKeys => VALUE_KEYS,
        Table::Applications => APPLICATIONS,
        Table::ApplicationVersions => APPLICATION_VERSIONS,
        Table::Tokens => TOKENS,
        Table::Accounts => ACCOUNTS,
        Table::Identities => IDENTITIES,
        Table::SavedFilters => SAVED_FILTERS,
        Table::AlertRules => ALERT_RULES,
        Table::AlertChannels => ALERT_CHANNELS,
        Table::Alerts => ALERTS,
        Table::AlertDeliveries => ALERT_DELIVERIES,
        Table::Audit => AUDIT,
        Table::Records => RECORDS,
        Table::FoundValues => FOUND_VALUES,
        Table::Sessions => SESSIONS,
        Table::Statistics => STATISTICS,
        Table::StatisticsTypes => STATISTICS_TYPES,
        Table::Traffic => TRAFFIC,
        Table::TrafficTypes => TRAFFIC_TYPES,
        Table::Costs => COSTS,
        Table::UserDays => USER_DAYS,
        Table::ChainGateways => CHAIN_GATEWAYS,
        Table::ChainRuns => CHAIN_RUNS,
        Table::ChainCuts => CHAIN_CUTS,
        Table::ChainStubs => CHAIN_STUBS,
        Table::RemovedNumbers => REMOVED_NUMBERS,
        Table::Blobs => BLOBS,
        Table::Attachments => ATTACHMENTS,
        Table::WaitingAttachments => WAITING_ATTACHMENTS,
        Table::Findings => FINDINGS,
        Table::FindingChanges => FINDING_CHANGES,
    }
}

const STATE: &str =
    "SELECT EXISTS (SELECT FROM tokens) OR EXISTS (SELECT FROM tokens_removed) AS tokens_made";
const APPLICATIONS: &str = "
    SELECT id, name, description, rules_version, rules::text AS rules, policy::text AS policy,
        policy_version, updated_by AS changed_by,
        floor(extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms,
        floor(extract(epoch FROM updated_at) * 1000)::bigint AS updated_at_ms,
        floor(extract(epoch FROM policy_updated_at) * 1000)::bigint AS policy_updated_at_ms
    FROM applications ORDER BY seq";
const APPLICATION_VERSIONS: &str = "
    SELECT application_id, version, name, description, rules::text AS rules,
        policy::text AS policy, changed_by,
        floor(extract(epoch FROM changed_at) * 1000)::bigint AS changed_at_ms
    FROM application_versions ORDER BY application_id, version";
const AUDIT: &str = "SELECT * FROM audit_log ORDER BY seq";
/// They are read by pages.
const RECORDS: &str = "SELECT FROM records WHERE false";
const FOUND_VALUES: &str = "
    SELECT r.id AS record_id, f.hash, f.kind, f.key_id, r.created_at_ms
    FROM found_values f JOIN records r ON r.seq = f.seq
    WHERE NOT EXISTS (SELECT FROM removed_applications gone
        WHERE gone.application_id = r.application_id AND r.seq < gone.below)
    ORDER BY f.seq, f.hash";
const SESSIONS: &str = "
    SELECT s.* FROM sessions s WHERE NOT EXISTS (SELECT FROM removed_applications gone
        WHERE gone.application_id = s.application_id AND s.last_ms <= gone.removed_at_ms)
    ORDER BY application_id, session_key";
const STATISTICS: &str = "
    SELECT application_id, day, stage, sum(messages)::bigint AS messages,
        sum(flagged_guardrails)::bigint AS flagged_guardrails,
        sum(flagged_custom_policy)::bigint AS flagged_custom_policy,
        sum(flagged_dataclean)::bigint AS flagged_dataclean, sum(blocked)::bigint AS blocked,
        sum(failed)::bigint AS failed, sum(tokens)::bigint AS tokens,
        sum(total_us)::bigint AS total_us, max(max_us) AS max_us
    FROM statistics WHERE application_id IN (SELECT id FROM applications)
    GROUP BY application_id, day, stage HAVING sum(messages) > 0
    ORDER BY application_id, day, stage";
const STATISTICS_TYPES: &str = "
    SELECT application_id, day, stage, min(kind) AS kind, sum(finds)::bigint AS finds
    FROM statistics_types WHERE application_id IN (SELECT id FROM applications)
    GROUP BY application_id, day, stage, kind_key ORDER BY application_id, day, stage, kind_key";
const TRAFFIC: &str = "
    SELECT application_id, hour, sum(prompts)::bigint AS prompts, sum(answers)::bigint AS answers,
        sum(flagged_guardrails)::bigint AS flagged_guardrails,
        sum(flagged_custom_policy)::bigint AS flagged_custom_policy,
        sum(flagged_dataclean)::bigint AS flagged_dataclean, sum(blocked)::bigint AS blocked,
        sum(failed)::bigint AS failed, sum(tokens)::bigint AS tokens,
        sum(total_us)::bigint AS total_us, max(max_us) AS max_us, sum(unchecked)::bigint AS unchecked
    FROM traffic WHERE application_id = '00000000-0000-0000-0000-000000000000'
        OR application_id IN (SELECT id FROM applications)
    GROUP BY application_id, hour ORDER BY application_id, hour";
const TRAFFIC_TYPES: &str = "
    SELECT application_id, hour, min(kind) AS kind, sum(finds)::bigint AS finds
    FROM traffic_types WHERE application_id = '00000000-0000-0000-0000-000000000000'
        OR application_id IN (SELECT id FROM applications)
    GROUP BY application_id, hour, kind_key ORDER BY application_id, hour, kind_key";
const COSTS: &str = "
    SELECT by_user, day, application_id, user_id, model, currency, priced, sum(calls)::bigint AS calls,
        sum(prompt_tokens)::bigint AS prompt_tokens, sum(cached_tokens)::bigint AS cached_tokens,
        sum(cache_write_tokens)::bigint AS cache_write_tokens,
        sum(completion_tokens)::bigint AS completion_tokens,
        sum(reasoning_tokens)::bigint AS reasoning_tokens,
        (sum(cost_whole) + div(sum(cost_part), 1000000000000))::bigint AS cost_whole,
        mod(sum(cost_part), 1000000000000)::bigint AS cost_part
    FROM costs WHERE application_id IN (SELECT id FROM applications)
    GROUP BY by_user, day, application_id, user_id, model, currency, priced
    ORDER BY by_user, day, application_id, user_id, model, currency, priced";
const USER_DAYS: &str = "
    SELECT day, application_id, user_id, kind, sum(messages)::bigint AS messages, sum(flagged)::bigint AS flagged,
        sum(blocked)::bigint AS blocked, sum(finds)::bigint AS finds, max(last_ms) AS last_ms
    FROM user_days WHERE application_id IN (SELECT id FROM applications)
    GROUP BY day, application_id, user_id, kind ORDER BY day, application_id, user_id, kind";
const REMOVED_NUMBERS: &str = "
    SELECT chain_gateway AS gateway, chain_sequence AS first, chain_sequence AS last
    FROM records r JOIN removed_applications gone
        ON gone.application_id = r.application_id AND r.seq < gone.below
    WHERE chain_sequence IS NOT NULL ORDER BY 1, 2";
const BLOBS: &str = "
    SELECT sha256, size FROM blobs WHERE sha256 IN (
        SELECT a.sha256 FROM attachments a JOIN records r ON r.seq = a.seq
        WHERE a.kept AND NOT EXISTS (SELECT FROM removed_applications gone
            WHERE gone.application_id = r.application_id AND r.seq < gone.below)
        UNION ALL SELECT sha256 FROM waiting_attachments WHERE kept)
    ORDER BY sha256";
const ATTACHMENTS: &str = "
    SELECT r.id AS record_id, a.sha256, a.name, a.type, a.size, a.kept, a.findings, a.attached_at_ms
    FROM attachments a JOIN records r ON r.seq = a.seq
    WHERE NOT EXISTS (SELECT FROM removed_applications gone
        WHERE gone.application_id = r.application_id AND r.seq < gone.below)
    ORDER BY a.seq, a.sha256, a.name";
const WAITING_ATTACHMENTS: &str = "
    SELECT * FROM waiting_attachments ORDER BY application_id, key, sha256, name";
/// A day may be dropped before its findings are deleted.
const FINDINGS: &str = "
    SELECT f.* FROM findings f JOIN records r ON r.seq = f.seq
    WHERE NOT EXISTS (SELECT FROM removed_applications gone
        WHERE gone.application_id = f.application_id AND f.seq < gone.below)
    ORDER BY f.seq";
const FINDING_CHANGES: &str = "
    SELECT f.record_id, c.number, c.at_ms, c.actor, c.from_state, c.to_state, c.reason, c.assignee, c.note
    FROM finding_changes c JOIN findings f ON f.seq = c.seq JOIN records r ON r.seq = f.seq
    WHERE NOT EXISTS (SELECT FROM removed_applications gone
        WHERE gone.application_id = f.application_id AND f.seq < gone.below)
    ORDER BY c.seq, c.number";
