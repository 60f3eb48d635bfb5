//! The sections of the configuration. Each owns its types and reads its keys; `settings` only adds them up.

pub(crate) mod analysis;
pub(crate) mod call_limits;
pub(crate) mod client_identity;
pub(crate) mod cors;
pub(crate) mod gateway;
pub(crate) mod listen;
pub(crate) mod log;
pub(crate) mod store;
pub(crate) mod trusted_proxies;
