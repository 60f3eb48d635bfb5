//! Reading one key after the other from all sources, and everything that is wrong with them.

pub(crate) mod collections;
pub(crate) mod reader;
pub(crate) mod suggest;
pub(crate) mod yaml;
