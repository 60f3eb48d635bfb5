//! Handlers of what is stored (CONTRACT 5, 29, 38): records, files, exports, findings, sessions, statistics, chain
//! reports.

pub(crate) mod attachments;
pub(crate) mod budgets;
pub(super) mod by_value;
pub(super) mod chain;
pub(crate) mod costs;
pub(super) mod erasure;
pub(super) mod exchanges;
pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod filters;
pub(crate) mod findings;
pub(super) mod list;
pub(super) mod sessions;
pub(crate) mod shapes;
pub(super) mod statistics;
pub(crate) mod user_filters;
