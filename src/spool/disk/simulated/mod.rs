//! A disk in memory for one thread, with the time, the boots and the chance of its machine. It keeps apart what a
//! process sees and what is on the disk: a write is on disk for certain only after a sync, a name only after a sync
//! of its folder. When the power fails, each write since then is kept, lost or torn on its own, in any order, and
//! names are lost from the latest on. Beyond that it can be full, fail to sync, confirm what it did not write, and
//! let a bit rot.

mod calls;
mod chance;
mod changes;
mod machine;

pub(crate) use calls::*;
pub(crate) use chance::Chance;
pub(crate) use machine::*;
