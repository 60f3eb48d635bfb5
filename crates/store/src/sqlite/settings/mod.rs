//! Settings: applications with their versions and policies, tokens, and the audit log of their changes.

mod applications;
pub(super) mod audit;
mod policies;
pub(super) mod tokens;
mod value_keys;
mod watch;

pub(super) use watch::SettingsWatch;
