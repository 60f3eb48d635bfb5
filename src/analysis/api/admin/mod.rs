//! Handlers of the administration (CONTRACT 30, 38): applications, versions, tokens, keys of found values, audit log,
//! replays.

pub(super) mod alert_channels;
pub(super) mod alert_rules;
pub(super) mod alerts;
pub(super) mod applications;
pub(super) mod audit;
pub(super) mod parts;
pub(super) mod replays;
pub(super) mod tokens;
pub(super) mod value_keys;
pub(super) mod versions;
