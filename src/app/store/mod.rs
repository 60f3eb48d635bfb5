//! Commands that work on the configured store directly, without a server.

pub(crate) mod copied_away;
pub(crate) mod migrate;
pub(crate) mod tokens;
pub(crate) mod users;
