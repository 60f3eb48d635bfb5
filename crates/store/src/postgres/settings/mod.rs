//! Settings: applications with their versions and policies, tokens, and the audit log of their changes.

mod applications;
pub(super) mod audit;
mod changes;
mod policies;
mod token_uses;
mod tokens;
mod value_keys;

pub(super) use token_uses::note_uses;
