//! The gateway's resource limits: memory and disk for bodies, the calls of one application, and what it may spend.

pub(super) mod budget;
mod chunk_pace;
mod client_counts;
mod client_heads;
mod memory;
mod quota;
mod spill;
mod token_bucket;

pub(super) use client_counts::{ClientCount, ClientCounts};
pub use client_heads::ClientHeads;
pub(super) use client_heads::{HeadShare, SHORT_HEAD};
pub(super) use memory::Full;
pub(crate) use memory::{MemoryBudget, MemoryFigures, MemoryReservation};
pub(super) use quota::{CallPermit, CallQuotas};
pub(super) use spill::{SpillFile, SpillFolder};
