//! The forms of single values: durations, sizes, addresses, URLs, networks, matches of calls.

pub(crate) mod call_match;
pub(crate) mod header;
pub(crate) mod network;
pub(crate) mod units;
pub(crate) mod url;
