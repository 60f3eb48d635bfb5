//! Contract types: what the client, the gateway and the analysis API exchange. Types and serde only; no I/O,
//! no decisions.

mod analysis;
mod categories;
mod chain;
mod envelope;
mod gateway_report;
mod ids;
mod patterns;
mod policy;
mod secret;
mod settings;
mod spans;
mod stored_id;
mod warning;

pub use analysis::{
    AnalysisResponse, CategoryScore, CustomPolicyReport, DatacleanReport, Entity, GuardrailsReport,
    PolicyRuling, SCHEMA_VERSION, Severity, Stage, Status, Timings, TokensReport, TypeCount,
};
pub use categories::CATEGORY_NAMES;
pub use chain::{CHAIN_PARAMETER, Chain, ChainHash, Identity};
pub use envelope::{ErrorBody, ErrorEnvelope, ErrorType};
pub use gateway_report::{
    DEFERRED_HEADER, GATEWAY_HEADER, GatewayReport, KEY_APPLICATION_HEADER, Overhead,
};
pub use ids::{ApplicationId, ExchangeId, RecordId};
pub use patterns::{LOCAL_PATTERNS, LocalPattern, PATTERN_NAMES, PatternSet};
pub use policy::{
    AppMode, ApplicationPolicy, BlockDetails, BlockOn, CallLimits, CallRate, LONGEST_PHRASE,
    OnBackendFailure, Policy, PolicyProblem, PolicyProblems, ScanRole, StoredPolicy, StreamInSync,
};
pub use secret::Secret;
pub use settings::{Services, ShownWhen, StoreSettings, StoreSsl};
pub use spans::Span;
pub use stored_id::{LONGEST_ID, stored_id};
pub use warning::{Warning, WarningCode};

/// The key of `additional_parameters` that tells where in a message a line feed stands between two of its
/// parts, in Unicode code points (CONTRACT 42).
pub const PART_BREAKS: &str = "part_breaks";
/// The most places between parts that a message reports, and that are read of one.
pub const MOST_PART_BREAKS: usize = 4_096;

/// The version of the gateway contract this program implements (§9.1).
pub const GATEWAY_VERSION: &str = "4.1.0";
