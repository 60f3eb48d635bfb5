//! The tables and columns of a store in its portable form. A later version may add a column, which older archives
//! lack; it changes none.
//!
//! Long because: it is one list, of every table and its columns.

/// A table of the portable form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// What is known of the store as a whole.
    State,
    /// Tombstones of erased users, by the hash of their names.
    Tombstones,
    /// Keys of found values.
    ValueKeys,
    /// Applications with their rules and policies, in the order in which they were added.
    Applications,
    /// Earlier versions of them.
    ApplicationVersions,
    /// Access tokens, by the hash of their values.
    Tokens,
    /// People who sign in to the web UI.
    Accounts,
    /// What other servers call them.
    Identities,
    /// Filters that they saved.
    SavedFilters,
    /// Rules of alerts.
    AlertRules,
    /// Where alerts are sent, with the secrets of those places.
    AlertChannels,
    /// Alerts that fired.
    Alerts,
    /// Who was told of them.
    AlertDeliveries,
    /// The audit log.
    Audit,
    /// Records with their texts, in the order of receipt.
    Records,
    /// What was found in them, as hashes.
    FoundValues,
    /// Sessions with their sums, which outlive single records.
    Sessions,
    /// Statistics by day.
    Statistics,
    /// Entity types by day.
    StatisticsTypes,
    /// Traffic by hour.
    Traffic,
    /// Entity types by hour.
    TrafficTypes,
    /// What calls cost by day.
    Costs,
    /// What end users do by day.
    UserDays,
    /// Gateways that gave numbers to their records.
    ChainGateways,
    /// Numbers that arrived.
    ChainRuns,
    /// Numbers that a gateway is not sure of.
    ChainCuts,
    /// Numbers whose records were removed.
    ChainStubs,
    /// Numbers of records that are about to be removed, with their application; they become stubs.
    RemovedNumbers,
    /// Stored bytes of files.
    Blobs,
    /// Files of records.
    Attachments,
    /// Files that wait for records of their exchanges.
    WaitingAttachments,
    /// What became of flagged records.
    Findings,
    /// Who changed them, and how.
    FindingChanges,
}

/// The schema of both engines that introduced tool calls and files that wait.
pub(crate) const EXCHANGES_SCHEMA: i64 = 15;
/// The schema of both engines that introduced parts of records.
pub(crate) const PARTS_SCHEMA: i64 = 17;
/// The schema of both engines that introduced costs.
pub(crate) const COSTS_SCHEMA: i64 = 18;
/// The schema of both engines that introduced budgets.
pub(crate) const BUDGETS_SCHEMA: i64 = 19;
/// The schema of both engines that introduced [`UNCHECKED`].
pub(crate) const UNCHECKED_SCHEMA: i64 = 22;
/// The schema of both engines that introduced found values.
pub(crate) const VALUES_SCHEMA: i64 = 26;

/// The schema of both engines that introduced [`CALL`].
pub(crate) const CALLS_SCHEMA: i64 = 25;
/// The schema of both engines that introduced findings.
pub(crate) const FINDINGS_SCHEMA: i64 = 27;

/// The schema of both engines that introduced alerts.
pub(crate) const ALERTS_SCHEMA: i64 = 28;

/// The schema of both engines that introduced the days of users.
pub(crate) const USER_DAYS_SCHEMA: i64 = 29;

/// The schema of both engines that introduced [`SECOND_FACTOR`].
pub(crate) const SECOND_FACTOR_SCHEMA: i64 = 31;

/// The column of accounts that keeps a second factor. Archives of before lack it.
pub(crate) const SECOND_FACTOR: &str = "second_factor";

/// The column of what passed without a verdict, of records and of traffic. Archives of before lack it.
pub(crate) const UNCHECKED: &str = "unchecked";

/// The columns of records that only parts of tool calls have: schemas before [`EXCHANGES_SCHEMA`] lack them.
pub(crate) const TOOL: [&str; 2] = ["tool_name", "tool_call_id"];
/// The columns of records that only answers of models have: schemas before [`COSTS_SCHEMA`] lack them.
pub(crate) const COST: [&str; 5] = ["model", "usage", "priced", "cost", "currency"];
/// The columns of records that tell of their calls: schemas before [`CALLS_SCHEMA`] lack them.
pub(crate) const CALL: [&str; 2] = ["call_facts", "token_name"];
/// The columns that only records with parts have, one of each table: schemas before [`PARTS_SCHEMA`] lack them.
pub(crate) const PARTS: [&str; 2] = ["part_keys", "tool_parts"];
/// The columns of a record that engines keep apart from the others, without those of [`PARTS`].
pub(crate) const BODY: [&str; 6] = [
    "message",
    "cleaned_text",
    "entities",
    "additional_parameters",
    "answer",
    "inline_rules",
];

