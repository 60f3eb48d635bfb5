//! The forms of single values: durations, sizes, addresses, URLs, networks.

pub(crate) mod header;
pub(crate) mod network;
pub(crate) mod units;
pub(crate) mod url;
