//! Contract types: what the client, the gateway and the analysis API exchange. Types and serde only; no I/O,
//! no decisions.

mod analysis;
mod calendar;
mod call_facts;
mod categories;
mod chain;
mod envelope;
mod gateway_report;
mod ids;
mod money;
mod patterns;
mod policy;
mod secret;
mod settings;
mod tool_parts;
mod usage;
mod warning;

pub use analysis::{
    AnalysisResponse, CategoryScore, CustomPolicyReport, DatacleanReport, Entity, GuardrailsReport,
    LowScore, PolicyRuling, SCHEMA_VERSION, Severity, Stage, Status, Timings, TokensReport,
    TypeCount,
};
pub use calendar::CalendarDate;
pub use call_facts::{CALL_PARAMETER, CallFacts};
pub use categories::CATEGORY_NAMES;
pub use chain::{CHAIN_PARAMETER, Chain, ChainHash, Identity, Span};
pub use envelope::{ErrorBody, ErrorEnvelope, ErrorType};
pub use gateway_report::{
    COMPACT_VERDICT, DEFERRED_HEADER, GATEWAY_HEADER, GatewayReport, KEY_APPLICATION_HEADER,
    Overhead, VERDICT_HEADER,
};
pub use ids::{ApplicationId, ExchangeId, LONGEST_ID, RecordId, stored_id};
pub use money::{Amount, Priced};
pub use patterns::{
    FURTHER_PATTERN_NAMES, LOCAL_PATTERNS, LocalPattern, PATTERN_NAMES, PatternSet,
    is_pattern_name, pattern_names,
};
pub use policy::{
    AppMode, ApplicationPolicy, BlockDetails, BlockOn, Budget, BudgetAction, BudgetLevel,
    BudgetPer, BudgetState, BudgetWindow, CallLimits, CallRate, CountedBudgets, Embeddings,
    LONGEST_PHRASE, MOST_BUDGET_TOKENS, MOST_BUDGETS, OnBackendFailure, Policy, PolicyProblem,
    PolicyProblems, ScanRole, StoredPolicy, StreamInSync,
};
pub use secret::Secret;
pub use settings::{Services, ShownWhen, StoreSettings, StoreSsl};
pub use tool_parts::{
    CheckedPart, CheckedParts, LONGEST_TOOL_NAME, MOST_TOOL_BYTES, MOST_TOOL_PARTS, TOOL_CALLS,
    TOOL_RESULTS, TOOLS_OMITTED, TOOLS_UNCHECKED, ToolPart, ToolParts,
};
pub use usage::{
    CallTokens, LONGEST_MODEL, MODEL_PARAMETER, MOST_TOKENS, STORED_RESPONSE_PARAMETER,
    USAGE_PARAMETER, model_name,
};
pub use warning::{Warning, WarningCode};

/// The key of `additional_parameters` that tells where in a message a line feed stands between two of its
/// parts, in Unicode code points (CONTRACT 42).
pub const PART_BREAKS: &str = "part_breaks";
/// The most places between parts that a message reports, and that are read of one.
pub const MOST_PART_BREAKS: usize = 4_096;

/// The version of the gateway contract this program implements (§9.1).
pub const GATEWAY_VERSION: &str = "4.1.0";
