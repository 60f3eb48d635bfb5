//! Handlers of what is stored (CONTRACT 5, 29, 38): records, files, exports, sessions, statistics, chain reports.

pub(in crate::analysis) mod attachments;
pub(super) mod chain;
mod csv;
pub(super) mod erasure;
pub(in crate::analysis) mod export;
pub(in crate::analysis) mod filters;
pub(super) mod list;
pub(super) mod sessions;
pub(in crate::analysis) mod shapes;
pub(super) mod statistics;
