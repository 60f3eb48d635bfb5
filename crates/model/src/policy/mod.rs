//! What an application's calls are subject to (§2.5, CONTRACT 12, 13, 15, 16, 34, 41), and the one
//! check of it: `monitor check`, start, reload and every store use it. How it is read stands in
//! `json`; where it comes from is not known here.

mod budgets;
mod call_limits;
mod json;
mod problem;
mod words;

pub use budgets::{
    Budget, BudgetLevel, BudgetState, CountedBudgets, MOST_BUDGET_TOKENS, MOST_BUDGETS,
};
pub use call_limits::{CallLimits, CallRate};
pub use problem::{PolicyProblem, PolicyProblems};
pub use words::{
    AppMode, BlockDetails, BudgetAction, BudgetPer, BudgetWindow, Embeddings, OnBackendFailure,
    ScanRole, StreamInSync,
};

use super::ids::ApplicationId;
use super::patterns::{LocalPattern, PatternSet};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The longest phrase, in Unicode code points. It bounds the memory of a store's snapshot.
pub const LONGEST_PHRASE: usize = 10_000;

const NO_PHRASE: &str = "is not set; app_mode sync needs the text of the answer to a blocked call";
const LONG_PHRASE: &str = "is too long; allowed: 10000 characters";
const NO_ROLES: &str = "is an empty list; allowed: at least one role";
const ASYNC_REPLACES: &str = "needs app_mode sync: in async mode no answer is replaced";
const ASYNC_HOLDS_BACK: &str =
    "hold_back needs app_mode sync: in async mode streams are delivered as they are";
const ASYNC_REPLAYS: &str =
    "replay needs app_mode sync: in async mode streams are delivered as they are";
const ASYNC_BLOCK_DETAILS: &str = "header needs app_mode sync: in async mode nothing is blocked";
const ASYNC_EMBEDDINGS: &str = "check needs app_mode sync: in async mode nothing is awaited";
const HOLDS_BACK_AND_REPLACES: &str = "hold_back cannot be combined with replace_response: one streams the answer, the other waits for its end";
const HOLDS_BACK_AND_REDACTS: &str =
    "hold_back cannot be combined with redact_upstream: the restored values would end the stream";
const HOLDS_BACK_FOR_NOTHING: &str =
    "hold_back needs block_on.dataclean: sensitive data is all it looks for";
const NO_PATTERNS: &str =
    "is an empty list; allowed: at least one pattern; leave the field out for the default set";
const PATTERNS_FOR_NOTHING: &str =
    "needs stream_in_sync hold_back or redact_upstream true: nothing else in the gateway uses them";
const ASYNC_CLOSED: &str = "closed needs app_mode sync: in async mode the backend is not awaited";

/// Which findings block; all by default (CONTRACT 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct BlockOn {
    /// Whether a find of the built-in policies blocks.
    pub guardrails: bool,
    /// Whether a custom policy's decision blocks.
    pub custom_policy: bool,
    /// Whether sensitive data blocks.
    pub dataclean: bool,
}

/// One application's policy, with all fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "Value")]
pub struct Policy {
    /// Whether the verdict is awaited.
    pub app_mode: AppMode,
    /// What the client gets instead of an answer (§2.4); empty only in async mode.
    pub phrase: String,
    /// Which findings block.
    pub block_on: BlockOn,
    /// What a missing verdict means.
    pub on_backend_failure: OnBackendFailure,
    /// Whether a flagged answer is replaced (CONTRACT 15).
    pub replace_response: bool,
    /// Which messages are checked; at least one role, none twice.
    pub scan_roles: Vec<ScanRole>,
    /// Whether sync mode keeps streaming.
    pub stream_in_sync: StreamInSync,
    /// Whether findings are replaced in the forwarded body (CONTRACT 41).
    pub redact_upstream: bool,
    /// Where the answer to a blocked call says what was found. Missing: metadata.
    // Left out where it is the default, so that a program that does not know it reads the policy too.
    #[serde(skip_serializing_if = "is_in_metadata")]
    pub block_details: BlockDetails,
    /// What happens to the texts of embeddings. Missing: off.
    // Left out where it is the default, so that a program that does not know it reads the policy too.
    #[serde(skip_serializing_if = "is_off")]
    pub embeddings: Embeddings,
    /// Whether the arguments of tool calls are checked; their names always are. Missing: true.
    // Left out where it is the default, so that a program that does not know it reads the policy too.
    #[serde(skip_serializing_if = "is_true")]
    pub check_tool_arguments: bool,
    /// The patterns of hold_back and redact_upstream; null stands for all that can be found in process.
    #[schema(value_type = Option<Vec<LocalPattern>>, min_items = 1)]
    pub local_patterns: Option<PatternSet>,
    /// How many calls the gateway accepts; further ones get 429. Missing: no limit.
    // Left out where there is none, so that a program that does not know it reads the policy too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub limits: Option<CallLimits>,
    /// How much the application and its users may spend. Missing: no bound.
    // Left out where there is none, so that a program that does not know it reads the policy too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 8)]
    pub budgets: Vec<Budget>,
}