/// How a column's value is stored, read and written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// An integer of 64 bits.
    Number,
    /// Yes or no.
    Flag,
    /// A UUID, such as that of an application.
    Id,
    /// Bytes, such as a hash.
    Bytes,
    /// A text of any characters.
    Text,
    /// A text that every engine stores as it is: a word of the program, or a JSON document.
    Word,
    /// `pre` or `post`.
    Stage,
    /// A JSON document whose strings have any characters.
    Document,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, in archives too.
    pub name: &'static str,
    /// What its values are.
    pub kind: ColumnKind,
}

/// Names of columns, by their kind.
macro_rules! columns {
    ($($kind:ident: $($name:literal)+;)+) => {
        &[$($(Column { name: $name, kind: ColumnKind::$kind },)+)+]
    };
}

impl Table {
    /// Every table in the order in which it is read and written: a row comes after those that it refers to.
    pub const ALL: [Self; 33] = [
        Self::State,
        Self::Tombstones,
        Self::ValueKeys,
        Self::Applications,
        Self::ApplicationVersions,
        Self::Tokens,
        Self::Accounts,
        Self::Identities,
        Self::SavedFilters,
        Self::AlertRules,
        Self::AlertChannels,
        Self::Alerts,
        Self::AlertDeliveries,
        Self::Audit,
        Self::Records,
        Self::FoundValues,
        Self::Sessions,
        Self::Statistics,
        Self::StatisticsTypes,
        Self::Traffic,
        Self::TrafficTypes,
        Self::Costs,
        Self::UserDays,
        Self::ChainGateways,
        Self::ChainRuns,
        Self::ChainCuts,
        Self::ChainStubs,
        Self::RemovedNumbers,
        Self::Blobs,
        Self::Attachments,
        Self::WaitingAttachments,
        Self::Findings,
        Self::FindingChanges,
    ];

    /// Its name in archives.
    pub fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Tombstones => "tombstones",
            Self::ValueKeys => "value_keys",
            Self::Applications => "applications",
            Self::ApplicationVersions => "application_versions",
            Self::Tokens => "tokens",
            Self::Accounts => "accounts",
            Self::Identities => "identities",
            Self::SavedFilters => "saved_filters",
            Self::AlertRules => "alert_rules",
            Self::AlertChannels => "alert_channels",
            Self::Alerts => "alerts",
            Self::AlertDeliveries => "alert_deliveries",
            Self::Audit => "audit",
            Self::Records => "records",
            Self::FoundValues => "found_values",
            Self::Sessions => "sessions",
            Self::Statistics => "statistics",
            Self::StatisticsTypes => "statistics_types",
            Self::Traffic => "traffic",
            Self::TrafficTypes => "traffic_types",
            Self::Costs => "costs",
            Self::UserDays => "user_days",
            Self::ChainGateways => "chain_gateways",
            Self::ChainRuns => "chain_runs",
            Self::ChainCuts => "chain_cuts",
            Self::ChainStubs => "chain_stubs",
            Self::RemovedNumbers => "removed_numbers",
            Self::Blobs => "blobs",
            Self::Attachments => "attachments",
            Self::WaitingAttachments => "waiting_attachments",
            Self::Findings => "findings",
            Self::FindingChanges => "finding_changes",
        }
    }

    /// The table of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Whether a database has a row for each row of this table; others are merged there.
    pub fn is_counted(self) -> bool {
        !matches!(self, Self::State | Self::ChainStubs | Self::RemovedNumbers)
    }

    /// Whether a schema has this table.
    pub(crate) fn is_in(self, schema: i64) -> bool {
        match self {
            Self::WaitingAttachments => schema >= EXCHANGES_SCHEMA,
            Self::Costs => schema >= COSTS_SCHEMA,
            Self::ValueKeys | Self::FoundValues => schema >= VALUES_SCHEMA,
            Self::Findings | Self::FindingChanges => schema >= FINDINGS_SCHEMA,
            Self::AlertRules | Self::AlertChannels | Self::Alerts | Self::AlertDeliveries => {
                schema >= ALERTS_SCHEMA
            }
            Self::UserDays => schema >= USER_DAYS_SCHEMA,
            _ => true,
        }
    }

    /// The columns of a row, in the order of its values.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::State => STATE,
            Self::Tombstones => TOMBSTONES,
            Self::ValueKeys => VALUE_KEYS,
            Self::Applications => APPLICATIONS,
            Self::ApplicationVersions => APPLICATION_VERSIONS,
            Self::Tokens => TOKENS,
            Self::Accounts => ACCOUNTS,
            Self::Identities => IDENTITIES,
            Self::SavedFilters => SAVED_FILTERS,
            Self::AlertRules => ALERT_RULES,
            Self::AlertChannels => ALERT_CHANNELS,
            Self::Alerts => ALERTS,
            Self::AlertDeliveries => ALERT_DELIVERIES,
            Self::Audit => AUDIT,
            Self::Records => RECORDS,
            Self::FoundValues => FOUND_VALUES,
            Self::Sessions => SESSIONS,
            Self::Statistics => STATISTICS,
            Self::StatisticsTypes => STATISTICS_TYPES,
            Self::Traffic => TRAFFIC,
            Self::TrafficTypes => TRAFFIC_TYPES,
            Self::Costs => COSTS,
            Self::UserDays => USER_DAYS,
            Self::ChainGateways => CHAIN_GATEWAYS,
            Self::ChainRuns => CHAIN_RUNS,
            Self::ChainCuts | Self::ChainStubs | Self::RemovedNumbers => SPAN,
            Self::Blobs => BLOBS,
            Self::Attachments => ATTACHMENTS,
            Self::WaitingAttachments => WAITING_ATTACHMENTS,
            Self::Findings => FINDINGS,
            Self::FindingChanges => FINDING_CHANGES,
        }
    }

    /// Whether a schema has this column. Those of records depend on the rows, and writers choose them.
    pub(crate) fn has(self, column: &str, schema: i64) -> bool {
        match (self, column) {
            (Self::Traffic, UNCHECKED) => schema >= UNCHECKED_SCHEMA,
            (Self::Accounts, SECOND_FACTOR) => schema >= SECOND_FACTOR_SCHEMA,
            _ => true,
        }
    }

    /// The place of a column among [`Table::columns`].
    pub(crate) fn place(self, column: &str) -> Option<usize> {
        let mut columns = self.columns().iter();
        columns.position(|known| known.name == column)
    }
}

