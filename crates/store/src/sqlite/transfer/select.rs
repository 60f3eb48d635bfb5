//! What is read of each table. Records of removed applications are about to be deleted: only their numbers are read.

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

const STATE: &str = "SELECT tokens_made FROM settings_changes";
const APPLICATIONS: &str = "SELECT * FROM applications ORDER BY seq";
const APPLICATION_VERSIONS: &str = "
    SELECT * FROM application_versions
    WHERE application_id IN (SELECT id FROM applications) ORDER BY application_id, version";
const AUDIT: &str = "SELECT * FROM audit ORDER BY seq";
const RECORDS: &str = "
    SELECT records.*, message, cleaned_text, entities, additional_parameters, answer, inline_rules,
        tool_parts
    FROM records NOT INDEXED JOIN record_bodies USING (seq)
    WHERE application_id NOT IN (SELECT id FROM removed_applications) ORDER BY seq";
const FOUND_VALUES: &str = "
    SELECT records.id AS record_id, hash, kind, key_id, records.created_at_ms FROM found_values JOIN records USING (seq)
    WHERE records.application_id NOT IN (SELECT id FROM removed_applications) ORDER BY seq, hash";
const SESSIONS: &str = "
    SELECT * FROM sessions WHERE application_id NOT IN (SELECT id FROM removed_applications)
    ORDER BY application_id, session_id";
const STATISTICS: &str = "SELECT * FROM statistics ORDER BY application_id, day, stage";
const STATISTICS_TYPES: &str =
    "SELECT * FROM statistics_types ORDER BY application_id, day, stage, kind";
const TRAFFIC: &str = "SELECT * FROM traffic ORDER BY application_id, hour";
const TRAFFIC_TYPES: &str = "SELECT * FROM traffic_types ORDER BY application_id, hour, kind";
const COSTS: &str =
    "SELECT * FROM costs ORDER BY by_user, day, application_id, user_id, model, currency, priced";
const USER_DAYS: &str = "SELECT * FROM user_days ORDER BY day, application_id, user_id, kind";
const REMOVED_NUMBERS: &str = "
    SELECT chain_gateway AS gateway, chain_sequence AS first, chain_sequence AS last FROM records
    WHERE application_id IN (SELECT id FROM removed_applications) AND chain_sequence IS NOT NULL
    ORDER BY 1, 2";
const BLOBS: &str = "
    SELECT sha256, size FROM blobs WHERE links > 0 AND sha256 IN (
        SELECT sha256 FROM attachments JOIN records USING (seq) WHERE kept
            AND application_id NOT IN (SELECT id FROM removed_applications)
        UNION ALL SELECT sha256 FROM waiting_attachments WHERE kept)
    ORDER BY sha256";
const ATTACHMENTS: &str = "
    SELECT records.id AS record_id, sha256, name, type, size, kept, findings, attached_at_ms
    FROM attachments JOIN records USING (seq)
    WHERE application_id NOT IN (SELECT id FROM removed_applications)
    ORDER BY seq, sha256, name";
const WAITING_ATTACHMENTS: &str = "
    SELECT * FROM waiting_attachments ORDER BY application_id, exchange_id, stage, sha256, name";
const FINDINGS: &str = "
    SELECT * FROM findings WHERE application_id NOT IN (SELECT id FROM removed_applications) ORDER BY seq";
const FINDING_CHANGES: &str = "
    SELECT record_id, number, at_ms, actor, from_state, to_state, c.reason AS reason, assignee, note
    FROM finding_changes AS c JOIN findings USING (seq)
    WHERE application_id NOT IN (SELECT id FROM removed_applications) ORDER BY seq, number";
