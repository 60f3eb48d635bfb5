//! From one process to the next without losing a call: the new process takes the listening sockets
//! of the running one over a Unix socket, says when it is ready, and only then does the old one stop
//! accepting. Whatever fails before that leaves the old one as it was.
//!
//! ```text
//! new                                old
//!  │── "take" ────────────────────────▶│
//!  │◀─ names and sockets ──────────────│   both could accept; only the old one does
//!  │── "ready PID" ───────────────────▶│   the new one accepts from here on
//!  │◀─ "going" ────────────────────────│   finishes what it has, then ends
//! ```
//!
//! `monitor upgrade` and SIGQUIT let the running process start the next one, so that it stays in the
//! same service; `--upgrade` takes over by hand.

mod client;
mod control;
mod detached_process;
mod handover;
mod line;
mod start;
mod transfer;
mod web_address;

pub(crate) use client::socket_path;
pub(crate) use client::{order_operations, order_web};
pub use client::{order_reload, order_upgrade, running_role};
pub(crate) use control::{ControlServer, close, is_deserted};
pub(crate) use detached_process::COMMAND as START_DETACHED;
pub use detached_process::start_detached;
pub(crate) use handover::Upgrades;
pub(crate) use start::{Predecessor, on_signal, take_over};
pub(crate) use web_address::WebAddress;
