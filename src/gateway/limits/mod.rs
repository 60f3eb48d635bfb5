//! The gateway's resource limits: memory and disk for bodies, and the calls of one application.

mod memory;
mod quota;
mod spill;
mod token_bucket;

pub(crate) use memory::{MemoryBudget, MemoryReservation};
pub(super) use quota::{CallPermit, CallQuotas};
pub(super) use spill::{SpillFile, SpillFolder};