const STATE: &[Column] = columns! {
    Flag: "tokens_made";
};
const TOMBSTONES: &[Column] = columns! {
    Id: "id"; Bytes: "user_hash"; Id: "application_id"; Number: "at_ms";
};
const VALUE_KEYS: &[Column] = columns! {
    Number: "id"; Bytes: "secret"; Number: "created_at_ms";
};
/// With the time of their records, by which an engine finds them.
const FOUND_VALUES: &[Column] = columns! {
    Id: "record_id"; Bytes: "hash"; Text: "kind"; Number: "key_id" "created_at_ms";
};
const APPLICATIONS: &[Column] = columns! {
    Id: "id"; Text: "name" "description"; Number: "created_at_ms" "rules_version"; Document: "rules"; Word:
    "policy"; Number: "policy_version" "policy_updated_at_ms" "updated_at_ms"; Text: "changed_by";
};
const APPLICATION_VERSIONS: &[Column] = columns! {
    Id: "application_id"; Number: "version"; Text: "name" "description"; Document: "rules"; Word: "policy";
    Number: "changed_at_ms"; Text: "changed_by";
};
const TOKENS: &[Column] = columns! {
    Id: "id"; Text: "name"; Bytes: "hash"; Number: "scopes"; Id: "application_id"; Number: "created_at_ms"
    "expires_at_ms" "revoked_at_ms" "last_used_at_ms";
};
const ACCOUNTS: &[Column] = columns! {
    Id: "id"; Word: "name" "role"; Id: "application_id"; Word: "password"; Number: "created_at_ms"
    "disabled_at_ms" "signed_in_at_ms"; Word: "second_factor";
};
const IDENTITIES: &[Column] = columns! {
    Word: "issuer" "subject"; Id: "account_id";
};
const SAVED_FILTERS: &[Column] = columns! {
    Id: "id" "account_id"; Word: "name" "query"; Flag: "is_shared"; Number: "created_at_ms";
};
const ALERT_RULES: &[Column] = columns! {
    Id: "id" "application_id"; Bytes: "user_hash"; Word: "document"; Number: "created_at_ms";
};
const ALERT_CHANNELS: &[Column] = columns! {
    Id: "id"; Word: "document"; Number: "created_at_ms";
};
const ALERTS: &[Column] = columns! {
    Id: "id" "rule_id"; Bytes: "group_hash" "user_hash"; Id: "application_id"; Word: "facts" "state";
    Number: "updates" "first_ms" "last_ms" "notified_ms" "muted_until_ms" "resolved_ms"; Word: "resolved_by";
};
const ALERT_DELIVERIES: &[Column] = columns! {
    Id: "id" "alert_id" "channel_id"; Word: "channel_name" "channel_kind" "message" "state";
    Number: "attempts" "next_ms" "created_at_ms" "done_ms"; Word: "failure";
};
const AUDIT: &[Column] = columns! {
    Number: "seq" "at_ms"; Text: "actor"; Id: "token_id"; Text: "action" "target"; Id: "application_id";
    Word: "details";
};
const SESSIONS: &[Column] = columns! {
    Id: "application_id"; Text: "session_id" "user_id"; Number: "first_ms" "last_ms" "messages" "flagged"
    "tokens";
};
const STATISTICS: &[Column] = columns! {
    Id: "application_id"; Number: "day"; Stage: "stage"; Number: "messages" "flagged_guardrails"
    "flagged_custom_policy" "flagged_dataclean" "blocked" "failed" "tokens" "total_us" "max_us";
};
const STATISTICS_TYPES: &[Column] = columns! {
    Id: "application_id"; Number: "day"; Stage: "stage"; Text: "kind"; Number: "finds";
};
const TRAFFIC: &[Column] = columns! {
    Id: "application_id"; Number: "hour" "prompts" "answers" "flagged_guardrails" "flagged_custom_policy"
    "flagged_dataclean" "blocked" "failed" "tokens" "total_us" "max_us" "unchecked";
};
const TRAFFIC_TYPES: &[Column] = columns! {
    Id: "application_id"; Number: "hour"; Text: "kind"; Number: "finds";
};
/// An empty user, model or currency stands for none.
const COSTS: &[Column] = columns! {
    Flag: "by_user"; Number: "day"; Id: "application_id"; Text: "user_id" "model"; Word: "currency" "priced"; Number: "calls"
    "prompt_tokens" "cached_tokens" "cache_write_tokens" "completion_tokens" "reasoning_tokens" "cost_whole" "cost_part";
};
/// An empty kind counts messages.
const USER_DAYS: &[Column] = columns! {
    Number: "day"; Id: "application_id"; Text: "user_id"; Word: "kind"; Number: "messages" "flagged" "blocked" "finds"
    "last_ms";
};
const CHAIN_GATEWAYS: &[Column] = columns! {
    Id: "gateway"; Number: "repeats" "latest_ms";
};
const CHAIN_RUNS: &[Column] = columns! {
    Id: "gateway"; Number: "first" "last"; Bytes: "previous" "link";
};
const SPAN: &[Column] = columns! {
    Id: "gateway"; Number: "first" "last";
};
const BLOBS: &[Column] = columns! {
    Bytes: "sha256"; Number: "size";
};
const ATTACHMENTS: &[Column] = columns! {
    Id: "record_id"; Bytes: "sha256"; Text: "name" "type"; Number: "size"; Flag: "kept"; Word: "findings";
    Number: "attached_at_ms";
};
const WAITING_ATTACHMENTS: &[Column] = columns! {
    Id: "application_id"; Text: "exchange_id"; Stage: "stage"; Bytes: "sha256"; Text: "name" "type";
    Number: "size"; Flag: "kept"; Word: "findings"; Number: "attached_at_ms";
};
/// What else a finding has is that of its record.
const FINDINGS: &[Column] = columns! {
    Id: "record_id" "cluster" "assignee_id"; Word: "labels" "state" "reason"; Number: "changed_at_ms";
};
const FINDING_CHANGES: &[Column] = columns! {
    Id: "record_id"; Number: "number" "at_ms"; Text: "actor"; Word: "from_state" "to_state" "reason";
    Text: "assignee" "note";
};
/// `bytes` counts texts, lists and files, without what an engine's rows and indexes take.
const RECORDS: &[Column] = columns! {
    Id: "id" "application_id"; Stage: "stage"; Text: "exchange_id" "user_id" "session_id";
    Number: "created_at_ms" "rules_version"; Word: "status";
    Flag: "flagged_guardrails" "flagged_custom_policy" "flagged_dataclean"; Number: "token_count";
    Word: "severity" "types"; Flag: "failed" "incomplete" "blocked"; Number: "total_us" "bytes";
    Id: "chain_gateway"; Number: "chain_sequence"; Text: "message" "cleaned_text";
    Word: "entities" "additional_parameters" "answer" "inline_rules"; Text: "tool_name" "tool_call_id";
    Word: "part_keys" "tool_parts"; Text: "model"; Word: "usage" "priced"; Number: "cost"; Word: "currency";
    Flag: "unchecked"; Word: "call_facts"; Text: "token_name";
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_of_tables_and_columns_are_unique_and_found_again() {
        let names: HashSet<_> = Table::ALL.iter().map(|table| table.name()).collect();
        assert_eq!(names.len(), Table::ALL.len());
        for table in Table::ALL {
            assert_eq!(Table::named(table.name()), Some(table));
            for (place, column) in table.columns().iter().enumerate() {
                assert_eq!(table.place(column.name), Some(place), "{table:?}");
            }
        }
        assert_eq!(Table::named("sign_ins"), None);
        assert!(Table::ALL.is_sorted());
    }
}