/// An application as a configuration lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationPolicy {
    /// What X-Application-Id names.
    pub id: ApplicationId,
    /// A name that people read; it need not be unique.
    pub name: String,
    /// Its policy, checked.
    pub policy: Policy,
}

/// An application as a store holds it: its policy may have been written by anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPolicy {
    /// What X-Application-Id names.
    pub id: ApplicationId,
    /// A name that people read; it need not be unique.
    pub name: String,
    /// Its policy, checked, or what is wrong with it.
    pub policy: Result<Policy, PolicyProblems>,
}

impl Default for BlockOn {
    fn default() -> Self {
        Self {
            guardrails: true,
            custom_policy: true,
            dataclean: true,
        }
    }
}

impl Policy {
    /// A policy with the defaults of CONTRACT 34.
    pub fn new(app_mode: AppMode, phrase: impl Into<String>) -> Self {
        Self {
            app_mode,
            phrase: phrase.into(),
            block_on: BlockOn::default(),
            on_backend_failure: OnBackendFailure::Open,
            replace_response: false,
            scan_roles: vec![ScanRole::LastUser],
            stream_in_sync: StreamInSync::Off,
            redact_upstream: false,
            block_details: BlockDetails::Metadata,
            embeddings: Embeddings::Off,
            check_tool_arguments: true,
            local_patterns: None,
            limits: None,
            budgets: Vec::new(),
        }
    }

    /// The policy as JSON, every field written out.
    pub fn to_json(&self) -> String {
        // Words, flags and strings only: serialisation has no failing case.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The patterns that the gateway judges by itself (CONTRACT 41).
    pub fn local_patterns(&self) -> PatternSet {
        self.local_patterns.unwrap_or_else(PatternSet::local)
    }

    /// Says what cannot be meant, however the policy was made.
    ///
    /// # Errors
    /// Every contradiction: a phrase that is missing in sync mode or too long, fields that promise
    /// what their mode never does, fields that exclude each other, and one that nothing would read.
    pub fn check(&self) -> Result<(), Vec<PolicyProblem>> {
        let problems: Vec<_> = self
            .of_modes()
            .into_iter()
            .chain(self.of_local_checks())
            .filter(|(holds, ..)| *holds)
            .map(|(_, key, text)| PolicyProblem::new(key, text))
            .collect();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(problems),
        }
    }

    fn of_modes(&self) -> [Contradiction; 9] {
        let is_async = self.app_mode == AppMode::Async;
        let is_closed = self.on_backend_failure == OnBackendFailure::Closed;
        let is_mute = self.phrase.trim().is_empty();
        let is_long = self.phrase.chars().count() > LONGEST_PHRASE;
        let replaces = is_async && self.replace_response;
        let replays = is_async && self.stream_in_sync == StreamInSync::Replay;
        let checks_embeddings = is_async && self.embeddings == Embeddings::Check;
        let has_header = is_async && self.block_details == BlockDetails::Header;
        [
            (!is_async && is_mute, "phrase", NO_PHRASE),
            (is_long, "phrase", LONG_PHRASE),
            (self.scan_roles.is_empty(), "scan_roles", NO_ROLES),
            (replaces, "replace_response", ASYNC_REPLACES),
            (
                is_async && self.holds_back(),
                "stream_in_sync",
                ASYNC_HOLDS_BACK,
            ),
            (replays, "stream_in_sync", ASYNC_REPLAYS),
            (is_async && is_closed, "on_backend_failure", ASYNC_CLOSED),
            (has_header, "block_details", ASYNC_BLOCK_DETAILS),
            (checks_embeddings, "embeddings", ASYNC_EMBEDDINGS),
        ]
    }

    fn of_local_checks(&self) -> [Contradiction; 5] {
        let (redacts, replaces) = (self.redact_upstream, self.replace_response);
        let for_nothing = self.holds_back() && !self.block_on.dataclean;
        let no_patterns = self.local_patterns.is_some_and(PatternSet::is_empty);
        let unread = self.local_patterns.is_some() && !self.holds_back() && !redacts;
        let beside = |other| self.holds_back() && other;
        [
            (beside(replaces), "stream_in_sync", HOLDS_BACK_AND_REPLACES),
            (beside(redacts), "stream_in_sync", HOLDS_BACK_AND_REDACTS),
            (for_nothing, "stream_in_sync", HOLDS_BACK_FOR_NOTHING),
            (no_patterns, "local_patterns", NO_PATTERNS),
            (unread, "local_patterns", PATTERNS_FOR_NOTHING),
        ]
    }

    fn holds_back(&self) -> bool {
        self.stream_in_sync == StreamInSync::HoldBack
    }
}

fn is_in_metadata(details: &BlockDetails) -> bool {
    *details == BlockDetails::Metadata
}

fn is_off(embeddings: &Embeddings) -> bool {
    *embeddings == Embeddings::Off
}

fn is_true(flag: &bool) -> bool {
    *flag
}

/// Whether it holds, the field it is about, and its text.
type Contradiction = (bool, &'static str, &'static str);
