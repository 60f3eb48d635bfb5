//! Sections that only a gateway has.

pub(crate) mod applications;
pub(crate) mod files;
pub(crate) mod limits;
pub(crate) mod monitor;
pub(crate) mod spool;
pub(crate) mod trace;
pub(crate) mod upstream;
pub(crate) mod upstreams;
