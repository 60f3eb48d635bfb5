//! Sections that only an analysis server has.

pub(crate) mod alerts;
pub(crate) mod checks;
pub(crate) mod detect;
pub(crate) mod exports;
pub(crate) mod files;
pub(crate) mod judge;
pub(crate) mod limits;
pub(crate) mod prices;
pub(crate) mod queue;
pub(crate) mod retention;
pub(crate) mod services;
pub(crate) mod siem;
pub(crate) mod sign_in;
