//! One process: its sockets, start and stop, listeners, and what it tells its supervisor.

pub(crate) mod context;
pub(crate) mod core_files;
pub(crate) mod descriptors;
mod hangup;
pub(crate) mod lifecycle;
pub(crate) mod listeners;
pub(crate) mod notify;
pub(crate) mod run;
pub(crate) mod runtime;
pub(crate) mod sockets;
pub(crate) mod start_text;
pub(crate) mod watchdog;
pub(crate) mod web;
