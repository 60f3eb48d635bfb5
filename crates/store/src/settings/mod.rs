//! What administrators set: applications with their policies, access tokens, and the log of their changes.

pub(crate) mod applications;
pub(crate) mod audit;
pub(crate) mod policies;
pub(crate) mod token_id;
pub(crate) mod tokens;
pub(crate) mod value_keys;
