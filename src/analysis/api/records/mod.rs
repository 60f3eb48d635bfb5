//! Handlers of what is stored (CONTRACT 5, 29, 38): records, files, exports, sessions, statistics, chain reports.

pub(crate) mod attachments;
pub(crate) mod budgets;
pub(super) mod chain;
pub(crate) mod costs;
pub(crate) mod csv;
pub(super) mod erasure;
pub(super) mod exchanges;
pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod filters;
pub(super) mod list;
pub(super) mod sessions;
pub(crate) mod shapes;
pub(super) mod statistics;
