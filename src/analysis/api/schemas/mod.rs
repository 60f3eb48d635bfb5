//! The OpenAPI schemas of requests. Bodies and queries are not read by serde but field by field, so that an answer
//! names all that is wrong; the types here state their shape for the document and are never built. The tests of
//! `openapi` compare their fields with those that the readers accept.
#![expect(dead_code, reason = "described, never built")]

mod alerts;
mod applications;
mod budgets;
mod findings;
mod messages;
mod parameters;
mod paths;
mod policies;
mod rules;
mod tokens;
mod values;
mod words;

pub(super) use alerts::{AlertChannelSettings, AlertPage, AlertPath, AlertRuleSettings, Mute};
pub(super) use applications::{
    ChangeApplication, ChangePolicy, ChangeRules, Draft, NewApplication, ReplaceApplication,
    ReplacePolicy, ReplaceRules, Restore,
};
pub(super) use findings::{ChangeFinding, ChangeFindings};
pub(super) use messages::{
    AttachedFiles, FileContent, Lines, Message, OverrideMessage, ToolCallMessage,
};
pub(super) use parameters::{
    ApplicationFilter, ApplicationOfExchange, AttachmentName, AuditFilter, ChainFilter, CostFilter,
    ExportOptions, FindingFilters, IfMatch, Limit, NameFilter, Page, RecordFilters, RemovedVersion,
    SessionPage, StatisticsFilter, TextFilter, TokenPage, UserListOptions, UserToErase,
};
pub(super) use paths::{
    ApplicationPath, AttachmentPath, ExchangePath, RecordPath, TokenPath, VersionPath,
};
pub(super) use rules::StoredRules;
pub(super) use tokens::{ChangeToken, NewToken, Rotation};
pub(super) use values::ValueSearch;
pub(super) use words::words;
