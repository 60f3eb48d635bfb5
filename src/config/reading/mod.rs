//! Reads keys from all sources and collects their problems.

pub(crate) mod collections;
pub(crate) mod reader;
pub(crate) mod suggest;
pub(crate) mod yaml;
