//! The gateways that send records here: what this server knows of them, and what servers over one store share.

pub(crate) mod registry;
pub(crate) mod reports;
