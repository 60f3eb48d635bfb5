//! Reads keys from all sources and collects their problems.

pub(crate) mod collections;
pub(crate) mod document;
pub(crate) mod reader;
pub(crate) mod suggest;
mod tree;
pub(crate) mod yaml;
